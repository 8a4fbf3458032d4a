"""The tables and figures of the papers: their declarations, their rows, and what a home lacks for them.

An item is data: `NAME.toml` has those of one paper, and `[lacks.NAME]` what cells may lack, with what to type. Several
in one have `each`: by name, the words that stand for {names} in them; `[words]` has those of the whole paper. Reading
them imports neither DuckDB nor Arrow, so that the list of all items comes fast.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, partial
from importlib import import_module
from math import inf
from typing import Any, Literal, TypeVar

import msgspec

from tempkb.benchmarks.linkable.declaration import OWN_POOL
from tempkb.core.errors import SettingsError
from tempkb.core.files import toml_beside
from tempkb.core.wording import percent, rounded
from tempkb.store.listings import BETTER, WORSE, Across, Form, Listing, Marked
from tempkb.store.store import Store

PAPERS = {
    "tempel": "TempEL (Zaporojets et al. 2022)",
    "ecbd": "ECBD (Onoe et al. 2022)",
    "templama": "TempLAMA (Dhingra et al. 2022)",
    "dynamic-templama": "DynamicTempLAMA (Margatina et al. 2023)",
}
_COLOURED = 0.005  # smaller differences have no colour
_Kind = TypeVar("_Kind")
Row = Mapping[str, Any]
Kind = Literal["data", "drawing", "text", "training", "elsewhere"]
"""What an item is made of: the home's data, nothing (a drawing), a page of the docs, models that are trained on dated
text, or data that cannot be had."""


class Lack(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a home may lack for an item.

    Attributes:
        query: SQL that gives a row if it is there; cheap, over base tables.
        needs: tables and views that it reads.
        say: what it is, with the command that makes it.
    """

    query: str
    needs: tuple[str, ...]
    say: str


class Drawing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How rows are drawn: `pictures` tells what each kind of picture shows.

    Attributes:
        x, y: columns of the axes.
        series: columns whose values together name a line or a group of bars.
        panels: likewise of the panels, beside release.
        log: whether the axis of y is logarithmic.
        within: what is possible, beyond which no interval is drawn.
    """

    kind: Literal["lines", "diagonal", "bars", "violin"]
    x: str
    y: str = "value"
    series: tuple[str, ...] = ()
    panels: tuple[str, ...] = ()
    log: bool = False
    within: tuple[float, float] = (-inf, inf)


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table or figure of a paper, or one of ours beside them.

    Attributes:
        shows: what it shows, in our words.
        query: SQL of its rows. They have `value` (perhaps null, with a `reason`), `low`, `high`, `n_items` and
            `n_clusters`, and before these the columns that say of what; first `release`, if releases differ.
        rows: in place of it, a function of a store: module and name with a colon between.
        needs: tables and views that the query reads.
        lines: columns at the left of each line of the table.
        across: the column whose values are columns of the table; empty if the lines are all.
        form: of the values.
        delta: column of the difference that stands behind a value in brackets.
        shade: column of a difference that colours a value.
        by: columns, beside release, each of whose values has a table of its own.
        lacks: names of what may be lacking.
        picture: how the rows are drawn.
        differs: how ours differs from what is printed, and why.
        imported: whether imported scores alone suffice.
        see: the page or file that answers an item of the kind text.
        asset: the table under which the UI shows it.
    """

    shows: str
    kind: Kind = "data"
    query: str = ""
    rows: str = ""
    needs: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    across: str = ""
    form: Literal["number", "percent", "count", "text"] = "number"
    delta: str = ""
    shade: str = ""
    by: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    picture: Drawing | None = None
    differs: str = ""
    imported: bool = False
    see: str = ""
    asset: str = ""


class Paper(msgspec.Struct, frozen=True):
    """A paper's items by name, such as table-5, in the order of the paper, and what they may lack."""

    name: str
    title: str
    items: Mapping[str, Item]
    lacks: Mapping[str, Lack]


@cache
def papers() -> Mapping[str, Paper]:
    """Return all papers by name."""
    return {name: _paper(name, title) for name, title in PAPERS.items()}


def _paper(name: str, title: str) -> Paper:
    declared = toml_beside(__file__, f"{name}.toml")
    words = declared.pop("words", {})
    lacks = dict(_each(declared.pop("lacks"), words, Lack))
    items = dict(sorted(_each(declared, words, Item), key=lambda one: _place(one[0])))
    return Paper(name, title, items, lacks)


def _each(declared: Mapping[str, Any], words: Mapping[str, Any], kind: type[_Kind]) -> Iterator[tuple[str, _Kind]]:
    """What is declared by name; of several in one, that of each name, with its own words in it."""
    for name, one in declared.items():
        for own, further in one.pop("each", {name: {}}).items():
            text = json.dumps(one)
            for word, value in {**words, **further}.items():
                text = text.replace(f"{{{word}}}", json.dumps(str(value))[1:-1])
            yield own, msgspec.json.decode(text, type=kind)


