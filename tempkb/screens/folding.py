"""Prints with Rich: tables and lines that are wider than the terminal, colours, and limited terminals."""

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tempkb.store.visible import visible


class PlainConsole(Console):
    """Prints text literally: without markup and emoji codes, and with escapes for control characters."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as text. Rich calls this for every string that it prints or puts into a table."""
        return super().render_str(visible(text, keep="\n"), **{**options, "markup": False, "emoji": False})

    def on_broken_pipe(self) -> NoReturn:
        """Raise the error of a closed pipe, because the command decides the exit code."""
        raise BrokenPipeError


def plain_console(width: int) -> PlainConsole:
    """Return a console on standard output with a width in columns."""
    return PlainConsole(width=width, markup=False, emoji=False)


def folded_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], are_numbers: Sequence[bool], title: str
) -> Table:
    """Return a table with wrapped values.

    Args:
        columns: names of the columns.
        rows: values of the rows as texts.
        are_numbers: for each column, whether it is aligned to the right.
        title: text above the table; empty for none.
    """
    # A title that is wider than its table must not be wrapped.
    table = Table(title=Text(title, no_wrap=True, overflow="ignore") if title else None, title_justify="left")
    for name, is_number in zip(columns, are_numbers, strict=True):
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def styled_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], styles: Iterable[Sequence[str]], title: str
) -> Table:
    """Return a table whose cells have styles; all but the first column are aligned to the right.

    Args:
        columns: names of the columns.
        rows: values of the rows as texts.
        styles: for each row the styles of its cells.
        title: text above the table; empty for none.
    """
    table = folded_table(columns, (), [at > 0 for at in range(len(columns))], title)
    for row, own in zip(rows, styles, strict=True):
        table.add_row(*(Text(value, style) for value, style in zip(row, own, strict=True)))
    return table


def folded_records(columns: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> Iterable[str]:
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
