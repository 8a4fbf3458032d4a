"""Encodes entities: each distinct title and description once for each linker, whatever snapshots and releases have it.

What is missing is planned in pieces of a fixed size and order, which are encoded by processes of their own on a CPU. A
run that was killed is continued by the next one with the same plan, so that each text is encoded in the same company,
and its vector has the same bytes, however many processes there are.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tempkb.core.errors import ContractError, ModelError
from tempkb.core.files import open_parquet, parquet_writer, remove_tree, sync
from tempkb.core.wording import counted
from tempkb.engine.choose import map_items
from tempkb.engine.items import Report
from tempkb.engine.progress import Meter
from tempkb.models.devices import on_threads, usable_device
from tempkb.models.linking.candidates import (
    Candidates,
    Digests,
    Integers,
    describe,
    digests_of,
    n_distinct,
    n_of,
    view_digests,
)
from tempkb.models.linking.requests import LinkRequest, Precision
from tempkb.models.linking.steps import vectors_of_linker
from tempkb.models.linking.tables import DIGESTS, ENTITY_VECTORS, vectors_partition
from tempkb.models.tables import drafts_of
from tempkb.store.drafts import Provenance
from tempkb.store.memory import asking, spilling_to, view_files
from tempkb.store.quoting import parquet
from tempkb.store.store import Store
from tempkb.store.tables import SEPARATOR

if TYPE_CHECKING:
    from tempkb.models.linking.encoders import Encoder

Log = Callable[[str], None]
Row = Mapping[str, Any]
Halves = npt.NDArray[np.float16]

N_TEXTS = 2_048
"""Texts of a piece."""

_PLAN, _PIECES = "plan.parquet", "pieces"
_TEXTS = pa.schema([(name, pa.string()) for name in ("text_sha256", "title", "description")])
_VECTORS = pa.schema([("text_sha256", pa.string()), ("vector", pa.binary())])
_LARGEST = float(np.finfo(np.float16).max)
_LEFT = "runs that were killed"  # what has filled a partition, if it is not known how much of what was wanted
_PRELOAD = ("torch", "transformers")
# Vectors of more candidates than fit into this many bytes are in a file that is mapped into memory.
_IN_MEMORY = 1 << 30


@dataclass(frozen=True)
class Piece:
    """Some texts of a plan that one process encodes; it can be sent to it.

    Attributes:
        folder: of the plan.
        number: of its row group.
        batch_tokens: encoded at once; None for what is fast.
    """

    folder: Path
    number: int
    row: Row
    device: str
    dtype: str
    batch_tokens: int | None

    @property
    def path(self) -> Path:
        """Where its vectors are kept."""
        return self.folder / _PIECES / f"{self.number:06}.parquet"


def encode_missing(
    store: Store, row: Row, wanted: Sequence[Candidates], request: LinkRequest, log: Log
) -> dict[date, int]:
    """Encode what has no vector yet, cut by cut from the oldest, and add it to `entity_vectors`.

    A cut that a killed run has begun comes first. Without anything to encode no other process is waited for.

    Returns:
        how many distinct texts were encoded for each cut.

    Raises:
        ModelError: the linker's vectors were made in another way, its files have changed, or a vector overflows.
        ContractError: something is missing, and texts are no longer in the home.
        LockTimeoutError: something is missing, and another process encodes with this linker.
    """
    require_like(store, row, request.dtype)
    n_texts, n_different = sum(map(n_of, wanted)), n_distinct(wanted)
    by_cut = dict.fromkeys(sorted(one.cut for one in wanted), 0)
    drafts_name = drafts_of("linker", row["linker"])
    was_killed = any(folder.name == drafts_name for folder in store.lake.unfinished())
    # Who lacks nothing does not wait for another process that encodes with this linker.
    lost = store.lake.lost(ENTITY_VECTORS.name)
    is_lost = any(vectors_partition(row["linker"], cut.isoformat()) in lost for cut in by_cut)
    if was_killed or is_lost or any(map(len, _missing(store, row["linker"], wanted).values())):
        with store.lake.resumable(drafts_name) as drafts:
            by_cut |= _Run(store, row, request, drafts.folder, log).encode(wanted)
            drafts.is_finished = True
    log(
        f"{row['linker']}: {counted(n_texts, 'candidate')} of {counted(len(by_cut), 'snapshot')} have "
        f"{counted(n_different, 'distinct text')}, of which {sum(by_cut.values()):,} were encoded"
    )
    return by_cut


def vectors_of(store: Store, row: Row, wanted: Candidates, folder: Path) -> tuple[Integers, Halves]:
    """Return the page_ids of candidates, ascending, and their vectors: int64 (n,) and float16 (n, dim).

    Args:
        wanted: the candidates, all of which were encoded.
        folder: gets the file of the vectors if they are too many for the memory.

    Raises:
        ContractError: a candidate has no vector.
    """
    page_ids, digests = digests_of(wanted)
    order = np.argsort(digests, kind="stable")
    rising = digests[order]
    shape = (len(page_ids), int(row["dim"]))
    vectors: Halves
    if 2 * shape[0] * shape[1] <= _IN_MEMORY:
        vectors = np.empty(shape, np.float16)
    else:
        vectors = np.memmap(folder / f"{wanted.cut}.vectors", np.float16, "w+", shape=shape)
    is_found = np.zeros(len(page_ids), bool)
    for names, blobs in _stored(store, row["linker"]):
        first, last = np.searchsorted(rising, names, "left"), np.searchsorted(rising, names, "right")
        # Several pages may have one text, as copies of an article have.
        for shift in range(int((last - first).max(initial=0))):
            found = np.flatnonzero(first + shift < last)
            places = order[first[found] + shift]
            vectors[places] = blobs[found]
            is_found[places] = True
    if n_missing := int(np.count_nonzero(~is_found)):
        raise ContractError(
            f"{ENTITY_VECTORS.name} of {row['linker']}: {n_missing:,} of {len(page_ids):,} candidates at "
            f"{wanted.cut} have no vector; expected all of them to be encoded; encode them: "
            f"tempkb linker score {row['linker']}"
        )
    return page_ids, vectors


def require_like(store: Store, row: Row, dtype: str) -> None:
    """Refuse to mix vectors of other weights, or in another precision, with those that a linker has.

    Raises:
        ModelError: the vectors that are there were made in another way.
    """
    name = row["linker"]
    for version in vectors_of_linker(store.lake, name):
        inputs = version.inputs
        if differing := [digest for digest in DIGESTS if inputs.get(digest) != row[digest]]:
            raise ModelError(
                f"linker {name!r}: its vectors ({version.partition}) were made with other files "
                f"({', '.join(differing)} differ); remove the linker with all that it made, and train or add it "
                f"again: tempkb linker rm {name}"
            )
        made_in = version.settings.get("dtype")
        if made_in != dtype:
            raise ModelError(
                f"linker {name!r}: its vectors ({version.partition}) were made in {made_in}, which cannot be compared "
                f"with vectors in {dtype}; use --dtype {made_in}, or add the checkpoint under another name"
            )


def dtype_of(store: Store, linker: str) -> Precision:
    """Return the precision in which a linker's vectors were made; that of a request without words if it has none."""
    made_in = (version.settings.get("dtype") for version in vectors_of_linker(store.lake, linker))
    found: Precision = next(made_in, LinkRequest.dtype)  # type: ignore[arg-type]
    return found


