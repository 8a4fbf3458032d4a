"""A release of facts as a folder: the released layout and field names, Parquet beside it, a card, check sums."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tempkb
from tempkb.benchmarks.export import export_folder
from tempkb.benchmarks.fact_queries.design import SPLITS, TEMPLAMA
from tempkb.benchmarks.fact_queries.queries import partition_of
from tempkb.benchmarks.fact_queries.records import most_answers, records_of
from tempkb.benchmarks.fact_queries.releases import Release
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS, FACT_SUBJECTS
from tempkb.dumps.tables import DUMP_FILES
from tempkb.errors import ContractError, DesignError
from tempkb.store.lake import Version
from tempkb.store.materialise import escaped
from tempkb.store.memory import in_memory, view_files
from tempkb.store.parquet import read_parquet
from tempkb.store.plain import plain_rows
from tempkb.store.store import Store
from tempkb.wikidata.tables import WIKIDATA_ENTITIES

_CARD = """\
---
license: cc0-1.0
task_categories: [question-answering, fill-mask]
pretty_name: {name}
---
# {name}

{title}, made with tempkb {version} from Wikidata ({dump_id}, {dump_date}): {n_queries:,} questions about {n_subjects:,}
subjects and relations, by {granularity}, from {study_from} to {study_to} (not included).

## Composition
`train.jsonl`, `val.jsonl` and `test.jsonl` hold a question a line, in the released format: `_X_` stands for the answer,
`answer` lists every object that held in the window. A subject is in one split only. `parquet/` holds the tables with
dates, statements and all that was chosen; `design.json` the whole design.
{changes}
| relation | subjects | questions |
| --- | ---: | ---: |
{relations}

## Collection process
From these files:

| dump | file | sha256 |
| --- | --- | --- |
{files}

An answer counts where its statement's dates say that it {answers} held. Dates keep the precision they have in Wikidata.
Rules: `{rules}`.

## Uses
To ask language models what was true when. Names are Wikidata's; subjects of one name were treated so: {ambiguous}.

