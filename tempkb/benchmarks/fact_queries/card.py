"""The dataset card of a release of facts."""

from collections.abc import Callable

from tempkb.benchmarks.card import SOURCES, Card
from tempkb.benchmarks.fact_queries.releases import Release
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS
from tempkb.benchmarks.methods import Options
from tempkb.benchmarks.register import partitions_of_release
from tempkb.store.memory import asking, view_files
from tempkb.store.plain import plain_rows
from tempkb.store.store import Store
from tempkb.store.tables import Table

_INTRO = """\
{title}, made with tempkb {{version}} from Wikidata ({dump_id}, {dump_date}): {n_queries:,} queries about
{n_subjects:,} subjects and relations, by {granularity}, from {study_from} to {study_to} (not included)."""
_COMPOSITION = """\
`train.jsonl`, `val.jsonl` and `test.jsonl` have one query per line, in the released format: `_X_` is in place of the
answer, and `answer` lists every object that held in the window{aliases}. All queries about a
subject are in the same split. `parquet/` has the tables with dates, statements and all intermediate choices, and
`design.json` the design.
{changes}
| relation | subjects | queries |
| --- | ---: | ---: |
{relations}"""
_COLLECTION = """\
From these files:

{files}

An object is an answer in a window if it {answers} held, by the dates of its statement. Dates keep the precision that
they have in Wikidata. Rules: `{rules}`."""
_USES = """\
To measure which facts language models know, and from when. Names are Wikidata's. Subjects with the same name are
{ambiguous}."""
_DISTRIBUTION = """\
Wikidata is under [CC0](https://creativecommons.org/publicdomain/zero/1.0/), and so is this dataset. Wordings of
relations are those of TempLAMA (google-research/language) and DynamicTempLAMA (amazon-science/temporal-robustness),
both Apache-2.0, and those that were added."""
_AMBIGUOUS = {"qualify": "named by the titles of their pages", "drop": "left out", "keep": "kept"}


def _no_changes(_store: Store, _release: Release) -> str:
    return ""


def card_of(
    title: str, queries: Table, changes: Callable[[Store, Release], str] = _no_changes
) -> Callable[[Store, Release, Options], Card]:
    """Return a function that makes the card of a release.

    Args:
        changes: returns the card's text about changes; empty for a benchmark without changes.
    """

    def card(store: Store, release: Release, _options: Options) -> Card:
        (row,) = plain_rows(store.read(FACT_RELEASES.name, release=release.name))
        partitions = partitions_of_release(store.lake, queries, release.name)
        with asking() as connection:
            view_files(connection, "queries", store.lake.files(queries.name, partitions))
            counted = connection.execute(
                "SELECT relation, count(DISTINCT subject_id), count(*) FROM queries GROUP BY relation ORDER BY relation"
            ).fetchall()
        design = release.design
        return Card(
            licence="cc0-1.0",
            tasks=("question-answering", "fill-mask"),
            intro=_INTRO.format(
                title=title,
                dump_id=design.dump_id,
                dump_date=row["dump_date"],
                n_queries=sum(n for _, _, n in counted),
                n_subjects=sum(n for _, n, _ in counted),
                granularity=row["granularity"],
                study_from=row["study_from"],
                study_to=row["study_to"],
            ),
            sections=(
                (
                    "Composition",
                    _COMPOSITION.format(
                        aliases="" if release.preset == "paper" else ", each with its other names (`aliases`)",
                        changes=changes(store, release),
                        relations="\n".join(f"| {relation} | {n:,} | {m:,} |" for relation, n, m in counted),
                    ),
                ),
                (
                    "Collection process",
                    _COLLECTION.format(
                        files=SOURCES,
                        answers="possibly" if design.answers == "possible" else "certainly",
                        rules=design.rules,
                    ),
                ),
                ("Uses", _USES.format(ambiguous=_AMBIGUOUS[design.ambiguous])),
                ("Distribution", _DISTRIBUTION),
            ),
            made=store.lake.versions(FACT_SPELLS.name, [release.name]),
        )

    return card
