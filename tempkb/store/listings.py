"""Tables for people, each declared once: a query, titles with forms of cells, remarks; as lines, CSV and LaTeX."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NamedTuple

from tempkb.core.wording import percent
from tempkb.store.store import Store

Form = str | int | Callable[[Any], object]
"""What a cell shows of a row: the column of that name or place, or what a function returns."""
BETTER, WORSE = "better", "worse"
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # how texts begin that spreadsheets compute, also in the forms of East Asia
_LATEX = {"\\": r"\textbackslash ", "~": r"\textasciitilde ", "^": r"\textasciicircum "}
_LATEX |= {sign: f"\\{sign}" for sign in "&%$#_{}"}


class Marked(NamedTuple):
    """A number as text, with how it differs from another one (`BETTER`, `WORSE` or not at all), and how much."""

    text: str
    mark: str = ""
    difference: float = 0.0


class Sheet(NamedTuple):
    """A table as it is written: heads of columns, and cells line by line."""

    heads: Sequence[str]
    lines: Sequence[Sequence[object]]
    title: str = ""


@dataclass(frozen=True)
class Across:
    """Columns for the values of a column: rows whose other cells are equal are one line.

    Attributes:
        column: the column with the values.
        form: what the cell of a value shows of its row.
        titles: of the values that are shown, in this order; empty for all that there are, by themselves.
    """

    column: str
    form: Form
    titles: Mapping[Any, str]


@dataclass(frozen=True)
class Listing:
    """The declaration of a table for people.

    Attributes:
        columns: what is shown, by title; by default all that the query gives.
        title: the line above it, and its caption in LaTeX.
        remark: what must be known to read it; the line below.
        query: SQL of its rows; here, in the title and the remark {names} stand for words that are filled in.
        needs: tables and views that the query reads.
        common: columns that the title names instead where they are the same in all rows.
        dispensable: columns that a narrow terminal does without, in this order.
        lacking: returns of a row in which nothing can be compared its name, and why; a line has them, and no table.
    """

    columns: Mapping[str, Form | Across] = field(default_factory=dict)
    title: str = ""
    remark: str = ""
    query: str = ""
    needs: tuple[str, ...] = ()
    common: tuple[str, ...] = ()
    dispensable: tuple[str, ...] = ()
    lacking: Callable[[Any], tuple[str, str] | None] = lambda _row: None

    def filled(self, **words: object) -> "Listing":
        """Return the same with words in the place of {names} in its texts and query."""
        parts = {name: getattr(self, name).format(**words) for name in ("title", "remark", "query")}
        return replace(self, **parts)

    def rows(self, store: Store) -> list[dict[str, Any]]:
        """Return the rows of the query."""
        return store.ask(self.query, *self.needs)

    def compared(self, rows: Sequence[Any]) -> tuple[list[Any], str]:
        """Return the rows in which something can be compared, and a sentence about all others, if there are any."""
        kept, names = list[Any](), dict[str, dict[str, None]]()
        for row in rows:
            if lacking := self.lacking(row):
                names.setdefault(lacking[1], {})[lacking[0]] = None
            else:
                kept.append(row)
        if not names:
            return kept, ""
        is_one = not kept and len(names) == 1
        why = "; ".join(reason if is_one else f"{', '.join(own)}: {reason}" for reason, own in names.items())
        if not kept:
            return kept, f"{self.title}: none of {len(rows):,} has a comparison: {why}."
        n = len(rows) - len(kept)
        return kept, f"{n:,} of {len(rows):,} {'has' if n == 1 else 'have'} no comparison: {why}."

    def sheet(self, rows: Sequence[Any], without: Sequence[str] = ()) -> Sheet:
        """Return rows as lines, without some of the columns."""
        every = self.columns or named(*next(iter(rows), ()))
        columns = {title: _over(form, rows) for title, form in every.items() if title not in without}
        lines: dict[object, dict[str, object]] = {}
        across = any(isinstance(form, Across) for form in columns.values())
        for number, row in enumerate(rows):
            own = {title: _cell(form, row) for title, form in columns.items() if not isinstance(form, Across)}
            line = lines.setdefault(tuple(own.values()) if across else number, own)
            for form in columns.values():
                if isinstance(form, Across) and row[form.column] in form.titles:
                    line[form.titles[row[form.column]]] = _cell(form.form, row)
        heads = [
            head
            for title, form in columns.items()
            for head in (form.titles.values() if isinstance(form, Across) else (title,))
        ]
        same = [head for head in self.common if len({line[head] for line in lines.values()}) == 1]
        title = ", ".join([self.title, *(f"{head} {next(iter(lines.values()))[head]}" for head in same)])
        heads = [head for head in heads if head not in same]
        return Sheet(heads, [[line.get(head) for head in heads] for line in lines.values()], title)


def named(*names: str, **columns: Form) -> dict[str, Form | Across]:
    """Return columns whose titles are their names, and behind them others."""
    return {**{name: name for name in names}, **columns}


def in_order(*titles: str) -> dict[str, Form | Across]:
    """Return the columns of rows without names."""
    return {title: place for place, title in enumerate(titles)}


def _over(form: Form | Across, rows: Sequence[Any]) -> Form | Across:
    """Columns for all values that rows have, where a form names none."""
    if not isinstance(form, Across) or form.titles:
        return form
    return replace(form, titles={value: value for value in sorted({row[form.column] for row in rows} - {None})})


def _cell(form: Form, row: Any) -> object:
    return form(row) if callable(form) else row[form]


def are_numbers(cells: Iterable[object]) -> bool:
    """Whether cells of a column are numbers, which are aligned to the right."""
    return all(isinstance(cell, int | float | Decimal | Marked) for cell in cells)


def estimate(
    row: Mapping[str, Any],
    columns: tuple[str, str, str] = ("value", "low", "high"),
    show: Callable[[Any], object] = percent,
    unit: str = "",
) -> str:
    """Return a value with the ends of its interval, as far as a row has them in columns of these names.

    >>> estimate({"value": 0.5, "low": 0.25, "high": 0.75}), estimate({"value": 0.5}), estimate({})
    ('50 [25, 75]', '50', '')
    """
    value, low, high = map(row.get, columns)
    if value is None:
        return ""
    return f"{show(value)}{unit}" + ("" if low is None or high is None else f" [{show(low)}, {show(high)}]")


def csv_of(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV, with an apostrophe before texts that spreadsheets take for formulas."""
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows(map(_csv, rows))
    return lines.getvalue()


