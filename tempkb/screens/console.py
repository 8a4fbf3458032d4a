"""Prints lines and tables to standard output with Rich, and the form of values there."""

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tempkb.settings import at_home, home_in_front, in_shell
from tempkb.store.visible import visible

_BOUNDLESS = 1_000_000_000  # width in columns of output to a file or a pipe


class Screen(Console):
    """Standard output for people: texts and tables are printed literally, with escapes for control characters.

    Args:
        width: width in columns; None takes the variable COLUMNS, or else the width of the terminal. Without both, each
            row of a table is one line, however long.
    """

    def __init__(self, width: int | None = None) -> None:
        super().__init__(width=width, highlight=False)
        if not self._width:
            self.width = shutil.get_terminal_size().columns if self.is_terminal else _BOUNDLESS
        self.is_bounded = self.width < _BOUNDLESS

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as text. Rich calls this for every string that it prints or puts into a table."""
        return super().render_str(visible(text, keep="\n"), **{**options, "markup": False, "emoji": False})

    def on_broken_pipe(self) -> NoReturn:
        """Raise the error of a closed pipe, because the command decides the exit code."""
        raise BrokenPipeError

    def width_of(self, table: Table) -> int:
        """Return the width of a table with unwrapped values and its rules, without its title."""
        return self.measure(table, options=self.options.update(width=_BOUNDLESS)).maximum


def console(width: int | None = None) -> Screen:
    """Return standard output as a `Screen`."""
    return Screen(width)


def say(line: str, program: str = "tempkb") -> None:
    """Print a message without wrapping it, with its commands in the form in which they are typed for this home."""
    click.echo(visible(at_home(line, program), keep="\n"))


def headed(head: str, rest: str, style: str = "bold") -> Text:
    """Return a text whose first part has a style of Rich."""
    return Text.assemble((visible(head, keep="\n"), style), visible(rest, keep="\n"))


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


def grid(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    title: str = "",
    show: Callable[[object], str] = shown,
) -> Table:
    """Return a table, with numbers aligned to the right.

    Args:
        rows: values of the rows; a text of Rich keeps its style.
    """
    listed = [list(row) for row in rows]
    # A title that is wider than its table must not be wrapped.
    head = Text(visible(title), no_wrap=True, overflow="ignore") if title else None
    table = Table(title=head, title_justify="left")
    for at, name in enumerate(columns):
        is_number = bool(listed) and all(isinstance(row[at], int | float | Decimal) for row in listed)
        table.add_column(visible(name), justify="right" if is_number else "left", overflow="fold")
    for row in listed:
        table.add_row(*(one if isinstance(one, Text) else Text(show(one)) for one in row))
    return table


def record(number: int, columns: Sequence[str], values: Sequence[str]) -> Table:
    """Return a row of a table as a table of its own, with one column per line; long values are wrapped."""
    title = Text(f"record {number}", "bold")
    table = Table(title=title, title_justify="left", box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in zip(columns, values, strict=True):
        table.add_row(name, Text(value))
    return table


def print_next(*commands: str) -> None:
    """Print commands that a person may type next, one per line, without wrapping.

    Args:
        commands: the arguments of `tempkb`; the program's name or path, and the home, are added.
    """
    name = home_in_front() + program()
    for at, command in enumerate(commands):
        click.echo(visible(f"{'next:' if at == 0 else '     '} {name} {command}", keep="\n"))


def program() -> str:
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
