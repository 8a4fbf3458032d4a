"""Writes and reads the released layout of TempEL."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from tempkb.benchmarks.export_folder import ExportFolder
from tempkb.benchmarks.register import need_version
from tempkb.benchmarks.tempel.design import SUBSETS
from tempkb.benchmarks.tempel.releases import Release
from tempkb.benchmarks.tempel.retrieval import retrieval_pool, write_retrieval
from tempkb.benchmarks.tempel.tables import TEMPEL_ENTITIES, TEMPEL_MENTIONS
from tempkb.errors import SettingsError
from tempkb.mentions.tables import PAGE_TEXTS
from tempkb.mentions.texts import require_all_texts
from tempkb.store.memory import asking
from tempkb.store.quoting import file_names
from tempkb.store.store import Store

_BATCH_ROWS = 1 << 12
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
