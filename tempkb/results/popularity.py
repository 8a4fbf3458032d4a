"""Splits results by how popular entities are: thirds of the entities that a release asks about, at a cut.

Declares the view of the results of facts by these thirds.
"""

from typing import TYPE_CHECKING

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.fact_queries.reading import FIRST_WORDING, ONCE
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES
from tempkb.benchmarks.reading import PERPLEXITY_METRIC, united
from tempkb.core.estimates_sql import ALL, EXP, FRACTION, SHARE, end_of_window, estimates, pooled
from tempkb.models.scores.tables import PROMPT_SCORES
from tempkb.results.judged_tables import JUDGED_ANSWERS
from tempkb.store.quoting import literal
from tempkb.store.store import Store
from tempkb.store.tables import View
from tempkb.wiki.mentions.tables import ENTITY_POPULARITY
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS

if TYPE_CHECKING:
    from tempkb.results.answering import Question

POPULAR_BY = {"mentions": "n_inlinks", "contributors": "n_contributors"}
"""By what an entity is popular: columns of `entity_popularity`."""
LOWEST, MIDDLE, HIGHEST, UNKNOWN = THIRDS = ("lowest", "middle", "highest", "unknown")
"""Groups of entities; those without an article at the cut are in the last."""
_MEASURES = ", ".join(f"{{'popular_by': '{name}', 'n': p.{column}}}" for name, column in POPULAR_BY.items())
_NEEDS = (ENTITY_POPULARITY.name, STABLE_SNAPSHOTS.name)


def thirds(items: str) -> str:
    """Return SQL of the third of each entity: release, day, cluster_id, popular_by and popularity.

    The cut is the last at or before the day. Of the release's entities that have an article there, n in number, one is
    in the lowest third if fewer than n / 3 are less popular, else in the middle if fewer than 2 n / 3 are, else in the
    highest. So equally popular entities are together, in the lower of the thirds that they would fill.

    Args:
        items: SQL with release, day, and cluster_id: the entity (QID), or the number of its page if it has none.
    """
    return f"""
        WITH asked AS MATERIALIZED (SELECT DISTINCT release, day, cluster_id FROM ({items})),
        cuts AS (SELECT DISTINCT cut FROM {ENTITY_POPULARITY.name}),
        placed AS MATERIALIZED (SELECT a.*, c.cut FROM asked AS a ASOF LEFT JOIN cuts AS c ON a.day >= c.cut),
        counted AS (
            SELECT p.cut, coalesce(s.entity_id, s.page_id::VARCHAR) AS cluster_id,
                   unnest([{_MEASURES}], max_depth := 2)
            FROM {ENTITY_POPULARITY.name} AS p JOIN {STABLE_SNAPSHOTS.name} AS s USING (cut, page_id)
            WHERE p.cut IN (SELECT cut FROM placed)
              AND coalesce(s.entity_id, s.page_id::VARCHAR) IN (SELECT cluster_id FROM asked)
        ), known AS (
            SELECT release, cut, cluster_id, popular_by, max(n) AS n
            FROM (SELECT DISTINCT release, cut, cluster_id FROM placed) JOIN counted USING (cut, cluster_id)
            GROUP BY ALL
        ), ranked AS (
            SELECT release, cut, cluster_id, popular_by, 3 * (rank() OVER (same ORDER BY n) - 1) AS below,
                   count(*) OVER same AS n
            FROM known WINDOW same AS (PARTITION BY release, cut, popular_by)
        )
        SELECT p.release, p.day, p.cluster_id, m.popular_by,
               CASE WHEN below < n THEN '{LOWEST}' WHEN below < 2 * n THEN '{MIDDLE}' WHEN below >= 2 * n
                    THEN '{HIGHEST}' ELSE '{UNKNOWN}' END AS popularity
        FROM placed AS p CROSS JOIN (SELECT unnest([{", ".join(map(literal, POPULAR_BY))}]) AS popular_by) AS m
        LEFT JOIN ranked AS r USING (release, cut, cluster_id, popular_by)
    """


def read_thirds(store: Store, question: "Question", popular_by: str) -> dict[str, list[int]]:
    """Return the clusters of the items of a question's window, as scores have them, by the third of their entity."""
    first, end = question.window
    items = f"""
        SELECT '' AS release, DATE '{end}' AS day, cluster_id
        FROM ({question.aggregate.items.format(release=literal(question.release))})
        WHERE from_day >= DATE '{first}' AND to_day <= DATE '{end}'
    """
    rows = store.ask(
        f"SELECT popularity, hash(cluster_id) AS cluster FROM ({thirds(items)}) WHERE popular_by = '{popular_by}'",
        *question.aggregate.needs,
        *_NEEDS,
    )
    return {name: [row["cluster"] for row in rows if row["popularity"] == name] for name in THIRDS}


