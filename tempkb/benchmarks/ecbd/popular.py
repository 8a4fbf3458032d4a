"""Popular entities: the articles that are edited by most people and mentioned most, or pages that a file lists."""

import json
from pathlib import Path
from typing import Any

from tempkb.errors import DesignError

# Where a record of a JSON file may say which page it is about; the first is CREAK's.
_FIELDS = ("en_wiki_pageid", "page_id", "pageid")

RANKED = """
    SELECT page_id, n_inlinks, n_contributors,
           rank() OVER (ORDER BY n_contributors DESC) + rank() OVER (ORDER BY n_inlinks DESC) AS both
    FROM popularity
"""
"""Articles with the sum of their two ranks, by contributors and by mentions in other articles; less is more popular."""


def read_page_ids(path: Path) -> tuple[int, ...]:
    """Read the numbers of pages: one a line, or JSON lines with `en_wiki_pageid` (as CREAK's), `page_id` or `pageid`.

    Returns:
        the numbers, each once, ascending.

    Raises:
        DesignError: the file is missing, or a line says no page; records that name none on purpose (`n/a`) are passed.
    """
    try:
        lines = path.read_text("utf-8-sig").splitlines()
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
    """The page that a line names; 0 if it names none on purpose, None if nobody can say."""
    if _is_number(line.strip()):
        return int(line)
    try:
        said: Any = json.loads(line)
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    for name in _FIELDS:
        value = str(said.get(name, ""))
        if _is_number(value):
            return int(value)
        if value == "n/a":
            return 0
    return None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
