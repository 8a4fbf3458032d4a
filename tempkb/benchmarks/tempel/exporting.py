"""Writes the released layout of TempEL, and that of BEIR, which tools for retrieval read.

In BEIR mentions are queries, entities are documents, and each snapshot is a data set of its own. The texts are plain
sentences, since these tools know no markers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tempkb.benchmarks.export_folder import ExportFolder
from tempkb.benchmarks.linkable.declaration import FIXED_POOL, OWN_POOL, mention_sentence, pool_name
from tempkb.benchmarks.linkable.pools import page_ids_of, pool_of
from tempkb.benchmarks.register import need_version
from tempkb.benchmarks.tempel.design import CATEGORIES, SUBSETS, Release
from tempkb.benchmarks.tempel.entity_texts import snapshots_of, write_described
from tempkb.benchmarks.tempel.mteb_task import MTEB_TASK, task_settings
from tempkb.benchmarks.tempel.tables import TEMPEL_ENTITIES, TEMPEL_MENTIONS
from tempkb.core.errors import SettingsError
from tempkb.core.files import open_parquet
from tempkb.store.memory import asking
from tempkb.store.quoting import file_names
from tempkb.store.store import Store
from tempkb.wiki.mentions.steps import require_all_texts
from tempkb.wiki.mentions.tables import PAGE_TEXTS
from tempkb.wiki.wikidata.scope import language_of_wiki

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


# Number of word pieces on either side of a mention, and of the target, in the released files.
_CONTEXT_PIECES, _TARGET_PIECES = 100, 200
# Titles in the lines have underscores, as in the released files; tables and their Parquet files have spaces.
_TITLES = ("target_title", "anchor_title")
Pieces = Callable[[str], list[str]]


def write_files(store: Store, release: Release, out: ExportFolder, options: Mapping[str, Any]) -> None:
    """Write the files of the released layout.

    `train|validation|test/<cut>_<subset>.jsonl` and `entities/<cut>_entities.jsonl`
    have the names of the released files, and titles with underscores like these.

    Args:
        options: options; a `tokenizer`, the path of a `tokenizer.json` or a BERT `vocab.txt`, adds the fields `*_bert`,
            and `retrieval`, the name of a pool, adds the files that tools of retrieval read.

    Raises:
        ContractError: texts of its snapshots are lost to damage.
        SettingsError: the tokenizer cannot be read, or there is no such pool.
    """
    pieces = _tokenizer(Path(options["tokenizer"])) if options.get("tokenizer") else None
    pool = retrieval_pool(options["retrieval"]) if options.get("retrieval") else ""
    require_all_texts(store, release.cuts)
    for cut in release.cuts:
        for subset in SUBSETS:
            rows = _mentions(store, release.name, cut, subset, pieces)
            out.write_json_lines(f"{subset}/{cut}_{subset}.jsonl", rows)
        out.write_json_lines(f"entities/{cut}_entities.jsonl", _entities(store, release.name, cut))
    if pool:
        write_retrieval(store, release, out, pool)


def _mentions(store: Store, release: str, cut: date, subset: str, pieces: Pieces | None) -> Iterator[dict[str, Any]]:
    """Rows of a cut and subset in the released field names."""
    files = file_names(need_version(store, TEMPEL_MENTIONS, release, cut).paths())
    with asking() as connection:
        query = """
            SELECT * EXCLUDE (release, cut, wiki, dump_id), wiki, dump_id FROM read_parquet($files)
            WHERE subset = $subset ORDER BY target_page_id, anchor_page_id, start_char
        """
        reader = connection.sql(query, params={"files": files, "subset": subset}).to_arrow_reader(_BATCH_ROWS)
        for batch in reader:
            for row in batch.to_pylist():
                row["current_snapshot"] = row["snapshot"]
                tokens = _tokens(row, pieces) if pieces else {}
                yield row | {name: row[name].replace(" ", "_") for name in _TITLES} | tokens


def _tokens(row: dict[str, Any], pieces: Pieces) -> dict[str, list[str]]:
    return {
        "mention_bert": pieces(row["mention"]),
        "context_left_bert": pieces(row["context_left"])[-_CONTEXT_PIECES:],
        "context_right_bert": pieces(row["context_right"])[:_CONTEXT_PIECES],
        "target_bert": pieces(row["target"])[:_TARGET_PIECES],
        "target_title_bert": pieces(row["target_title"]),
    }


def _entities(store: Store, release: str, cut: date) -> Iterator[dict[str, Any]]:
    """The candidates of a cut with their complete texts."""
    files = file_names(need_version(store, TEMPEL_ENTITIES, release, cut).paths())
    texts = file_names(store.lake.files(PAGE_TEXTS.name))
    with asking() as connection:
        query = """
            SELECT e.page_id AS target_page_id, e.entity_id AS target_qid, replace(e.title, ' ', '_') AS target_title,
                   e.revision_id AS target_revision_id, e.revision_timestamp AS target_revision_date,
                   e.page_created_at AS target_creation_date, e.n_words AS target_len, e.n_chars AS target_len_chars,
                   e.category, t.text AS target
            FROM read_parquet($files) AS e LEFT JOIN read_parquet($texts) AS t USING (page_id, revision_id)
            ORDER BY e.page_id
        """
        for batch in connection.sql(query, params={"files": files, "texts": texts}).to_arrow_reader(_BATCH_ROWS):
            yield from batch.to_pylist()


def _tokenizer(path: Path) -> Pieces:
    """Read a tokenizer file; no code in it is run."""
    try:
        from tokenizers import Tokenizer
        from tokenizers.implementations import BertWordPieceTokenizer  # type: ignore[attr-defined]
    except ImportError:
        raise SettingsError('--tokenizer needs the extra bert: pip install "tempkb[bert]"') from None
    try:
        read = BertWordPieceTokenizer(str(path)) if path.suffix == ".txt" else Tokenizer.from_file(str(path))
    except Exception as error:  # noqa: BLE001 - the library raises plain exceptions of its own
        raise SettingsError(f"--tokenizer {path}: {error}; expected a tokenizer.json or a BERT vocab.txt") from None
    if not read.get_vocab_size():
        raise SettingsError(f"--tokenizer {path}: its vocabulary is empty; expected a tokenizer with tokens")

    def pieces(text: str) -> list[str]:
        tokens: list[str] = read.encode(text, add_special_tokens=False).tokens
        return tokens

    return pieces
