"""Reads what linkers learn from: the mentions of a release at a cut, with the texts of their entities.

Hard negatives are wrong entities that another linker ranks high for a mention, so that there is much to be learnt.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tempkb.benchmarks.register import partition_of, release_version
from tempkb.core.errors import ModelError, SettingsError
from tempkb.models.devices import on_threads, threads_for
from tempkb.models.linking.candidates import Candidates, digests_of
from tempkb.models.linking.inputs import EntityText, MentionText
from tempkb.models.linking.known import FIRST, linkable_of, words_of
from tempkb.models.linking.requests import LinkRequest, command_of
from tempkb.models.linking.searching import top
from tempkb.models.linking.steps import is_trained_on_present, present_mentions
from tempkb.models.linking.training.lessons import Example, digest_of_examples
from tempkb.models.linking.vectors import dtype_of, encode_missing, encoder_of, vectors_of
from tempkb.store.memory import asking
from tempkb.store.quoting import parquet
from tempkb.store.store import Store
from tempkb.store.versions import Version

_LEAST_ENTITIES = 2


def mentions_of(store: Store, linker: str, release: str, cut: date) -> Version:
    """Return the version of a release's mentions at a cut.

    Raises:
        SettingsError: there is none.
    """
    version = present_mentions(store, release, cut)
    if version is None:
        table = linkable_of(store.home, release).mentions
        there = [key.rpartition(".") for key in store.lake.partitions(table.name)]
        built = ", ".join(f"{name} at {day}" for name, _, day in there) or "none"
        raise SettingsError(
            f"linker {linker!r}: the release {release} of {FIRST.title} has no mentions at {cut}; there: {built}. "
            f"Name one of them, or make the release: {FIRST.proposed}"
        )
    return version


def read_examples(
    store: Store, linker: str, release: str, cut: date, folder: Path
) -> tuple[list[Example], list[Example]]:
    """Return the examples for training and for validation, of both categories, in the order of the table's key.

    Raises:
        SettingsError: the release or cut is not built, or has too few mentions.
        ContractError: texts of it are no longer in the home.
    """
    files = parquet(mentions_of(store, linker, release, cut).paths())
    with asking() as memory:
        rows = memory.execute(
            f"""
            SELECT subset, target_page_id, context_left, mention, context_right FROM {files}
            WHERE subset IN ('train', 'validation') ORDER BY target_page_id, anchor_page_id, start_char
            """
        ).fetchall()
    entities = read_entities(store, release, cut, folder, sorted({row[1] for row in rows}))
    of_subset: dict[str, list[Example]] = {"train": [], "validation": []}
    for subset, page_id, left, mention, right in rows:
        of_subset[subset].append(Example(MentionText(left, mention, right), page_id, entities[page_id]))
    train, validation = of_subset.values()
    n_entities = len({one.page_id for one in train})
    if n_entities < _LEAST_ENTITIES:
        raise SettingsError(
            f"linker {linker!r}: found {len(train)} train mentions of {n_entities} entities in the release {release} "
            f"at {cut}; expected at least {_LEAST_ENTITIES} entities, since each is compared with the others of a "
            "batch. Train it on a larger release."
        )
    return train, validation


def require_same_examples(store: Store, row: Mapping[str, Any], folder: Path) -> None:
    """Refuse a linker whose release is another one by now: it may have learnt from what is tested there.

    Raises:
        ModelError: its release was removed, and another one has its name.
    """
    if is_trained_on_present(store, row):
        return
    release, cut = row["release"], row["cut"]
    # Equal mentions that were written by another version of a library are the same examples.
    if present_mentions(store, release, cut) is not None:
        train, validation = read_examples(store, row["linker"], release, cut, folder)
        if digest_of_examples([*train, *validation]) == json.loads(row["trained_from"])["examples_sha256"]:
            return
    again = command_of(row["linker"], words_of(row))
    raise ModelError(
        f"linker {row['linker']!r}: was trained on mentions at {cut} of an earlier release named {release}, and may "
        "have learnt from those that are tested in the present one. Remove it: "
        f"tempkb linker rm {row['linker']}, and train it again: {again}"
    )


def read_entities(
    store: Store, release: str, cut: date, folder: Path, page_ids: Sequence[int] | None = None
) -> dict[int, EntityText]:
    """Return the texts of a release's candidates at a cut by page_id; all, or those that are named.

    Raises:
        ContractError: the cut or the release is not built, or texts of it are no longer in the home.
        ModelError: a mention's entity is no candidate, so that nothing is known of it.
    """
    path = folder / "entities.parquet"
    among = None if page_ids is None else np.array(page_ids, dtype=np.int64)
    linkable = linkable_of(store.home, release)
    linkable.loaded().write_described(store, cut, path, release, among)
    rows: pa.Table = pq.read_table(path, columns=["page_id", "title", "description"])
    path.unlink()
    found = {
        page_id: EntityText(title, description)
        for page_id, title, description in zip(*(column.to_pylist() for column in rows.columns), strict=True)
    }
    if absent := [page_id for page_id in page_ids or () if page_id not in found]:
        raise ModelError(
            f"the release {release} has mentions at {cut} of the page {absent[0]}, which is not among its candidates "
            f"({linkable.entities.name}). Make the release again under another name: {FIRST.proposed}"
        )
    return found


def inputs_of_examples(store: Store, release: str, cut: date) -> dict[str, str]:
    """Return the versions of the tables from which examples are made, by their names and partitions."""
    partition, tables = partition_of(release, cut), linkable_of(store.home, release)
    found = (release_version(store, table, release, partition) for table in (tables.mentions, tables.entities))
    return {f"{version.table} {version.partition}": version.version for version in found if version is not None}


Row = Mapping[str, Any]


def with_hard_negatives(
    store: Store,
    row: Row,
    candidates: Candidates,
    examples: Sequence[Example],
    n: int,
    device: str,
    folder: Path,
    log: Callable[[str], None],
) -> list[Example]:
    """Return examples with the `n` wrong entities that a linker ranks highest, among all candidates of a snapshot.

    The linker's vectors of the candidates are those of `entity_vectors`; what is missing is encoded and added. An
    entity with the text of the right one is not wrong; it could not be told from it.

    Args:
        row: of the linker that ranks.
        candidates: of the examples' release and snapshot.
        examples: with their right entities.
        n: wrong entities of each example.
        device: where the linker computes.

    Raises:
        SettingsError: there are not so many wrong entities.
        ModelError: the linker cannot be loaded, or its vectors were made with other files.
        ContractError: texts of candidates are no longer in the home.
    """
    request = LinkRequest(dtype=dtype_of(store, row["linker"]), device=device)
    encode_missing(store, row, [candidates], request, log)
    encoder = encoder_of(row, request)
    with on_threads(threads_for(encoder.n_parameters)):
        queries = encoder.mentions([one.mention for one in examples])
    pages, vectors = vectors_of(store, row, candidates, folder)
    # So many that enough are left without those that have the text of the right one.
    k = n + _most_alike(candidates, examples)
    ranked, _ = top(queries, vectors, pages, k, log, device)
    texts = read_entities(store, candidates.release, candidates.cut, folder, np.unique(ranked).tolist())
    return [replace(one, negatives=_wrong(one, ranked[place], texts, n)) for place, one in enumerate(examples)]


def _most_alike(candidates: Candidates, examples: Sequence[Example]) -> int:
    """How many candidates have the text of a right entity, at most."""
    pages, digests = digests_of(candidates)
    _, kinds, counts = np.unique(digests, return_inverse=True, return_counts=True)
    right = np.isin(pages, [one.page_id for one in examples])
    return int(counts[kinds[right]].max(initial=0))


def _wrong(example: Example, ranked: Any, texts: Mapping[int, EntityText], n: int) -> tuple[EntityText, ...]:
    others = (texts[int(page)] for page in ranked if page != example.page_id)
    wrong = tuple(dict.fromkeys(text for text in others if text != example.entity))[:n]
    if len(wrong) < n:
        raise SettingsError(
            f"found {len(wrong)} wrong entities for a mention of {example.entity.title!r}; expected {n} hard "
            "negatives. Set a smaller number: hard_negatives."
        )
    return wrong
