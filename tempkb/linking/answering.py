"""Links the mentions of any text to the entities of a day, among all candidates of a cut that is built.

Of a text no more is held than is near some thousand mentions, which are encoded together, as those of a release are.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tempkb.errors import SettingsError
from tempkb.linking.candidates import Candidates, of_cut
from tempkb.linking.known import known_linker, known_linkers
from tempkb.linking.marked import marked_mentions
from tempkb.linking.requests import AS_OF, LinkRequest
from tempkb.linking.searching import top
from tempkb.linking.tables import BASELINES, LINKERS
from tempkb.linking.vectors import dtype_of, encode_missing, encoder_of, on_threads, vectors_of
from tempkb.revisions.tables import STABLE_SNAPSHOTS
from tempkb.store.memory import asking
from tempkb.store.quoting import parquet
from tempkb.store.said import note_asked
from tempkb.store.store import Store
from tempkb.values import day as read_day
from tempkb.windows import window_of_key

Log = Callable[[str], None]
Row = dict[str, Any]

# Mentions that are linked at once, and characters of what is around them. An encoder sorts as many texts at a time, so
# that each is encoded in the same company as if all were given to it.
_MENTIONS, _CHARS = 8_192, 1 << 26


@dataclass(frozen=True)
class Found:
    """An entity that a mention may mean."""

    page_id: int
    entity_id: str | None
    title: str
    score: float


@dataclass(frozen=True)
class Links:
    """What some mentions of a text may mean.

    Attributes:
        cut: whose entities are the candidates.
        mentions: each as written, with the best entities first.
    """

    linker: str
    cut: date
    n_candidates: int
    mentions: list[tuple[str, list[Found]]]


def link_text(store: Store, parts: Iterable[str], day: str, linker: str, n: int, log: Log) -> Iterator[Links]:
    """Link the mentions of a text, which are in double brackets, some thousand at a time.

    Args:
        parts: the text in its order, with at least one mention.
        day: YYYY-MM-DD; the candidates are those of the last cut that is built and not after it.
        linker: its name; empty for the one that `encoder_row` chooses.

    Raises:
        SettingsError: the text has no mention, nothing is built up to that day, or there is no such linker.
        ModelError: the linker cannot be loaded.
    """
    cut = cut_as_of(store, day)
    row = encoder_row(store, linker, cut, f"tempkb link TEXT --as-of {day}")
    encoder = encoder_of(row, request_for(store, row))
    mentions = marked_mentions(parts, encoder.n_around)
    at_once = max(1, min(_MENTIONS, _CHARS // encoder.n_around))
    some = list(islice(mentions, at_once))
    with store.lake.staging() as folder:
        candidates = candidates_at(store, row, cut, folder, log)
        own, vectors = vectors_of(store, row, candidates, folder)
        while some:
            with on_threads(row["n_parameters"], encoder.device.type):
                queries = encoder.mentions(some)
            page_ids, scores = top(queries, vectors, own, n, log)
            about = _about(candidates.digests, np.unique(page_ids))
            found = [
                [Found(page, *about[page], score) for page, score in zip(pages, given, strict=True)]
                for pages, given in zip(page_ids.tolist(), scores.tolist(), strict=True)
            ]
            answers = [(mention.mention, entities) for mention, entities in zip(some, found, strict=True)]
            yield Links(row["linker"], cut, len(own), answers)
            some = list(islice(mentions, at_once))


def candidates_at(store: Store, row: Row, cut: date, folder: Path, log: Log) -> Candidates:
    """Return all candidates of a cut, of which no release needs to know, after encoding what has no vector yet."""
    candidates = of_cut(store, cut, folder / "candidates.parquet")
    if encode_missing(store, row, [candidates], request_for(store, row), log).n_encoded:
        note_asked(store.home.linkers, row["linker"], {AS_OF: cut.isoformat()})
        store.publish()
    return candidates


def request_for(store: Store, row: Row) -> LinkRequest:
    """Return how a linker computes for a text: as its vectors were made, with which it is compared."""
    return LinkRequest(dtype=dtype_of(store, row["linker"]))


def cut_as_of(store: Store, day: str) -> date:
    """Return the last cut that is built and not after a day.

    Raises:
        SettingsError: the day is no date, or no window is built that ends by then.
    """
    try:
        asked = read_day(day)
    except ValueError:
        raise SettingsError(f"--as-of: found {day!r}; expected a day, YYYY-MM-DD") from None
    granularity = store.home.settings.granularity
    cuts = sorted(window_of_key(key, granularity).cut for key in store.lake.partitions(STABLE_SNAPSHOTS.name))
    before = [cut for cut in cuts if cut <= asked]
    if not before:
        there = f"the first cut that is built is {cuts[0]}" if cuts else "nothing is built yet; build it: tempkb build"
        raise SettingsError(f"--as-of {asked}: found no cut that is built and not after that day; {there}")
    return before[-1]


def encoder_row(store: Store, name: str, cut: date, command: str) -> Row:
    """Return the row of an encoder: of that name, else of the one that was trained on the newest snapshot up to a cut.

    Of several it is the one with the lowest seed, of the preset with which one of them was trained last.

    Args:
        command: which `--linker` would complete.

    Raises:
        SettingsError: there is no such encoder; or the newest snapshot has linkers of several releases.
    """
    there = [row for row in known_linkers(store.lake) if row["linker"] not in BASELINES]
    listed = ", ".join(row["linker"] for row in there) or "none"
    how = "train one: tempkb linker train RELEASE, or add one: tempkb linker add NAME CHECKPOINT"
    if name:
        row = known_linker(store.lake, name)
        if row is None or name in BASELINES:
            why = "it is a baseline, which has no vectors" if name in BASELINES else "no such linker"
            raise SettingsError(f"--linker {name}: {why}; expected an encoder; there: {listed}; {how}")
        return row
    trained = [row for row in there if row["cut"] is not None and row["cut"] <= cut]
    if not trained:
        raise SettingsError(
            f"found no linker that was trained on a snapshot up to {cut}; name one with --linker; there: {listed}; "
            f"{how}"
        )
    snapshot = max(row["cut"] for row in trained)
    newest = [row for row in trained if row["cut"] == snapshot]
    if len({row["release"] for row in newest}) > 1:
        named = (f"{command} --linker {row['linker']} (trained on {row['release']})" for row in newest)
        raise SettingsError(
            f"found linkers of several releases that were trained on {snapshot}, the newest snapshot up to {cut}; "
            f"expected the name of one; type one of: {'; '.join(named)}"
        )
    made = {row["linker"]: store.lake.pointed_at(LINKERS.name, row["linker"]) or 0 for row in newest}
    last = max(newest, key=lambda row: (made[row["linker"]], row["linker"]))
    return min(
        (row for row in newest if row["preset"] == last["preset"]),
        key=lambda row: (row["seed"], -made[row["linker"]], row["linker"]),
    )


def _about(described: Sequence[Path], pages: npt.NDArray[np.int64]) -> dict[int, tuple[str | None, str]]:
    """Wikidata item and title of pages."""
    with asking() as memory:
        memory.register("asked", pa.table({"page_id": pages}))
        rows = memory.execute(
            f"SELECT page_id, entity_id, title FROM {parquet(described)} SEMI JOIN asked USING (page_id)"
        ).fetchall()
    return {page: (entity, title) for page, entity, title in rows}
