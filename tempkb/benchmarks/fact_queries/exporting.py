"""Writes what an export of facts holds: the released layout, and tasks of lm-evaluation-harness.

The released layout has one JSON object per line. DynamicTempLAMA has no `most_*` fields, which depend on later years:

    {"query": "... _X_.", "answer": [{"wikidata_id": "Q1", "name": "..."}], "date": "2010", "id": "Q2_P54_2010",
     "most_frequent_answer": {...}, "most_recent_answer": {...}, "relation": "P54"}

The tasks are pairs of objects, and queries that models are to complete.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tempkb.benchmarks.export_folder import ExportFolder
from tempkb.benchmarks.fact_queries.design import SPLITS, TEMPLAMA, Release
from tempkb.benchmarks.fact_queries.prompt_building import PAIR_COLUMNS, PAIRS, Tables, read_pairs
from tempkb.benchmarks.fact_queries.prompts import NO_SUBJECT, NO_SUBJECT_OBJECT_LAST, OBJECT_LAST, UNDATED
from tempkb.benchmarks.fact_queries.reading import answers_of
from tempkb.benchmarks.fact_queries.tables import FACT_SPELLS, FACT_SUBJECTS
from tempkb.benchmarks.lm_eval import LmEvalTask
from tempkb.benchmarks.loading import Config, Part, config_of_table
from tempkb.benchmarks.prompting import Prompting
from tempkb.benchmarks.register import release_files, release_versions
from tempkb.core.prompts import QUESTION_ID
from tempkb.store.memory import asking, view_files
from tempkb.store.plain import plain_rows
from tempkb.store.quoting import literals
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.wiki.wikidata.tables import WIKIDATA_ENTITIES

_MOST = ("most_frequent_answer", "most_recent_answer")


def records_of(rows: Iterable[Mapping[str, Any]], *, is_uniform: bool = False) -> Iterator[dict[str, Any]]:
    """Yield rows of a query table as records with the released fields in their order.

    The `most_*` fields are written if a row has them.

    Args:
        is_uniform: whether answers without other names have `aliases`, too.
    """
    for row in rows:
        record = {
            "query": row["query"],
            "answer": [_answer(one, is_uniform) for one in row["answers"]],
            "date": row["date"],
            "id": row["query_id"],
        }
        record |= {name: _answer(row[name], is_uniform) for name in _MOST if row.get(name)}
        yield {**record, "relation": row["relation"]}


def most_answers(dated: Sequence[tuple[str, Sequence[str]]], popularity: Mapping[str, int]) -> tuple[str, str]:
    """Return the most frequent and the most recent answer of a subject and relation, as in the released code.

    Each window counts for its most popular answer, in a tie for the first one. The
    most frequent answer is the one of most windows, in a tie the one that came first.

    Args:
        dated: (date, answers in order) of every window, oldest first.
        popularity: number of statements by item.
    """
    one_each = [max(answers, key=lambda one: popularity.get(one, 0)) for _, answers in dated]
    times = {one: one_each.count(one) for one in one_each}
    return max(times, key=lambda one: times[one]), one_each[-1]


def _answer(entity: Mapping[str, Any], is_uniform: bool) -> dict[str, Any]:
    written = {"wikidata_id": entity["entity_id"], "name": entity["label"]}
    return {**written, "aliases": list(entity["aliases"])} if entity["aliases"] or is_uniform else written


def write_files(queries: Table) -> Callable[[Store, Release, ExportFolder, Mapping[str, Any]], None]:
    """Return a function that writes the files of the released layout: one per split, with one query per line."""

    def write(store: Store, release: Release, out: ExportFolder, _options: Mapping[str, Any]) -> None:
        versions = release_versions(store, queries, release.name)
        # The released files have no aliases; in a preset of ours every answer has them, since tables have equal rows.
        is_uniform = release.preset != "paper"
        for split in SPLITS:
            rows = _query_rows(store, release, versions, split, is_uniform=is_uniform)
            out.write_json_lines(f"{split}.jsonl", records_of(rows, is_uniform=is_uniform))

    return write


def configs_of(tables: Tables) -> tuple[Config, ...]:
    """Return what `datasets.load_dataset` gives of a benchmark of facts: queries, changes if it has any, and pairs."""
    queries = "a query with all its answers in a window"
    configs = [config_of_table("queries", tables.queries, queries, "split", "date")]
    if tables.changes is not None:
        changes = "an answer of a window or of the one before, and how it changed"
        configs.append(config_of_table("changes", tables.changes, changes, _SPLIT_OF_SUBJECT, beside=(FACT_SUBJECTS,)))
    pairs = "an object that is no answer any more in a window (`old`), and the one that took its place (`new`)"
    return (*configs, Config("pairs", "pairs", pairs, partial(_pairs, tables), PAIR_COLUMNS))


_SPLIT_OF_SUBJECT = f"""(
    SELECT s.split FROM {FACT_SUBJECTS.name} AS s WHERE s.relation = rows.relation AND s.subject_id = rows.subject_id
)"""


def _pairs(tables: Tables, store: Store, release: Release) -> Iterator[Part]:
    rows = pa.concat_tables([PAIRS.empty_table(), *read_pairs(store, release, tables)]).combine_chunks()
    for split in SPLITS:
        own = rows.filter(pc.equal(rows["split"], split))
        if own.num_rows:
            yield Part("", split, PAIRS, [own])


def _query_rows(
    store: Store, release: Release, queries: Sequence[Version], split: str, *, is_uniform: bool
) -> Iterator[dict[str, Any]]:
    """The rows of a split by relation, subject and date; for TempLAMA with the `most_*` fields."""
    with asking() as connection:
        view_files(connection, "queries", [path for one in queries for path in one.paths()])
        popular = _statements_of_answers(connection, store, release) if release.benchmark == TEMPLAMA else {}
        rows = connection.sql(
            """
            SELECT query_id, relation, subject_id, template_no, date, query, answers FROM queries WHERE split = $split
            ORDER BY relation, substring(subject_id, 2)::BIGINT, template_no, window_start
            """,
            params={"split": split},
        ).to_arrow_table()
    group: list[dict[str, Any]] = []
    for row in plain_rows(rows):
        if group and _of(group[0]) != _of(row):
            yield from _with_most(group, popular, is_uniform=is_uniform)
            group = []
        group.append(row)
    yield from _with_most(group, popular, is_uniform=is_uniform)


def _statements_of_answers(connection: duckdb.DuckDBPyConnection, store: Store, release: Release) -> dict[str, int]:
    """The number of statements about each answer in the dump from which a release was made."""
    view_files(connection, "spells", release_files(store, FACT_SPELLS, release.name))
    return dict(connection.execute("SELECT DISTINCT object_id, object_statements FROM spells").fetchall())


def _of(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["relation"], row["subject_id"], row["template_no"]


def _with_most(group: list[dict[str, Any]], popular: dict[str, int], *, is_uniform: bool) -> list[dict[str, Any]]:
    if not popular or not group:
        return group
    named = {one["entity_id"]: one if is_uniform else {**one, "aliases": []} for row in group for one in row["answers"]}
    dated = [(row["date"], [one["entity_id"] for one in row["answers"]]) for row in group]
    frequent, recent = most_answers(dated, popular)
    return [{**row, "most_frequent_answer": named[frequent], "most_recent_answer": named[recent]} for row in group]


# Of two wordings the one without the object at its beginning, where nothing precedes it, is asked.
_PAIRS = """
    WITH asked AS (
        SELECT item_id, coalesce(stands_for_id, target_id) AS object_id, variant, left_context, right_context,
               min_by(struct_pack(target, prompt_id), target_id) AS one
        FROM prompts
        WHERE variant IN ($first, $last) AND (role = 'control') = $is_control AND trim(left_context) <> ''
        GROUP BY ALL
    )
    SELECT p.date, query_id AS item_id, subject_id, p.split, [o.one.prompt_id, n.one.prompt_id] AS prompt_ids,
           n.left_context, n.right_context,
           [concat(o.one.target, o.right_context), concat(n.one.target, n.right_context)] AS choices, 1 AS answer
    FROM pairs AS p
    JOIN asked AS n ON n.item_id = query_id AND n.object_id = p.new.entity_id
    JOIN asked AS o ON o.item_id = query_id AND o.object_id = p.old.entity_id AND o.variant = n.variant
    QUALIFY row_number() OVER (
        PARTITION BY query_id, p.new.entity_id, p.old.entity_id ORDER BY n.variant = $last
    ) = 1
    ORDER BY date, item_id, prompt_ids