def device_of(request: LinkRequest) -> str:
    """Return where a request computes: what it says, or a GPU if there is one, else cpu.

    Raises:
        SettingsError: this machine has no such device.
    """
    return usable_device("linker score", request.device)


def made_with(request: LinkRequest, *libraries: str) -> dict[str, Any]:
    """Return what is kept of how vectors or scores were computed."""
    versions = {name: version_of(name) for name in libraries}
    return {"dtype": request.dtype, "device": device_of(request), "batch_tokens": request.batch_tokens, **versions}


def version_of(library: str) -> str:
    """Return the version of a library; nothing if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def encoder_of(row: Row, request: LinkRequest) -> "Encoder":
    """Return the encoder of a linker; the last one that was used is kept.

    Raises:
        ModelError: its files are not there, were changed, or cannot be loaded.
    """
    return _loaded(json.dumps(dict(row), default=str), device_of(request), request.dtype, request.batch_tokens)


class _Run:
    """A linker that encodes entities, with the folder of its plans."""

    def __init__(self, store: Store, row: Row, request: LinkRequest, folder: Path, log: Log) -> None:
        self._store, self._row, self._request, self._folder, self._log = store, row, request, folder, log
        self._device = device_of(request)

    def encode(self, wanted: Sequence[Candidates]) -> dict[date, int]:
        """Encode what is missing; return how many texts that were, by cut."""
        ordered = sorted(wanted, key=lambda one: (one.cut, one.release))
        of_cuts = {cut: list(group) for cut, group in groupby(ordered, key=lambda one: one.cut)}
        folders = {cut: self._folder_of(cut, group) for cut, group in of_cuts.items()}
        self._add_leftovers(set(folders.values()))
        # What a killed run has planned comes first, so that no other cut plans the same texts.
        # Then what was lost to damage, so that it gets the texts that it had.
        cuts = sorted(of_cuts, key=lambda cut: (not (folders[cut] / _PLAN).exists(), not self._is_lost(cut), cut))
        return {cut: self._encode_cut(cut, of_cuts[cut], folders[cut]) for cut in cuts}

    def _encode_cut(self, cut: date, wanted: Sequence[Candidates], folder: Path) -> int:
        """Encode what is missing of a cut, as an earlier run has planned it; return how many texts that were."""
        if not (folder / _PLAN).exists():
            missing = _missing(self._store, self._row["linker"], wanted)
            if not any(map(len, missing.values())):
                if self._is_lost(cut):
                    # Its texts were encoded for other snapshots meanwhile, so that nothing is left to mend.
                    self._store.lake.remove(ENTITY_VECTORS.name, self._partition(cut))
                return 0
            self._plan(folder, wanted, missing)
        n = self._encode_pieces(cut, folder)
        self._add(cut, folder, [one.key for one in wanted])
        return n

    def _add_leftovers(self, own: Set[Path]) -> None:
        """Add what earlier runs for other candidates have finished, and remove their folders.

        Vectors in another precision, or of other files that had the linker's name, are not added.
        """
        for folder in sorted(path for path in self._folder.iterdir() if (path / _PLAN).exists()):
            if folder not in own:
                is_like = folder.name.startswith(self._kind + SEPARATOR)
                if is_like and any((folder / _PIECES).glob("*.parquet")):
                    cut, _ = folder.name.removeprefix(self._kind + SEPARATOR).split(SEPARATOR)
                    self._add(date.fromisoformat(cut), folder, [_LEFT])
                else:
                    remove_tree(self._folder, folder)

    @property
    def _kind(self) -> str:
        """With what vectors can be compared: the beginning of the names of folders of plans."""
        files = json.dumps([self._row[column] for column in DIGESTS])
        return SEPARATOR.join((self._request.dtype, hashlib.sha256(files.encode()).hexdigest()[:24]))

    def _folder_of(self, cut: date, wanted: Sequence[Candidates]) -> Path:
        """The folder of a plan; its name has everything on which the bytes of vectors depend."""
        digest = hashlib.sha256()
        for one in wanted:
            digest.update(json.dumps([one.key, dict(one.inputs)], sort_keys=True).encode())
            if not one.inputs:
                digest.update(np.sort(digests_of(one)[1]).tobytes())
        digest.update(json.dumps([self._device, self._request.batch_tokens]).encode())
        return self._folder / SEPARATOR.join((self._kind, cut.isoformat(), digest.hexdigest()[:24]))

    def _plan(self, folder: Path, wanted: Sequence[Candidates], missing: Mapping[int, Integers]) -> None:
        """Write down the texts that are missing, in the order of their digests, in row groups of one piece each."""
        remove_tree(self._folder, folder, may_fail=True)
        folder.mkdir(parents=True)
        paths = []
        for place, one in enumerate(wanted):
            path = folder / f"described-{place}.parquet"
            describe(self._store, one, missing[place], path)
            paths.append(path)
        draft = folder / f"{_PLAN}.draft"
        with spilling_to(folder) as connection, parquet_writer(draft, _TEXTS) as writer:
            query = f"""
                SELECT text_sha256, any_value(title) AS title, any_value(description) AS description
                FROM {parquet(paths)} GROUP BY text_sha256 ORDER BY text_sha256
            """
            waiting = _TEXTS.empty_table()
            for batch in connection.sql(query).to_arrow_reader(N_TEXTS):
                waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch]).cast(_TEXTS)])
                while waiting.num_rows >= N_TEXTS:
                    writer.write_table(waiting.slice(0, N_TEXTS), row_group_size=N_TEXTS)
                    waiting = waiting.slice(N_TEXTS)
            if waiting.num_rows:
                writer.write_table(waiting)
        for path in paths:
            path.unlink()
        (folder / _PIECES).mkdir()
        draft.replace(folder / _PLAN)

    def _encode_pieces(self, cut: date, folder: Path) -> int:
        """Encode the pieces that no earlier run has finished; return the number of texts of all pieces."""
        with open_parquet(folder / _PLAN) as plan:
            n_texts = [plan.metadata.row_group(number).num_rows for number in range(plan.num_row_groups)]
        request = self._request
        pieces = [
            Piece(folder, number, self._row, self._device, request.dtype, request.batch_tokens)
            for number in range(len(n_texts))
        ]
        rest = [piece for piece in pieces if not piece.path.exists()]
        n_waiting = sum(n_texts[piece.number] for piece in rest)
        if len(rest) < len(n_texts):
            done = sum(n_texts) - n_waiting
            self._log(f"{done:,} of {counted(sum(n_texts), 'text')} were encoded by an earlier run")
        settings = self._store.home.settings
        if len(rest) == 1 or self._device != "cpu":
            # Processes of their own would have to load the encoder again, and a GPU has room for one.
            settings = settings.changed(workers=1, engine="local")
        title = f"encoding entities of {cut} with {self._row['linker']}"
        with Meter(title, n_waiting, self._log, unit="texts") as meter:
            tries = Path(tempfile.mkdtemp(prefix="try-", dir=folder))
            for outcome in map_items(settings, encode_piece, rest, tries, meter.at, _PRELOAD):
                if outcome.result is None:
                    said = f"linker {self._row['linker']!r}: "
                    raise ModelError(said + str(outcome.failure).removeprefix(said))
        return sum(n_texts)

    def _add(self, cut: date, folder: Path, filled_by: Sequence[str]) -> None:
        """Add finished pieces to the table, and remove their folder."""
        paths = sorted((folder / _PIECES).glob("*.parquet"))
        inputs = {column: self._row[column] for column in DIGESTS if self._row[column] is not None}
        provenance = Provenance(inputs, made_with(self._request, "torch", "transformers"), filled_by=filled_by)
        self._store.add(ENTITY_VECTORS, self._partition(cut), self._rows(cut, paths), provenance)
        remove_tree(self._folder, folder)

    def _rows(self, cut: date, paths: Sequence[Path]) -> Iterator[pa.Table]:
        """Rows of the table; pieces have ascending digests, and each is in order by itself."""
        for path in paths:
            with open_parquet(path) as file:
                rows = file.read()
            n = rows.num_rows
            columns = {
                "linker": pa.repeat(self._row["linker"], n),
                "cut": pa.repeat(pa.scalar(cut, pa.date32()), n),
                "text_sha256": rows["text_sha256"],
                "vector": rows["vector"],
            }
            yield pa.table(columns, schema=ENTITY_VECTORS.schema)

    def _partition(self, cut: date) -> str:
        return vectors_partition(self._row["linker"], cut.isoformat())

    def _is_lost(self, cut: date) -> bool:
        return self._partition(cut) in self._store.lake.lost(ENTITY_VECTORS.name)


def encode_piece(piece: Piece, folder: Path, report: Report) -> int:
    """Encode the texts of a piece, and write their vectors; return how many they are.

    Raises:
        ModelError: a vector has a number that float16 does not have; the message names the entity.
    """
    from tempkb.models.linking.inputs import EntityText

    with open_parquet(piece.folder / _PLAN) as plan:
        texts = plan.read_row_group(piece.number)
    titles, descriptions = texts["title"].to_pylist(), texts["description"].to_pylist()
    with on_threads(1):  # whatever the size of the model: processes share the cores
        encoder = _loaded(json.dumps(dict(piece.row), default=str), piece.device, piece.dtype, piece.batch_tokens)
        vectors = encoder.entities(list(map(EntityText, titles, descriptions)), report)
    odd = np.flatnonzero(~(np.abs(vectors) <= _LARGEST).all(axis=1))
    if len(odd):
        raise ModelError(
            f"the vector of the entity {titles[odd[0]]!r} has a number that is not finite, or is beyond "
            f"{_LARGEST:,.0f}, the largest that float16 has; expected smaller ones. The encoder cannot be used as it "
            "is: train it again with a smaller learning rate, or use another checkpoint"
        )
    blobs = [row.tobytes() for row in vectors.astype("<f2")]
    draft = folder / "vectors.parquet"
    with parquet_writer(draft, _VECTORS) as writer:
        writer.write_table(pa.table({"text_sha256": texts["text_sha256"], "vector": blobs}, schema=_VECTORS))
    sync(draft)
    draft.replace(piece.path)
    return len(titles)


@lru_cache(maxsize=1)
def _loaded(row: str, device: str, dtype: str, batch_tokens: int | None) -> "Encoder":
    """The encoder of a row of `linkers`, given as JSON; the last one is kept for the next piece."""
    from tempkb.models.linking.encoders import load_encoder

    return load_encoder(json.loads(row), device, dtype, batch_tokens)


def _missing(store: Store, linker: str, wanted: Sequence[Candidates]) -> dict[int, Integers]:
    """The page_ids of candidates whose texts have no vector, by the place of the candidates in `wanted`."""
    found = {}
    with asking() as memory:
        paths = [path for one in vectors_of_linker(store.lake, linker) for path in one.paths()]
        view_files(memory, "known", paths, _VECTORS)
        for place, one in enumerate(wanted):
            view_digests(memory, one)
            query = "SELECT page_id FROM digests ANTI JOIN known USING (text_sha256) ORDER BY page_id"
            found[place] = np.asarray(memory.execute(query).fetchnumpy()["page_id"], np.int64)
    return found


def _stored(store: Store, linker: str) -> Iterator[tuple[Digests, Halves]]:
    """Digests and vectors of a linker, some at a time."""
    for version in vectors_of_linker(store.lake, linker):
        for path in version.paths():
            with open_parquet(path) as file:
                for batch in file.iter_batches(N_TEXTS, columns=["text_sha256", "vector"]):
                    blobs = b"".join(batch.column("vector").to_pylist())
                    vectors = np.frombuffer(blobs, "<f2").reshape(batch.num_rows, -1).astype(np.float16)
                    yield np.array(batch.column("text_sha256").to_pylist(), "S64"), vectors