def _place(name: str) -> tuple[int, int, str]:
    """Tables in their order, then figures, then what has no number in the paper."""
    kind, _, number = name.partition("-")
    kinds = ("table", "figure")
    return (kinds.index(kind), int(number), "") if kind in kinds and number.isdigit() else (len(kinds), 0, name)


def find(paper: str, name: str) -> Item:
    """Return an item.

    Raises:
        SettingsError: there is no such paper or item; it names the nearest.
    """
    known = papers()
    if paper not in known:
        raise SettingsError(f"paper {paper!r}: no such paper; expected one of {', '.join(known)}")
    items = known[paper].items
    if name not in items:
        near = get_close_matches(name, items, 3, 0.5) or list(items)[:3]
        raise SettingsError(f"{paper} {name}: no such item; {', '.join(near)} are; all: tempkb paper {paper}")
    return items[name]


def rows_of(
    store: Store, item: Item, releases: Sequence[str] = (), models: Sequence[str] = (), pool: str = OWN_POOL
) -> list[dict[str, Any]]:
    """Return the rows of an item, by default of all releases and models; of linkers those of one pool, or "" of all."""
    wanted = {"release": releases, "model": models, "linker": models, "pool": (pool,) if pool else ()}
    if item.rows:
        module, _, name = item.rows.partition(":")
        rows: list[dict[str, Any]] = getattr(import_module(module), name)(store)
    else:
        rows = store.ask(item.query, *item.needs)
    return [row for row in rows if all(row[one] in names for one, names in wanted.items() if names and one in row)]


def lacking(store: Store, paper: Paper, item: Item) -> list[str]:
    """Return what a home lacks of what an item may be made of, each with what to type."""
    absent = [paper.lacks[name] for name in item.lacks]
    return [one.say for one in absent if not _is_there(store, one)]


def _is_there(store: Store, lack: Lack) -> bool:
    return not unbuilt(store, lack) and bool(store.ask(lack.query, *lack.needs))


def unbuilt(store: Store, made: Item | Lack) -> list[str]:
    """Return the tables of an item, or of what it may lack, of which nothing is built."""
    return [name for name in dict.fromkeys(_below(store, made.needs)) if not store.lake.keys(name)]


def _below(store: Store, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        view = store.views.get(name)
        yield from _below(store, view.needs) if view else (name,)


def listings(paper: Paper, name: str, rows: Sequence[Row]) -> Iterator[tuple[Listing, list[Row]]]:
    """Yield the tables of an item, one for each release and value of `by`, with their rows."""
    item = paper.items[name]
    apart = [one for one in ("release", *item.by) if rows and one in rows[0]]
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[one] for one in apart), []).append(row)
    title = f"{paper.title.partition(' (')[0]}, {in_words(name)}: {item.shows}"
    for key, own in groups.items():
        of = ", ".join(f"{one.replace('_', ' ')} {value}" for one, value in zip(apart, key, strict=True))
        yield Listing(_columns(item, own), f"{title} ({of})" if of else title), own


def in_words(name: str) -> str:
    """Return an item's name as a paper prints it.

    >>> in_words("table-5"), in_words("section-6-3"), in_words("reliability-of-answers")
    ('Table 5', 'Section 6.3', 'Reliability of answers')
    """
    return re.sub(r"(?<=\d)-(?=\d)", ".", name).replace("-", " ").capitalize()


def _columns(item: Item, rows: Sequence[Row]) -> Mapping[str, Form | Across]:
    lines: dict[str, Form | Across] = {name.replace("_", " "): name for name in item.lines}
    if not item.across:
        return lines
    heads = {row[item.across]: "all" if row[item.across] is None else str(row[item.across]) for row in rows}
    return lines | {item.across: Across(item.across, lambda row: _cell(item, row), heads)}


_FORMS: Mapping[str, Callable[..., str]] = {
    "number": partial(rounded, digits=2),
    "percent": partial(percent, digits=1),
    "count": lambda value, sign="": f"{value:{sign},.0f}",
}


def _cell(item: Item, row: Row) -> object:
    if row["value"] is None:
        return "" if item.form == "text" else Marked("")
    if item.form == "text":
        return str(row["value"])
    text = _FORMS[item.form](row["value"])
    if item.delta and row[item.delta] is not None:
        text += f" ({_FORMS[item.form](row[item.delta], sign='+')})"
    shade = item.shade and row[item.shade] or 0.0
    mark = "" if abs(shade) < _COLOURED else BETTER if shade > 0 else WORSE
    return Marked(text, mark, shade)