## Distribution
Wikidata is under [CC0](https://creativecommons.org/publicdomain/zero/1.0/), and so is this dataset. Wordings of
relations are those of TempLAMA (google-research/language) and DynamicTempLAMA (amazon-science/temporal-robustness),
both Apache-2.0, and those that were added.

## Maintenance
The release is frozen. Built again from the same dump with the same design it has the same bytes.
`sha256sum -c SHA256SUMS` verifies the files.
"""


_CHANGES = """
`parquet/dynamic_templama_changes/` says what became of each answer from one window to the next, by the rule `{rule}`.
{told}

| change | role | rows |
| --- | --- | ---: |
{counts}
"""
_RULES = {
    "handover": """\
An update has two rows: one of the object that arrives, in the window in which it does, and one of the object that
leaves for it, in the first window without it. Each names the other and its window; where that is the first window of
the study or lies outside, the other has no row. Count updates by the rows that arrive.""",
    "sets": """\
What came where others went in the same window is updated; what only came is new, what only went is deleted.""",
    "released": """\
It compares texts and names, as the released code does, and does not see who leaves while others stay.""",
}


def export_facts(store: Store, release: Release, folder: Path) -> Path:
    """Write a release of TempLAMA or DynamicTempLAMA below `folder`, in a folder of its name, and return that.

    Raises:
        DesignError: the release is not built.
        ContractError: the dump's entities, which its files need, are not.
    """
    tables = {f"{release.benchmark}_queries": store.declaration(f"{release.benchmark}_queries")}
    windows = release.design.windows()
    queries = [_need(store, next(iter(tables)), partition_of(release.name, window)) for window in windows]
    shared = [_need(store, table.name, release.name) for table in (FACT_RELEASES, FACT_SUBJECTS, FACT_SPELLS)]
    target = folder / release.name
    with export_folder(target) as out:
        for split in SPLITS:
            out.write_json_lines(f"{split}.jsonl", records_of(_query_rows(store, release, queries, split)))
        changes = _changes(store, release)
        for version in (*shared, *queries, *changes):
            declared = store.declaration(version.table)
            batches = (read_parquet(path) for path in version.paths())
            out.write_parquet(f"parquet/{version.table}/{version.partition}.parquet", declared.schema, batches)
        out.write_text("design.json", json.dumps(release.design.to_json(), indent=1, sort_keys=True) + "\n")
        out.write_text("README.md", _card(store, release, shared, queries, changes))
    return target


def _need(store: Store, table: str, partition: str) -> Version:
    version = store.lake.current(table, partition)
    if version is None:
        raise DesignError(f"release: {table} of {partition} is not built; build it first: tempkb release ...")
    return version


def _changes(store: Store, release: Release) -> list[Version]:
    if release.benchmark == TEMPLAMA:
        return []
    windows = release.design.windows()[1:]
    return [_need(store, "dynamic_templama_changes", partition_of(release.name, window)) for window in windows]


def _query_rows(store: Store, release: Release, queries: Sequence[Version], split: str) -> Iterator[dict[str, Any]]:
    """Rows of a split by relation, subject and date; TempLAMA's with what its files tell of the future."""
    with in_memory() as connection:
        view_files(connection, "queries", [path for one in queries for path in one.paths()])
        popular: dict[str, int] = {}
        if release.benchmark == TEMPLAMA:
            entities = store.lake.current(WIKIDATA_ENTITIES.name, release.design.dump_id)
            if entities is None:
                raise ContractError(
                    f"{WIKIDATA_ENTITIES.name} of {release.design.dump_id} is not built, so nobody can tell which "
                    f"answers are best known; read the dump again: tempkb build"
                )
            view_files(connection, "entities", entities.paths())
            popular = dict(connection.execute("SELECT entity_id, n_statements FROM entities").fetchall())
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
            yield from _with_most(group, popular)
            group = []
        group.append(row)
    yield from _with_most(group, popular)


def _of(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["relation"], row["subject_id"], row["template_no"]


def _with_most(group: list[dict[str, Any]], popular: dict[str, int]) -> list[dict[str, Any]]:
    if not popular or not group:
        return group
    named = {one["entity_id"]: {**one, "aliases": []} for row in group for one in row["answers"]}
    dated = [(row["date"], [one["entity_id"] for one in row["answers"]]) for row in group]
    frequent, recent = most_answers(dated, popular)
    return [{**row, "most_frequent_answer": named[frequent], "most_recent_answer": named[recent]} for row in group]


def _card(
    store: Store, release: Release, shared: Sequence[Version], queries: Sequence[Version], changes: Sequence[Version]
) -> str:
    row = plain_rows(read_parquet(shared[0].paths()))[0]
    with in_memory() as connection:
        view_files(connection, "queries", [path for one in queries for path in one.paths()])
        counted = connection.execute(
            "SELECT relation, count(DISTINCT subject_id), count(*) FROM queries GROUP BY relation ORDER BY relation"
        ).fetchall()
    files = plain_rows(store.read(DUMP_FILES.name, dump_id=release.design.dump_id))
    return _CARD.format(
        name=release.name,
        title="TempLAMA" if release.benchmark == TEMPLAMA else "DynamicTempLAMA",
        version=tempkb.__version__,
        dump_id=release.design.dump_id,
        dump_date=row["dump_date"],
        n_queries=sum(one.rows for one in queries),
        n_subjects=sum(n for _, n, _ in counted),
        granularity=row["granularity"],
        study_from=row["study_from"],
        study_to=row["study_to"],
        changes=_told_of(changes, release.design.changes),
        relations="\n".join(f"| {relation} | {n:,} | {m:,} |" for relation, n, m in counted),
        files="\n".join(f"| {one['dump_id']} | {escaped(one['file_name'])} | {one['checksum']} |" for one in files),
        answers="possibly" if release.design.answers == "possible" else "certainly",
        rules=release.design.rules,
        ambiguous={"qualify": "asked for by the titles of their pages", "drop": "left out", "keep": "kept"}[
            release.design.ambiguous
        ],
    )


def _told_of(changes: Sequence[Version], rule: str) -> str:
    """What a card says of changes; nothing where a release has none."""
    if not changes:
        return ""
    with in_memory() as connection:
        view_files(connection, "changes", [path for one in changes for path in one.paths()])
        counted = connection.execute(
            "SELECT change, coalesce(role, ''), count(*) FROM changes GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    counts = "\n".join(f"| {change} | {role} | {n:,} |" for change, role, n in counted)
    return _CHANGES.format(rule=rule, told=_RULES[rule], counts=counts)
