"""SQL of linking: mentions counted by entity, the accuracies of linkers, and which linkers belong together.

A cell is a linker at a test: its release, pool, subset, test snapshot and category of mentions.
"""

from tempkb.linking.tables import LINKERS, LINKING_SCORES, N_TOP
from tempkb.sql_estimates.aggregates import ALL
from tempkb.sql_estimates.clustered_sql import FRACTION, SHARE, Measure, estimates
from tempkb.store.quoting import literal

KS = tuple(2**power for power in range(N_TOP.bit_length()))
"""Numbers of candidates among which the entity has to be: 1, 2, 4, 8, 16, 32 and 64."""
HITS = {k: f"h{k}" for k in KS}
"""Columns with the number of mentions whose entity is among the first k."""
ACCURACY, SIMILARITY = "accuracy", "similarity"
"""Metrics: share of mentions whose entity is among the first k; mean similarity of descriptions in the first 64."""

METRICS = {**{(ACCURACY, k): ("n", hits) for k, hits in HITS.items()}, (SIMILARITY, N_TOP): ("n_similar", "s_similar")}
"""Columns with the number of mentions and the sum of their values, by metric and k."""

_TEST = "release, linker, pool, subset, cut"

# Linkers with one setup differ only in the snapshot and the seed of their training. An untrained linker is alone in it.
_SETUP = """
    CASE WHEN model_cut IS NULL THEN linker ELSE concat(
        coalesce(preset, linker), nullif(concat(' of ', trained_on), concat(' of ', release)),
        CASE WHEN n_recipes > 1 THEN concat(' ', left(md5(recipe), 6)) END
    ) END
"""
_LINKERS = f"""
    SELECT linker, preset, release AS trained_on, recipe,
           count(DISTINCT recipe) OVER (PARTITION BY release, preset) AS n_recipes
    FROM (SELECT linker, preset, release, concat(recipe, ' ', base) AS recipe FROM {LINKERS.name})
"""

SETUPS = f"""
    SELECT DISTINCT release, linker, {_SETUP} AS setup
    FROM {LINKING_SCORES.name} LEFT JOIN ({_LINKERS}) USING (linker)
"""
"""SQL: the setup of each linker that has linked mentions of a release."""

OWN_SETUPS = f"""
    SELECT linker, {_SETUP} AS setup
    FROM (SELECT linker, release, cut AS model_cut FROM {LINKERS.name}) JOIN ({_LINKERS}) USING (linker)
"""
"""SQL: the setup of each linker at mentions of the release on which it was trained."""


def spaces(source: str = LINKING_SCORES.name) -> str:
    """Return SQL that numbers the tests of linkers, since counting and joining by numbers is several times faster."""
    return f"""
        SELECT {_TEST}, row_number() OVER (ORDER BY {_TEST}) AS test, any_value(model_cut) AS model_cut,
               any_value(seed) AS seed, any_value(n_candidates) AS n_candidates
        FROM {source} GROUP BY {_TEST}
    """


def counts(source: str = LINKING_SCORES.name, category: str = "category") -> str:
    """Return SQL that counts the mentions of each entity in each cell, and those among the first k candidates.

    A mention without a rank, such as one whose entity is no candidate, is a miss. Needs `tests`, the rows of `spaces`.

    Args:
        source: SQL with the rows of `linking_scores`.
        category: SQL of what mentions are grouped by.
    """
    # In a fixed order, so that equal scores give equal sums.
    similar = "sum(top_similarity ORDER BY anchor_page_id, start_char)"
    hits = ", ".join(f"count(*) FILTER (rank <= {k}) AS {name}" for k, name in HITS.items())
    return f"""
        SELECT test, {category} AS category, target_page_id AS cluster, count(*) AS n,
               count(*) FILTER (NOT gold_is_candidate) AS n_missing, {hits},
               count(top_similarity) AS n_similar, coalesce({similar}, 0) AS s_similar
        FROM {source} JOIN (SELECT {_TEST}, test FROM tests) USING ({_TEST}) GROUP BY ALL
    """


def accuracies() -> str:
    """Return SQL of the accuracies of cells, one row for each k, and of their mean similarity.

    There are also rows for all categories together. Needs `tests` and `counted`, the rows of `spaces` and `counts`.
    """
    named = f"CASE WHEN grouping(category) = 1 THEN '{ALL}' ELSE category END AS category"
    sums = ", ".join(f"sum({name}) AS {name}" for name in ("n", "n_similar", "s_similar", *HITS.values()))
    cells = estimates(
        f"""
        SELECT test, {named}, cluster, {sums} FROM counted
        GROUP BY GROUPING SETS ((test, category, cluster), (test, cluster))
        """,
        ("test", "category"),
        [_measure(metric, k, n, s) for (metric, k), (n, s) in METRICS.items()],
    )
    missing = f"""
        SELECT test, {named}, sum(n_missing)::BIGINT AS n_missing FROM counted
        GROUP BY GROUPING SETS ((test, category), (test))
    """
    return f"""
        SELECT release, linker, {_SETUP} AS setup, model_cut, seed, pool, subset, cut, category, metric, k,
               'micro' AS aggregate, value, standard_error, low, high, n_items, n_clusters,
               CASE metric WHEN '{ACCURACY}' THEN n_missing END AS n_missing, n_candidates
        FROM ({cells}) JOIN ({missing}) USING (test, category) JOIN tests USING (test)
        LEFT JOIN ({_LINKERS}) USING (linker)
    """


def _measure(metric: str, k: int, n: str, s: str) -> Measure:
    form = SHARE if metric == ACCURACY else FRACTION
    return Measure(n, s, n, (("metric", literal(metric)), ("k", str(k)), ("form", literal(form))))
