"""What models know and said as tables: rows of the lake, CSV with all columns, LaTeX as papers print it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any

import pyarrow as pa

from tempkb.core.prompts import QUESTION_ID
from tempkb.core.wording import percent, rounded
from tempkb.engine.steps import Log, Work
from tempkb.models.generations.measures import NAMES
from tempkb.models.known import until_in_words
from tempkb.models.scores.tables import PROMPT_SCORES
from tempkb.results.answering import Scored, cutoff_row
from tempkb.results.judged_tables import ASKED, JUDGED_ANSWERS, JUDGED_CHANGES
from tempkb.results.judging import JUDGED, kept_of
from tempkb.results.knowing import Known, by_question, known_by, known_of
from tempkb.results.reading import Asking, read_answers, read_windows
from tempkb.results.requests import AS_TYPED
from tempkb.results.tables import ALL, ESTIMATED_CUTOFFS, KNOWLEDGE, KNOWS, NOT_COMPARED
from tempkb.store.drafts import Provenance
from tempkb.store.listings import Listing, as_csv, as_latex, estimate, named
from tempkb.store.merge import union_by_key
from tempkb.store.quoting import literal
from tempkb.store.store import Store
from tempkb.store.tables import SEPARATOR, Table
from tempkb.store.versions import Version


def rows_of_known(table: Table, known: Sequence[Known]) -> pa.Table:
    """Return the rows of `knowledge` or `knows`."""
    rows = sorted((one.row() for one in known), key=lambda row: [row[name] for name in table.key])
    return pa.Table.from_pylist(rows, table.schema)


def write_known(
    store: Store, _keys: Sequence[str], made_from: Callable[[Table, str], Provenance], _log: Log
) -> list[Version]:
    """Write what models know of each release's last window, and of all windows, of the scores that are there now."""
    known: dict[Table, list[Known]] = {KNOWLEDGE: [], KNOWS: []}
    # Before anything is read, so that what is written meanwhile makes both stale.
    provenances = {table: made_from(table, ALL) for table in known}
    for of_last, of_windows in read_windows(store):
        known[KNOWLEDGE] += known_of([of_last])
        known[KNOWS] += known_of(of_windows)
    return [store.write(table, ALL, [rows_of_known(table, own)], provenances[table]) for table, own in known.items()]


def estimated_cutoffs(work: Work) -> Iterator[pa.Table]:
    """Return the rows of `estimated_cutoffs`, in the order of the key; of scores that are as they were, those there."""
    new, kept = kept_of(work, PROMPT_SCORES.name, "scorer")
    every = read_answers(work.store, by_all_scorers=True) if new else iter(())
    rows = [cutoff_row(one) for one in every if f"{one.model}{SEPARATOR}{one.scorer}" in new]
    fresh = iter([pa.Table.from_pylist(rows, ESTIMATED_CUTOFFS.schema)])
    return union_by_key(kept, fresh, ESTIMATED_CUTOFFS.key, "new")


def cutoff_in_words(row: Mapping[str, Any]) -> str:
    """Return the estimated training cutoff of a row of `estimated_cutoffs`, with its 95 % interval."""
    if row["answer"] == "interval":
        low, high, certainly, possibly = (
            row[name] for name in ("cutoff_low", "cutoff_high", "knows_certainly_until", "knows_possibly_until")
        )
        is_odd = certainly is not None and not (low <= (possibly or certainly) and certainly <= high)
        return f"{row['cutoff']} [{low}, {high}]{', which excludes the stated one' * is_odd}"
    return " ".join(str(one) for one in (row["answer"], row["cutoff_low"], row["cutoff_high"]) if one is not None)


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
        return "not ranked"
    places = dict.fromkeys((row["rank_from"], row["rank_to"]))
    return "" if None in places else f"{'-'.join(map(str, places))} of {row['n_ranked']}"


def stated_in_words(row: Mapping[str, Any]) -> str:
    """Return the stated training cutoff of a row of a table of results."""
    return until_in_words(row["knows_certainly_until"], row["knows_possibly_until"])


def _lacking(row: Mapping[str, Any]) -> tuple[str, str] | None:
    return (row["known"].label, row["note"] or "") if row["verdict"] == NOT_COMPARED else None


_VALUE, _BASELINE = _estimate("value", "low", "high"), _estimate("earlier_value", "earlier_low", "earlier_high")
_DIFFERENCE = _estimate("difference", "difference_low", "difference_high", "+")


def _listing_of(known: Known) -> Listing:
    """The table for people of what models know of a window, compared with which baseline window."""
    asked = known.question
    return Listing(
        {
            "model": lambda row: row["known"].label,
            "stated cutoff": stated_in_words,
            "items": "n_items",
            known.nouns: "n_clusters",
            known.figure: _VALUE,
            "baseline": _BASELINE,
            "ratio" if known.is_factor else "difference": _DIFFERENCE,
            "MDE": _estimate("detectable"),
            "rank": _rank,
            "knowledge": "verdict",
        },
        f"{asked.aggregate.title} from {asked.window[0]} to {asked.window[1]} ({asked.release}); baseline window: "
        f"{asked.earlier[0]} to {asked.earlier[1]}{' (the first that can be compared)' * asked.is_fallback}",
        dispensable=("stated cutoff", "items", "MDE", "baseline"),
        lacking=_lacking,
    )


