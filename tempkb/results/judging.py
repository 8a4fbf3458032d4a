"""Judges what models said: what answers are worth against names that are right, and whom they name in changes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.reading import Judging, Part
from tempkb.core.prompts import QUESTION_ID
from tempkb.engine.steps import Work
from tempkb.models.corpora.tables import DATED_TEXT, TEXT_PROMPTS
from tempkb.models.generations.measures import (
    beginning,
    best,
    exact_match,
    is_recalled,
    named,
    released_f1_macro,
    rouge1,
    token_f1,
)
from tempkb.models.generations.tables import GENERATIONS, UNMEASURED
from tempkb.models.scores.tables import PROMPT_SCORES, model_of
from tempkb.models.tables import MODELS
from tempkb.results.judged_tables import JUDGED_ANSWERS
from tempkb.results.tables import ALL
from tempkb.store.memory import view_files
from tempkb.store.merge import union_by_key
from tempkb.store.quoting import literals
from tempkb.store.store import read_files
from tempkb.store.tables import SEPARATOR, Table, View
from tempkb.store.versions import Version

if TYPE_CHECKING:
    import duckdb

Row = Mapping[str, Any]

_BATCH_ROWS = 4096
_OF_MODELS = {GENERATIONS.name, PROMPT_SCORES.name, MODELS.name}  # tables of which each partition is of one model
RUNNING_ON = "causal.greedy"  # Decoders whose answers may go on behind a name.


def _made(name: str, prompts: View) -> tuple[str, str, Judging]:
    """What is judged of a view of prompts, of each of which the target is right."""
    answers = "SELECT DISTINCT release, item_id, target_id, [target] AS names, window_start, subset, 1 AS template_no"
    return name, f"({prompts.query})", Judging(Part(f"{answers} FROM ({prompts.query})", prompts.needs))


_READ = [(one, one.reading) for one in BENCHMARKS if one.reading]
JUDGED = sorted(
    (
        _made(DATED_TEXT, TEXT_PROMPTS),
        *(_made(name, view) for _, reading in _READ for name, view in reading.made.items()),
        *(
            (one.name, one.prompting.table.name, reading.judging)
            for one, reading in _READ
            if one.prompting and reading.judging
        ),
    ),
    key=itemgetter(0),
)
"""What puts questions to models, by name, with SQL of their prompts, and what is right."""
_SAID = f"""
    SELECT question_id, model, decoder,
           list({{'status': status, 'text': text, 'token_ids': token_ids}} ORDER BY rank) AS answers
    FROM {GENERATIONS.name} GROUP BY question_id, model, decoder
