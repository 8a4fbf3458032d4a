"""The screens of `tempkb paper`: the tables and figures of the papers, and one of them as this home has it."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tempkb.commands.screens.console import print_next, print_sheet, say, show, write_file, write_picture
from tempkb.core.errors import SettingsError
from tempkb.platform.api import open_store
from tempkb.results.papers.items import (
    Drawing,
    Item,
    Paper,
    find,
    in_words,
    lacking,
    listings,
    papers,
    rows_of,
    unbuilt,
)
from tempkb.store.listings import Sheet, as_csv, as_latex
from tempkb.store.store import Store


def print_items(paper: str) -> None:
    """Print the items of one paper, or of all, with what this home can make of them."""
    store = open_store()
    if paper and paper not in papers():
        raise SettingsError(f"paper {paper!r}: no such paper; expected one of {', '.join(papers())}")
    made = list[str]()
    for one in (one for one in papers().values() if paper in ("", one.name)):
        lines, lacking_it = [], dict[str, list[str]]()
        for name, item in one.items.items():
            here, lacks = standing(store, one, item)
            lines.append((name, item.shows, here))
            made += [f"paper {one.name} {name}"] if here == "yes" else []
            for what in lacks:
                lacking_it.setdefault(what, []).append(name)
        print_sheet(Sheet(("item", "shows", "here"), lines, one.title))
        for what, names in lacking_it.items():
            say(f"{', '.join(names)} {'lacks' if len(names) == 1 else 'lack'} {what}")
        for name, item in one.items.items():
            if item.kind == "elsewhere":
                say(f"{name}: {item.differs}.")
    print_next(*made[:1], "docs papers")


def standing(store: Store, paper: Paper, item: Item) -> tuple[str, list[str]]:
    """Return in words whether a home can make an item, and what it lacks for it, each with what to type."""
    if item.kind != "data":
        here = {"text": f"see {item.see}", "elsewhere": "no"}.get(item.kind, item.kind)
        return here, ["models that are trained on dated text"] if item.kind == "training" else []
    lacks, absent = lacking(store, paper, item), unbuilt(store, item)
    if absent and not lacks:
        lacks = [f"{', '.join(absent)}, of which nothing is built: tempkb tables {absent[0]}"]
    return ("in part" if rows_of(store, item) else "no") if lacks else "yes", lacks


def print_item(
    paper: str,
    name: str,
    releases: Sequence[str],
    models: Sequence[str],
    csv_file: Path | None,
    latex_file: Path | None,
    picture: Path | None,
) -> None:
    """Print an item in the paper's layout, and write it to the files that are asked for.

    Raises:
        SettingsError: there is no such item, or this home can make nothing of it.
    """
    store, item, one = open_store(), find(paper, name), papers()[paper]
    title = f"{one.title}, {in_words(name)}"
    if item.kind != "data":
        here, lacks = standing(store, one, item)
        whys = {"drawing": "a drawing without data", "text": here, "elsewhere": item.differs}
        why = whys.get(item.kind) or f"it lacks {lacks[0]}"
        raise SettingsError(f"{title}: {item.shows}: {why}; all items: tempkb paper {paper}")
    rows = rows_of(store, item, releases, models)
    if not rows:
        raise _nothing(store, one, item, title, [*releases, *models])
    shown = [(listing, own) for listing, own in listings(one, name, rows)]
    for listing, own in shown:
        show(listing, own)
    for line in _remarks(store, one, item, rows):
        say(line)
    if csv_file:
        write_file(csv_file, as_csv(rows))
    if latex_file:
        write_file(latex_file, "\n".join(as_latex(listing.sheet(own)) for listing, own in shown))
    if picture:
        _write_picture(store, item, rows, f"{title}: {item.shows}", picture)


def _nothing(store: Store, paper: Paper, item: Item, title: str, asked: Sequence[str]) -> SettingsError:
    """The error of an item without rows."""
    there = rows_of(store, item) if asked else []
    if there:
        names = (", ".join(dict.fromkeys(str(row[one]) for row in there if one in row)) for one in ("release", "model"))
        return SettingsError(f"{title}: found nothing of {', '.join(asked)}; there: {'; '.join(filter(None, names))}")
    lacks = "; ".join(lacking(store, paper, item)) or ", ".join(unbuilt(store, item))
    return SettingsError(f"{title}: this home has nothing of it{f'; it lacks {lacks}' if lacks else ''}")


def _remarks(store: Store, paper: Paper, item: Item, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    if reasons := list(dict.fromkeys(row["reason"] for row in rows if row.get("reason"))):
        yield f"Empty cells: {'; '.join(reasons)}."
    if lacks := lacking(store, paper, item):
        yield f"Not here: {'; '.join(lacks)}"
    if item.differs:
        yield f"Beside the paper: {item.differs}"
    if any(row.get("low") is not None for row in rows):
        yield "--csv writes all figures, with their 95 % intervals and numbers of items and clusters."


def _write_picture(store: Store, item: Item, rows: Sequence[dict[str, Any]], title: str, path: Path) -> None:
    if item.picture is None:
        raise SettingsError("--picture: this item is a table alone; leave it out")
    if isinstance(item.picture, Drawing):
        from tempkb.results.papers.pictures import drawn

        with drawn(item.picture, rows, title) as figure:
            write_picture(path, figure)
        return
    module, _, function = item.picture.partition(":")
    with getattr(import_module(module), function)(store, rows) as figure:
        write_picture(path, figure)