"""


def tasks_of(tables: Tables, prompting: Prompting) -> tuple[LmEvalTask, ...]:
    """Return the tasks of a benchmark of facts.

    Pairs are the old object against the new one, which is right and comes second, so that a tie does not count as a
    preference for it; with the text behind the object, as `span_end` counts it. There are pairs with a noun in the
    subject's place, and with controls in the objects' place, too. What a causal model completes is a task for each
    window.
    """
    with_subject, without = (UNDATED, OBJECT_LAST), (NO_SUBJECT, NO_SUBJECT_OBJECT_LAST)
    of_pairs = [
        LmEvalTask(name, "multiple_choice", partial(_pairs_of_variants, tables, variants, is_control))
        for name, variants, is_control in (
            ("pairs", with_subject, False),
            ("pairs_no_subject", without, False),
            ("controls", with_subject, True),
            ("controls_no_subject", without, True),
        )
    ]
    return (*of_pairs, LmEvalTask("cloze", "generate_until", partial(_cloze, tables, prompting)))


def _pairs_of_variants(
    tables: Tables, variants: tuple[str, str], is_control: bool, store: Store, release: Release
) -> pa.Table:
    pairs = pa.concat_tables([PAIRS.empty_table(), *read_pairs(store, release, tables)])
    first, last = variants
    with asking() as connection:
        connection.register("pairs", pairs)
        _view_prompts(store, tables, release, connection)
        asked = {"first": first, "last": last, "is_control": is_control}
        return connection.sql(_PAIRS, params=asked).to_arrow_table()


def _cloze(tables: Tables, prompting: Prompting, store: Store, release: Release) -> pa.Table:
    """The queries that causal models complete, each with all names that are right in its window."""
    way, answers = prompting.answered["causal"], answers_of(tables.queries)
    variants = literals(way.variants)
    entities = store.lake.files(WIKIDATA_ENTITIES.name, [release.design.dump_id])
    with asking() as connection:
        view_files(connection, tables.queries.name, release_files(store, tables.queries, release.name))
        view_files(connection, WIKIDATA_ENTITIES.name, entities, WIKIDATA_ENTITIES.schema)
        _view_prompts(store, tables, release, connection)
        return connection.sql(
            f"""
            WITH answers AS ({answers.query})
            SELECT q.date, p.item_id, any_value(p.cluster_id) AS subject_id, any_value(p.split) AS split,
                   list(p.prompt_id ORDER BY p.target_id) AS prompt_ids, p.left_context, p.right_context,
                   any_value({QUESTION_ID}) AS question_id,
                   list_distinct(flatten(list(a.names ORDER BY p.target_id))) AS names
            FROM prompts AS p JOIN answers AS a USING (item_id, target_id)
            JOIN {tables.queries.name} AS q ON q.query_id = p.item_id
            WHERE p.role = 'current' AND p.variant IN ({variants}) AND {way.condition}
            GROUP BY q.date, p.item_id, p.variant, p.left_context, p.right_context ORDER BY q.date, p.item_id, p.variant
            """
        ).to_arrow_table()


def _view_prompts(store: Store, tables: Tables, release: Release, connection: duckdb.DuckDBPyConnection) -> None:
    view_files(connection, "prompts", release_files(store, tables.prompts, release.name))
