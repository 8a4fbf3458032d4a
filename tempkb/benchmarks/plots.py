"""Draws counts and means over windows for the metadata of a run, as lines or as stacked bars."""

from collections.abc import Mapping, Sequence
from typing import Any

from tempkb.pictures import as_markdown, figure, label_dates

_COLOURS = {
    "unchanged": "#b8c4ce",
    "updated": "#2f6f9f",
    "new": "#4fa35b",
    "deleted": "#c2563f",
    "undatable": "#e0b84c",
}


def plot_lines(title: str, dates: Sequence[str], series: Mapping[str, Sequence[int]]) -> str:
    """Return a Markdown image of counts over windows, a line per series."""
    return _picture(title, dates, lambda axes: _draw_lines(axes, series))


def plot_bars(title: str, dates: Sequence[str], series: Mapping[str, Sequence[int]]) -> str:
    """Return a Markdown image of counts over windows, stacked, in the order of the series."""
    return _picture(title, dates, lambda axes: _draw_bars(axes, series))


def plot_means(title: str, dates: Sequence[str], series: Mapping[str, Sequence[float | None]]) -> str:
    """Return a Markdown image of means over windows, a line per series; a window without a mean has no mark."""
    return _picture(title, dates, lambda axes: _draw_means(axes, series), bottom=None)


def _draw_means(axes: Any, series: Mapping[str, Sequence[float | None]]) -> None:
    for name, means in series.items():
        known = [(at, mean) for at, mean in enumerate(means) if mean is not None]
        axes.plot([at for at, _ in known], [mean for _, mean in known], marker="o", markersize=3, label=name)


def _draw_lines(axes: Any, series: Mapping[str, Sequence[int]]) -> None:
    for name, counts in series.items():
        axes.plot(range(len(counts)), counts, marker="o", markersize=3, label=name)


def _draw_bars(axes: Any, series: Mapping[str, Sequence[int]]) -> None:
    below = [0] * max((len(counts) for counts in series.values()), default=0)
    for name, counts in series.items():
        axes.bar(range(len(counts)), counts, bottom=below, label=name, color=_COLOURS.get(name))
        below = [low + count for low, count in zip(below, counts, strict=True)]


def _picture(title: str, dates: Sequence[str], draw: Any, bottom: float | None = 0) -> str:
    with figure() as (canvas, axes):
        draw(axes)
        axes.set_title(title, fontsize=10)
        axes.set_ylim(bottom=bottom)
        label_dates(axes, dates)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=7, ncols=2)
        return as_markdown(canvas, title)
