"""Markup whose braces never close: what a second reader can make of it. Pure."""

import re

import mwparserfromhell
from mwparserfromhell.parser import ParserError

# The library's time grows faster than the text when nothing closes; nobody's prose depends on more than this.
_LONGEST = 4000
_BRACES = re.compile(r"\{\{|\}\}|\{\|")


def mend(piece: str) -> str:
    """Return the prose of a piece that begins with braces which are never closed.

    mwparserfromhell reads it without the opening braces' line of parameters;
    whatever it still takes for text behind braces or pipes is dropped, so that the
    inside of a template never passes for prose.

    >>> mend("{{Infobox|name=[[Ada]]")
    ''
    """
    # The first line is name and parameters of the template that lost its end.
    rest = piece[:_LONGEST].partition("\n")[2]
    if not rest:
        return ""
    try:
        shown = str(mwparserfromhell.parse(rest).strip_code(collapse=False))
    except ParserError:  # the library gives up on what it takes for a bug of its own
        return ""
    return "\n".join(
        line for line in shown.split("\n") if not _BRACES.search(line) and "|" not in line and "=" not in line
    )
