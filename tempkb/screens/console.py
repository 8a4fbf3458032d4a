"""The console that screens print on, and how values look there."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.console import Console
from rich.table import Table as Grid


def console() -> Console:
    """Return a console on standard output; wide when it is not a terminal, so that nothing is cut."""
    out = Console()
    return out if out.is_terminal else Console(width=200)


def grid(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> Grid:
    """Return a table; numbers stand on the right."""
    listed = [list(row) for row in rows]
    table = Grid(title=title or None, title_justify="left")
    for at, name in enumerate(columns):
        numeric = bool(listed) and all(isinstance(row[at], int | float) for row in listed)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in listed:
        table.add_row(*(shown(value) for value in row))
    return table


def shown(value: object) -> str:
    """Return a value as people like to read it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return str(value).replace("[", r"\[")


def duration(seconds: int) -> str:
    """Return a length of time in its largest two units.

    >>> duration(90_061)
    '1 d 1 h'
    """
    parts = [
        (seconds // 86_400, "d"),
        (seconds % 86_400 // 3600, "h"),
        (seconds % 3600 // 60, "min"),
        (seconds % 60, "s"),
    ]
    while len(parts) > 1 and not parts[0][0]:
        parts.pop(0)
    return " ".join(f"{n} {unit}" for n, unit in parts[:2] if n) or "0 s"