_FACTS = united([one.reading.facts for one in BENCHMARKS if one.reading and one.reading.facts])
_QUERIES = [one.reading.queries.name for one in BENCHMARKS if one.reading and one.reading.queries]
_ASKED = " UNION ALL ".join(
    f"SELECT release, {end_of_window('window_start', 'granularity')} AS day, subject_id AS cluster_id FROM {name}"
    for name in _QUERIES
)
# By subject and window: of numbers, how many there are and their sum.
_SUMS = f"""
    SELECT release, model, scorer, window_start, subject_id AS cluster_id, {PERPLEXITY_METRIC} AS metric,
           'ppl_token' AS aggregate, '{EXP}' AS form, sum(n_tokens) AS n, sum(nats) AS s, count(*) AS items
    FROM (
        FROM ({_FACTS.query}) QUALIFY row_number() OVER (
            PARTITION BY model, scorer, release, subject_id, relation, object_id, window_start ORDER BY {FIRST_WORDING}
        ) = 1
    ) GROUP BY ALL
    UNION ALL BY NAME
    SELECT release, model, scorer, window_start, cluster_id, metric, aggregate, form, count(value) AS n,
           sum(value) AS s, n AS items
    FROM (
        SELECT release, model, scorer, change_from AS window_start, subject_id AS cluster_id,
               'share of changes' AS metric, '{SHARE}' AS form, unnest([
                   {{'aggregate': 'prefers_new', 'value': (preference_nats > 0)::DOUBLE}},
                   {{'aggregate': 'control_prefers_new', 'value': (control_preference_nats > 0)::DOUBLE}}
               ], max_depth := 2)
        FROM scored_changes
        UNION ALL BY NAME
        SELECT release, model, decoder AS scorer, window_start, cluster_id, unnest([
            {{'aggregate': 'exact_match', 'value': exact_match, 'metric': 'share of items', 'form': '{SHARE}'}},
            {{'aggregate': 'f1', 'value': f1, 'metric': 'mean of items', 'form': '{FRACTION}'}}], max_depth := 2)
        FROM {JUDGED_ANSWERS.name} WHERE wording = '{ONCE}'
    ) GROUP BY ALL HAVING n > 0
"""
_GROUPS = ("release", "model", "scorer", "metric", "aggregate", "popular_by", "popularity")
_EVERY = {"popularity": f"'{ALL}'", "window_start": "NULL"}

RESULTS_BY_POPULARITY = View(
    name="results_by_popularity",
    meaning="Results of facts by the popularity of the subjects: prefers_new and control_prefers_new (as in "
    "prefers_new, all pairs), ppl_token (as in templama_results and dynamic_templama_results, each answer once, by the "
    "benchmark's own templates), exact_match and f1 (as in answer_results), over all splits, by window (null: all "
    "windows). popular_by: mentions (in other articles) or contributors, as in entity_popularity at the last cut "
    "at or before the end of the window. popularity: lowest, middle or highest third of the subjects of the release's "
    "queries at that cut, unknown (no article there, or no cut), or all. A subject is in the lowest third if fewer "
    "than a third of those with an article are less popular, else in the middle one if fewer than two thirds are; so "
    "equally popular ones are together. Over all windows a subject counts in the third of each window. scorer is "
    "the scorer, or of answers the decoder. Clusters are subjects.",
    query=f"""
    WITH sums AS MATERIALIZED (
        SELECT s.*, {end_of_window("window_start", "r.granularity")} AS day
        FROM ({_SUMS}) AS s JOIN {FACT_RELEASES.name} AS r USING (release)
    ), placed AS (
        SELECT {", ".join(_GROUPS)}, window_start, cluster_id AS cluster, form, n, s, items
        FROM sums JOIN ({thirds(_ASKED)}) USING (release, day, cluster_id)
    )
    SELECT *, '{ALL}' AS split
    FROM ({estimates(pooled("FROM placed", (*_GROUPS[:-1], "form", "cluster"), _EVERY), (*_GROUPS, "window_start"))})
    """,
    needs=(FACT_RELEASES.name,),
    optional=(PROMPT_SCORES.name, "scored_changes", JUDGED_ANSWERS.name, *_QUERIES, *_FACTS.needs, *_NEEDS),
)
