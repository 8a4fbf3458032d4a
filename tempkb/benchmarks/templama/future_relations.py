"""TempLAMA's queries about the future (section 5, table 9), with their closed sets of answers. Pure.

A model that knows how the world changes should be less certain about facts that change
often, and less certain the farther they are in the future.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__)


def future_relation_rows(wiki: str, release: str) -> list[dict[str, Any]]:
    """Return the rows of `future_relation_queries` for a release, in key order."""
    sets = _answer_sets()
    groups = tomllib.loads(_HERE.with_name("future_relations.toml").read_text("utf-8"))["queries"]
    queries = [(query, group) for group in groups for query in group["queries"]]
    return [
        {
            "wiki": wiki,
            "release": release,
            "query_no": number,
            "query": query,
            "change_class": group["change_class"],
            "answer_set": group["answer_set"],
            "answer_set_source": sets[group["answer_set"]]["source"],
            "answers": [
                {"entity_id": one["id"], "label": one["name"], "aliases": []}
                for one in sets[group["answer_set"]]["answers"]
            ],
        }
        for number, (query, group) in enumerate(queries, 1)
    ]


@cache
def _answer_sets() -> dict[str, Any]:
    return tomllib.loads(_HERE.with_name("answer_sets.toml").read_text("utf-8"))
