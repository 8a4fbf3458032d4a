"""Removes elements that readers do not see, and attributes that would be taken for markup. Pure."""

import re

from tempkb.wikitext.extensions import kept_apart

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
            end = end if attributes[-1] == "/" else _end_of(text, end, name.lower(), unclosed)
            pieces += (text[at:start], kept_apart(text, start, end))
            at = end
        elif _LIKE_MARKUP.search(attributes):
            pieces += (text[at:start], f"<{closing}{name}>")
            at = end
    return "".join([*pieces, text[at:]]) if at else text


def _end_of(text: str, start: int, name: str, unclosed: set[str]) -> int:
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