def _csv(row: Iterable[object]) -> list[object]:
    return [f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell for cell in row]


def as_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Return rows as CSV with some columns, by default all that a row has; numbers have all their digits."""
    names = columns or list(dict.fromkeys(name for row in rows for name in row))
    return csv_of([names, *([row.get(name) for name in names] for row in rows)])


def as_latex(sheet: Sheet) -> str:
    """Return a table in LaTeX; it needs the package booktabs, and of marked numbers xcolor with the option table."""
    kinds = ("r" if are_numbers(cells) else "l" for cells in zip(*sheet.lines, strict=True))
    head, *lines = (" & ".join(map(_latex, line)) + r" \\" for line in (sheet.heads, *sheet.lines))
    return "\n".join(
        (
            r"\begin{table}[t]",
            rf"\caption{{{_latex(sheet.title)}}}",
            rf"\begin{{tabular}}{{{''.join(kinds)}}}",
            *(r"\toprule", head, r"\midrule", *lines, r"\bottomrule"),
            r"\end{tabular}",
            r"\end{table}",
            "",
        )
    )


def _latex(cell: object) -> str:
    r"""A cell in which signs that have a meaning in LaTeX are as it prints them.

    >>> print(_latex("a_b, 5 %"))
    a\_b, 5 \%
    """
    if isinstance(cell, Marked):
        # Five points have the full colour.
        strength = min(60, max(5, round(1200 * abs(cell.difference))))
        colour = {BETTER: "green", WORSE: "red"}.get(cell.mark)
        return (rf"\cellcolor{{{colour}!{strength}}}" if colour else "") + _latex(cell.text)
    return "".join(_LATEX.get(sign, sign) for sign in ("" if cell is None else str(cell)))
