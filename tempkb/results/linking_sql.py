"""SQL that the views of linking share: accuracies of linkers, and weighted sums of accuracies with their errors.

A cell is a linker at a test: its release, pool, subset, test snapshot and category of mentions. Every figure beyond the
cells themselves is a weighted sum of accuracies: the mean over seeds, a change between snapshots, in-snapshot minus
out-of-snapshot. Its value follows from the rows of accuracies alone; its error from the mentions, paired by entity.
"""

from collections.abc import Iterable

from tempkb.linking.tables import LINKERS, LINKING_SCORES, N_TOP
from tempkb.sql_estimates.aggregates import ALL
from tempkb.sql_estimates.clustered_sql import MEAN, SHARE, Measure, estimates, expanded
from tempkb.sql_estimates.conventions import MIN_CLUSTERS, ROUNDING
from tempkb.store.quoting import literal

KS = tuple(2**power for power in range(N_TOP.bit_length()))
"""Numbers of candidates among which the entity has to be: 1, 2, 4, 8, 16, 32 and 64."""
HITS = {k: f"h{k}" for k in KS}
"""Columns with the number of mentions whose entity is among the first k."""
ACCURACY, SIMILARITY = "accuracy", "similarity"
"""Metrics: share of mentions whose entity is among the first k; mean similarity of descriptions in the first 64."""

_TEST = "release, linker, pool, subset, cut"
_GROUP = "release, setup, pool, subset, category"
_SAME_MODEL = "model_cut IS NOT DISTINCT FROM"

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
    hits = ", ".join(f"count(*) FILTER (rank <= {k}) AS {name}" for k, name in HITS.items())
    return f"""
        SELECT test, {category} AS category, target_page_id AS cluster, count(*) AS n,
               count(*) FILTER (NOT gold_is_candidate) AS n_missing, {hits},
               count(top_similarity) AS n_similar, coalesce(sum(top_similarity), 0) AS s_similar
        FROM {source} JOIN (SELECT {_TEST}, test FROM tests) USING ({_TEST}) GROUP BY ALL
    """


def accuracies(*, with_all: bool) -> str:
    """Return SQL of the accuracies of cells, one row for each k, and of their mean similarity.

    Needs `tests` and `counted`, the rows of `spaces` and `counts`.

    Args:
        with_all: whether there are also rows for all categories together.
    """
    named = f"CASE WHEN grouping(category) = 1 THEN '{ALL}' ELSE category END AS category"
    sums = ", ".join(f"sum({name}) AS {name}" for name in ("n", "n_similar", "s_similar", *HITS.values()))
    cells = estimates(
        f"""
        SELECT test, {named}, cluster, {sums} FROM counted
        GROUP BY GROUPING SETS ((test, category, cluster){", (test, cluster)" if with_all else ""})
        """,
        ("test", "category"),
        [
            *(_measure("n", hits, ACCURACY, k, SHARE) for k, hits in HITS.items()),
            _measure("n_similar", "s_similar", SIMILARITY, N_TOP, MEAN),
        ],
    )
    missing = f"""
        SELECT test, {named}, sum(n_missing)::BIGINT AS n_missing FROM counted
        GROUP BY GROUPING SETS ((test, category){", (test)" if with_all else ""})
    """
    return f"""
        SELECT release, linker, {_SETUP} AS setup, model_cut, seed, pool, subset, cut, category, metric, k,
               'micro' AS aggregate, value, standard_error, low, high, n_items, n_clusters,
               CASE metric WHEN '{ACCURACY}' THEN n_missing END AS n_missing, n_candidates
        FROM ({cells}) JOIN ({missing}) USING (test, category) JOIN tests USING (test)
        LEFT JOIN ({_LINKERS}) USING (linker)
    """


def _measure(n: str, s: str, metric: str, k: int, form: str) -> Measure:
    return Measure(n, s, n, (("metric", literal(metric)), ("k", str(k)), ("form", literal(form))))


