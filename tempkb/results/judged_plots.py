"""Draws whom models name where facts changed, window by window."""

from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from typing import Any

from tempkb.generations.naming import NAMES
from tempkb.pictures import figure

_COLOURS = dict(zip(NAMES, ("#2a7f4f", "#b3541e", "#c9a227", "#9aa5b1", "#dfe3e8", "#6b4f9a"), strict=True))


@contextmanager
def names_figure(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Give a figure with a panel for each release, model and decoder: shares of what is named, stacked by window.

    Args:
        rows: with release, model, decoder, window_start, and a number of changes for each of `NAMES`.
    """
    panels: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        panels.setdefault((row["release"], row["model"], row["decoder"]), []).append(row)
    n = max(1, len(panels))
    with figure(1, n, width=8.0, height=0.6 + 1.9 * n) as (canvas, axes):
        for axis, (key, own) in zip([axes] if n == 1 else axes, sorted(panels.items()), strict=False):
            _draw(axis, sorted(own, key=lambda row: row["window_start"]))
            axis.set_title(" ".join(key), fontsize=8)
        yield canvas


def _draw(axis: Any, rows: list[Mapping[str, Any]]) -> None:
    labels = [str(row["window_start"]) for row in rows]
    totals = [sum(row[name] for name in NAMES) for row in rows]
    below = [0.0] * len(rows)
    for name, colour in _COLOURS.items():
        shares = [row[name] / total if total else 0.0 for row, total in zip(rows, totals, strict=True)]
        axis.bar(labels, shares, bottom=below, color=colour, label=name.replace("_", " "), width=0.8)
        below = [one + share for one, share in zip(below, shares, strict=True)]
    axis.set_ylim(0, 1)
    axis.set_ylabel("share of changes", fontsize=7)
    axis.tick_params(labelsize=6)
    axis.legend(fontsize=6, ncols=len(NAMES), loc="upper center", bbox_to_anchor=(0.5, -0.18), frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
