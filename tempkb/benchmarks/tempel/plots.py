"""Draws figures 3, 4c, 6 and 7 of the paper for the metadata of a run."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tempkb.pictures import as_markdown, figure


def plot_figures(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown image of the rows of `tempel_statistics` of one release."""
    with figure(2, 2, width=11, height=7) as (canvas, axes):
        _drift(axes[0][0], rows)
        _lines(axes[0][1], rows, "figure_4c", "Candidates (fig. 4c)")
        _filters(axes[1][0], rows)
        _distribution(axes[1][1], rows)
        return as_markdown(canvas, "figures")


def _drift(axes: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    names = {"figure_3a": "pages, overlap", "figure_3b": "pages, edit distance", "figure_3c": "contexts, overlap"}
    for name, label in names.items():
        points = sorted((row["cut"], row["value"]) for row in rows if row["figure"] == name)
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", label=label)
            axes.legend(fontsize=8)
    axes.set_title("Drift from the first snapshot (fig. 3)", fontsize=10)
    axes.set_ylim(0, 1.02)
    axes.tick_params(labelsize=7, axis="x", rotation=30)


def _lines(axes: Any, rows: Sequence[Mapping[str, Any]], figure: str, title: str) -> None:
    points = sorted((row["cut"], row["value"]) for row in rows if row["figure"] == figure)
    if points:
        axes.plot(*zip(*points, strict=True), marker="o")
    axes.set_title(title, fontsize=10)
    axes.set_ylim(bottom=0)
    axes.tick_params(labelsize=7, axis="x", rotation=30)


def _filters(axes: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """The share of the last snapshot's mentions that each filter drops, alone and in the order of the filters."""
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    last = max((row["cut"] for row in rows if row["figure"] == "figure_6"), default=None)
    for row in rows:
        if row["figure"] == "figure_6" and row["cut"] == last and row["label"] == "mentions":
            name, _, how = row["series"].partition(", ")
            found[name][how] = row["value"]
    offered = found.pop("all", {}).get("offered", 0) or 1
    names = [name for name, by_how in found.items() if by_how.get("alone")]
    for offset, how in ((-0.2, "alone"), (0.2, "in_order")):
        axes.barh(
            [at + offset for at in range(len(names))],
            [found[name].get(how, 0) / offered for name in names],
            0.4,
            label=how.replace("_", " "),
        )
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_title("Share of mentions dropped by filter (fig. 6)", fontsize=10)
    if names:
        axes.legend(fontsize=8)


def _distribution(axes: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Number of entities by their training mentions, one line per snapshot; the lines should coincide."""
    lines: defaultdict[Any, list[tuple[int, float]]] = defaultdict(list)
    for row in rows:
        if row["figure"] == "figure_7" and row["series"] == "continual train":
            lines[row["cut"]].append((int(row["label"].split()[2]), row["value"]))
    for cut, points in sorted(lines.items()):
        axes.step(*zip(*sorted(points), strict=True), where="post", label=str(cut))
    axes.set_title("Continual entities with at most n training mentions (fig. 7)", fontsize=10)
    if 0 < len(lines) <= 12:
        axes.legend(fontsize=7)
