"""Items of the papers over small worlds, laid out as they are printed."""

from tempkb.results.papers.items import listings, papers
from tempkb.store.memory import in_memory


def sheets(world, paper, name):
    """The tables of an item."""
    item = papers()[paper].items[name]
    with in_memory() as connection:
        for need in item.needs:
            world.show(connection, need)
        rows = connection.sql(item.query).to_arrow_table().to_pylist()
    return [listing.sheet(own) for listing, own in listings(papers()[paper], name, rows)]


def tables(world, paper, name):
    """The tables of an item: what is in brackets behind the title, the heads, and the lines as texts."""
    every = sheets(world, paper, name)
    return [(sheet.title.rpartition("(")[2][:-1], list(sheet.heads), list(map(_texts, sheet.lines))) for sheet in every]


def _texts(line):
    return ["" if cell is None else str(getattr(cell, "text", cell)) for cell in line]
