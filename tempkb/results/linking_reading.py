"""What `tempkb linking` says beside the paper's tables: figures that follow from them, and what they cannot tell."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tempkb.core.errors import SettingsError
from tempkb.core.wording import in_points, rounded
from tempkb.models.linking.tables import LINKING_SCORES
from tempkb.results.linking_sql import KS
from tempkb.results.tables import LINKING_SUMS
from tempkb.results.views import LINKING_ACCURACY, LINKING_BY_TRAINING, LINKING_BY_TYPE, LINKING_CHANGES, OF_LINKING
from tempkb.store.listings import Listing, estimate, named
from tempkb.store.quoting import literal, literals
from tempkb.store.store import Store

TABLES = {k: f"table-{number}" for number, k in enumerate(KS, 7)} | {KS[-1]: "table-2"}
"""TempEL's table of accuracies by number of candidates among which the entity has to be."""


def _difference(row: Mapping[str, Any]) -> str:
    show = in_points if row["metric"] == "accuracy" else partial(rounded, digits=3, sign="+")
    return estimate(row, show=show)


FIGURES = Listing(
    named("release", "linkers", "mentions", "figure", points=_difference, entities="n_clusters", seeds="n_seeds"),
    "differences of accuracy@{k} in points (pool {pool})",
    "In-snapshot: trained on the snapshot of the test; out-of-snapshot: on others. Intervals are 95 %, clustered by "
    "entity; there is none under ten entities, or if all agree exactly. With one seed they hold for these very "
    "linkers: another training would give other numbers.",
    query=f"""
    WITH typed AS (
        SELECT *, max(type_by = 'paper' AND entity_type <> 'other') OVER (PARTITION BY release, setup) AS has_types
        FROM {LINKING_BY_TYPE.name} WHERE {{of}}
    ), every AS (
        FROM {LINKING_CHANGES.name} WHERE {{of}}
        UNION ALL BY NAME
        SELECT * REPLACE ('new, ' || entity_type AS category)
        FROM typed WHERE type_by = if(has_types, 'paper', 'origin')
    )
    SELECT release, setup AS linkers, category AS mentions, metric, value, low, high, n_clusters, n_seeds,
           CASE aggregate WHEN 'in_minus_out' THEN 'in-snapshot minus out-of-snapshot'
           WHEN 'out_minus_in' THEN
               concat('trained one snapshot ', if(steps < 0, 'before', 'after'), ' the test, minus in-snapshot')
           ELSE concat(if(metric = 'similarity', 'similarity of the first 64 candidates ', ''), 'from ', from_cut,
                       ' to ', cut) END AS figure
    FROM every
    WHERE (aggregate = 'change' OR aggregate = 'in_minus_out' AND cut IS NULL
           OR aggregate = 'out_minus_in' AND steps IN (-1, 1))
      AND if(metric = 'accuracy', k = {{k}}, aggregate = 'change' AND category = 'continual' AND n_seeds > 0)
    QUALIFY aggregate <> 'change' OR cut = max(cut) OVER (PARTITION BY release, aggregate)
    ORDER BY release, setup, aggregate, metric, steps, entity_type NULLS FIRST, category
    """,
    needs=(LINKING_CHANGES.name, LINKING_BY_TYPE.name),
    common=("release",),
)
LIMITS = Listing(
    query=f"""
    SELECT concat('No linker was trained on a snapshot of ', release, ', so that in- and out-of-snapshot cannot be ',
                  'compared: tempkb linker train ', release) AS line
    FROM {LINKING_BY_TRAINING.name} WHERE {{of}} GROUP BY release HAVING count(model_cut) = 0
    UNION ALL
    SELECT concat('Of ', format('{{{{:,}}}}', max(n_items)), ' mentions of ', cut, ' (', release, '), the entities of ',
                  format('{{{{:,}}}}', max(n_missing)), ' are no candidates; they count as misses.')
    FROM {LINKING_ACCURACY.name} WHERE {{of}} AND k = 1 AND category = 'all' AND n_missing > 0 GROUP BY release, cut
    QUALIFY row_number() OVER (PARTITION BY release ORDER BY max(n_missing) DESC, cut DESC) = 1
    UNION ALL
    SELECT concat('Candidates of ', release, ' are ', format('{{{{:,}}}}', arg_min(n_candidates, cut)),
                  ' at the first snapshot and ', format('{{{{:,}}}}', arg_max(n_candidates, cut)), ' at the last: ',
                  'more candidates alone make linking harder. A fixed pool has as many at each: tempkb linker score ',
                  '--all --pool fixed')
    FROM {LINKING_ACCURACY.name} WHERE {{of}} AND pool = 'own' GROUP BY release HAVING count(DISTINCT n_candidates) > 1
    """,
    needs=(LINKING_BY_TRAINING.name, LINKING_ACCURACY.name),
)
EVERY = Listing(
    query=" UNION ALL BY NAME ".join(
        f"SELECT '{one.name}' AS view, * FROM {one.name} WHERE {{of}}" for one in OF_LINKING
    )
    + " ORDER BY ALL",
    needs=tuple(one.name for one in OF_LINKING),
)


def linked(store: Store, releases: Sequence[str], pool: str, k: int) -> dict[str, object]:
    """Return the words of the queries about what linkers make of test mentions.

    Args:
        store: of the home.
        releases: names; empty for all of which there are results in this pool.
        pool: as in `linking_scores`.
        k: one of `KS`.

    Raises:
        SettingsError: there is no such k, release or pool, or no results at all.
    """
    if k not in KS:
        raise SettingsError(f"--k {k}: expected one of {', '.join(map(str, KS))}")
    there = _there(store)
    if not there:
        made = "results" if store.lake.versions(LINKING_SCORES.name) else "linker score --all"
        raise SettingsError(f"linking: found no results of linkers; make them: tempkb {made}")
    if odd := sorted(set(releases) - {release for release, _ in there}):
        known = ", ".join(sorted({release for release, _ in there}))
        raise SettingsError(f"--release {odd[0]}: no linker has linked its test mentions; there: {known}")
    lacking = sorted(release for release in releases if (release, pool) not in there)
    if lacking or pool not in {one for _, one in there}:
        raise _no_such_pool(pool, lacking[0] if lacking else "", there)
    of = f"pool = {literal(pool)} AND subset = 'test'"
    return {"k": k, "pool": pool, "of": of + (f" AND release IN ({literals(releases)})" if releases else "")}


def _no_such_pool(pool: str, release: str, there: set[tuple[str, str]]) -> SettingsError:
    """The error for a pool in which a release was not linked; no release is named if there is none that was."""
    known = ", ".join(sorted({one for of, one in there if of == (release or of)}))
    which, only = (f" of {release}", f" --release {release}") if release else ("", "")
    return SettingsError(
        f"--pool {pool}: no test mention{which} was linked among its candidates; there: {known}; link them: "
        f"tempkb linker score --all{only} --pool {pool}"
    )


def _there(store: Store) -> set[tuple[str, str]]:
    """The releases and pools in which test mentions were linked."""
    rows = store.ask(f"SELECT DISTINCT release, pool FROM {LINKING_SUMS.name} WHERE subset = 'test'", LINKING_SUMS.name)
    return {(row["release"], row["pool"]) for row in rows}
