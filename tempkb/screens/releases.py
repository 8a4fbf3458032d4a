"""What a release holds, on one screen."""

import tempkb
from tempkb.screens.console import console, grid


def print_release(name: str) -> None:
    """Print a release's counts by snapshot, category and subset, and where to go on."""
    (row,) = tempkb.read("tempel_releases", release=name).to_pylist()
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for one in tempkb.read("tempel_statistics", release=name, figure="table_1").to_pylist():
        counts.setdefault((str(one["cut"]), one["series"]), {})[one["label"]] = int(one["value"])
    rows = [(*key, by_label["entities"], by_label["mentions"]) for key, by_label in sorted(counts.items())]
    equal = "equal" if row["is_equal"] else f"not equal, {row['shortfall']:.1%} short at most"
    screen = console()
    screen.print(f"release {name}: {len(row['cuts'])} snapshots, {equal}")
    screen.print(grid(("snapshot", "category and subset", "entities", "mentions"), rows))
    screen.print(f'next: tempkb release export {name} exports  |  tempkb sql "FROM tempel_mentions LIMIT 5"')
