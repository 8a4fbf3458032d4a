"""Reads what linkers link and computes the figures that put linkers together. No Dagster here."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from tempkb.core.statistics.differences import UNTRAINED, Cells, WeightedSum, weighted_sums
from tempkb.core.statistics.estimates import codes
from tempkb.engine.steps import Work
from tempkb.models.linking.known import rows_of
from tempkb.models.linking.tables import LINKERS, LINKING_SCORES
from tempkb.results.linking_sql import METRICS, SETUPS, Figure, by_test, by_training, counts, in_and_out, spaces
from tempkb.results.tables import LINKING_SUMS

Answer = Callable[[str], pa.Table]
"""What answers SQL over the tables `NEEDS`."""
_Row = Mapping[str, Any]

_NEW_ENTITIES = rows_of("types")
NEEDS = (LINKING_SCORES.name, LINKERS.name, *_NEW_ENTITIES.needs)
"""The tables from which the sums are computed."""

_GROUP = ("release", "setup", "pool", "subset", "category")
_ORDER = (*_GROUP, "type_by", "entity_type", "aggregate", "model_cut", "cut", "from_cut", "steps", "metric", "k")

# Types are categories of mentions, too: a kind of type and the type in one text; neither has a tab.
_TYPES = f"""
    SELECT release, cut, page_id AS target_page_id, unnest([
        'paper\t' || paper_type, 'class\t' || entity_class,
        'origin\t' || CASE WHEN is_extract THEN 'extract of an existing page'
                           WHEN series_page_id IS NOT NULL THEN 'series'
                           WHEN n_runs IS NOT NULL THEN 'other' END
    ]) AS entity_type
    FROM ({_NEW_ENTITIES.query})
"""
_TYPED = f"""
    (FROM {LINKING_SCORES.name} JOIN (FROM ({_TYPES}) WHERE entity_type IS NOT NULL)
     USING (release, cut, target_page_id) WHERE category = 'new')
"""
_COUNTED = f"""
    WITH tests AS MATERIALIZED ({spaces()}),
    counted AS MATERIALIZED ({counts()} UNION ALL BY NAME {counts(_TYPED, "entity_type")}),
    cells AS (
        SELECT row_number() OVER (ORDER BY {", ".join(_GROUP)}, model_cut, cut, linker) - 1 AS cell,
               dense_rank() OVER (ORDER BY {", ".join(_GROUP)}) - 1 AS group_no, *
        FROM (SELECT DISTINCT test, category FROM counted) JOIN tests USING (test)
        JOIN ({SETUPS}) USING (release, linker)
    )
"""
_CELLS = f"{_COUNTED} SELECT group_no, cell, {', '.join(_GROUP)}, model_cut, cut, linker, seed FROM cells ORDER BY cell"
_ROWS = f"""
    {_COUNTED} SELECT group_no, cluster, cell, counted.* EXCLUDE (cluster)
    FROM counted JOIN cells USING (test, category) ORDER BY group_no, cluster, cell
"""


def linking_sums(work: Work) -> Iterator[pa.Table]:
    """Yield the rows of `linking_sums` as they are by the present scores; there are none without scores of linkers."""
    with work.store.asking(*NEEDS) as answer:
        yield sums_of(answer)


def sums_of(answer: Answer) -> pa.Table:
    """Return the rows of `linking_sums` of the scores that are asked."""
    of_groups: defaultdict[int, list[_Row]] = defaultdict(list)
    for cell in answer(_CELLS).to_pylist():
        of_groups[cell["group_no"]].append(cell)
    rows = answer(_ROWS)
    ends = np.searchsorted(rows["group_no"].to_numpy(), np.arange(len(of_groups) + 1))
    days = _days([cell for own in of_groups.values() for cell in own])
    found = [
        row
        for at, own in of_groups.items()
        for row in _sums_of_group(own, rows.slice(ends[at], ends[at + 1] - ends[at]), days)
    ]
    found.sort(key=lambda row: [(row[name] is not None, row[name]) for name in _ORDER])
    return pa.Table.from_pylist([{**row, "number": at} for at, row in enumerate(found, 1)], LINKING_SUMS.schema)


def _days(cells: Sequence[_Row]) -> Mapping[tuple[str, str], list[date]]:
    """The tests of a release and the trainings of a setup, by both: days of other setups do not lie in between."""
    tests = {(cell["release"], cell["cut"]) for cell in cells}
    found: defaultdict[tuple[str, str], set[date]] = defaultdict(set)
    for cell in cells:
        found[cell["release"], cell["setup"]].add(cell["model_cut"])
    return {
        (release, setup): sorted({*trainings - {None}, *(cut for of, cut in tests if of == release)})
        for (release, setup), trainings in found.items()
    }


def _sums_of_group(
    own: Sequence[_Row], rows: pa.Table, days: Mapping[tuple[str, str], list[date]]
) -> Iterator[dict[str, Any]]:
    """Yield a row for each figure and metric of which all cells have a value.

    Args:
        own: the cells of what linkers of one setup link of one category.
        rows: their mentions, counted by entity and cell.
        days: as `_days` returns them.
    """
    about = {name: own[0][name] for name in _GROUP}
    type_by, _, entity_type = about["category"].partition("\t")
    is_typed = bool(entity_type)
    spots = {spot: at for at, spot in enumerate(dict.fromkeys((cell["model_cut"], cell["cut"]) for cell in own))}
    cells = _cells(own, rows, [spots[cell["model_cut"], cell["cut"]] for cell in own])
    if is_typed:
        about |= {"category": "new", "type_by": type_by, "entity_type": entity_type}
        # Over all tests each mention has the same weight, so a test has that of the linker with most of them.
        sizes = {spot: int(cells.numbers[cells.spots == at, 0].max()) for spot, at in spots.items()}
        figures = [*in_and_out(sizes)]
    else:
        about |= {"type_by": None, "entity_type": None}
        figures = [*by_training(spots), *by_test(spots, days[about["release"], about["setup"]])]
    for figure in figures:
        weights = np.zeros(len(spots))
        for spot, weight in figure.weights.items():
            weights[spots[spot]] = weight
        for (metric, k), found in zip(METRICS, weighted_sums(cells, weights, is_pooled=is_typed), strict=True):
            if found is not None:
                yield {**about, **_named(figure), "metric": metric, "k": k, **_figures(found)}


def _cells(own: Sequence[_Row], rows: pa.Table, spots: Sequence[int]) -> Cells:
    n, s = (
        np.column_stack([rows[names[side]].to_numpy().astype(np.float64) for names in METRICS.values()])
        for side in (0, 1)
    )
    trainings = codes([cell["model_cut"] for cell in own])[0]
    return Cells(
        rows["cell"].to_numpy() - own[0]["cell"],
        rows["cluster"].to_numpy(),
        n,
        s,
        np.array(spots),
        codes([cell["linker"] for cell in own])[0],
        np.where([cell["model_cut"] is None for cell in own], UNTRAINED, trainings),
        codes([cell["seed"] for cell in own])[0],
    )


def _named(figure: Figure) -> dict[str, Any]:
    return {name: getattr(figure, name) for name in ("aggregate", "model_cut", "cut", "from_cut", "steps")}


def _figures(found: WeightedSum) -> dict[str, Any]:
    estimate = found.estimate
    named = ("value", "standard_error", "low", "high", "n_items", "n_clusters")
    of = {"seed_error": found.seed_error, "n_linkers": found.n_units, "n_seeds": found.n_seeds}
    return of | {name: getattr(estimate, name) for name in named}
