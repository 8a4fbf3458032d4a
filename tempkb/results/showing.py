"""What the UI shows of the tables of results: rows and pictures, by table and label."""

import pyarrow as pa

from tempkb.core.pictures import as_markdown
from tempkb.engine.tasks import Picture, Rows, Shown, Shows
from tempkb.results.judged_tables import JUDGED_CHANGES
from tempkb.results.knowing import known_of
from tempkb.results.papers.items import listings, papers, rows_of
from tempkb.results.papers.pictures import drawn
from tempkb.results.plots import delays_figure, levels_figure, windows_figure
from tempkb.results.reading import read_levels_by_window, read_questions
from tempkb.results.requests import KnowledgeRequest
from tempkb.results.tables import FACT_DELAYS, KNOWLEDGE, LINKING_EFFECTS
from tempkb.results.tabling import listings_of, sample_by_kind
from tempkb.store.listings import Marked, Sheet
from tempkb.store.store import Store


def knowledge(store: Store, _owner: str | None) -> Shows:
    """Return questions and answers about what models know, with pictures."""
    if not any(one.rows for one in store.lake.versions(KNOWLEDGE.name)):
        return {}
    known = known_of([*read_questions(store, KnowledgeRequest())])
    shown: dict[str, Shown] = {listing.title: _as_texts(listing.sheet(rows)) for listing, rows in listings_of(known)}
    with levels_figure(known) as figure:
        shown["last window"] = Picture(as_markdown(figure, "what models know of the last window"))
    if windows := read_levels_by_window(store):
        with windows_figure(windows) as figure:
            shown["by window"] = Picture(as_markdown(figure, "figures by window"))
    return {KNOWLEDGE.name: shown | _of_papers(store, KNOWLEDGE.name)}


def _of_papers(store: Store, table: str) -> dict[str, Shown]:
    """The tables and figures of the papers that are shown with a table of results."""
    shown: dict[str, Shown] = {}
    every = ((one, name, item) for one in papers().values() for name, item in one.items.items())
    for paper, name, item in every:
        if item.asset != table or not (rows := rows_of(store, item)):
            continue
        label = f"{paper.name} {name}"
        for at, (listing, own) in enumerate(listings(paper, name, rows), 1):
            shown[f"{label} ({at})"] = _as_texts(listing.sheet(own))
        if item.picture:
            with drawn(item.picture, rows, item.shows) as figure:
                shown[f"{label}, picture"] = Picture(as_markdown(figure, item.shows))
    return shown


def _as_texts(sheet: Sheet) -> Rows:
    return Rows(pa.Table.from_pylist([dict(zip(sheet.heads, map(_text, line), strict=True)) for line in sheet.lines]))


def _text(cell: object) -> str:
    return cell.text if isinstance(cell, Marked) else "" if cell is None else str(cell)


def contrasts(store: Store, _owner: str | None) -> Shows:
    """Return all contrasts between linkers."""
    rows = store.read(LINKING_EFFECTS.name)
    if not rows.num_rows:
        return {}
    return {LINKING_EFFECTS.name: {"contrasts": Rows(rows), **_of_papers(store, LINKING_EFFECTS.name)}}


def delays(store: Store, _owner: str | None) -> Shows:
    """Return all delays, and a picture of those that are known."""
    rows = store.read(FACT_DELAYS.name)
    shown: dict[str, Shown] = {"delays": Rows(rows)}
    if any(rows["days"].is_valid().to_pylist()):
        with delays_figure(rows.to_pylist()) as figure:
            shown["picture"] = Picture(as_markdown(figure, "how long facts of a window take to come"))
    return {FACT_DELAYS.name: shown}


def judged(store: Store, _owner: str | None) -> Shows:
    """Return some answers of each kind, and the papers' figures of them."""
    shown: dict[str, Shown] = {f"sample/{kind}": Rows(rows, cell=120) for kind, rows in sample_by_kind(store).items()}
    return {JUDGED_CHANGES.name: shown | _of_papers(store, JUDGED_CHANGES.name)}
