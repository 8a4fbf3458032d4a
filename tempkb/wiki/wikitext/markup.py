"""Removes comments, extension tags, elements that readers do not see, and marks of the language converter. Pure.

Most extension tags are dropped (notes, galleries, comments). Literal text, `<nowiki>` and `<pre>`, is kept aside and
leaves a marker, and so do formulas that are simple enough for a line of text. Other formulas, musical scores and the
like leave a hole.
"""

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tempkb.core.titles import decode_entities
from tempkb.wiki.wikitext.holes import HOLE, Holes, in_one_line
from tempkb.wiki.wikitext.quantities import chemical_in_words, formula_in_words

# A character that no page can hold begins and ends a marker; the number between them is that of the literal.
MARK = "\x00"
# A marker without a literal: keeps two pieces of text apart when the markup between them is removed.
NOTHING = f"{MARK}999999999{MARK}"

_SHOWN_AS_WRITTEN = frozenset(("nowiki", "pre"))
# Tags that are dropped with their contents.
_DROPPED = """
    ref references math chem ce gallery timeline score imagemap syntaxhighlight source hiero graph mapframe maplink
    templatedata templatestyles inputbox categorytree includeonly table style script indicator section charinsert
    listing
"""
DROPPED = tuple(_DROPPED.split())
_FORMULAS: Mapping[str, Callable[[str], str | None]] = {
    "math": formula_in_words,
    "chem": chemical_in_words,
    "ce": chemical_in_words,
}
# These are dropped, too, but inside a line they replace words.
_LEAVES_HOLE = frozenset(("score", "hiero", "syntaxhighlight", "source", "listing"))
_NAMES = "|".join((*DROPPED, *_SHOWN_AS_WRITTEN))
_KEPT = frozenset((*_SHOWN_AS_WRITTEN, *_FORMULAS, *_LEAVES_HOLE))
# Tags that mean pages that include this one: on the page itself they show nothing.
_INCLUDING = frozenset(("noinclude", "/noinclude", "onlyinclude", "/onlyinclude"))
# As in MediaWiki's preprocessor, these tags end at the next ">", whatever their attributes hold.
_OPENER = re.compile(rf"<!--|<({_NAMES}|/?(?:no|only)include)(?=[\s/>])[^>]*?(/?)>", re.IGNORECASE)
# What may bring letters that would join a link before them: a letter, another tag, a template.
_MAY_JOIN = re.compile(r"[A-Za-z<\u0080-\U0010ffff]|\{\{")
_CLOSERS = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in (*DROPPED, *_SHOWN_AS_WRITTEN)}


@dataclass(frozen=True)
class Stripped:
    """A wikitext without comments and extension tags.

    Attributes:
        text: with markers of literals and holes.
        literals: the texts of the markers of literals.
        holes: what the markers of holes replace; later steps add theirs.
    """

    text: str
    literals: list[str]
    holes: Holes

    def literal(self, number: str) -> str:
        """Return the literal of a marker; empty if the text only looks like a marker."""
        at = int(number)
        return self.literals[at] if at < len(self.literals) else ""


def strip_extensions(wikitext: str) -> Stripped:
    """Remove comments and extension tags from a wikitext.

    An unclosed comment hides the rest of the page, as on the wiki; of any other
    unclosed tag only the tag itself is removed, except that `<includeonly>` hides the rest, too.

    >>> strip_extensions("a<!-- b --> c<ref>d</ref> <nowiki>[[e]]</nowiki>.").literals
    ['[[e]]']
    """
    for reserved in (MARK, HOLE):
        if reserved in wikitext:
            wikitext = wikitext.replace(reserved, "")
    pieces: list[str] = []
    literals: list[str] = []
    holes = Holes()
    unclosed: set[str] = set()
    at, start, last_end = 0, -1, wikitext.rfind(">") + 1
    # A search for the single character is much faster than one for the pattern.
    while (start := wikitext.find("<", max(start + 1, at))) >= 0:
        # Where no tag can end, only a comment can begin.
        opener = _OPENER.match(wikitext, start, max(last_end, start + len("<!--")))
        if opener is None:
            continue
        name = (opener[1] or "").lower()
        end = _end_of(wikitext, opener, name, unclosed)
        pieces.append(wikitext[at:start])
        if name in _KEPT and end > opener.end():
            content = wikitext[opener.end() : wikitext.rindex("<", opener.end(), end)]
            literal = _literal(name, content)
            if literal is None:
                pieces.append(holes.leave("formula" if name in _FORMULAS else "extension", name))
            else:
                pieces.append(f"{MARK}{len(literals)}{MARK}")
                literals.append(literal)
        elif name == "nowiki":
            pieces.append(NOTHING)
        elif name and name != "includeonly" and name not in _INCLUDING:
            pieces.append(kept_apart(wikitext, start, end))
        elif not name and wikitext[start - 1 : start] == "\n" and wikitext[end : end + 1] == "\n":
            end += 1  # a comment alone on its line removes the line
        at = end
    pieces.append(wikitext[at:])
    return Stripped("".join(pieces), literals, holes)