SPOTS = f"""
    SELECT {_GROUP}, model_cut, cut, count(*) AS n_linkers, max(n_items) AS size FROM cells GROUP BY ALL
"""
"""SQL: the tests of the linkers of one setup and training snapshot, over whose seeds is averaged."""


def _rows(source: str, aggregate: str, weight: str, **more: str) -> str:
    """SQL: weights of spots; what is not said of a sum is null."""
    said = {"own_cut": "NULL::DATE", "at_cut": "cut", "from_cut": "NULL::DATE", "steps": "NULL::INTEGER", **more}
    named = ", ".join(f"{value} AS {name}" for name, value in said.items())
    return f"SELECT {_GROUP}, '{aggregate}' AS aggregate, {named}, model_cut, cut, {weight} AS weight FROM ({source})"


def united(parts: Iterable[str]) -> str:
    """Return SQL of the rows of all parts."""
    return " UNION ALL BY NAME ".join(f"FROM ({part})" for part in parts)


def in_and_out(size: str) -> str:
    """Return SQL of the weights of in-snapshot and out-of-snapshot accuracy, by test snapshot and over all of them.

    In-snapshot is the linker trained on the snapshot of the test; out-of-snapshot is the mean of all others. Over all
    tests only those count that have both, so that the two are of the same mentions.

    Args:
        size: SQL of the weight of a test among all tests: 1, or `size` for its number of mentions.
    """
    placed = f"""
        SELECT *, model_cut = cut AS is_in, count(*) FILTER (model_cut = cut) OVER same AS n_in,
               count(*) FILTER (model_cut <> cut) OVER same AS n_out
        FROM spots WHERE model_cut IS NOT NULL WINDOW same AS (PARTITION BY {_GROUP}, cut)
    """
    both = f"""
        SELECT *, {size} / (sum({size}) FILTER (is_in) OVER (PARTITION BY {_GROUP})) AS share
        FROM ({placed}) WHERE n_in > 0 AND n_out > 0
    """
    every = "NULL::DATE"
    return united(
        (
            _rows(f"FROM ({placed}) WHERE is_in", "in_snapshot", "1.0"),
            _rows(f"FROM ({placed}) WHERE NOT is_in", "out_of_snapshot", "1 / n_out"),
            _rows(both, "in_minus_out", "CASE WHEN is_in THEN 1 ELSE -1 / n_out END"),
            _rows(f"FROM ({both}) WHERE is_in", "in_snapshot", "share", at_cut=every),
            _rows(f"FROM ({both}) WHERE NOT is_in", "out_of_snapshot", "share / n_out", at_cut=every),
            _rows(both, "in_minus_out", "CASE WHEN is_in THEN share ELSE -share / n_out END", at_cut=every),
        )
    )


_FROM_FIRST = f"""
    SELECT one.*, first.cut AS first_cut FROM spots AS one
    JOIN (FROM spots QUALIFY cut = min(cut) OVER (PARTITION BY {_GROUP})) AS first
      ON {" AND ".join(f"one.{name} = first.{name}" for name in _GROUP.split(", "))}
     AND one.{_SAME_MODEL} first.model_cut
    WHERE one.cut > first.cut
"""


def _change(aggregate: str, models: str) -> str:
    """SQL: the weights of the change from the first test to each later one, a mean over models that have both."""
    later = f"""
        SELECT *, count(*) OVER (PARTITION BY {_GROUP}, cut) AS n_models FROM ({_FROM_FIRST}) WHERE {models}
    """
    both = f"""
        SELECT *, cut AS to_cut, 1 / n_models AS weight FROM ({later})
        UNION ALL BY NAME
        SELECT * REPLACE (first_cut AS cut), cut AS to_cut, -1 / n_models AS weight FROM ({later})
    """
    return _rows(both, aggregate, "weight", at_cut="to_cut", from_cut="first_cut")


