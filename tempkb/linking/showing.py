"""What a run shows of a linker: the curves of its training, and mentions with their first candidates."""

from collections.abc import Mapping

import pyarrow as pa

from tempkb.benchmarks.plots import plot_means
from tempkb.benchmarks.register import release_version
from tempkb.linking.asked import linkable_of
from tempkb.linking.tables import LINKING_SCORES, parts_of
from tempkb.linking.training.lessons import Course
from tempkb.store.memory import asking
from tempkb.store.quoting import parquet
from tempkb.store.store import Store

_N_SAMPLE = 10
_N_BEST = 3
_AROUND = 60  # characters on either side of a mention


def curves(course: Course) -> Mapping[str, str]:
    """Return Markdown images of a training: its loss by step, and its accuracy by epoch."""
    drawn = {"loss": course.losses, "validation accuracy": course.validation}
    return {
        title: plot_means(f"{title} of the training", [f"{at:g}" for at, _ in points], {title: [y for _, y in points]})
        for title, points in drawn.items()
        if points
    }


def sample(store: Store, partition: str) -> pa.Table:
    """Return some mentions with the entities that come first; of the same scores always the same."""
    _, release, cut, pool = parts_of(partition)
    tables = linkable_of(store.home, release)
    scores = store.lake.files(LINKING_SCORES.name, [partition])
    # A pool is named by the day of the snapshot whose candidates it has, unless it is of the mentions' own.
    places = [(tables.mentions, cut), (tables.entities, pool), (tables.entities, cut)]
    found = (release_version(store, table, release, f"{release}.{day}") for table, day in places)
    mentions, entities, *_ = (version.paths() for version in found if version is not None)
    with asking() as memory:
        return memory.sql(
            f"""
            WITH chosen AS (
                SELECT concat(right(context_left, {_AROUND}), '[', mention, ']', left(context_right, {_AROUND}))
                       AS mention, target_title AS entity, m.category, rank, s.top_page_ids[1:{_N_BEST}] AS pages,
                       list_transform(s.top_scores[1:{_N_BEST}], lambda score: round(score, 2)) AS scores,
                       md5(concat_ws(' ', target_page_id, anchor_page_id, start_char)) AS chance
                FROM {parquet(scores)} AS s JOIN {parquet(mentions)} AS m
                USING (target_page_id, anchor_page_id, start_char) ORDER BY chance LIMIT {_N_SAMPLE}
            ),
            titles AS (
                SELECT chance, list(title ORDER BY place) AS first_candidates
                FROM (SELECT chance, unnest(pages) AS page_id, generate_subscripts(pages, 1) AS place FROM chosen)
                JOIN {parquet(entities)} USING (page_id) GROUP BY chance
            )
            SELECT mention, entity, category, rank, first_candidates, scores
            FROM chosen LEFT JOIN titles USING (chance) ORDER BY chance
            """
        ).to_arrow_table()
