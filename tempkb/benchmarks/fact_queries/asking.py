"""What an asset reports of the queries of a release: counts, a picture, ten questions. No Dagster here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tempkb.benchmarks.plots import plot_lines
from tempkb.store.lake import Version
from tempkb.store.memory import in_memory, view_files


@dataclass(frozen=True)
class Told:
    """What is told of the queries of a release.

    Attributes:
        by_relation: counts and an example, a row per relation.
        sample: ten queries with their answers.
        dates: of the windows, oldest first.
        by_date: queries of each window.
        picture: a Markdown image of the queries by relation.
    """

    by_relation: pa.Table
    sample: pa.Table
    dates: list[str]
    by_date: list[int]
    picture: str


def told_of_queries(versions: Sequence[Version]) -> Told:
    """Return what is told of the queries of a release."""
    with in_memory() as connection:
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
    return Told(table, sample, dates, by_date, plot_lines("Queries by relation", dates, series))


def _series(counted: Sequence[tuple[Any, ...]], dates: Sequence[str]) -> dict[str, list[int]]:
    by_key = {(name, date): n for name, date, n in counted}
    return {name: [by_key.get((name, date), 0) for date in dates] for name in sorted({row[0] for row in counted})}
