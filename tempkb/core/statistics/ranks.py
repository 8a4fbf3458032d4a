"""Ranks that may be ties: which models differ, of all pairs of them, after Holm's correction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tempkb.core.errors import ContractError
from tempkb.core.statistics.differences import paired_difference
from tempkb.core.statistics.estimates import LEVEL, Clusters, Codes, Estimate, Floats, Values, aligned, codes, floats

Difference = Callable[[Floats, Floats, Codes], Estimate]


@dataclass(frozen=True)
class Scored:
    """What a model was given for items: an id, a value and a cluster for each, in one order."""

    item_ids: Clusters
    values: Values
    clusters: Clusters


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's method, in the same order.

    statsmodels' `multipletests` gives the same numbers, but collects all garbage of the process at each call, which
    takes a tenth of a second where torch is loaded.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]

    Raises:
        ContractError: a p-value is not between 0 and 1.
    """
    if not all(0 <= one <= 1 for one in p_values):
        raise ContractError(f"p-values {list(p_values)}; expected numbers from 0 to 1")
    found = np.asarray(p_values, float)
    ascending = np.argsort(found)
    adjusted = np.empty(len(found))
    adjusted[ascending] = np.maximum.accumulate(found[ascending] * np.arange(len(found), 0, -1)).clip(max=1)
    return adjusted.tolist()


def rank_intervals(
    scores: Mapping[str, Scored],
    *,
    higher_is_better: bool = True,
    difference: Difference = paired_difference,
) -> dict[str, tuple[int, int]]:
    """Return the best and the worst rank that each of M models may have: 1 + number better, M - number worse.

    Two models differ if the paired difference on the items that both have is not zero at 5 % after Holm's correction
    over all pairs. A pair that shares fewer than ten clusters does not differ. That two models are tied with a third
    does not make them a tie.

    Args:
        scores: by model.
        higher_is_better: False for perplexities and other losses.
        difference: how pairs are compared; `paired_macro_difference` for means of entities.

    Raises:
        ContractError: a value is not finite, a model has an item twice, or an item is in two clusters.
    """
    names = list(scores)
    matrix, clusters = _matrix(scores)
    found = {
        (names[one], names[other]): _compared(matrix[one], matrix[other], clusters, difference)
        for one, other in combinations(range(len(names)), 2)
    }
    return ranks(names, found, higher_is_better=higher_is_better)


def ranks(
    names: Sequence[str], differences: Mapping[tuple[str, str], Estimate], *, higher_is_better: bool = True
) -> dict[str, tuple[int, int]]:
    """Return ranks as `rank_intervals` does, from the differences of pairs.

    Args:
        names: of the models.
        differences: the second model's value minus the first one's, by (first, second); a pair without one does not
            differ.
        higher_is_better: False for perplexities and other losses.
    """
    adjusted = holm([1.0 if one.p_value is None else one.p_value for one in differences.values()])
    better, worse = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for ((one, other), estimate), p_value in zip(differences.items(), adjusted, strict=True):
        if p_value <= 1 - LEVEL:
            winner, loser = (other, one) if (estimate.value > 0) == higher_is_better else (one, other)
            better[loser] += 1
            worse[winner] += 1
    return {name: (1 + better[name], len(names) - worse[name]) for name in names}


def _compared(first: Floats, second: Floats, clusters: Codes, difference: Difference) -> Estimate:
    both = ~(np.isnan(first) | np.isnan(second))
    if not both.any():
        return Estimate(0.0, None, None, None, 0, 0)
    return difference(first[both], second[both], clusters[both])


def _matrix(scores: Mapping[str, Scored]) -> tuple[Floats, Codes]:
    """Return values by model and item, NaN where a model lacks it, and the cluster of each item."""
    lists = [floats(one.values) for one in scores.values()]
    for (name, one), values in zip(scores.items(), lists, strict=True):
        aligned(f"items of {name}", values, one.item_ids, one.clusters)
    items, n_items = codes([item for one in scores.values() for item in _plain(one.item_ids)])
    clusters, _ = codes([cluster for one in scores.values() for cluster in _plain(one.clusters)])
    matrix = np.full((len(lists), n_items), np.nan)
    of_item = np.full(n_items, -1, np.int64)
    start = 0
    for row, (name, values) in enumerate(zip(scores, lists, strict=True)):
        mine, theirs = items[start : start + len(values)], clusters[start : start + len(values)]
        if len(np.unique(mine)) < len(mine):
            raise ContractError(f"{name}: {len(mine)} values for {len(np.unique(mine))} items; expected one for each")
        odd = (of_item[mine] >= 0) & (of_item[mine] != theirs)
        if odd.any():
            item = _plain(scores[name].item_ids)[int(np.argmax(odd))]
            raise ContractError(f"{name}: the item {item!r} is in another cluster than for an earlier model")
        matrix[row, mine], of_item[mine] = values, theirs
        start += len(values)
    return matrix, of_item


def _plain(ids: Clusters) -> Sequence[object]:
    return ids.tolist() if isinstance(ids, np.ndarray) else ids
