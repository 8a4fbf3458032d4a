"""Makes the prompts of TempLAMA's queries about the future: each answer of a closed set is a candidate. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from tempkb.benchmarks.fact_queries.prompts import form_of
from tempkb.benchmarks.templama.tables import FUTURE, TEMPLAMA_PROMPTS
from tempkb.prompts import Prompt


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
