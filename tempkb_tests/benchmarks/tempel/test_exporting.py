"""Exports: the released layout and names, a card filled from the data, and a reader that trusts no byte."""

import json

import pyarrow.parquet as pq
import pytest

from tempkb.benchmarks.exporting import export_release
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb.errors import SettingsError
from tempkb.removal import of_dump, remove
from tempkb_tests.benchmarks.exports import verified_files
from tempkb_tests.benchmarks.tempel.releases_for_tests import CUTS

RELEASED = {  # what the loader of TempEL 1.0 reads, and table 4 of the paper
    "mention",
    "context_left",
    "context_right",
    "target_qid",
    "target_title",
    "current_snapshot",
    "subset",
    "category",
    "target_len",
    "anchor_len",
    "target_page_id",
    "snapshot",
    "target",
    "ed_men_title",
    "overlap_type",
    "men_prior",
    "men_prior_rank",
    "avg_men_prior",
    "ent_prior",
    "nr_inlinks",
    "nr_dist_mens",
    "nr_mens_per_ent",
    "nr_mens_extracted",
    "anchor_creation_date",
    "anchor_revision_date",
    "target_creation_date",
    "target_revision_date",
}
TOKENS = {"mention_bert", "context_left_bert", "context_right_bert", "target_bert", "target_title_bert"}


def read_export(folder, subset, cut=""):
    """The mentions in the exported files of a subset, with titles as in the tables."""
    names = [
        name for name in verified_files(folder) if name.startswith(subset) and name.endswith(f"{cut}_{subset}.jsonl")
    ]
    rows = [json.loads(line) for name in names for line in (folder / name).read_text("utf-8").splitlines()]
    return [row | {name: row[name].replace("_", " ") for name in ("target_title", "anchor_title")} for row in rows]


@pytest.mark.slow
def test_a_release_goes_out_and_comes_back(released, tmp_path):
    store, release = released
    folder = export_release(store, TEMPEL, release, tmp_path / "out")
    assert folder == tmp_path / "out" / "r"
    rows = read_export(folder, "train")
    there = store.read("tempel_mentions", release="r", subset="train").to_pylist()
    assert len(rows) == len(there) > 0
    assert set(rows[0]) >= RELEASED
    by_place = {(row["snapshot"][:10], row["anchor_page_id"], row["start_char"]): row for row in rows}
    for row in there:
        mine = by_place[str(row["cut"]), row["anchor_page_id"], row["start_char"]]
        names = ("mention", "target_title", "anchor_title")
        assert [mine[name] for name in names] == [row[name] for name in names]
        assert mine["current_snapshot"] == f"{row['snapshot']:%Y-%m-%dT%H:%M:%SZ}"
    one_cut = read_export(folder, "test", CUTS[1])
    assert {row["snapshot"] for row in one_cut} == {"2023-01-01T00:00:00Z"}

    entities = [
        json.loads(line) for line in (folder / "entities/2022-01-01_entities.jsonl").read_text("utf-8").splitlines()
    ]
    assert len(entities) == store.read("tempel_entities", release="r", cut=CUTS[0]).num_rows
    harbour = next(row for row in entities if row["target_title"] == "Grand_Harbour")
    assert harbour["target"].startswith("Grand Harbour is a well-known part of Varland")


@pytest.mark.slow
def test_an_export_is_loaded_by_subset_and_by_snapshot(released, tmp_path, loaded, counted):
    store, release = released
    found = loaded(export_release(store, TEMPEL, release, tmp_path / "out"))

    def of_table(column):
        query = f"SELECT {column}::VARCHAR AS name, count(*) AS n FROM tempel_mentions WHERE release = 'r' GROUP BY ALL"
        return {row["name"]: row["n"] for row in store.ask(query, "tempel_mentions")}

    subsets, cuts = of_table("subset"), of_table("cut")
    assert set(subsets) == {"train", "validation", "test"}
    assert counted(found) == {
        "mentions": [(name, subsets[name]) for name in ("train", "validation", "test")],
        "windows": [(str(cut).replace("-", "_"), cuts[str(cut)]) for cut in CUTS],
    }
    rows = [row for split in found["mentions"].values() for row in split]
    assert all(row["subset"] == split for split, own in found["mentions"].items() for row in own)
    assert all(str(row["cut"]).replace("-", "_") == name for name, own in found["windows"].items() for row in own)
    places = ("cut", "target_page_id", "anchor_page_id", "start_char", "mention", "target_title", "snapshot")
    assert sorted(tuple(row[name] for name in places) for row in rows) == sorted(
        tuple(row[name] for name in places) for row in store.read("tempel_mentions", release="r").to_pylist()
    )


