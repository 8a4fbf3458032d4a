"""A picture of counts that is small enough for Dagster to show at once.

Dagster's UI shows Markdown within an asset's page if it is shorter than 1000 characters, and hides longer Markdown
behind "[Show Markdown]". A drawing in SVG fits; a PNG with readable labels does not.
"""

from collections.abc import Mapping, Sequence
from html import escape
from urllib.parse import quote

MOST_CHARACTERS = 999
_WIDTH, _HEIGHT, _TOP = 360, 60, 14
_COLOURS = ("steelblue", "sienna", "seagreen", "purple")
# Characters that need no escape in the target of a Markdown image; no blanks, brackets or number signs.
_SAFE = "/:;,='.-+!*"


def glance(labels: Sequence[str], series: Mapping[str, Sequence[int]]) -> str:
    """Return a Markdown image, an SVG in a data address, of at most `MOST_CHARACTERS` characters.

    Args:
        labels: of the places along the axis; the first and the last are written below it.
        series: name -> a count for each label; the first four are drawn, as steps from 0 to the largest of them all.

    If there are more places than fit, only every nth is drawn, always with the last.
    """
    shown = {name: counts for name, counts in list(series.items())[: len(_COLOURS)] if counts}
    if not shown or not labels:
        return "(nothing to draw)"
    every = 1
    while True:
        # Counted from the end, so that the last place is always drawn.
        drawn = {name: counts[::-every][::-1] for name, counts in shown.items()}
        image = _image(labels[::-every][::-1], drawn, labels[0])
        if len(image) <= MOST_CHARACTERS:
            return image
        every += 1


def _image(labels: Sequence[str], series: Mapping[str, Sequence[int]], first: str) -> str:
    most = max(max(counts) for counts in series.values()) or 1
    step = _WIDTH // len(labels) or 1
    parts = [f"<svg xmlns='http://www.w3.org/2000/svg' width='{_WIDTH}' height='{_HEIGHT + _TOP * 2}' font-size='11'>"]
    at = 0
    for (name, counts), colour in zip(series.items(), _COLOURS, strict=False):
        parts.append(f"<path d='{_steps(counts, most, step)}' fill='none' stroke='{colour}'/>")
        legend = f"{name} {counts[-1]}"
        parts.append(f"<text x='{at}' y='11' fill='{colour}'>{escape(legend)}</text>")
        at += 7 * len(legend) + 9
    foot = first if len(labels) == 1 else f"{first} .. {labels[-1]}"
    parts.append(f"<text y='{_HEIGHT + _TOP * 2 - 2}' fill='gray'>{escape(foot)}, 0 .. {most}</text></svg>")
    return f"![counts](data:image/svg+xml,{quote(''.join(parts), safe=_SAFE)})"


def _steps(counts: Sequence[int], most: int, step: int) -> str:
    """Return an SVG path at the height of each count, in whole pixels."""
    heights = [_HEIGHT * count // most for count in counts]
    path, before = f"M0,{_TOP + _HEIGHT - heights[0]}h{step}", heights[0]
    for height in heights[1:]:
        path += (f"v{before - height}" if height != before else "") + f"h{step}"
        before = height
    return path
