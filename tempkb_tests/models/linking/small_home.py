"""A home with a release of TempEL of a few pages that is written by hand, and an encoder whose vectors are.

At both snapshots the port, the goddess and the assembly are articles; the text of the goddess changes in between, and
the pier is new at the second one.
"""

from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import torch

from tempkb.benchmarks.register import alone, create, entry_if_any, keep, mark_built
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb.benchmarks.tempel.design import make_design
from tempkb.benchmarks.tempel.entity_texts import write_entity_texts
from tempkb.benchmarks.tempel.tables import TEMPEL_ENTITIES, TEMPEL_MENTIONS
from tempkb.benchmarks.work import working
from tempkb.core.files import read_parquet
from tempkb.models.linking import vectors
from tempkb.models.linking.tables import DIGESTS, LINKERS
from tempkb.platform.api import open_store
from tempkb.store.drafts import Provenance
from tempkb.store.tables import Family
from tempkb.wiki.mentions.tables import MENTION_PRIORS, PAGE_TEXTS

A, B = date(2022, 1, 1), date(2023, 1, 1)
PORT, GODDESS, ASSEMBLY, PIER = 1, 2, 3, 4
TITLES = {PORT: "Aurora (port)", GODDESS: "Aurora (goddess)", ASSEMBLY: "Mejlis", PIER: "Pier 2022"}
# The text of each page at each snapshot: its revision, the quarter in which that was saved, and what it says.
TEXTS = {
    A: {
        PORT: (10, date(2021, 1, 1), "Aurora is a port."),
        GODDESS: (20, date(2021, 1, 1), "Aurora is a goddess."),
        ASSEMBLY: (30, date(2021, 4, 1), "Mejlis is an assembly."),
    },
    B: {
        PORT: (10, date(2021, 1, 1), "Aurora is a port."),
        GODDESS: (21, date(2022, 4, 1), "Aurora is a goddess of dawn."),
        ASSEMBLY: (30, date(2021, 4, 1), "Mejlis is an assembly."),
        PIER: (40, date(2022, 7, 1), "A pier by the sea."),
    },
}
VECTORS = {
    "Aurora is a port.": (1, 0),
    "Aurora is a goddess.": (0, 1),
    "Aurora is a goddess of dawn.": (0, 2),
    "Mejlis is an assembly.": (1, 1),
    "A pier by the sea.": (2, 0),
}
QUERIES = {"Aurora": (1, 0), "assembly": (1, 1), "pier": (0, 1), "elders": (0, -1)}
# Snapshot, subset, target, anchor, start, category, and the mention with its context.
MENTIONS = [
    (A, "test", PORT, ASSEMBLY, 5, "continual", ("sail to ", "Aurora", " by night")),
    (A, "test", ASSEMBLY, PORT, 7, "continual", ("the ", "assembly", " of Aurora")),
    (A, "validation", ASSEMBLY, GODDESS, 3, "continual", ("the ", "elders", " met")),
    (B, "test", PORT, ASSEMBLY, 5, "continual", ("sail to ", "Aurora", " by night")),
    (B, "test", PIER, PORT, 30, "new", ("a new ", "pier", " by the sea")),
]
# Snapshot, surface, target and number of links.
PRIORS = [
    (A, "aurora", GODDESS, 7),
    (A, "aurora", PORT, 5),
    (A, "aurora", ASSEMBLY, 5),
    (A, "elders", ASSEMBLY, 1),
    (B, "aurora", PORT, 8),
    (B, "aurora", GODDESS, 8),
    (B, "pier", PIER, 2),
]


def small_home(folder, monkeypatch):
    """Make the home in a folder, and return its store."""
    monkeypatch.setenv("TEMPKB_HOME", str(folder))
    monkeypatch.setenv("TEMPKB_GRANULARITY", "year")
    monkeypatch.setenv("TEMPKB_WORKERS", "1")
    store = open_store()
    store.claim("testwiki")
    revisions = {(page, *text) for texts in TEXTS.values() for page, text in texts.items()}
    for quarter in sorted({row[2] for row in revisions}):
        rows = [
            {"page_id": page, "revision_id": revision, "quarter": quarter, "text": text}
            for page, revision, own, text in sorted(revisions)
            if own == quarter
        ]
        write(store, PAGE_TEXTS, str(quarter), rows)
    for cut in TEXTS:
        priors = [
            {"surface": surface, "target_page_id": page, "n_links": n, "n_direct": n, "prior": 0.5, "cut": cut}
            for own, surface, page, n in sorted(PRIORS)
            if own == cut
        ]
        write(store, MENTION_PRIORS, f"{cut.year - 1}-01-01", priors)
    write_release(store, "r", list(TEXTS))
    return store