"""
_COULD_BE_ASKED = f"answers[1].status NOT IN ({literals(UNMEASURED)})"


def judged(work: Work) -> Iterator[pa.Table]:
    """Return the rows of `judged_answers` or `judged_changes`, in the order of the key.

    What the version that is there says of answers is kept, unless they, or all by which they are judged, are others.
    """
    lake, table = work.store.lake, work.table
    new, kept = kept_of(work, GENERATIONS.name, "decoder")
    view_files(work.connection, GENERATIONS.name, lake.files(GENERATIONS.name, new), GENERATIONS.schema)
    rows = iter((_answers if table is JUDGED_ANSWERS else _changes)(work.connection) if new else ())
    batches = iter(lambda: list(islice(rows, _BATCH_ROWS)), [])
    fresh = (pa.Table.from_pylist(batch, table.schema) for batch in batches)
    return union_by_key(kept, fresh, table.key, "new")


def kept_of(work: Work, source: str, way: str) -> tuple[list[str], Iterator[pa.Table]]:
    """Return of which partitions of a source (by model and way) the table is to be made anew, and its other rows."""
    held, keys = work.store.lake.current(work.table.name, ALL), work.store.lake.partitions(source)
    kept = [] if held is None or not held.fits(work.table) else _unchanged(keys, held, work.table, work.inputs)
    return [key for key in keys if key not in kept], _rows_of(held, kept, way) if held and kept else iter(())


def _unchanged(keys: Sequence[str], held: Version, table: Table, inputs: Mapping[str, str]) -> list[str]:
    """The partitions of answers or scores of which a version says what would be said of them now."""
    changed = [name.partition(" ")[::2] for name, _ in held.inputs.items() ^ inputs.items()]
    if not held.is_of_present_code(table) or not {name for name, _ in changed} <= _OF_MODELS:
        return []
    answers = {key for name, key in changed if name == GENERATIONS.name}
    models = {model_of(key) for name, key in changed if name != GENERATIONS.name}
    return [key for key in keys if key not in answers and model_of(key) not in models]


def _rows_of(held: Version, partitions: Sequence[str], way: str) -> Iterator[pa.Table]:
    """The rows of a version about some partitions of answers or scores."""
    for rows in read_files(held.paths()):
        of = pc.binary_join_element_wise(rows["model"], rows[way], SEPARATOR)
        yield rows.filter(pc.is_in(of, pa.array(partitions)))


def _query(connection: "duckdb.DuckDBPyConnection", query: str) -> Iterator[Row]:
    for batch in connection.sql(query).to_arrow_reader(_BATCH_ROWS):
        yield from batch.to_pylist()


def _asked(prompts: str, judging: Judging) -> str:
    """SQL of the questions that models were asked about items, with what they said; of equal wordings in one."""
    wordings = f"[{literals(judging.wordings)}]::VARCHAR[]"
    return f"""
        SELECT a.*, s.* EXCLUDE (question_id),
               CASE WHEN list_contains({wordings}, a.variant) THEN 'once' ELSE a.variant END AS wording
        FROM (
            SELECT DISTINCT release, item_id, variant, cluster_id, split, {QUESTION_ID} AS question_id
            FROM {prompts} WHERE role = 'current'
        ) AS a JOIN ({_SAID}) AS s USING (question_id)
        QUALIFY row_number() OVER (
            PARTITION BY release, item_id, model, decoder, wording
            ORDER BY {_COULD_BE_ASKED} DESC, list_position({wordings}, variant)
        ) = 1
    """


def _answers(connection: "duckdb.DuckDBPyConnection") -> Iterator[Row]:
    """Rows of `judged_answers`."""
    for benchmark, prompts, judging in JUDGED:
        rows = _query(
            connection,
            f"""
            WITH accepted AS (
                SELECT release, item_id, any_value(window_start) AS window_start, any_value(subset) AS subset,
                       list({{'target_id': target_id, 'names': names}} ORDER BY target_id) AS targets
                FROM ({judging.answers.query}) WHERE template_no = 1 GROUP BY release, item_id
            ), known AS (
                -- The tokens of right names, as the model's own tokenizer has them.
                SELECT p.release, p.item_id, p.variant, s.model,
                       list({{'target_id': p.target_id,
                              'tokens': s.token_ids[s.n_before + 1 : len(s.token_ids) - s.n_after]}}) AS in_tokens
                FROM {prompts} AS p JOIN {PROMPT_SCORES.name} AS s USING (prompt_id)
                WHERE p.role = 'current' AND s.status = 'scored' AND s.scorer LIKE 'masked.answer_l2r-%' GROUP BY ALL
            )
            SELECT a.*, c.window_start, c.subset, c.targets, k.in_tokens
            FROM ({_asked(prompts, judging)}) AS a JOIN accepted AS c USING (release, item_id)
            LEFT JOIN known AS k USING (release, item_id, variant, model)
            ORDER BY release, model, decoder, item_id, wording
            """,
        )
        for row in rows:
            names = _by_target((one["target_id"], one["names"]) for one in row["targets"])
            tokens = _by_target((one["target_id"], [tuple(one["tokens"])]) for one in row["in_tokens"] or ())
            every, every_in_tokens = (list(dict.fromkeys(chain(*one.values()))) for one in (names, tokens))
            each = [{"target_id": one, **_worth(row, own, tokens.get(one, ()))} for one, own in names.items()]
            worth = _worth(row, every, every_in_tokens)
            yield {"benchmark": benchmark, **_first(row), "accepted": every, **worth, "of_targets": each}


def _by_target(parts: Iterable[tuple[str, Iterable[Any]]]) -> Mapping[str, list[Any]]:
    """The names of each right answer, or their tokens; an answer may be listed twice."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for target, values in parts:
        found[target] += values
    return found


