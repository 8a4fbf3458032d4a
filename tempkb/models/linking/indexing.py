"""Writes an index of the entities of a cut that is complete in itself: texts, vectors, FAISS file, encoder, card, sums.

Whoever has the folder needs FAISS and sentence-transformers to link with it, and no tempkb.
"""

import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tempkb
from tempkb.benchmarks.export_folder import ExportFolder, export_folder
from tempkb.benchmarks.linkable.declaration import N_WORDS as SENTENCE_WORDS
from tempkb.benchmarks.linkable.texts import DESCRIBED, N_CHARS, N_WORDS
from tempkb.core.files import toml_beside
from tempkb.models.linking.answering import AsOf, as_of_day, candidates_at, encoder_row, request_for
from tempkb.models.linking.checkpoints import Layout, layout_of
from tempkb.models.linking.inputs import Inputs
from tempkb.models.linking.vectors import encoder_of, vectors_of
from tempkb.store.store import Store, read_files

Log = Callable[[str], None]
ENTITIES, VECTORS, INDEX, ENCODER = "entities.parquet", "vectors.npy", "index.faiss", "encoder"
"""Names in the folder."""

_BLOCK = 1 << 16  # vectors that are added to the index at a time
_MENTION_TOKENS = 8  # of most mentions, with what marks them; a token is three quarters of a word of English


@dataclass(frozen=True)
class WrittenIndex:
    """An index that was written."""

    folder: Path
    linker: str
    as_of: AsOf
    n_entities: int
    n_bytes: int


def write_index(store: Store, day: str, out: Path, linker: str, log: Log) -> WrittenIndex:
    """Write the entities of a day with their vectors to a folder; an earlier index there is replaced at the end.

    Args:
        day: YYYY-MM-DD; the entities are those of the last cut that is built and not after it.
        linker: its name; empty for the one that `encoder_row` chooses.

    Raises:
        SettingsError: nothing is built up to that day, there is no such linker, the folder exists and is no index, or
            it holds a file that is not of the index.
        LockTimeoutError: another process writes an index to this folder.
        ModelError: the linker cannot be loaded.
    """
    # If `out` is the current folder, that name will be of the folder that is replaced.
    place = out.absolute()
    as_of = as_of_day(store, day)
    cut = as_of.cut
    row = encoder_row(store, linker, cut, f"tempkb index --as-of {day} --out {shlex.quote(str(out))}")
    layout = layout_of(row)
    with export_folder(out, "an index of entities", (ENTITIES, INDEX)) as folder, store.lake.staging() as drafts:
        candidates = candidates_at(store, row, cut, drafts, log)
        page_ids, vectors = vectors_of(store, row, candidates, drafts)
        # Loaded, so that files which are not those of the linker are not handed on.
        inputs = encoder_of(row, request_for(store, row)).inputs
        folder.write_parquet(ENTITIES, DESCRIBED, read_files(candidates.digests))
        with folder.adding(VECTORS) as path:
            np.save(path, vectors)
        with folder.adding(INDEX) as path:
            _write_flat(path, vectors)
        _copy_encoder(folder, layout)
        folder.write_text("README.md", _card(store, row, cut, len(page_ids), inputs))
    n_bytes = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    return WrittenIndex(out, row["linker"], as_of, len(page_ids), n_bytes)


def _write_flat(path: Path, vectors: npt.NDArray[np.float16]) -> None:
    """Write a flat index of inner products, which keeps vectors as float16."""
    import faiss

    index = faiss.IndexScalarQuantizer(vectors.shape[1], faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    index.is_trained = True
    for start in range(0, len(vectors), _BLOCK):
        index.add(np.ascontiguousarray(vectors[start : start + _BLOCK], dtype=np.float32))
    faiss.write_index(index, str(path))


def _copy_encoder(folder: ExportFolder, layout: Layout) -> None:
    for source in sorted({file for files in layout.files() for file in files}):
        with folder.adding(f"{ENCODER}/{source.relative_to(layout.folder).as_posix()}") as path:
            shutil.copyfile(source, path)


def _card(store: Store, row: Mapping[str, Any], cut: date, n: int, inputs: Inputs) -> str:
    trained = f"trained on the release {row['release']} at {row['cut']}" if row["cut"] else f"from {row['checkpoint']}"
    tower = inputs.mention_tower
    texts = toml_beside(__file__, "card.toml")
    form = texts["marked" if tower.has_markers else "plain"]
    # Without the mention and its marks; of other encoders tempkb reads a sentence.
    words = (tower.max_tokens - _MENTION_TOKENS) // 2 * 3 // 4
    words = words if tower.has_markers else min(words, SENTENCE_WORDS)
    filled = texts["text"].format(
        wiki=store.home.wiki,
        cut=cut,
        n=n,
        version=tempkb.__version__,
        linker=row["linker"],
        trained=trained,
        dim=row["dim"],
        weights=row["weights_sha256"],
        described=N_WORDS,
        chars=N_CHARS,
        entity_tokens=inputs.entity_tower.max_tokens,
        form=form["form"].format(words=words, tokens=tower.max_tokens),
        query=form["query"],
        entities=ENTITIES,
        vectors=VECTORS,
        index=INDEX,
        encoder=ENCODER,
    )
    return str(filled)