# A release's tests and a setup's own trainings: days of other setups, such as those trained on another release, lie in
# between for these only.
_PLACES = """
    SELECT release, setup, day, row_number() OVER (PARTITION BY release, setup ORDER BY day) AS place FROM (
        SELECT release, setup, cut AS day
        FROM (SELECT DISTINCT release, setup FROM spots) JOIN (SELECT DISTINCT release, cut FROM spots) USING (release)
        UNION SELECT release, setup, model_cut FROM spots WHERE model_cut IS NOT NULL
    )
"""
_PLACED = "{0}.release = other.release AND {0}.setup = other.setup"
_OFF_DIAGONAL = f"""
    SELECT other.*, trained.place - tested.place AS steps,
           count(*) OVER (PARTITION BY {", ".join(f"other.{name}" for name in _GROUP.split(", "))}, steps) AS n_pairs
    FROM spots AS other
    JOIN (FROM spots WHERE model_cut = cut) AS own
      ON {" AND ".join(f"other.{name} = own.{name}" for name in _GROUP.split(", "))} AND other.cut = own.cut
    JOIN ({_PLACES}) AS trained ON {_PLACED.format("trained")} AND trained.day = other.model_cut
    JOIN ({_PLACES}) AS tested ON {_PLACED.format("tested")} AND tested.day = other.cut
    WHERE other.model_cut <> other.cut
"""

BY_TEST = united(
    (
        _rows(
            f"SELECT *, count(*) OVER (PARTITION BY {_GROUP}, cut) AS n_models FROM spots",
            "mean_of_models",
            "1 / n_models",
        ),
        _change("change", "true"),
        _change("change_of_later_models", "model_cut > first_cut"),
        in_and_out("1"),
        _rows(
            f"""
            SELECT *, 1 / n_pairs AS weight FROM ({_OFF_DIAGONAL})
            UNION ALL BY NAME
            SELECT * REPLACE (cut AS model_cut), -1 / n_pairs AS weight FROM ({_OFF_DIAGONAL})
            """,
            "out_minus_in",
            "weight",
            at_cut="NULL::DATE",
            steps="steps",
        ),
    )
)
"""SQL of the weights of the figures that put models together."""

_OWN = """
    SELECT *, model_cut AS own_cut, cut AS to_cut, 1.0 AS weight FROM spots
    WHERE model_cut IS NOT NULL AND cut <> model_cut
      AND (release, setup, pool, subset, category, model_cut) IN (
          SELECT (release, setup, pool, subset, category, model_cut) FROM spots WHERE model_cut = cut)
"""
BY_MODEL = united(
    (
        _rows("FROM spots", "mean_of_seeds", "1.0", own_cut="model_cut"),
        _rows(
            f"FROM ({_OWN}) UNION ALL BY NAME SELECT * REPLACE (model_cut AS cut, -1.0 AS weight) FROM ({_OWN})",
            "minus_own_snapshot",
            "weight",
            own_cut="own_cut",
            at_cut="to_cut",
            from_cut="own_cut",
        ),
    )
)
"""SQL of the weights of each training snapshot at each test: a mean over seeds, and its difference to the own test."""


