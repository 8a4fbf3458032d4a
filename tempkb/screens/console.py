"""Prints lines and tables to standard output, and the form of values there."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from tempkb.settings import at_home, home_in_front, in_shell
from tempkb.store.visible import visible

_BOUNDLESS = 1_000_000_000  # width in columns of output to a file or a pipe
# Variables that tell Rich whether there is a terminal, and terminals without bold letters.
_ODD_VARIABLES = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
_ODD_TERMINALS = ("dumb", "unknown")


@dataclass(frozen=True)
class Grid:
    """A table of texts; `are_numbers` says for each column whether it is aligned to the right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    are_numbers: tuple[bool, ...]
    title: str = ""

    def widths(self) -> list[int]:
        """Return the width of each column in a terminal: that of its widest value or of its name."""
        return [max(map(_cells, values)) for values in zip(self.columns, *self.rows, strict=True)]

    def width(self) -> int:
        """Return the width of the whole table in a terminal, with its lines."""
        return _needed(self.widths())


class Screen:
    """Standard output for people: texts and tables are printed literally.

    Lines and tables that fit are written directly. Rich does the rest, and colours, because importing Rich and
    rendering with it takes as long as everything else in `tempkb sql`.

    Args:
        width: width in columns; None takes the variable COLUMNS, or else the width of the terminal. Without both, each
            row of a table is one line, however long.
    """

    def __init__(self, width: int | None = None) -> None:
        self._out = sys.stdout
        is_odd = any(os.environ.get(name) for name in _ODD_VARIABLES) or os.environ.get("TERM", "") in _ODD_TERMINALS
        encoding = (getattr(self._out, "encoding", None) or "utf-8").lower()
        self._is_terminal = self._out.isatty()
        # Rich handles forced terminals, those without colours, and those that cannot show the lines of tables.
        self._is_known = not is_odd and encoding.startswith("utf")
        self.width = width or self._width()

    def width_or(self, width: int) -> int:
        """Return the width in columns, or `width` where lines may be of any length: in a file or a pipe."""
        return width if self.width == _BOUNDLESS else self.width

    def _width(self) -> int:
        columns = os.environ.get("COLUMNS", "")
        if columns.strip("0").isdigit():
            return int(columns)
        if not self._is_known:
            from tempkb.screens.folding import PlainConsole

            return found.width if (found := PlainConsole()).is_terminal else _BOUNDLESS
        return shutil.get_terminal_size((80, 25)).columns if self._is_terminal else _BOUNDLESS

    def print(self, what: str | Grid, *, highlight: bool = True, soft_wrap: bool = False) -> None:
        """Print a text or a table.

        Args:
            what: the text or table; control characters become escapes.
            highlight: whether Rich colours numbers and names in a text on a terminal.
            soft_wrap: whether long lines are left to the terminal, and not wrapped between words.
        """
        if isinstance(what, Grid):
            painted = _painted(what, self.width, self._is_terminal) if self._is_known else None
        else:
            text = visible(what, keep="\n")
            is_plain = self._is_known and not (highlight and self._is_terminal)
            painted = text if is_plain and (soft_wrap or self._holds(text)) else None
        if painted is None:
            self._fold(what, highlight=highlight, soft_wrap=soft_wrap)
        else:
            self._write(painted)

    def print_styled(self, table: Grid, styles: Sequence[Sequence[str]]) -> None:
        """Print a table whose cells have styles of Rich on a terminal; elsewhere like `print`.

        Args:
            table: the table.
            styles: for each row the styles of its cells; empty for none.
        """
        if not self._is_terminal:
            self.print(table)
            return
        from tempkb.screens.folding import plain_console, styled_table

        plain_console(self.width).print(styled_table(table.columns, table.rows, styles, table.title), highlight=False)

    def print_headed(self, head: str, rest: str, *, style: str = "bold", soft_wrap: bool = False) -> None:
        """Print a text whose first part is bold, or has another style of Rich; the rest is like in `print`."""
        head, rest = visible(head, keep="\n"), visible(rest, keep="\n")
        is_plain = self._is_known and (style == "bold" or not self._is_terminal)
        if is_plain and (soft_wrap or self._holds(head + rest)):
            self._write(f"{_bold(head) if self._is_terminal else head}{rest}")
            return
        from rich.text import Text

        from tempkb.screens.folding import plain_console

        line = Text.assemble((head, style), rest)
        plain_console(self.width).print(line, highlight=False, soft_wrap=soft_wrap)

    def _holds(self, text: str) -> bool:
        return all(_cells(line) <= self.width for line in text.split("\n"))

    def _write(self, text: str) -> None:
        self._out.write(text + "\n")
        self._out.flush()

    def _fold(self, what: str | Grid, *, highlight: bool, soft_wrap: bool) -> None:
        from tempkb.screens.folding import folded_table, plain_console

        shown = folded_table(what.columns, what.rows, what.are_numbers, what.title) if isinstance(what, Grid) else what
        plain_console(self.width).print(shown, highlight=highlight, soft_wrap=soft_wrap)


def console(width: int | None = None) -> Screen:
    """Return standard output as a `Screen`."""
    return Screen(width)


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
    are_numbers = (
        bool(listed) and all(isinstance(row[at], int | float | Decimal) for row in listed) for at in range(len(columns))
    )
    return Grid(
        tuple(visible(name) for name in columns),
        tuple(tuple((show or shown)(value) for value in row) for row in listed),
        tuple(are_numbers),
        visible(title),
    )


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
    return _needed([max(map(_cells, cells)) for cells in zip(columns, *rows, strict=True)]) <= width


def records(columns: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> Iterable[str]:
    """Return the lines of a table with one column per line; long values are wrapped."""
    from tempkb.screens.folding import folded_records

    return folded_records(columns, rows, width)


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


def _painted(table: Grid, width: int, is_terminal: bool) -> str | None:
    """The lines of a table, equal to those of Rich; None if the table does not fit."""
    if not table.columns or any("\n" in value for row in table.rows for value in row):
        return None
    widths = table.widths()
    if max(table.width(), _cells(table.title)) > width:
        return None
    rules = ["━" * (one + 2) for one in widths]
    names = [_padded(*cell) for cell in zip(table.columns, widths, table.are_numbers, strict=True)]
    lines = [table.title] if table.title else []
    lines += [
        f"┏{'┳'.join(rules)}┓",
        f"┃{'┃'.join(_heading(name, is_terminal) for name in names)}┃",
        f"┡{'╇'.join(rules)}┩",
    ]
    for row in table.rows:
        cells = (_padded(*cell) for cell in zip(row, widths, table.are_numbers, strict=True))
        lines.append(f"│ {' │ '.join(cells)} │")
    lines.append(f"└{'┴'.join(rules).replace('━', '─')}┘")
    return "\n".join(lines)


def _heading(name: str, is_terminal: bool) -> str:
    return f"{_bold(' ')}{_bold(name)}{_bold(' ')}" if is_terminal else f" {name} "


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m"


def _padded(text: str, width: int, is_number: bool) -> str:
    blanks = " " * (width - _cells(text))
    return f"{blanks}{text}" if is_number else f"{text}{blanks}"


def _needed(widths: Sequence[int]) -> int:
    """Width of a table: a line before each column and at the end, and a space on each side of a value."""
    return sum(widths) + 3 * len(widths) + 1


def _cells(text: str) -> int:
    """Width of a text in a terminal; letters of some scripts are two columns wide, combining marks have no width."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
