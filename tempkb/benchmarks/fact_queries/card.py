"""The dataset card of a release of facts, and what the UI shows of its queries: counts, a picture, ten queries."""

from collections.abc import Callable, Sequence
from typing import Any

from tempkb.benchmarks.card import Card, card_beside, plot_lines, popularity_in_words, popularity_of
from tempkb.benchmarks.fact_queries.design import Release
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS
from tempkb.benchmarks.methods import Options
from tempkb.benchmarks.register import release_files, release_versions
from tempkb.core.files import read_parquet, toml_beside
from tempkb.engine.tasks import Picture, Rows, Shown
from tempkb.store.materialise import glance
from tempkb.store.memory import asking, view_files
from tempkb.store.plain import plain_rows
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version


def _no_changes(_store: Store, _release: Release) -> str:
    return ""


def card_of(
    title: str, queries: Table, changes: Callable[[Store, Release], str] = _no_changes
) -> Callable[[Store, Release, Options], Card]:
    """Return a function that makes the card of a release."""

    def card(store: Store, release: Release, _options: Options) -> Card:
        (row,) = plain_rows(read_parquet(release_files(store, FACT_RELEASES, release.name)))
        with asking() as connection:
            view_files(connection, "queries", release_files(store, queries, release.name))
            counted = connection.execute(
                "SELECT relation, count(DISTINCT subject_id), count(*) FROM queries GROUP BY relation ORDER BY relation"
            ).fetchall()
            ((n_provisional,),) = connection.execute("SELECT count(*) FROM queries WHERE is_provisional").fetchall()
        n_queries, design = sum(n for _, _, n in counted), release.design
        most, _, n_most = max(counted, key=lambda row: row[2], default=("none", 0, 0))
        return card_beside(
            __file__,
            release_versions(store, FACT_SPELLS, release.name),
            **row,
            title=title,
            dump_id=design.dump_id,
            n_queries=n_queries,
            n_provisional=n_provisional,
            n_relations=len(counted),
            most=most,
            most_share=n_most / max(n_queries, 1),
            language=design.language,
            max_subjects=design.max_subjects,
            by=toml_beside(__file__, "card.toml")["by"][design.popularity],
            n_subjects=sum(n for _, n, _ in counted),
            aliases="" if release.preset == "paper" else ", each with its other names (`aliases`)",
            changes=changes(store, release),
            relations="\n".join(f"| {relation} | {n:,} | {m:,} |" for relation, n, m in counted),
            answers="possibly" if design.answers == "possible" else "certainly",
            rules=design.rules,
            ambiguous=toml_beside(__file__, "card.toml")["ambiguous"][design.ambiguous],
            **popularity_in_words(
                popularity_of(store, release.name, design.end, queries, ("subject_id", "s.entity_id"))
            ),
        )

    return card


def shown_of_queries(versions: Sequence[Version]) -> dict[str, Shown]:
    """Return the metadata of a release's queries: counts by relation and window, and ten queries."""
    with asking() as connection:
        view_files(connection, "queries", [path for one in versions for path in one.paths()])
        counted = connection.execute(
            "SELECT relation, date, count(*) FROM queries WHERE template_no = 1 GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        dates = [
            row[0]
            for row in connection.execute(
                "SELECT date FROM queries GROUP BY date ORDER BY min(window_start)"
            ).fetchall()
        ]
        table = connection.sql(
            """
            SELECT relation, count(*) AS queries, count(DISTINCT subject_id) AS subjects,
                   count(*) FILTER (WHERE len(answers) > 1) AS with_several_answers,
                   count(*) FILTER (WHERE is_provisional) AS provisional, any_value(query) AS such_as
            FROM queries GROUP BY relation ORDER BY queries DESC, relation
            """
        ).to_arrow_table()
        sample = connection.sql(
            """
            SELECT date, query, list_transform(answers, lambda one: one.label) AS answers, split FROM queries
            ORDER BY hash(query_id) LIMIT 10
            """
        ).to_arrow_table()
    series = _series(counted, dates)
    by_date = [sum(at) for at in zip(*series.values(), strict=True)]
    return {
        "by_relation": Rows(table),
        "glance": Picture(glance(dates, {"queries": by_date})),
        "picture": Picture(plot_lines("Queries by relation", dates, series)),
        "sample": Rows(sample),
    }


def _series(counted: Sequence[tuple[Any, ...]], dates: Sequence[str]) -> dict[str, list[int]]:
    by_key = {(name, date): n for name, date, n in counted}
    return {name: [by_key.get((name, date), 0) for date in dates] for name in sorted({row[0] for row in counted})}
