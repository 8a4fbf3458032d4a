"""Makes readable texts and links from wikitexts, once for each revision, whichever windows it won.

Later windows find more winners in a quarter, so only the new revisions of a
quarter are cleaned. All are cleaned again if the cleaner, its tables of templates
or the setting `dropped_sections` changed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from tempkb.dumps.sites import read_site
from tempkb.engine.choose import map_items
from tempkb.engine.progress import Meter
from tempkb.errors import ContractError
from tempkb.filtering import LeftOut
from tempkb.mentions.reading import OF_TEMPLATES, Batch, Cleaned, Piece, clean_batch
from tempkb.mentions.tables import PAGE_LINKS, PAGE_TEXTS
from tempkb.revisions.tables import PAGE_WIKITEXTS
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.parquet import open_parquet
from tempkb.store.store import Store, read_files
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.titles import Site

_BATCH_BYTES = 64 << 20
_PRELOAD = ("tempkb.mentions.reading",)
_NAMES_COUNTED = 500
Log = Callable[[str], None]
ProvenanceOf = Callable[[Table, str], Provenance]


def clean_quarters(store: Store, quarters: Sequence[str], provenance: ProvenanceOf, log: Log) -> list[Version]:
    """Write the texts and links of some quarters from `page_wikitexts`; return their versions.

    Raises:
        ContractError: a worker failed; its quarters keep their old versions, the others are written.
    """
    sites = _Sites(store)
    plans = [_plan(store, source, provenance) for source in store.lake.versions(PAGE_WIKITEXTS.name, quarters)]
    batches = _batches([piece for plan in plans for piece in _pieces(store, plan, sites)])
    total = sum(piece.n_bytes for batch in batches for piece in batch)
    cleaned: dict[str, list[Cleaned]] = {plan.source.partition: [] for plan in plans}
    failed: dict[str, str] = {}
    with store.lake.staging() as folder, Meter("cleaning texts", total, log) as meter:
        places = {_place_of(batch): number for number, batch in enumerate(batches)}
        done: dict[int, list[Cleaned]] = {}
        for outcome in map_items(store.home.settings, clean_batch, batches, folder, meter.at, _PRELOAD):
            if outcome.result is None:
                failed |= {piece.quarter: outcome.failure for piece in outcome.item}
            else:
                done[places[_place_of(outcome.item)]] = outcome.result
        # In the order of the pieces, not in the order in which the workers ended, so that the bytes are the same.
        for number in sorted(done):
            for one in done[number]:
                cleaned[one.quarter].append(one)
        whole = [plan for plan in plans if plan.source.partition not in failed]
        versions = [one for plan in whole for one in _write(store, plan, cleaned[plan.source.partition], provenance)]
    if failed:
        why = "; ".join(f"quarter {quarter}: {reason}" for quarter, reason in sorted(failed.items()))
        raise ContractError(f"{PAGE_TEXTS.name}: {why}. These quarters keep their old versions.")
    return versions


class _Sites(dict[str, Site]):
    """The namespaces and names of the wiki by dump, read from the lake when first needed."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store

    def __missing__(self, dump_id: str) -> Site:
        self[dump_id] = read_site(self._store, dump_id)
        return self[dump_id]


@dataclass(frozen=True)
class _Plan:
    """A quarter to clean, and its revisions that are clean already; with none, the quarter is written anew."""

    source: Version
    done: frozenset[int]


def _plan(store: Store, source: Version, provenance: ProvenanceOf) -> _Plan:
    settings = provenance(PAGE_TEXTS, source.partition).settings
    texts, links = (store.lake.current(table.name, source.partition) for table in (PAGE_TEXTS, PAGE_LINKS))
    if texts is None or links is None or texts.inputs != links.inputs:
        # A run was killed between the two tables, which are so made from different wikitexts. Nothing counts as clean.
        return _Plan(source, frozenset())
    tables = store.tables
    if not all(one.was_made_with(settings) and one.is_of_present_code(tables[one.table]) for one in (texts, links)):
        return _Plan(source, frozenset())
    done = _revisions_in(texts)
    # If texts were removed from the wikitexts, which is rare, the quarter is written anew.
    return _Plan(source, done if done <= _revisions_in(source) else frozenset())


def _write(store: Store, plan: _Plan, cleaned: Sequence[Cleaned], provenance: ProvenanceOf) -> Iterator[Version]:
    """Write a quarter: add the new revisions to the existing version, or write all of it."""
    for table, paths in (
        (PAGE_TEXTS, [piece.texts for piece in cleaned]),
        (PAGE_LINKS, [piece.links for piece in cleaned]),
    ):
        exclusions = _exclusions(cleaned) if table is PAGE_TEXTS else []
        made_from = provenance(table, plan.source.partition)
        write = partial(store.add, exclusions=exclusions) if plan.done else partial(store.write, exclusions=exclusions)
        yield write(table, plan.source.partition, read_files(paths), made_from)


def _pieces(store: Store, plan: _Plan, sites: _Sites) -> Iterator[Piece]:
    setting = store.home.settings.dropped_sections
    dropped = None if setting == "standard" else frozenset(setting)
    for path in plan.source.paths():
        with open_parquet(path) as file:
            named = {dump_id: sites[dump_id] for dump_id in sorted(set(_distinct(file, "dump_id")))}
            groups: list[int] = []
            size = 0
            for group in range(file.metadata.num_row_groups):
                groups.append(group)
                size += file.metadata.row_group(group).total_byte_size
                if size >= _BATCH_BYTES or group + 1 == file.metadata.num_row_groups:
                    yield Piece(plan.source.partition, path, tuple(groups), size, plan.done, named, dropped)
                    groups, size = [], 0


def _place_of(batch: Batch) -> tuple[Path, int]:
    """The place where a batch begins: its first file and row group."""
    return batch[0].path, batch[0].row_groups[0]


def _batches(pieces: Sequence[Piece]) -> list[Batch]:
    """Combine small pieces, because starting a process costs more than cleaning a small quarter."""
    batches: list[Batch] = []
    gathered: list[Piece] = []
    for piece in pieces:
        if gathered and sum(one.n_bytes for one in gathered) + piece.n_bytes > _BATCH_BYTES:
            batches.append(tuple(gathered))
            gathered = []
        gathered.append(piece)
    return [*batches, tuple(gathered)] if gathered else batches


def _exclusions(cleaned: Sequence[Cleaned]) -> list[Exclusion]:
    """Counts of what the cleaner left out or repaired, by reason; only the most frequent templates have their names."""
    left_out = LeftOut()
    for piece in cleaned:
        left_out.merge(piece.left_out)
    left_out.gather(OF_TEMPLATES, _NAMES_COUNTED, "template of another name")
    return [Exclusion(*row) for row in left_out.rows()]


def _revisions_in(version: Version) -> frozenset[int]:
    return frozenset(
        number for rows in read_files(version.paths(), ["revision_id"]) for number in rows["revision_id"].to_pylist()
    )


def _distinct(file: pq.ParquetFile, column: str) -> Iterator[str]:
    for group in range(file.metadata.num_row_groups):
        yield from pc.unique(file.read_row_group(group, [column])[column]).to_pylist()
