"""The console on which screens are printed, and the form of values there."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from tempkb.settings import at_home, home_in_front, in_shell
from tempkb.store.visible import visible

_BOUNDLESS = 1_000_000_000  # width in columns of output to a file or a pipe


class PlainConsole(Console):
    """Prints text literally: without markup and emoji codes, and with escapes for control characters."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as text. Rich calls this for every string that it prints or puts into a table."""
        return super().render_str(visible(text, keep="\n"), **{**options, "markup": False, "emoji": False})

    def on_broken_pipe(self) -> NoReturn:
        """Raise the error of a closed pipe, because the command decides the exit code."""
        raise BrokenPipeError


def console(width: int | None = None) -> PlainConsole:
    """Return a console on standard output.

    Args:
        width: width in columns; None takes the variable COLUMNS, or else the width of the terminal. Without both, each
            row of a table is one line, however long.
    """
    options: dict[str, Any] = {"markup": False, "emoji": False}
    out = PlainConsole(width=width, **options)
    has_width = bool(width) or os.environ.get("COLUMNS", "").strip("0").isdigit()
    return out if has_width or out.is_terminal else PlainConsole(width=_BOUNDLESS, **options)


def say(line: str) -> None:
    """Print a message without wrapping it, with its commands in the form in which they are typed for this home."""
    console().print(at_home(line), highlight=False, soft_wrap=True)


def grid(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    title: str = "",
    show: Callable[[object], str] | None = None,
) -> Grid:
    """Return a table, with numbers aligned to the right.

    Args:
        columns: names of the columns.
        rows: values of the rows.
        title: text above the table.
        show: returns the text of a value; None for `shown`.
    """
    listed = [list(row) for row in rows]
    # A title that is wider than its table must not be wrapped.
    table = Grid(title=Text(visible(title), no_wrap=True, overflow="ignore") if title else None, title_justify="left")
    for at, name in enumerate(columns):
        numeric = bool(listed) and all(isinstance(row[at], int | float | Decimal) for row in listed)
        table.add_column(visible(name), justify="right" if numeric else "left", overflow="fold")
    for row in listed:
        table.add_row(*((show or shown)(value) for value in row))
    return table


def shown(value: object) -> str:
    """Return a value in a form for people, on one line."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return visible(str(value))


def exact(value: object) -> str:
    """Return a value of a table in its exact form, on one line: numbers without commas, instants with their zone.

    >>> exact([{"entity_id": "Q1", "aliases": None}])
    '[{"entity_id": "Q1", "aliases": null}]'
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, list | tuple | dict):
        return visible(json.dumps(value, ensure_ascii=False, default=exact))
    return visible(str(value))


def fits(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> bool:
    """Return whether a table fits into a terminal of some width without wrapped values."""
    needed = [max(map(cell_len, cells)) for cells in zip(columns, *rows, strict=True)]
    # A line before each column and at the end, and a space on each side of a value.
    return sum(needed) + 3 * len(needed) + 1 <= width


def records(columns: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> Iterable[str]:
    """Yield the lines of a table with one column per line; long values are wrapped."""
    out = PlainConsole(width=width)
    margin = max(map(cell_len, columns), default=0)
    room = max(width - margin - 3, 20)
    for number, row in enumerate(rows, 1):
        yield f"-[ record {number} ]".ljust(min(width, margin + 20), "-")
        for name, value in zip(columns, row, strict=True):
            lines = Text(value).wrap(out, room, overflow="fold") if value else [Text("")]
            for at, line in enumerate(lines):
                head = name + " " * (margin - cell_len(name)) if at == 0 else " " * margin
                yield f"{head} | {line.plain}".rstrip()


def print_next(*commands: str) -> None:
    """Print commands that a person may type next, one per line, without wrapping.

    Args:
        commands: the arguments of `tempkb`; the program's name or path, and the home, are added.
    """
    name = home_in_front() + _program()
    for at, command in enumerate(commands):
        console().print(f"{'next:' if at == 0 else '     '} {name} {command}", highlight=False, soft_wrap=True)


def _program() -> str:
    """How to call tempkb: by its name, or by its path if no environment is active."""
    return "tempkb" if shutil.which("tempkb") else in_shell(Path(sys.executable).with_name("tempkb"))


def duration(seconds: int) -> str:
    """Return a duration (seconds) in its largest two units.

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
