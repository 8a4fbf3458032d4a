"""Reads what models said as people look at it: whom they name by window, and answers beside what is right."""

from typing import Any

import pyarrow as pa

from tempkb.generations.naming import NAMES
from tempkb.listings import Listing
from tempkb.results.judged_tables import JUDGED_ANSWERS, JUDGED_CHANGES
from tempkb.store.quoting import identifier, literal
from tempkb.store.store import Store

N_SAMPLE = 20
CHANGES = Listing(
    title="changes: what {model} said",
    query=f"""
    SELECT release, decoder, window_start, item_id, coalesce(text, '(' || status || ')') AS said,
           coalesce(names, 'not asked') AS names, new_label AS new, old_label AS old, position
    FROM (
        FROM {JUDGED_CHANGES.name} WHERE {{conditions}}
        ORDER BY md5(concat_ws(' ', model, decoder, item_id, new_object_id)) {{limit}}
    ) ORDER BY release, decoder, window_start, item_id, new
    """,
    needs=(JUDGED_CHANGES.name,),
)
ITEMS = Listing(
    title="items: what {model} said",
    query=f"""
    SELECT release, decoder, window_start, item_id, coalesce(text, '(' || status || ')') AS said,
           array_to_string(accepted, '; ') AS accepted, exact_match, round(f1, 2) AS f1, round(rouge1, 2) AS rouge1,
           recall_at_10
    FROM (
        FROM {JUDGED_ANSWERS.name} WHERE {{conditions}} ORDER BY md5(concat_ws(' ', model, decoder, item_id)) {{limit}}
    ) ORDER BY release, decoder, window_start, item_id
    """,
    needs=(JUDGED_ANSWERS.name,),
)


def read_names(store: Store, *conditions: str) -> list[dict[str, Any]]:
    """Return the numbers of changes by whom models name, a row for each release, model, decoder and window.

    Args:
        store: of the home.
        conditions: SQL that chooses among the rows of `judged_changes`.
    """
    counts = ", ".join(f"count(*) FILTER (names = {literal(name)}) AS {identifier(name)}" for name in NAMES)
    return store.ask(
        f"""
        SELECT release, model, decoder, change_from AS window_start, {counts},
               count(DISTINCT subject_id) AS n_subjects
        FROM {JUDGED_CHANGES.name} WHERE {" AND ".join(["names IS NOT NULL", *conditions])}
        GROUP BY release, model, decoder, change_from ORDER BY ALL
        """,
        JUDGED_CHANGES.name,
    )


def sample_by_kind(store: Store) -> dict[str, pa.Table]:
    """Return some changes with what models said, by whom they name; of the same answers always the same."""
    found = {
        kind: store.query(
            f"""
            SELECT model, decoder, window_start, item_id, coalesce(text, status) AS said, new_label, old_label
            FROM {JUDGED_CHANGES.name} WHERE names = {literal(kind)}
            ORDER BY md5(concat_ws(' ', model, decoder, item_id, new_object_id)) LIMIT {N_SAMPLE}
            """,
            JUDGED_CHANGES.name,
        )
        for kind in NAMES
    }
    return {kind: rows for kind, rows in found.items() if rows.num_rows}


def read_named(store: Store, release: str) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return whom models name in the changes of a release, by model and decoder; `item` is the change, as in scores."""
    rows = store.ask(
        f"""
        SELECT model, decoder, names, placebo_names, subject_id, hash(item_id, new_object_id, old_object_id) AS item
        FROM {JUDGED_CHANGES.name} WHERE names IS NOT NULL AND release = {literal(release)} ORDER BY ALL
        """,
        JUDGED_CHANGES.name,
    )
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["model"], row["decoder"]), []).append(row)
    return found