def _first(row: Row) -> dict[str, Any]:
    """A row with its first answer."""
    return {**row, "status": row["answers"][0]["status"], "text": row["answers"][0]["text"]}


def _worth(row: Row, names: Sequence[str], in_tokens: Sequence[tuple[int, ...]]) -> dict[str, float | None]:
    """What answers to a question are worth against some names; null where the model could not be asked."""
    answers = row["answers"]
    if answers[0]["status"] in UNMEASURED:
        return {}
    texts = [one["text"] for one in answers if one["text"] is not None]
    # Nothing is worth nothing, also where the answer of a lower rank has a text.
    first = [answers[0]["text"]] if answers[0]["text"] is not None else []
    if row["decoder"].startswith(RUNNING_ON):
        first = [beginning(text, names) for text in first]
    worth: dict[str, float | None] = {
        "exact_match": best(exact_match, first, names),
        "f1": best(token_f1, first, names),
        "rouge1": best(rouge1, first, names),
    }
    family, _, way = row["decoder"].partition(".")
    if way.startswith("recall_"):
        worth["recall_at_10"] = float(is_recalled(texts, names))
    if family == "masked":
        worth["rouge1_over_masks"] = best(rouge1, texts, names)
        if in_tokens:
            said = [tuple(one["token_ids"] or ()) for one in answers]
            worth["released_f1_macro"] = best(released_f1_macro, said, in_tokens)
    return worth


def _changes(connection: "duckdb.DuckDBPyConnection") -> Iterator[Row]:
    """Rows of `judged_changes`."""
    for _, prompts, judging in JUDGED:
        if judging.changes is None:
            continue
        rows = _query(
            connection,
            f"""
            SELECT c.*, a.model, a.decoder, a.question_id, a.answers, m.knows_certainly_until, m.knows_possibly_until
            FROM ({judging.changes.query}) AS c
            JOIN ({_asked(prompts, judging)}) AS a USING (release, item_id)
            JOIN {MODELS.name} AS m USING (model)
            WHERE a.wording = 'once'
            ORDER BY release, model, decoder, item_id, new_object_id, old_object_id
            """,
        )
        for row in rows:
            possibly = row["knows_possibly_until"]
            days = None if possibly is None else (row["change_from"] - possibly).days
            yield {**_first(row), "position": _position(row), "days_after": days, **_names(row)}


def _position(row: Row) -> str | None:
    """Where a change lies to what the model knows."""
    certainly, possibly = row["knows_certainly_until"], row["knows_possibly_until"]
    if certainly is None or possibly is None:
        return None
    if row["change_to"] <= certainly:
        return "before"
    return "after" if row["change_from"] >= possibly else "inside"


def _names(row: Row) -> dict[str, str | None]:
    """Whom an answer names, by the own change and by another subject's."""
    first = row["answers"][0]
    labels = {"new_label": row["new_names"][0], "old_label": row["old_names"][0]}
    if first["status"] in UNMEASURED:
        return labels

    def kind(new: Sequence[str], old: Sequence[str], other: Sequence[str]) -> str:
        return named(first["text"], new, old, other, runs_on=row["decoder"].startswith(RUNNING_ON))

    found = {**labels, "names": kind(row["new_names"], row["old_names"], row["other_names"])}
    if row["placebo_new_names"]:
        found["placebo_names"] = kind(*(row[f"placebo_{one}_names"] for one in ("new", "old", "other")))
    return found
