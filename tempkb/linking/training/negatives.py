"""Hard negatives: wrong entities that another linker ranks high for a mention, so that there is much to be learnt."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tempkb.errors import SettingsError
from tempkb.linking.candidates import Candidates, digests_of
from tempkb.linking.inputs import EntityText
from tempkb.linking.requests import LinkRequest
from tempkb.linking.searching import top
from tempkb.linking.training.examples import read_entities
from tempkb.linking.training.lessons import Example
from tempkb.linking.vectors import dtype_of, encode_missing, encoder_of, on_threads, vectors_of
from tempkb.store.store import Store

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
    with on_threads(encoder.n_parameters, device):
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
