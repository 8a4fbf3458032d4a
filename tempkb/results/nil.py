"""Computes how well linkers tell that the entity of a mention is not there yet. No Dagster here."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tempkb.core.statistics.calibration import clustered_auc, permuted_aucs
from tempkb.core.statistics.estimates import (
    Codes,
    Estimate,
    Sums,
    as_share,
    clustered_mean,
    codes,
    floats,
    proportion,
    ratio_mean,
    summed,
)
from tempkb.engine.steps import Work
from tempkb.models.linking.nil import VALUES, p_values, scores_of_earlier
from tempkb.models.linking.tables import LINKING_SCORES, MEASURES, NIL_THRESHOLDS, linker_of, parts_of
from tempkb.results.tables import NIL_RESULTS
from tempkb.store.memory import asking, declared_rows
from tempkb.store.quoting import parquet
from tempkb.store.store import Store
from tempkb.store.versions import Version

_Row = Mapping[str, Any]
Bools = NDArray[np.bool_]
Mentions = Mapping[str, NDArray[Any]]
"""Columns of test mentions of a linker: `values` of the measure, with a threshold their `p`, `is_present` and `in_old`
(whether the entity, and the article, are candidates), `is_right` (whether the first candidate is the entity),
`entities`, `articles`, and `strata`, a number for each snapshot and pool."""

_PERMUTATIONS, _CHANCE = 200, 1
_MENTIONS = f"""
    SELECT cut::VARCHAR AS cut, pool, model_cut, target_page_id AS entities, anchor_page_id AS articles,
           gold_is_candidate AS is_present, anchor_is_candidate AS in_old, coalesce(rank = 1, false) AS is_right,
           {VALUES}
    FROM rows WHERE subset = 'test' ORDER BY cut, pool, target_page_id, anchor_page_id, start_char
"""


def _only(mentions: Mentions, chosen: Bools) -> Mentions:
    return {name: column[chosen] for name, column in mentions.items()}


def nil_results(work: Work) -> Iterator[pa.Table]:
    """Yield the rows of `nil_results`; there are none without scores in pools of earlier snapshots."""
    rows = [{**row, "number": at} for at, row in enumerate(_rows(work.store), 1)]
    yield pa.Table.from_pylist(rows, NIL_RESULTS.schema)


def _rows(store: Store) -> Iterator[dict[str, Any]]:
    chosen = {
        (row["linker"], row["measure"]): row
        for row in declared_rows(store.lake.files(NIL_THRESHOLDS.name), NIL_THRESHOLDS)
    }
    for linker in sorted({linker_of(key) for key in store.lake.partitions(LINKING_SCORES.name)}):
        of_releases: defaultdict[str, list[Version]] = defaultdict(list)
        for one in scores_of_earlier(store.lake, linker):
            of_releases[parts_of(one.partition)[1]].append(one)
        for release, versions in sorted(of_releases.items()):
            yield from _of_linker(linker, release, versions, chosen)


def _of_linker(
    linker: str, release: str, versions: list[Version], chosen: Mapping[tuple[str, str], _Row]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a linker and a release: by snapshot and pool, and by gap."""
    days = sorted({day for one in versions for day in parts_of(one.partition)[2:]})
    with asking() as memory:
        paths = [path for one in versions for path in one.paths()]
        rows = memory.sql(_MENTIONS.replace("FROM rows", f"FROM {parquet(paths)}")).to_arrow_table()
    if not rows.num_rows:
        return
    pairs = [*zip(rows["cut"].to_pylist(), rows["pool"].to_pylist(), strict=True)]
    strata, _ = codes(pairs)
    cells = [*dict.fromkeys(pairs)]
    gaps = np.array([days.index(cut) - days.index(pool) for cut, pool in cells])
    columns = ("is_present", "in_old", "is_right", "entities", "articles")
    told = {"strata": strata, **{name: rows[name].to_numpy(zero_copy_only=False) for name in columns}}
    trained = rows["model_cut"][0].as_py()
    # Of candidates before its training a linker has read of the absent entities.
    is_pooled = np.array([trained is None or _day(pool) >= trained for _, pool in cells])
    groups = [((_day(cut), _day(pool), int(gaps[at])), strata == at) for at, (cut, pool) in enumerate(cells)]
    pooled_gaps = np.unique(gaps[is_pooled]).tolist()
    groups += [((None, None, gap), (is_pooled & (gaps == gap))[strata]) for gap in pooled_gaps]
    about = {"release": release, "linker": linker, "model_cut": trained}
    for measure in MEASURES:
        values, rule = rows[measure].to_numpy(), chosen.get((linker, measure))
        threshold = rule["threshold"] if rule is not None else None
        mentions = {**told, "values": values}
        if rule is not None and threshold is not None:
            mentions["p"] = p_values(np.array(rule["present_values"]), values)
        for of, of_group in groups:
            named = dict(zip(("cut", "pool", "gap"), of, strict=True)) | {"measure": measure, "threshold": threshold}
            yield from ({**about, **named, **row} for row in compared(_only(mentions, of_group), threshold))


