"""mwparserfromhell as a second reader: what it finds in the nodes that tempkb's cleaner keeps."""

import html
import re
from collections import Counter

import mwparserfromhell
from mwparserfromhell.nodes import Argument, Comment, ExternalLink, Heading, Tag, Template, Text, Wikilink

from tempkb.core.titles import Site
from tempkb.wiki.wikitext.article import mend
from tempkb.wiki.wikitext.holes import without_holes
from tempkb.wiki.wikitext.inline import Inline
from tempkb.wiki.wikitext.markup import DROPPED, MARK, Stripped, strip_extensions
from tempkb.wiki.wikitext.page_kinds import language_of, words_of
from tempkb.wiki.wikitext.templates import Expansion

WORD = re.compile(r"\w+")


def read(wikitext: str, site: Site, day=None) -> tuple[str, list[tuple[str, str]]]:
    """Return its readable text, all sections kept, and its links as (target, surface)."""
    language = words_of(language_of(site))
    inline = Inline(site, lambda _: "", language_of(site))
    kept = mwparserfromhell.parse(wikitext)
    _delete(kept, inline, day, language)
    links = [
        (str(link.title).strip(), (link.text if link.text is not None else link.title).strip_code(collapse=False))
        for link in kept.ifilter_wikilinks(recursive=True)
    ]
    return kept.strip_code(collapse=False), links


def found_links(ours: list[tuple[str, str]], theirs: list[tuple[str, str]]) -> tuple[int, list[tuple[str, str]]]:
    """How many of its links are among ours, with the same target and surface, and those that are not.

    White space does not count, and ours may take letters behind the brackets along, which the library does not.
    """
    known: dict[str, list[str]] = {}
    for target, surface in ours:
        known.setdefault(html.unescape(" ".join(target.split())), []).append("".join(surface.split()))
    missing = []
    for target, surface in theirs:
        plain = "".join(surface.split())
        held = known.get(html.unescape(" ".join(target.split())), [])
        match = next(
            (one for one in held if one == plain or (one.startswith(plain) and one[len(plain) :].isalpha())), None
        )
        if match is None:
            missing.append((target, surface))
        else:
            held.remove(match)
    return len(theirs) - len(missing), missing


def _delete(code, inline: Inline, day, language: str) -> None:
    """Take out of a tree what the cleaner drops, and put in what it shows for templates."""
    code.nodes[:] = [kept for node in code.nodes for kept in _kept(node, inline, day, language)]


def _kept(node, inline: Inline, day, language: str):
    if isinstance(node, (Comment, Argument)):
        return []
    if isinstance(node, Template):
        stripped = strip_extensions(str(node))
        text = Expansion(stripped.text, day, language=language, holes=stripped.holes).expand(mend)
        shown = mwparserfromhell.parse(_with_literals(without_holes(text), stripped))
        _delete(shown, inline, day, language)
        return shown.nodes
    before = []
    if isinstance(node, Tag):
        name = str(node.tag).strip().lower()
        if name in DROPPED:
            # A formula is what the cleaner makes of it: the library knows no TeX.
            return [Text(one) for one in strip_extensions(str(node)).literals]
        before = mwparserfromhell.parse(" ").nodes if name in ("br", "li", "dd", "dt") else []
        inside = node.contents
    elif isinstance(node, Wikilink):
        target = str(node.title).strip()
        if not target.startswith(":") and inline.is_hidden(target):
            return []
        inside = node.text
    elif isinstance(node, (ExternalLink, Heading)):
        if isinstance(node, ExternalLink) and node.brackets and node.title is None:
            return []
        inside = node.title
    else:
        inside = None
    if inside is not None:
        _delete(inside, inline, day, language)
    return [*before, node]


def _with_literals(text: str, stripped: Stripped) -> str:
    return re.sub(f"{MARK}([0-9]+){MARK}", lambda found: stripped.literal(found[1]), text)


def word_f1(left: str, right: str) -> float:
    """F1 of two texts as multisets of words."""
    a, b = Counter(WORD.findall(left)), Counter(WORD.findall(right))
    same = sum((a & b).values())
    return 2 * same / (a.total() + b.total()) if a or b else 1.0
