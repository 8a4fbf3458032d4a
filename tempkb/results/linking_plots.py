"""Draws the paper's figures 4a, 4b, 5a, 5b, 5c and 8 of the linkers of a release."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tempkb.core.pictures import figure, label_dates
from tempkb.results.linking_reading import CATEGORIES, Linking, Row
from tempkb.results.linking_sql import KS

_COLOURS = {"continual": "#2f6f9f", "new": "#c2563f"}
_STYLES = {"in_snapshot": "-", "out_of_snapshot": "--"}
_NAMES = {"in_snapshot": "in", "out_of_snapshot": "out"}
# What is possible: of accuracies and similarities, and of differences between two of them.
_SHARES, _DIFFERENCES = (0.0, 1.0), (-1.0, 1.0)


@contextmanager
def linking_figure(linking: Linking) -> Any:
    """Give a figure with six panels; of several setups it shows the one with most training snapshots.

    A panel that needs linkers of several snapshots says so if there is one only.
    """
    setup = (*linking.setups, *linking.untrained)[0]
    with figure(3, 2, width=14, height=7.5) as (canvas, axes):
        (similarity, by_test, by_k), (by_offset, at_worst, by_type) = axes
        _draw_similarity(similarity, linking, setup)
        _draw_by_test(by_test, linking, setup)
        _draw_by_k(by_k, linking, setup)
        _draw_by_offset(by_offset, linking, setup)
        _draw_at_worst(at_worst, linking, setup)
        _draw_by_type(by_type, linking, setup)
        for axis in axes.flat:
            axis.spines[["top", "right"]].set_visible(False)
            axis.tick_params(labelsize=7)
            if axis.get_legend_handles_labels()[0]:
                axis.legend(fontsize=7)
            elif not axis.lines:
                axis.text(0.5, 0.5, "nothing to show", ha="center", transform=axis.transAxes, fontsize=8)
        canvas.suptitle(f"release {linking.release}, pool {linking.pool}, linkers: {setup}", fontsize=10)
        yield canvas


def _draw_similarity(axis: Any, linking: Linking, setup: str) -> None:
    axis.set_title("similarity of the first 64 candidates (fig. 4a)", fontsize=8)
    for category in CATEGORIES:
        rows = [
            linking.row(setup, category, "mean_of_models", cut, metric="similarity", k=KS[-1]) for cut in linking.cuts
        ]
        _line(axis, range(len(rows)), rows, category, color=_COLOURS[category])
    label_dates(axis, [str(cut) for cut in linking.cuts])


def _draw_by_test(axis: Any, linking: Linking, setup: str) -> None:
    axis.set_title(f"accuracy@{linking.k} by test snapshot (fig. 4b)", fontsize=8)
    for category in CATEGORIES:
        if setup in linking.untrained:
            rows = [linking.row(setup, category, "mean_of_models", cut) for cut in linking.cuts]
            _line(axis, range(len(rows)), rows, category, color=_COLOURS[category])
        for aggregate, style in _STYLES.items():
            rows = [linking.row(setup, category, aggregate, cut) for cut in linking.cuts]
            label = f"{category}, {_NAMES[aggregate]}"
            _line(axis, range(len(rows)), rows, label, color=_COLOURS[category], linestyle=style)
    label_dates(axis, [str(cut) for cut in linking.cuts])


def _draw_by_k(axis: Any, linking: Linking, setup: str) -> None:
    axis.set_title("in- minus out-of-snapshot by k (fig. 5a)", fontsize=8)
    for category in CATEGORIES:
        rows = [linking.row(setup, category, "in_minus_out", None, k=k) for k in KS]
        _line(axis, range(len(KS)), rows, category, _DIFFERENCES, color=_COLOURS[category])
    axis.set_xticks(range(len(KS)), map(str, KS))
    axis.axhline(0, color="#c8ced6", linewidth=1, zorder=0)


def _draw_by_offset(axis: Any, linking: Linking, setup: str) -> None:
    axis.set_title(f"out- minus in-snapshot@{linking.k} by snapshots from test to training (fig. 5b)", fontsize=8)
    for category in CATEGORIES:
        rows: dict[int, Row] = {
            row["steps"]: row
            for row in linking.changes
            if (row["setup"], row["category"], row["aggregate"], row["metric"], row["k"])
            == (setup, category, "out_minus_in", "accuracy", linking.k)
        }
        if rows:
            # At no distance both are the same linker.
            rows[0] = {"value": 0.0, "low": None}
        steps = sorted(rows)
        _line(axis, steps, [rows[one] for one in steps], category, _DIFFERENCES, color=_COLOURS[category])
        axis.set_xticks(steps)
    axis.axhline(0, color="#c8ced6", linewidth=1, zorder=0)


def _draw_at_worst(axis: Any, linking: Linking, setup: str) -> None:
    """Figure 5c: types at the test at which linkers of other snapshots link new entities worst."""
    outside = [row for cut in linking.cuts if (row := linking.row(setup, "new", "out_of_snapshot", cut)) is not None]
    if not outside:
        return
    worst = min(outside, key=lambda row: (row["value"], row["cut"]))["cut"]
    axis.set_title(f"new entities of {worst} by type and k (fig. 5c)", fontsize=8)
    types = linking.types(setup)
    _draw_types(axis, [row for row in types if row["cut"] == worst], _colours(types))


def _draw_by_type(axis: Any, linking: Linking, setup: str) -> None:
    axis.set_title("all snapshots by type and k (fig. 8)", fontsize=8)
    continual = [
        {**row, "entity_type": "continual"}
        for aggregate in _STYLES
        for k in KS
        if (row := linking.row(setup, "continual", aggregate, None, k=k)) is not None
    ]
    types = linking.types(setup)
    _draw_types(axis, [*continual, *(row for row in types if row["cut"] is None)], _colours(types))


def _colours(types: Sequence[Row]) -> dict[str, str]:
    """The colour of each type, which is the same in all panels."""
    names = sorted({row["entity_type"] for row in types})
    return {"continual": _COLOURS["continual"], **{name: f"C{at % 9 + 1}" for at, name in enumerate(names)}}


def _draw_types(axis: Any, rows: Sequence[Row], colours: Mapping[str, str]) -> None:
    for name in sorted({row["entity_type"] for row in rows}):
        for aggregate, style in _STYLES.items():
            found = {
                row["k"]: row
                for row in rows
                if (row["entity_type"], row["aggregate"], row["metric"]) == (name, aggregate, "accuracy")
            }
            label = f"{name}, {_NAMES[aggregate]}"
            _line(axis, range(len(KS)), [found.get(k) for k in KS], label, color=colours[name], linestyle=style)
    axis.set_xticks(range(len(KS)), map(str, KS))


def _line(
    axis: Any,
    places: Iterable[int],
    rows: Iterable[Row | None],
    label: str,
    possible: tuple[float, float] = _SHARES,
    **style: Any,
) -> None:
    """Draw values with their intervals, where there are any; of an interval only what is possible."""
    known = [(place, row) for place, row in zip(places, rows, strict=True) if row is not None]
    if not known:
        return
    axis.plot(
        [at for at, _ in known], [row["value"] for _, row in known], marker="o", markersize=3, label=label, **style
    )
    least, most = possible
    ranges = [(at, max(row["low"], least), min(row["high"], most)) for at, row in known if row["low"] is not None]
    if ranges:
        axis.vlines(*zip(*ranges, strict=True), color=style["color"], alpha=0.3, linewidth=2)