def write_release(store, name, cuts):
    """Write a release with the mentions of some snapshots, and their candidates."""
    release = create(store.home, TEMPEL, "small", make_design("small", cuts, {}), name)
    with alone(store.home, name):
        keep(store.home, release)
        for cut in cuts:
            entities = [
                {
                    "release": name,
                    "cut": cut,
                    "page_id": page,
                    "title": TITLES[page],
                    "revision_id": revision,
                    "revision_timestamp": datetime(own.year, own.month, 5, tzinfo=UTC),
                    "n_words": 4,
                }
                for page, (revision, own, _) in sorted(TEXTS[cut].items())
            ]
            write(store, TEMPEL_ENTITIES, f"{name}.{cut}", entities)
            mentions = [mention_row(*one) | {"release": name} for one in MENTIONS if one[0] == cut]
            write(store, TEMPEL_MENTIONS, f"{name}.{cut}", mentions)
            with working(store, release) as work:
                write_entity_texts(work, cut)
        mark_built(store, name)


def mention_row(cut, subset, target, anchor, start, category, words):
    left, mention, right = words
    return {
        "release": "r",
        "cut": cut,
        "subset": subset,
        "category": category,
        "mention": mention,
        "target_page_id": target,
        "anchor_page_id": anchor,
        "start_char": start,
        "end_char": start + len(mention),
        "context_left": left,
        "context_right": right,
    }


def write(store, table, partition, rows):
    """Write rows that have some columns of a table, in key order; the others are null."""
    rows = sorted(rows, key=lambda row: [row[name] for name in table.key])
    full = [dict.fromkeys(table.column_names()) | {"wiki": "testwiki"} | row for row in rows]
    full = [{name: row[name] for name in table.column_names()} for row in full]
    version = store.write(table, partition, [pa.Table.from_pylist(full, table.schema)], Provenance())
    release = partition.partition(".")[0]
    if table.family is Family.RELEASE and entry_if_any(store.home, release).built:
        mark_built(store, release)
    return version


class HandMade:
    """An encoder that looks vectors up, and counts what it is asked for."""

    dim, n_around, device = 2, 100, torch.device("cpu")

    def __init__(self):
        self.n_entities, self.n_mentions = 0, 0

    def entities(self, texts, report=lambda _done: None):
        self.n_entities += len(texts)
        report(len(texts))
        return np.array([VECTORS[one.description] for one in texts], np.float32).reshape(-1, self.dim)

    def mentions(self, texts):
        self.n_mentions += len(texts)
        return np.array([QUERIES[one.mention] for one in texts], np.float32).reshape(-1, self.dim)


def hand_made_linker(store, monkeypatch, name="hand", **columns):
    """Write the row of a linker with that encoder, and return the encoder."""
    encoder = HandMade()
    monkeypatch.setattr("tempkb.models.linking.encoders.load_encoder", lambda *_: encoder)
    vectors._loaded.cache_clear()
    row = {"linker": name, "kind": "sentence-encoder", "checkpoint": "x", "n_parameters": 10, "dim": 2, **columns}
    row = dict.fromkeys(DIGESTS, "0" * 64) | row
    digests = {column.removesuffix("_sha256"): row[column] for column in DIGESTS}
    store.write(LINKERS, name, [pa.Table.from_pylist([full(LINKERS, row)], LINKERS.schema)], Provenance(digests))
    return encoder


def full(table, row):
    return dict.fromkeys(table.column_names()) | row


def stored(store, table):
    """All rows of a table, in the order of their partitions."""
    files = store.lake.files(table.name)
    return read_parquet(files).to_pylist() if files else []