def kept_apart(text: str, start: int, end: int) -> str:
    """Return what takes the place of the dropped text[start:end]: nothing, or a marker between a link and letters.

    Without it the letters behind would become part of the link. On the wiki they do so only behind comments.
    """
    return NOTHING if text.endswith("]]", 0, start) and _MAY_JOIN.match(text, end) else ""


def _literal(name: str, content: str) -> str | None:
    """Return the text that a tag shows; None if it cannot be part of a line."""
    if name == "pre":  # a block of its own, in which <nowiki> shows nothing
        *before, last = content.split("</nowiki>")
        pairs = (one.replace("<nowiki>", "", 1) if "<nowiki>" in one else f"{one}</nowiki>" for one in before)
        content = " ".join(("", "".join((*pairs, last)), ""))
    if name in _SHOWN_AS_WRITTEN:
        return in_one_line(decode_entities(content))
    return _FORMULAS[name](html.unescape(content)) if name in _FORMULAS else None


def _end_of(wikitext: str, opener: re.Match[str], name: str, unclosed: set[str]) -> int:
    """Return where a comment or tag ends. A closing tag that was not found is not searched for again."""
    if not name:
        found = wikitext.find("-->", opener.end())
        return found + 3 if found >= 0 else len(wikitext)
    if opener[2] or name in unclosed or name in _INCLUDING:
        return opener.end()
    closer = _CLOSERS[name].search(wikitext, opener.end())
    if closer is None:
        if name == "includeonly":
            return len(wikitext)
        unclosed.add(name)
        return opener.end()
    return closer.end()


TAGS = (
    "a|abbr|b|bdi|bdo|big|blockquote|br|caption|center|cite|code|col|colgroup|data|dd|del|dfn|div|dl|dt|em|font|h[1-6]|hr|i|"
    "ins|kbd|li|mark|noinclude|nowiki|ol|onlyinclude|p|poem|pre|q|rb|rp|rt|rtc|ruby|s|samp|small|span|strike|strong|sub|"
    "sup|table|tbody|td|tfoot|th|thead|time|tr|tt|u|ul|var|wbr|ref|references|math|gallery|div|includeonly"
)
# A tag with attributes. A value in quotation marks may hold "<", and none holds ">", where MediaWiki ends every tag.
_TAG = re.compile(rf"<(/?)({TAGS})(?=[\s/])([^<>]*+(?=>)|(?:[^<>\"]|\"[^\">]*\")*+)>", re.IGNORECASE)
_HIDES = re.compile(
    r"""\sstyle\s*=\s*(?:"[^"]*?|'[^']*?|[^\s"']*?)(?:display\s*:\s*none|visibility\s*:\s*hidden)\b""", re.IGNORECASE
)
_LIKE_MARKUP = re.compile(r"[\n\[\]<]")
_WITHOUT_CONTENTS = frozenset(("br", "hr", "wbr", "col"))