def listings_of(known: Sequence[Known]) -> list[tuple[Listing, list[dict[str, Any]]]]:
    """Return the table for people of each question: its declaration, and its rows with what is known."""
    return [(_listing_of(own[0]), [{**one.row(), "known": one} for one in own]) for own in by_question(known)]


def newest_in_words(known: Known, estimated: str) -> str:
    """Return a line about a model: its training cutoffs, and what it knows of the newest window that can be judged.

    Args:
        estimated: its estimated training cutoff, in words.
    """
    row, unit = known.row(), "" if known.is_factor else " %"
    show = _shown(known)
    value = estimate(row, show=show, unit=unit)
    baseline = estimate(row, ("earlier_value", "earlier_low", "earlier_high"), show, unit)
    cutoffs = f"stated cutoff {stated_in_words(row) or 'unknown'}, estimated {estimated}"
    if known.verdict == NOT_COMPARED:
        return f"{cutoffs}; no window can be judged: {known.note}"
    (first, end), earlier = known.question.window, known.question.earlier
    provisional = ", provisional" if known.question.is_provisional else ""
    unranked = f"; not ranked: {row['rank_note']}" if row["rank_note"] else ""
    return (
        f"{cutoffs}; knowledge of {first}..{end} ({row['release']}{provisional}): {known.verdict}, {known.figure} "
        f"{value}, in the baseline window {earlier[0]}..{earlier[1]} {baseline}{unranked}"
    )


def newest_judged(asked: Iterable[Asking]) -> list[Known]:
    """Return of each model, by name, what it knows of the newest window that can be judged, by shares if it has any.

    Of a model without such a window it is the newest of which it has a score.
    """
    found: dict[str, tuple[tuple[bool, bool, date], Known]] = {}
    for one in asked:
        for question in one.backwards:
            for scores in question.models:
                known = known_by(question, scores)
                worth = (known.verdict != NOT_COMPARED, question.aggregate.is_share, question.window[0])
                name = scores.model["model"]
                if name not in found or worth > found[name][0]:
                    found[name] = worth, known
    return [found[name][1] for name in sorted(found)]


def known_csv(known: Sequence[Known]) -> str:
    """Return a CSV file with the columns of `knowledge`; numbers have all their digits."""
    return as_csv([one.row() for one in known], KNOWLEDGE.column_names())


def known_latex(known: Sequence[Known]) -> str:
    """Return a LaTeX table for each question."""
    return "\n".join(as_latex(listing.sheet(rows)) for listing, rows in listings_of(known))


def level_in_words(known: Known, items: Scored) -> str:
    """Return the aggregate of some of a model's items as the table shows it; empty without an item."""
    level = known.level_of(items)
    return estimate(vars(level), show=_shown(known)) if level else ""


N_SAMPLE = 20
_GAP = "___"
_ASKED = " UNION ".join(
    f"SELECT release, item_id, {QUESTION_ID} AS question_id, concat(left_context, '{_GAP}', right_context) AS question "
    f"FROM {prompts} SEMI JOIN said USING (release, item_id) WHERE role = 'current'"
    for _, prompts, _ in JUDGED
)


def _answers_of(table: Table, gold: str, columns: str, further: Mapping[str, Any], title: str) -> Listing:
    """Answers with their questions, `limit` of those that meet `conditions`.

    Args:
        gold: the column with the right answers.
        columns: SQL of it and of further columns.
        further: how these are shown, by title.
    """
    asked = _ASKED.replace("{", "{{").replace("}", "}}")
    shown = {"window": "window_start", "question": "question", "gold answers": gold, "answer": "said", **further}
    return Listing(
        {**named("release", "decoder"), **shown},
        title,
        query=f"""
        WITH said AS MATERIALIZED (
            FROM {table.name} WHERE {{conditions}} ORDER BY md5(concat_ws(' ', {", ".join(table.key)})) {{limit}}
        )
        SELECT release, decoder, window_start, item_id, question,
               coalesce(text, '(' || status || ')') AS said, {columns}
        FROM said LEFT JOIN ({asked}) USING (release, item_id, question_id) ORDER BY ALL
        """,
        needs=(table.name, *ASKED),
        common=("release", "decoder"),
    )


CHANGES = _answers_of(
    JUDGED_CHANGES,
    "new",
    "new_label AS new, old_label AS old, coalesce(names, 'not asked') AS names, position",
    {
        "stale answer": "old",
        "names": lambda row: AS_TYPED.get(row["names"], row["names"]),
        "beside the cutoff": "position",
    },
    "changes: what {model} answered",
)
_WORTH = {"exact match": "exact_match", "F1": "f1", "ROUGE-1": "rouge1", "recall@10": "recall_at_10"}
ITEMS = _answers_of(
    JUDGED_ANSWERS,
    "accepted",
    f"array_to_string(accepted, '; ') AS accepted, {', '.join(_WORTH.values())}",
    {title: lambda row, name=name: rounded(row[name], 2) for title, name in _WORTH.items()},
    "items: what {model} answered",
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
