"""Pictures: figures of matplotlib without a screen, as PNG and as Markdown."""

import base64
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_DOTS_PER_INCH = 70
_MOST_DATES = 20  # an axis has room for about so many


@contextmanager
def figure(n_columns: int = 1, n_rows: int = 1, width: float = 9, height: float = 4) -> Iterator[tuple[Any, Any]]:
    """Give a figure and its axes, one or an array of them; the figure is closed afterwards.

    Args:
        width: of the figure, in inches.
        height: likewise.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    canvas, axes = plt.subplots(n_rows, n_columns, figsize=(width, height), layout="constrained")
    try:
        yield canvas, axes
    finally:
        plt.close(canvas)


def as_png(canvas: Any, dots_per_inch: int = _DOTS_PER_INCH) -> bytes:
    """Return a figure as a PNG file, of equal bytes for equal figures."""
    buffer = io.BytesIO()
    canvas.savefig(buffer, format="png", dpi=dots_per_inch, metadata={"Software": None})
    return buffer.getvalue()


def as_markdown(canvas: Any, title: str, dots_per_inch: int = _DOTS_PER_INCH) -> str:
    """Return a figure as an image in Markdown, as Dagster's UI shows it."""
    return f"![{title}](data:image/png;base64,{base64.b64encode(as_png(canvas, dots_per_inch)).decode()})"


def label_dates(axes: Any, dates: Sequence[str]) -> None:
    """Write dates below an axis whose positions are 0, 1 and so on; of many dates only some."""
    step = max(1, len(dates) // _MOST_DATES)
    axes.set_xticks(range(0, len(dates), step), dates[::step], rotation=45, fontsize=7)
