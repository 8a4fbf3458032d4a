"""Writes a release in the layout of BEIR, which tools for retrieval read: mentions are queries, entities are documents.

Each snapshot is a data set of its own. The texts are plain sentences, since these tools know no markers.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tempkb.benchmarks.export_folder import ExportFolder
from tempkb.benchmarks.linkable.pool_names import FIXED_POOL, OWN_POOL, pool_name
from tempkb.benchmarks.linkable.pools import page_ids_of, pool_of
from tempkb.benchmarks.linkable.sentences import mention_sentence
from tempkb.benchmarks.register import need_version
from tempkb.benchmarks.tempel.design import CATEGORIES, SUBSETS
from tempkb.benchmarks.tempel.entity_texts import write_described
from tempkb.benchmarks.tempel.linkable import snapshots_of
from tempkb.benchmarks.tempel.mteb_task import MTEB_TASK, task_settings
from tempkb.benchmarks.tempel.releases import Release
from tempkb.benchmarks.tempel.tables import TEMPEL_MENTIONS
from tempkb.errors import SettingsError
from tempkb.store.memory import asking
from tempkb.store.parquet import open_parquet
from tempkb.store.quoting import file_names
from tempkb.store.store import Store
from tempkb.wikidata.scope import language_of_wiki

FOLDER = "retrieval"
"""The folder of an export with these files."""
_BATCH_ROWS = 1 << 12
_QUERY_ID = "concat_ws('-', target_page_id, anchor_page_id, start_char)"
_ORDER = "ORDER BY target_page_id, anchor_page_id, start_char"


def retrieval_pool(text: str) -> str:
    """Return the pool that an export option asks for, as tables name it.

    Raises:
        SettingsError: there is no such pool.
    """
    try:
        return pool_name(text)
    except ValueError:
        raise SettingsError(
            f"--retrieval {text}: no such pool; expected {OWN_POOL} (all entities of each snapshot), fixed-N "
            f"(N entities at each snapshot, such as fixed-1000), or fixed for fixed-{FIXED_POOL}"
        ) from None


def write_retrieval(store: Store, release: Release, out: ExportFolder, pool: str) -> None:
    """Write `retrieval/`: for each snapshot a folder in the layout of BEIR, and a task of MTEB over all of them.

    Args:
        pool: the entities among which mentions are to be found: `own` or `fixed-N`.

    Raises:
        ContractError: texts of the entities are no longer in the home.
    """
    snapshots, documents = snapshots_of(release), {}
    for cut in release.cuts:
        folder = f"{FOLDER}/{cut}"
        with store.lake.staging() as drafts:
            described = drafts / "described.parquet"
            write_described(store, cut, described, release.name)
            pages = page_ids_of(store, snapshots, pool_of(store, snapshots, cut, pool, "test", _untold))
            documents[cut] = out.write_json_lines(f"{folder}/corpus.jsonl", _documents(described, pages))
        files = file_names(need_version(store, TEMPEL_MENTIONS, release.name, cut).paths())
        out.write_json_lines(f"{folder}/queries.jsonl", _queries(files))
        for subset in SUBSETS:
            out.write_lines(f"{folder}/qrels/{subset}.tsv", _qrels(files, subset, CATEGORIES))
        for category in _categories(files):
            out.write_lines(f"{folder}/qrels/test-{category}.tsv", _qrels(files, "test", [category]))
    language = language_of_wiki(store.home.settings)
    out.write_text(f"{FOLDER}/task.json", task_settings(release.name, language, pool, documents, out.digest(FOLDER)))
    out.write_text(f"{FOLDER}/mteb_task.py", MTEB_TASK)


def _untold(_line: str) -> None:
    """For what a pool lacks: `task.json` says how many documents there are."""


def _documents(described: Path, pages: NDArray[np.int64]) -> Iterator[dict[str, Any]]:
    """The entities of a pool, in the order of their pages."""
    with open_parquet(described) as file:
        for batch in file.iter_batches(_BATCH_ROWS):
            found = batch.filter(pa.array(np.isin(batch.column("page_id").to_numpy(), pages)))
            for row in found.to_pylist():
                yield {
                    "_id": str(row["page_id"]),
                    "title": row["title"],
                    "text": row["description"],
                    "metadata": {"entity_id": row["entity_id"], "revision_id": row["revision_id"]},
                }


def _queries(files: Sequence[str]) -> Iterator[dict[str, Any]]:
    """All mentions of a cut. What tells the entity is not in them."""
    query = f"""
        SELECT {_QUERY_ID} AS query_id, subset, category, mention, context_left, context_right
        FROM read_parquet($files) {_ORDER}
    """
    with asking() as connection:
        for batch in connection.sql(query, params={"files": files}).to_arrow_reader(_BATCH_ROWS):
            for row in batch.to_pylist():
                context = {"left": row["context_left"], "mention": row["mention"], "right": row["context_right"]}
                yield {
                    "_id": row["query_id"],
                    "text": mention_sentence(**context),
                    "metadata": {**context, "subset": row["subset"], "category": row["category"]},
                }


def _categories(files: Sequence[str]) -> list[str]:
    """The categories of the tests; the files of a category that has none would be empty, and BEIR cannot read these."""
    query = "SELECT DISTINCT category FROM read_parquet($files) WHERE subset = 'test' ORDER BY category"
    with asking() as connection:
        return [category for (category,) in connection.execute(query, {"files": files}).fetchall()]


def _qrels(files: Sequence[str], subset: str, categories: Sequence[str]) -> Iterator[str]:
    """The entity of each mention of a subset. A mention whose entity is not in the pool is among them, as a miss."""
    yield "query-id\tcorpus-id\tscore"
    query = f"""
        SELECT {_QUERY_ID} AS query_id, target_page_id FROM read_parquet($files)
        WHERE subset = $subset AND category IN (SELECT unnest($categories)) {_ORDER}
    """
    values = {"files": files, "subset": subset, "categories": list(categories)}
    with asking() as connection:
        for batch in connection.sql(query, params=values).to_arrow_reader(_BATCH_ROWS):
            for row in batch.to_pylist():
                yield f"{row['query_id']}\t{row['target_page_id']}\t1"
