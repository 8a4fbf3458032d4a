"""Comments and extension tags: what MediaWiki takes out of a text before it reads the rest. Pure.

Most of it goes (notes, formulas, galleries, comments); what shows as written,
`<nowiki>` and `<pre>`, is kept aside and leaves a marker.
"""

import html
import re
from dataclasses import dataclass

# A character that no page can hold begins and ends a marker; the number between says which literal it stands for.
MARK = "\x00"
# A marker that stands for nothing: it keeps apart what was apart when markup between is taken out.
NOTHING = f"{MARK}999999999{MARK}"

_SHOWN_AS_WRITTEN = frozenset(("nowiki", "pre"))
# Tags that go with all they hold.
DROPPED = (
    "ref", "references", "math", "chem", "ce", "gallery", "timeline", "score", "imagemap", "syntaxhighlight",
    "source", "hiero", "graph", "mapframe", "maplink", "templatedata", "templatestyles", "inputbox", "categorytree",
    "includeonly", "table", "style", "script", "indicator", "section", "charinsert", "listing",
)  # fmt: skip
_NAMES = "|".join((*DROPPED, *_SHOWN_AS_WRITTEN))
_OPENER = re.compile(rf"<!--|<({_NAMES})(?=[\s/>])[^<>]*?(/?)>", re.IGNORECASE)
_CLOSERS = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in (*DROPPED, *_SHOWN_AS_WRITTEN)}


@dataclass(frozen=True)
class Stripped:
    """A wikitext without comments and extension tags, and the literals that its markers stand for."""

    text: str
    literals: list[str]

    def literal(self, number: str) -> str:
        """The literal of a marker; nothing when a text only pretends to hold one."""
        at = int(number)
        return self.literals[at] if at < len(self.literals) else ""


def strip_extensions(wikitext: str) -> Stripped:
    """Take comments and extension tags out of a wikitext.

    An unclosed comment hides the rest of the page, as it does on the wiki; of
    any other unclosed tag only the tag itself goes.

    >>> strip_extensions("a<!-- b --> c<ref>d</ref> <nowiki>[[e]]</nowiki>.").literals
    ['[[e]]']
    """
    if MARK in wikitext:
        wikitext = wikitext.replace(MARK, "")
    pieces: list[str] = []
    literals: list[str] = []
    unclosed: set[str] = set()
    at, start = 0, -1
    # Looking for the one character by itself is much faster than looking for the pattern.
    while (start := wikitext.find("<", max(start + 1, at))) >= 0:
        opener = _OPENER.match(wikitext, start)
        if opener is None:
            continue
        name = (opener[1] or "").lower()
        end = _end_of(wikitext, opener, name, unclosed)
        pieces.append(wikitext[at:start])
        if name in _SHOWN_AS_WRITTEN and end > opener.end():
            content = wikitext[opener.end() : wikitext.rindex("<", opener.end(), end)]
            pieces.append(f"{MARK}{len(literals)}{MARK}")
            literals.append(" ".join(html.unescape(content).split("\n")))
        elif not name and wikitext[start - 1 : start] == "\n" and wikitext[end : end + 1] == "\n":
            end += 1  # a comment alone on its line takes the line with it
        at = end
    pieces.append(wikitext[at:])
    return Stripped("".join(pieces), literals)


def _end_of(wikitext: str, opener: re.Match[str], name: str, unclosed: set[str]) -> int:
    """Where a comment or tag ends. A closer that was not found once is never looked for again."""
    if not name:
        found = wikitext.find("-->", opener.end())
        return found + 3 if found >= 0 else len(wikitext)
    if opener[2] or name in unclosed:
        return opener.end()
    closer = _CLOSERS[name].search(wikitext, opener.end())
    if closer is None:
        unclosed.add(name)
        return opener.end()
    return closer.end()
