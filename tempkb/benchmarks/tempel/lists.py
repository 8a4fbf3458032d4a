"""Finds the list pages of a cut: by Wikidata's classes, and by the words of titles in the wiki's language."""

import duckdb

from tempkb.benchmarks.tempel.design import Design
from tempkb.wikitext.list_titles import list_title_pattern

# The released code has only this pattern, for every language.
_TITLES_OF_PAPER = "^List of "


def mark_lists(connection: duckdb.DuckDBPyConnection, design: Design, language: str) -> None:
    """Make the table `list_pages(page_id)`. By the paper's rules only titles count.

    Needs the view `snapshot`, and, unless the paper's rules are used, `list_items`.
    """
    is_paper = design.rules == "paper"
    by_class = "" if is_paper else "OR entity_id IN (SELECT entity_id FROM list_items)"
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE list_pages AS
        SELECT page_id FROM snapshot WHERE regexp_matches(title, $titles) {by_class}
        """,
        {"titles": _TITLES_OF_PAPER if is_paper else list_title_pattern(language)},
    )
