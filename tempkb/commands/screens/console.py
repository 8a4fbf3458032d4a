"""Prints lines and tables to standard output with Rich, and writes files that a command is asked to write.

Files are written whole or not at all, and never over something else unasked.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tempkb.core.errors import SettingsError
from tempkb.core.pictures import as_png
from tempkb.core.settings import at_home, home_in_front, program
from tempkb.store.listings import BETTER, WORSE, Listing, Marked, Sheet, are_numbers, in_order
from tempkb.store.quoting import visible

_BOUNDLESS = 1_000_000_000  # width in columns of output to a file or a pipe
_STYLES = {BETTER: "green", WORSE: "red", "": ""}
FIELDS = Listing(in_order("column", "value"))


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
        """Return the width of a table with unwrapped values and its rules."""
        return self.measure(table, options=self.options.update(width=_BOUNDLESS)).maximum


def say(line: str) -> None:
    """Print a message, if there is one, without wrapping it, with its commands as they are typed for this home."""
    if line:
        click.echo(visible(at_home(line), keep="\n"))


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


def grid(heads: Sequence[str], lines: Iterable[Sequence[object]], form: Callable[[object], str] = shown) -> Table:
    """Return a table; numbers are aligned to the right, and marked ones have their colour."""
    listed = [list(line) for line in lines]
    table = Table()
    for at, head in enumerate(heads):
        is_number = bool(listed) and are_numbers(line[at] for line in listed)
        table.add_column(visible(head), justify="right" if is_number else "left", overflow="fold")
    for line in listed:
        marks = (cell if isinstance(cell, Marked) else Marked(form(cell)) for cell in line)
        table.add_row(*(Text(text, _STYLES[mark]) for text, mark, _ in marks))
    return table


def print_sheet(sheet: Sheet) -> None:
    """Print a table below its title, which may be wider than the terminal."""
    if sheet.title:
        click.echo(visible(sheet.title))
    Screen().print(grid(sheet.heads, sheet.lines))


def show(listing: Listing, rows: Sequence[Any]) -> None:
    """Print rows as they are declared, with what must be known of them; without columns for which there is no place.

    Rows in which nothing can be compared are one line below the table, or in its place.
    """
    rows, without = listing.compared(rows)
    if without and not rows:
        say(without)
        return
    out, left_out = Screen(), list[str]()
    for name in (*listing.dispensable, ""):
        sheet = listing.sheet(rows, left_out)
        if not name or out.width_of(grid(sheet.heads, sheet.lines)) <= out.width:
            break
        left_out.append(name)
    print_sheet(sheet)
    if left_out:
        say(f"This terminal is too narrow for {', '.join(left_out)}; --csv writes all columns.")
    say(without)
    say(listing.remark)


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


def duration(seconds: int) -> str:
    """Return a duration (seconds) in its largest two units.

    >>> duration(90_061)
    '1 d 1 h'
    """
    parts = list[str]()
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        n, seconds = divmod(seconds, size)
        if n or parts:
            parts.append(f"{n} {unit}" if n else "")
    return " ".join(filter(None, parts[:2])) or "0 s"


_DOTS_PER_INCH = 150


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file, replacing an older one.

    Raises:
        SettingsError: the folder is missing or cannot be written to.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    try:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise SettingsError(
            f"{path}: cannot be written: {error.strerror}; name a file in a folder that exists"
        ) from None
    say(f"written: {path}")


def write_picture(path: Path, figure: Any) -> None:
    """Write a figure as a PNG file.

    Raises:
        SettingsError: as `write_file`.
    """
    write_file(path, as_png(figure, _DOTS_PER_INCH))
