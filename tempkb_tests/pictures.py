"""Draws the pictures of docs/ from the demo home that `TEMPKB_HOME` names.

TEMPKB_HOME=data/demo python -m tempkb_tests.pictures
"""

from pathlib import Path

from tempkb.core.pictures import as_png
from tempkb.platform.api import open_store
from tempkb.results.plots import windows_figure
from tempkb.results.reading import read_levels_by_window

_PICTURES = Path(__file__).parents[1] / "docs/pictures"
_DOTS_PER_INCH = 110


def main() -> None:
    """Draw the levels by window: of the causal models' changes for the README, of all for the page on results."""
    rows = read_levels_by_window(open_store())
    changes = [row for row in rows if row["aggregate"] == "prefers_new" and row["family"] == "causal"]
    for name, own in (("changes", changes), ("windows", rows)):
        with windows_figure(own) as figure:
            (_PICTURES / f"{name}.png").write_bytes(as_png(figure, _DOTS_PER_INCH))


if __name__ == "__main__":
    main()