def compared(mentions: Mentions, threshold: float | None) -> Iterator[dict[str, Any]]:
    """Yield the figures of mentions, and those of some, which tell absent entities from new articles."""
    is_present, in_old = mentions["is_present"], mentions["in_old"]
    groups = {"all": in_old | ~in_old, "in_old_articles": in_old, "in_new_articles": ~in_old}
    for name, chosen in (groups | {"present": is_present, "absent": ~is_present}).items():
        label = is_present if name in groups else in_old
        strata = [set(mentions["strata"][chosen & side].tolist()) for side in (label, ~label)]
        # Snapshots and pools with one side alone would compare these, and not their mentions.
        some = _only(mentions, chosen & np.isin(mentions["strata"], [*set.intersection(*strata)]))
        n = {"n_present": some["is_present"], "n_absent": ~some["is_present"], "n_in_new_articles": ~some["in_old"]}
        if name not in groups:
            some = {**some, "is_present": some["in_old"], "entities": some["articles"]}
        sizes = {size: int(each.sum()) for size, each in n.items()}
        yield from ({**row, "mentions": name, **sizes} for row in figures(some, threshold if name in groups else None))


def figures(mentions: Mentions, threshold: float | None) -> Iterator[dict[str, Any]]:
    """Yield the figures of mentions, of which some have an entity among the candidates, and some have none."""
    is_present, entities = mentions["is_present"], mentions["entities"]
    n_present = int(is_present.sum())
    sizes = {"n_present": n_present, "n_absent": len(is_present) - n_present}
    if not all(sizes.values()):
        return
    values, strata = mentions["values"], mentions["strata"]
    auc = clustered_auc(values[is_present], values[~is_present], entities[is_present], entities[~is_present])
    units, _ = codes([*zip(strata.tolist(), entities.tolist(), strict=True)])
    permuted = permuted_aucs(values, is_present, units, strata, n=_PERMUTATIONS, seed=_CHANCE)
    placebo: dict[str, float] = {}
    if len(permuted):
        low, high = (float(end) for end in np.quantile(permuted, (0.025, 0.975)))
        placebo = {"placebo": float(permuted.mean()), "placebo_low": low, "placebo_high": high}
    yield {"metric": "auc", **_estimated(auc), **placebo, **sizes}
    if threshold is None:
        return
    refused = mentions["p"] <= threshold
    right = np.where(is_present, ~refused & mentions["is_right"], refused)
    for metric, estimate in (
        ("f1", _f1(refused, ~is_present, entities)),
        ("accuracy", proportion(right, entities)),
        ("gain", clustered_mean(right.astype(np.float64) - mentions["is_right"], entities).within(-1, 1)),
    ):
        yield {"metric": metric, **_estimated(estimate), **sizes}


def _f1(refused: Bools, absent: Bools, entities: Codes) -> Estimate:
    """F1 of the answer none: twice the rightly refused over all that are refused and all that are absent."""
    place, n = codes(entities)
    both = summed(floats(2 * (refused & absent)), place, n).s
    either = summed(floats(refused) + floats(absent), place, n).s
    # An entity that is present and not refused is in neither sum.
    used = either > 0
    return replace(as_share(ratio_mean(Sums(either[used], both[used]))), n_items=len(refused))


def _estimated(estimate: Estimate) -> dict[str, Any]:
    return {name: getattr(estimate, name) for name in ("value", "standard_error", "low", "high", "n_clusters")}


def _day(text: str) -> Any:
    return np.datetime64(text).item()
