"""Reads markup whose braces never close with a second parser. Pure.

mwparserfromhell is used for this alone: our own reader is ten times as fast and keeps offsets, but relies on braces
that close, while the library's tokenizer goes back to text where nothing does.
"""

import re

import mwparserfromhell
from mwparserfromhell.parser import ParserError

# The library's time grows faster than the text if nothing closes; no prose needs more than this.
_LONGEST = 4000
_BRACES = re.compile(r"\{\{|\}\}|\{\|")


def mend(piece: str) -> str:
    """Return the prose of a piece that begins with braces that are never closed.

    mwparserfromhell reads it without the line of parameters after the opening braces.
    Whatever it still takes for text after braces or pipes is dropped, so that the
    inside of a template is never taken for prose.

    >>> mend("{{Infobox|name=[[Ada]]")
    ''
    """
    # The first line is the name and the parameters of the template that lost its end.
    rest = piece[:_LONGEST].partition("\n")[2]
    # One that ends is whole, but for a link inside that is never closed.
    if not rest or piece.endswith("}}"):
        return ""
    try:
        shown = str(mwparserfromhell.parse(rest).strip_code(collapse=False))
    except ParserError:  # the library raises this for what it considers a bug of its own
        return ""
    return "\n".join(
        line for line in shown.split("\n") if not _BRACES.search(line) and "|" not in line and "=" not in line
    )
