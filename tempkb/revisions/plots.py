"""A picture of the windows, for Dagster's metadata."""

from collections.abc import Sequence

import numpy as np

from tempkb.pictures import as_markdown


def plot_windows(labels: Sequence[str], pages: Sequence[int], edits: Sequence[int]) -> str:
    """Return a plot of pages and edits per window, as Markdown with an inline PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    at = np.arange(len(labels))
    upper.step(at, pages, where="mid", color="#1f5fa8")
    upper.fill_between(at, pages, step="mid", alpha=0.2, color="#1f5fa8")
    upper.set_ylabel("pages at the cut")
    lower.bar(at, edits, color="#b3541e")
    lower.set_ylabel("edits in the window")
    step = max(1, len(labels) // 12)
    lower.set_xticks(at[::step], list(labels)[::step], rotation=45, ha="right")
    for axis in (upper, lower):
        axis.set_ylim(bottom=0)
        axis.spines[["top", "right"]].set_visible(False)
    return as_markdown(figure, "pages and edits per window", dots_per_inch=100)
