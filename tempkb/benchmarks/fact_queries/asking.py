"""Makes the metadata of queries for the UI: counts, a picture, ten queries. Does not use Dagster."""

from collections.abc import Sequence
from typing import Any

from tempkb.benchmarks.plots import plot_lines
from tempkb.engine.tasks import Picture, Rows, Shown
from tempkb.store.glance import glance
from tempkb.store.memory import asking, view_files
from tempkb.store.versions import Version


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
