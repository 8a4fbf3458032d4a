"""What models know and said as tables: rows of the lake, CSV with all columns, LaTeX as papers print it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from tempkb.core.wording import percent
from tempkb.models.generations.measures import NAMES
from tempkb.models.known import until_in_words
from tempkb.results.answering import Scored
from tempkb.results.judged_tables import JUDGED_ANSWERS, JUDGED_CHANGES
from tempkb.results.knowing import Known, by_question, known_of
from tempkb.results.reading import read_windows
from tempkb.results.tables import KNOWLEDGE
from tempkb.store.listings import Listing, as_csv, as_latex, estimate
from tempkb.store.quoting import identifier, literal
from tempkb.store.store import Store
from tempkb.store.tables import Table


def rows_of_known(table: Table, known: Sequence[Known]) -> pa.Table:
    """Return the rows of `knowledge` or `knows`."""
    rows = sorted((one.row() for one in known), key=lambda row: [row[name] for name in table.key])
    return pa.Table.from_pylist(rows, table.schema)


def read_known(store: Store) -> tuple[list[Known], list[Known]]:
    """Return what models know of each release's last window, and of all windows, of the scores that are there now."""
    last, every = list[Known](), list[Known]()
    for of_last, of_windows in read_windows(store):
        last += known_of([of_last])
        every += known_of(of_windows)
    return last, every


def _shown(known: Known, sign: str = "") -> Callable[[Any], object]:
    """How the values of an aggregate are shown: shares in per cent or percentage points, perplexities as factors."""
    return _factor if known.is_factor else partial(percent, sign=sign)


def _factor(value: float) -> str:
    # In between three digits would be written as a power, too. Larger numbers would not fit a terminal.
    return f"{value:.0f}" if 999.5 <= value < 999_999.5 else f"{value:.3g}"


def _estimate(value: str, low: str = "", high: str = "", sign: str = "") -> Callable[[Mapping[str, Any]], str]:
    return lambda row: estimate(row, (value, low, high), _shown(row["known"], sign))


def _rank(row: Mapping[str, Any]) -> str:
    if row["rank_note"]:
        return "none: as controls"
    places = dict.fromkeys((row["rank_from"], row["rank_to"]))
    return "" if None in places else f"{'-'.join(map(str, places))} of {row['n_ranked']}"


_KNOWN = Listing(
    {
        "model": lambda row: row["known"].label,
        "knows until": lambda row: until_in_words(row["knows_certainly_until"], row["knows_possibly_until"]),
        "items": "n_items",
        "clusters": "n_clusters",
        "level": _estimate("value", "low", "high"),
        "earlier": _estimate("earlier_value", "earlier_low", "earlier_high"),
        "difference": _estimate("difference", "difference_low", "difference_high", "+"),
        "detectable": _estimate("detectable"),
        "rank": _rank,
        "verdict": "verdict",
    },
    dispensable=("knows until", "clusters", "earlier", "detectable"),
)


def listings_of(known: Sequence[Known]) -> list[tuple[Listing, list[dict[str, Any]]]]:
    """Return the table for people of each question: its declaration, and its rows with what is known."""
    return [
        (replace(_KNOWN, title=_title(own[0])), [{**one.row(), "known": one} for one in own])
        for own in by_question(known)
    ]


def _title(known: Known) -> str:
    """What was measured of which window, compared with which period."""
    asked = known.question
    return (
        f"{asked.aggregate.title} from {asked.window[0]} to {asked.window[1]} ({asked.release}), "
        f"earlier: {asked.earlier[0]} to {asked.earlier[1]}{' (the first that can be compared)' * asked.is_fallback}"
    )


def known_csv(known: Sequence[Known]) -> str:
    """Return a CSV file with the columns of `knowledge`; numbers have all their digits."""
    return as_csv([one.row() for one in known], KNOWLEDGE.column_names())


def known_latex(known: Sequence[Known]) -> str:
    """Return a LaTeX table for each question."""
    return "\n".join(as_latex(listing.sheet(rows)) for listing, rows in listings_of(known))


def level_in_words(known: Known, items: Scored) -> str:
    """Return the aggregate of some of a model's items as the table shows levels; empty without an item."""
    level = known.level_of(items)
    return estimate(vars(level), show=_shown(known)) if level else ""


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
