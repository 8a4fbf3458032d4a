"""TempLAMA's queries about the future (section 5, table 9) with their closed sets of answers, and their prompts. Pure.

A model that knows how the world changes should be less certain about facts that change often, and less certain the
farther they are in the future.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from tempkb.benchmarks.fact_queries.prompts import form_of
from tempkb.benchmarks.templama.tables import FUTURE, TEMPLAMA_PROMPTS
from tempkb.core.files import toml_beside
from tempkb.core.prompts import Prompt


def future_relation_rows(wiki: str, release: str) -> list[dict[str, Any]]:
    """Return the rows of `future_relation_queries` for a release, in key order."""
    sets = toml_beside(__file__, "answer_sets.toml")
    groups = toml_beside(__file__, "future_relations.toml")["queries"]
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


def future_prompts(queries: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return the prompts of queries about the future, in key order.

    Args:
        queries: rows of `future_relation_queries`.
    """
    rows = [_row(query, answer) for query in queries for answer in query["answers"]]
    rows.sort(key=lambda row: (row["item_id"], row["target_id"]))
    return pa.Table.from_pylist(rows, TEMPLAMA_PROMPTS.schema)


def _row(query: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    form = form_of(query["query"])
    prompt = Prompt(form.left, answer["label"], form.right)
    item = f"{FUTURE}.{query['query_no']}"
    return {
        "release": query["release"],
        "window_start": None,
        "item_id": item,
        "target_id": answer["entity_id"],
        "variant": FUTURE,
        "prompt_id": prompt.prompt_id,
        "left_context": prompt.left,
        "target": prompt.target,
        "right_context": prompt.right,
        "role": "candidate",
        "stands_for_id": None,
        "cluster_id": item,
        "split": None,
    }
