"""NIL: mentions whose entity is not among the candidates, told by how large the best score or its lead is.

Mentions of entities that became articles after a snapshot, linked among its candidates, have the one right answer none.
Of each linker the validation mentions of later snapshots say from where on this is the better answer.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tempkb.core.statistics.calibration import clustered_auc
from tempkb.core.statistics.estimates import MIN_CLUSTERS, Floats
from tempkb.core.wording import counted
from tempkb.engine.steps import Work
from tempkb.models.linking.tables import LINKING_SCORES, MEASURES, NIL_THRESHOLDS, earlier_pools
from tempkb.store.lake import Lake
from tempkb.store.versions import Version

_KEPT = 1_000  # values of present mentions, so that p is exact to a thousandth
VALUES = """
    coalesce(top_scores[1], 0) - coalesce(top_scores[2], 0) AS margin, coalesce(top_scores[1], 0) AS top_score
"""
"""SQL: the measures of a row of `linking_scores`; what a baseline gives no score has a score of 0."""


@dataclass(frozen=True)
class Nil:
    """How a linker tells that the entity of a mention is no candidate.

    Attributes:
        measure: one of `MEASURES`.
        present: values of validation mentions whose entity is a candidate, ascending.
        threshold: a mention with this p or a smaller one has no entity; None where `reason` says why there is none.
    """

    measure: str
    present: Floats
    threshold: float | None
    reason: str | None

    def told(self, scores: Iterable[Floats]) -> Iterator[tuple[float, bool | None]]:
        """Yield p of mentions by the scores of their best candidates, perhaps none, and whether they have no entity."""
        best = np.array([[*one[:2], 0.0, 0.0][:2] for one in scores])
        for p in p_values(self.present, best[:, 0] - best[:, 1] if self.measure == "margin" else best[:, 0]).tolist():
            yield p, None if self.threshold is None else p <= self.threshold


def p_values(present: Floats, values: Floats) -> Floats:
    """Return p: the share of present mentions, and of the mention itself, whose value is at most as large.

    It is the p-value of the hypothesis that the entity is a candidate: a conformal one (Vovk et al. 2005), which at
    most a share p of the mentions with an entity falls short of, if these are like the present ones.

    >>> p_values(np.array([1.0, 2.0, 2.0]), np.array([0.5, 2.0]))
    array([0.25, 1.  ])
    """
    return np.asarray((1 + np.searchsorted(present, values, "right")) / (1 + len(present)), np.float64)


def kept_of(values: Floats) -> Floats:
    """Return some of the values in order, evenly spaced by rank, so that few have to be kept."""
    ordered = np.sort(values)
    n = len(ordered)
    return ordered if n <= _KEPT else ordered[(np.arange(_KEPT) * (n - 1)) // (_KEPT - 1)]


def threshold_of(present: Floats, absent: Floats) -> float:
    """Return the p up to which none is the answer, by the p of present and of absent mentions.

    There the share of refused absent mentions is larger than that of refused present ones by most (Youden 1950). Unlike
    the best F1 this does not depend on how many mentions have no entity, which in a text is not as in a release. Of
    equals it is the smallest, which refuses fewest.
    """
    cuts = np.unique(np.concatenate([present, absent]))
    gains = [np.searchsorted(np.sort(side), cuts, "right") / len(side) for side in (absent, present)]
    return float(cuts[np.argmax(gains[0] - gains[1])])


def scores_of_earlier(lake: Lake, linker: str) -> list[Version]:
    """Return a linker's scores of mentions among the candidates of a snapshot before theirs."""
    return lake.versions(LINKING_SCORES.name, earlier_pools(lake.partitions(LINKING_SCORES.name), linker))


def thresholds(work: Work) -> Iterator[pa.Table]:
    """Yield the rows of a linker, from its scores."""
    mentions = work.connection.sql(
        f"""
        SELECT release, cut, pool, target_page_id, gold_is_candidate, {VALUES} FROM {LINKING_SCORES.name}
        WHERE subset = 'validation' ORDER BY release, cut, pool, target_page_id, anchor_page_id, start_char
        """
    ).to_arrow_table()
    # Only mentions of both kinds tell.
    is_telling = len(mentions["gold_is_candidate"].unique()) == 2
    rows = [_row(work.key, measure, mentions) for measure in MEASURES] if is_telling else []
    yield pa.Table.from_pylist(rows, NIL_THRESHOLDS.schema)


def _row(linker: str, measure: str, mentions: pa.Table) -> dict[str, Any]:
    values = mentions[measure].to_numpy()
    is_present = mentions["gold_is_candidate"].to_numpy(zero_copy_only=False)
    entities = mentions["target_page_id"].to_numpy()
    present, absent = values[is_present], values[~is_present]
    auc = clustered_auc(present, absent, entities[is_present], entities[~is_present])
    kept = kept_of(present)
    chosen: dict[str, float] = {}
    reason = _reason(auc.n_clusters, auc.low)
    if reason is None:
        sides = {"present": p_values(kept, present), "absent": p_values(kept, absent)}
        threshold = threshold_of(**sides)
        refused = {f"refused_{side}": float((p <= threshold).mean()) for side, p in sides.items()}
        chosen = {"threshold": threshold, **refused}
    return {
        "linker": linker,
        "measure": measure,
        "releases": sorted(set(mentions["release"].to_pylist())),
        "pools": sorted(set(mentions["pool"].to_pylist())),
        "n_present": len(present),
        "n_absent": len(absent),
        "n_present_entities": len(np.unique(entities[is_present])),
        "n_absent_entities": len(np.unique(entities[~is_present])),
        "auc": auc.value,
        "low": auc.low,
        "high": auc.high,
        **chosen,
        "reason": reason,
        "present_values": kept.tolist(),
    }


def _reason(n_clusters: int, low: float | None) -> str | None:
    """Why there is no threshold."""
    if low is None:
        few = f"{counted(n_clusters, 'entity', 'entities')} on one side; at least {MIN_CLUSTERS} are needed"
        return few if n_clusters < MIN_CLUSTERS else "all entities agree exactly, so that there is no interval"
    return None if low > 0.5 else "the interval of its AUC is not above one half, so that no threshold can be chosen"
