"""Popular entities: articles with the most contributors and mentions, or pages that a file lists."""

import json
from pathlib import Path
from typing import Any

from tempkb.errors import DesignError

# Fields of a JSON record that may have its page number; the first is that of CREAK.
_FIELDS = ("en_wiki_pageid", "page_id", "pageid")

RANKED = """
    SELECT page_id, n_inlinks, n_contributors,
           rank() OVER (ORDER BY n_contributors DESC) + rank() OVER (ORDER BY n_inlinks DESC) AS both
    FROM popularity
"""
"""SQL: articles with the sum of their ranks by contributors and by mentions; a smaller sum is more popular."""


def read_page_ids(path: Path) -> tuple[int, ...]:
    """Return the page numbers in a file, each once, ascending.

    Args:
        path: a file with one number per line, or JSON lines with `en_wiki_pageid` (as in CREAK), `page_id` or `pageid`;
            records with `n/a` are skipped.

    Raises:
        DesignError: the file cannot be read, or a line has no page number.
    """
    try:
        # Not `splitlines`: JSON allows characters in a string that are ends of lines to Unicode, such as U+2028.
        lines = path.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DesignError(
            f"popular: {path} cannot be read ({error}); expected a number, or a file of page numbers"
        ) from None
    found = set()
    for number, line in enumerate(lines, 1):
        if line.strip():
            page = _page_of(line)
            if page is None:
                raise DesignError(
                    f"popular: {path}, line {number}: found {line[:60]!r}; expected a page number, or a JSON object "
                    f"with one of {', '.join(_FIELDS)}"
                )
            found |= {page} - {0}
    if not found:
        raise DesignError(f"popular: {path} lists no page")
    return tuple(sorted(found))


def _page_of(line: str) -> int | None:
    """The page number of a line; 0 for `n/a`, None if there is none."""
    if _is_number(line.strip()):
        return int(line)
    try:
        record: Any = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict):
        return None
    for name in _FIELDS:
        value = str(record.get(name, ""))
        if _is_number(value):
            return int(value)
        if value == "n/a":
            return 0
    return None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