def test_titles_are_written_in_one_way_in_the_lines_and_in_one_in_the_tables(released, tmp_path):
    store, release = released
    folder = export_release(store, TEMPEL, release, tmp_path / "out")
    files = [*folder.glob("t*/*.jsonl"), *folder.glob("validation/*.jsonl"), *folder.glob("entities/*.jsonl")]
    assert len(files) == 4 * len(CUTS)
    titles = set()
    for path in files:
        for line in path.read_text("utf-8").splitlines():
            titles |= {value for name, value in json.loads(line).items() if name in ("target_title", "anchor_title")}
    assert {"Grand_Harbour", "Songs_of_Varland,_book_1"} <= titles
    assert not [title for title in titles if " " in title]
    for path in folder.glob("parquet/tempel_*/**/*.parquet"):
        table = pq.read_table(path)
        for name in {"title", "target_title", "anchor_title"} & set(table.column_names):
            assert not [title for title in table[name].to_pylist() if "_" in title]


def test_the_card_has_the_datasheets_headings_filled_from_the_data(released, tmp_path):
    store, release = released
    folder = export_release(store, TEMPEL, release, tmp_path)
    card = (folder / "README.md").read_text("utf-8")
    for heading in (
        "Motivation",
        "Composition",
        "Collection process",
        "Preprocessing",
        "Uses",
        "Distribution",
        "Maintenance",
    ):
        assert f"## {heading}" in card
    assert "| 2022-01-01 | continual train | 13 |" in card
    assert "CC BY-SA 4.0" in card
    history = next(row for row in store.read("dump_files").to_pylist() if row["kind"] == "history")
    assert history["checksum"] in card
    assert "| min_nr_inlinks |" in card
    assert json.loads((folder / "design.json").read_text("utf-8"))["min_nr_inlinks"] == 3


@pytest.mark.slow
def test_the_card_names_every_file_of_every_dump_also_when_these_are_gone(released, tmp_path):
    """Wikidata tells which pages are lists, and the demo's SQL tables the items of pages."""
    store, release = released
    folder = export_release(store, TEMPEL, release, tmp_path)
    first = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    rows = [
        line.split(" | ") for line in first[folder / "README.md"].decode().splitlines() if "wiki-20240101 | " in line
    ]
    files = {row["file_name"]: row for row in store.read("dump_files").to_pylist()}
    assert [(row[0], row[1]) for row in rows] == [
        ("| demowiki-20240101", "demowiki-20240101-page.sql.gz"),
        ("| demowiki-20240101", "demowiki-20240101-page_props.sql.gz"),
        ("| demowiki-20240101", "demowiki-20240101-pages-meta-history1.xml-p11p323.bz2"),
        ("| demowiki-20240101", "demowiki-20240101-pages-meta-history2.xml-p324p637.bz2"),
        ("| demowiki-20240101", "demowiki-20240101-redirect.sql.gz"),
        ("| wikidatawiki-20240101", "wikidata-20240101-all.json.gz"),
    ]
    assert [row[2] for row in rows] == [f"{files[row[1]]['checksum']} |" for row in rows]
    for dump_id in ("demowiki-20240101", "wikidatawiki-20240101"):
        remove(store, of_dump(store, dump_id, force=True))
    assert store.read("dump_files").num_rows == 0
    export_release(store, TEMPEL, release, tmp_path)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == first


def test_with_a_tokenizer_the_token_fields_of_the_released_files_are_there(released, tmp_path):
    store, release = released
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "old", "port", "grand", "harbour", "##s", "a", "of"]
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join(words), "utf-8")
    folder = export_release(store, TEMPEL, release, tmp_path / "out", {"tokenizer": str(vocabulary)})
    rows = read_export(folder, "train")
    assert set(rows[0]) >= RELEASED | TOKENS
    port = next(row for row in rows if row["mention"] == "the old port" and row["target_title"] == "Grand Harbour")
    assert (port["mention_bert"], port["target_title_bert"]) == (["the", "old", "port"], ["grand", "harbour"])
    assert all(len(row["context_left_bert"]) <= 100 and len(row["target_bert"]) <= 200 for row in rows)
    (tmp_path / "odd.json").write_text("{}", "utf-8")
    with pytest.raises(SettingsError, match=r"odd.json: .*; expected a tokenizer.json or a BERT vocab.txt"):
        export_release(store, TEMPEL, release, tmp_path / "out", {"tokenizer": str(tmp_path / "odd.json")})