def without_hidden(text: str) -> str:
    """Return a text without what its styles hide, and with tags whose attributes are on one line and hold no brackets.

    An element that never closes hides the rest of its line.

    >>> without_hidden('of <span style="display:none">0042</span>42 <b title="[a]">towns</b>')
    'of 42 <b>towns</b>'
    """
    pieces: list[str] = []
    at = 0
    unclosed: set[str] = set()
    for tag in _TAG.finditer(text):
        start, end = tag.span()
        closing, name, attributes = tag.groups()
        if start < at:
            continue
        if not closing and _HIDES.search(attributes) and name.lower() not in _WITHOUT_CONTENTS:
            end = end if attributes[-1] == "/" else _end_of_tag(text, end, name.lower(), unclosed)
            pieces += (text[at:start], kept_apart(text, start, end))
            at = end
        elif _LIKE_MARKUP.search(attributes):
            pieces += (text[at:start], f"<{closing}{name}>")
            at = end
    return "".join([*pieces, text[at:]]) if at else text


def _end_of_tag(text: str, start: int, name: str, unclosed: set[str]) -> int:
    """Return where the element ends whose contents begin at `start`; after one without an end only its line is read."""
    line_end = text.find("\n", start)
    line_end = line_end if line_end >= 0 else len(text)
    depth = 1
    same = re.compile(rf"<(/?){name}(?=[\s/>])[^<>]*?(/?)>", re.IGNORECASE)
    for tag in same.finditer(text, start, line_end if name in unclosed else len(text)):
        depth += -1 if tag[1] else not tag[2]
        if not depth:
            return tag.end()
    unclosed.add(name)
    return line_end


_MARKUP = re.compile(r"-\{([^{}]*)\}-")
# Possessive, so that a long run of blanks without a bar is read once.
_FLAGS = re.compile(r"([A-Za-z;\s-]*+)\|")
_VARIANT = re.compile(r"\s*([a-z]{2,3}(?:-[a-z]+)?)\s*:")
# Rules for the rest of the page (H), its title (T) and the removal of rules (-) show nothing at their place.
_HIDDEN = frozenset("HT-")
# A semicolon separates two forms only if another form or the end follows, and never if it ends an entity.
_FORM = re.compile(r"(?:&[#a-zA-Z0-9]+;|[^;]|;(?!\s*(?:[a-z]{2,3}(?:-[a-z]+)?\s*:|$)))++")
# MediaWiki reads no deeper markup inside markup.
_DEEPEST = 10
_LANGUAGES = frozenset(("zh", "sr", "sh", "gan", "kk", "ku", "tg", "uz", "crh", "iu", "shi", "wuu"))
# The script in which most pages of the wiki are written; `sr-cyrl` is the newer name of `sr-ec`.
_PREFERRED = ("zh-hans", "zh-cn", "zh", "sr-ec", "sr-cyrl", "kk-cyrl", "uz-latn")


def settle_variants(text: str, language: str) -> str:
    """Return the text with one of the forms that `-{...}-` gives for several scripts.

    The form for simplified Chinese, Cyrillic (Serbian, Kazakh) or Latin (Uzbek), in which most pages of
    these wikis are written, is chosen if there is one, else the first.
    Wikis in languages with one script have no such markup; their texts are returned unchanged.

    >>> settle_variants("十六个-{zh-hant:邦; zh-hans:联邦州}-之一，-{T|zh:x}-和-{A|zh-tw:甲;zh-hk:乙}-", "zh")
    '十六个联邦州之一，和甲'
    """
    if language not in _LANGUAGES:
        return text
    for _ in range(_DEEPEST):
        if "-{" not in text:
            break
        # Only markup without markup inside matches, so the innermost is settled first.
        text, settled = _MARKUP.subn(_shown, text)
        if not settled:
            break
    return text


def _shown(markup: re.Match[str]) -> str:
    inside = markup[1]
    flags = _FLAGS.match(inside)
    if flags is not None:
        if _HIDDEN & {one.strip().upper() for one in flags[1].split(";")}:
            return ""
        inside = inside[flags.end() :]
    forms: dict[str, str] = {}
    for part in _FORM.findall(inside):
        variant = _VARIANT.match(part)
        if variant is not None:
            forms.setdefault(variant[1], part[variant.end() :].strip())
    if not forms:
        return inside
    return next((forms[code] for code in _PREFERRED if code in forms), next(iter(forms.values())))