def weighted_sums(counted: str, accuracy: str, weights: str, *, is_pooled: bool = False) -> str:
    """Return SQL of weighted sums of accuracies, with errors by entity and by seed of training.

    With ψ_e = Σ weight · (hits_e - accuracy · mentions_e) / mentions over the cells that an entity e occurs in, the
    variance by entity is C/(C-1) · Σ ψ_e², so that mentions that several models link are paired. Seeds are a random
    factor: for each training snapshot the sample variance of what its S seeds contribute, over S, is added, provided
    that all training snapshots have several. Linkers of one seed are averaged, as they are one draw. Degrees of freedom
    are those of Satterthwaite.

    Args:
        counted: SQL with the rows of `counts`.
        accuracy: SQL with the rows of `accuracies`, or any rows of accuracies; cells without mentions have no errors.
        weights: SQL of the weights, over `spots`.
        is_pooled: whether errors are around the mean of all cells of one sign, as where their mentions are put
            together, and not around each cell's own accuracy, as where each cell has a weight of its own.

    Returns:
        SQL with the columns of a sum, metric, k, value, standard_error, seed_error, low, high, n_items, n_clusters,
        n_linkers and n_seeds.
    """
    metrics = [*((f"h{k}", "n", f"m{k}", ACCURACY, k) for k in KS), ("s_similar", "n_similar", "ms", SIMILARITY, N_TOP)]
    centres = ", ".join(
        f"max(value) FILTER (metric = '{metric}' AND k = {k}) AS {mean}" for _, _, mean, metric, k in metrics
    )
    pooled = ", ".join(
        f"sum(weight * {mean}) OVER side / sum(weight) OVER side AS {mean}" for _, _, mean, _, _ in metrics
    )
    deviations = ", ".join(
        f"sum(weight * (c.{hits} - {mean} * c.{n}) / n_of_{'similarity' if metric == SIMILARITY else 'cell'}) AS {mean}"
        for hits, n, mean, metric, _ in metrics
    )
    variances = ", ".join(
        f"{{'metric': '{metric}', 'k': {k}, 'v': sum({mean} * {mean})}}" for _, _, mean, metric, k in metrics
    )
    around = f"SELECT * REPLACE ({pooled}) FROM centres WINDOW side AS (PARTITION BY id, weight > 0)"
    return f"""
    WITH tests AS MATERIALIZED ({spaces()}), counted AS MATERIALIZED ({counted}),
    accuracy AS MATERIALIZED ({accuracy}), cells AS MATERIALIZED (
        SELECT {_GROUP}, model_cut, seed, linker, cut, max(n_items) AS n_items FROM accuracy
        WHERE metric = '{ACCURACY}' AND category <> '{ALL}' GROUP BY ALL
    ),
    spots AS MATERIALIZED ({SPOTS}),
    weights AS ({weights}),
    weighted AS MATERIALIZED (
        SELECT *, dense_rank() OVER (ORDER BY {_GROUP}, aggregate, own_cut, at_cut, from_cut, steps) AS id
        FROM (
            SELECT {_GROUP}, aggregate, own_cut, at_cut, from_cut, steps, model_cut, cut, sum(weight) AS weight
            FROM weights GROUP BY ALL
        )
    ),
    long AS MATERIALIZED (
        SELECT id, w.release, w.category, w.pool, w.subset, w.cut, w.model_cut, cells.seed, cells.linker, metric, k,
               value, a.n_items, s.n_linkers, weight / s.n_linkers AS weight,
        FROM weighted AS w
        JOIN spots AS s ON {_joined("w", "s", f"{_GROUP}, cut")} AND w.{_SAME_MODEL} s.model_cut
        JOIN cells ON {_joined("w", "cells", f"{_GROUP}, cut")} AND w.{_SAME_MODEL} cells.model_cut
        JOIN accuracy AS a ON {_joined("cells", "a", f"{_TEST}, category")}
    ),
    sums AS (
        SELECT id, metric, k, sum(weight * value) AS value, sum(n_items)::BIGINT AS n_items,
               count(DISTINCT linker) AS n_linkers
        FROM long GROUP BY id, metric, k QUALIFY count(value) = max(count(*)) OVER (PARTITION BY id)
    ),
    trainings AS (
        SELECT id, metric, k, model_cut, count(*) AS n, var_samp(part) / count(*) AS v FROM (
            SELECT id, metric, k, model_cut, seed, avg(part) AS part FROM (
                SELECT id, metric, k, model_cut, seed, linker, sum(weight * n_linkers * value) AS part
                FROM long WHERE model_cut IS NOT NULL GROUP BY ALL
            ) GROUP BY ALL
        ) GROUP BY ALL
    ),
    seeds AS (
        SELECT id, metric, k, min(n) AS n_seeds, CASE WHEN min(n) > 1 THEN sum(v) END AS v_seeds,
               CASE WHEN min(n) > 1 THEN sum(v * v / (n - 1)) END AS spread_of_seeds
        FROM trainings GROUP BY ALL
    ),
    centres AS (
        SELECT id, test, category, any_value(weight) AS weight,
               max(n_items) FILTER (metric = '{ACCURACY}') AS n_of_cell,
               max(n_items) FILTER (metric = '{SIMILARITY}') AS n_of_similarity, {centres}
        FROM long JOIN (SELECT {_TEST}, test FROM tests) USING ({_TEST}) GROUP BY id, test, category
    ),
    entities AS (
        SELECT id, cluster, bool_or(weight > 0) AS is_plus, bool_or(weight < 0) AS is_minus, {deviations}
        FROM ({around if is_pooled else "FROM centres"}) JOIN counted AS c USING (test, category)
        GROUP BY id, cluster
    ),
    errors AS (
        SELECT id, n, n_clusters, unnest(variances, max_depth := 2) FROM (
            SELECT id, count(*) AS n,
                   coalesce(least(count(*) FILTER (is_plus), nullif(count(*) FILTER (is_minus), 0)), count(*))
                       AS n_clusters,
                   [{variances}] AS variances
            FROM entities GROUP BY id
        )
    ),
    estimated AS (
        SELECT id, metric, k, value, n_items, n_linkers, n_seeds, coalesce(n_clusters, 0) AS n_clusters,
               CASE WHEN n > 1 THEN CASE WHEN v <= {ROUNDING} ** 2 THEN 0 ELSE v * n / (n - 1) END END AS v_items,
               CASE WHEN v_seeds <= {ROUNDING} ** 2 THEN 0 ELSE v_seeds END AS v_seeds, spread_of_seeds
        FROM sums LEFT JOIN errors USING (id, metric, k) LEFT JOIN seeds USING (id, metric, k)
    ),
    freed AS (
        SELECT *, sqrt(v_items + coalesce(v_seeds, 0)) AS standard_error, sqrt(v_seeds) AS seed_error,
               (v_items + coalesce(v_seeds, 0)) ** 2
                   / nullif(v_items ** 2 / (n_clusters - 1) + coalesce(spread_of_seeds, 0), 0) AS freedom
        FROM estimated
    )
    SELECT release, setup, pool, subset, category, aggregate, own_cut, at_cut, from_cut, steps, metric, k, value,
           standard_error, seed_error, CASE WHEN has_interval THEN value - half END AS low,
           CASE WHEN has_interval THEN value + half END AS high, n_items, n_clusters, n_linkers, n_seeds
    FROM (
        SELECT *, n_clusters >= {MIN_CLUSTERS} AND standard_error > 0 AS has_interval,
               {_t_975_of("freedom")} * standard_error AS half
        FROM freed
    )
    JOIN (SELECT DISTINCT id, {_GROUP}, aggregate, own_cut, at_cut, from_cut, steps FROM weighted) USING (id)
    """


def _t_975_of(freedom: str) -> str:
    """SQL for the 97.5 % quantile of t; the number of degrees of freedom is rounded down below nine."""
    few = "[12.706204736432095, 4.302652729911275, 3.182446305284263, 2.7764451051977987, 2.5705818366147395, "
    few += "2.4469118487916806, 2.3646242510102993, 2.306004135033371]"
    return f"CASE WHEN {freedom} >= 9 THEN {expanded(freedom)} ELSE {few}[greatest(1, floor({freedom}))::INTEGER] END"


def _joined(one: str, other: str, columns: str) -> str:
    return " AND ".join(f"{one}.{name} = {other}.{name}" for name in columns.split(", "))
