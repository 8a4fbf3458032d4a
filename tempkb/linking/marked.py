"""Reads texts in which people mark mentions with double brackets. Pure."""

import re

from tempkb.errors import SettingsError
from tempkb.linking.inputs import MentionText

_MARKED = re.compile(r"\[\[(.+?)\]\]", re.DOTALL)


def marked_mentions(text: str) -> list[MentionText]:
    """Return the mentions of a text, each with what precedes and follows it; other marks are read as plain text.

    Raises:
        SettingsError: the text has no mention, or brackets that do not belong together.

    >>> marked_mentions("At dawn [[the port]] wakes.")
    [MentionText(left='At dawn ', mention='the port', right=' wakes.')]
    """
    plain, spans, at = "", list[tuple[int, int]](), 0
    for found in _MARKED.finditer(text):
        plain += text[at : found.start()]
        start = len(plain)
        plain += found[1]
        spans.append((start, len(plain)))
        at = found.end()
    plain += text[at:]
    if "[[" in plain or "]]" in plain:
        raise SettingsError(
            "link: found double brackets that do not belong together; expected each mention in brackets of its own, "
            'such as: tempkb link "They sang of [[the old port]]." --as-of 2022-01-01'
        )
    if not spans or any(not plain[start:end].strip() for start, end in spans):
        raise SettingsError(
            "link: found no mention; expected at least one in double brackets, such as: tempkb link "
            '"They sang of [[the old port]]." --as-of 2022-01-01'
        )
    return [MentionText(plain[:start], plain[start:end], plain[end:]) for start, end in spans]
