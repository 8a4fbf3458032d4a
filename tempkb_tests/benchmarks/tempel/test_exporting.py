"""Exports: the released layout and names, a card filled from the data, and a reader that trusts no byte.

Exports for tools of retrieval, read back by BEIR and by MTEB themselves.
"""

import hashlib
import json
import os
import subprocess
import sys
from itertools import product

import numpy as np
import pyarrow.parquet as pq
import pytest
from beir.datasets.data_loader import GenericDataLoader

from tempkb.benchmarks.exporting import export_release
from tempkb.benchmarks.linkable.pools import page_ids_of, pool_of
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb.benchmarks.tempel.entity_texts import snapshots_of
from tempkb.benchmarks.tempel.mteb_task import _TAGS
from tempkb.commands.runs.removal import of_dump, remove
from tempkb.core.errors import SettingsError
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


K = (1, 2, 4, 8, 16, 32, 64)
# Run in the export's folder. The encoder is a bag of words with a random vector for each; nothing may be fetched.
EVALUATE = """
import hashlib, json, socket, sys

class NoNetwork(socket.socket):
    def connect(self, *address):
        raise AssertionError(f"a connection to {address}")

socket.socket = NoNetwork
import mteb
import numpy as np
from mteb.models import ModelMeta
from mteb.models.abs_encoder import AbsEncoder
from mteb.languages import check_language_code
from mteb_task import EntityLinking

def vector(text):
    words = [hashlib.shake_256(word.lower().encode()).digest(512) for word in text.split() if len(word) > 3]
    whole = np.sum([np.frombuffer(word, np.int8) for word in words], axis=0).astype(np.float64)
    return whole / np.linalg.norm(whole)

class BagOfWords(AbsEncoder):
    mteb_model_meta = ModelMeta.create_empty({"name": "tests/words", "revision": "1"})

    def encode(self, inputs, **how):
        return np.stack([vector(text) for batch in inputs for text in batch["text"]])

    def similarity(self, one, other):
        return np.asarray(one) @ np.asarray(other).T

for tag in json.loads(sys.argv[1]):
    check_language_code(tag)
task = EntityLinking()
result = mteb.evaluate(BagOfWords(), task, cache=None, co2_tracker=False, show_progress_bar=False)
(found,) = result.task_results
loaded = sorted(name for name in sys.modules if name.split(".")[0] == "tempkb")
print(json.dumps({
    "loaded": loaded, "scores": found.scores["test"], "main": found.get_score(), "languages": found.languages,
    "revision": found.dataset_revision, "domains": task.metadata.domains, "licence": task.metadata.license,
    "cite": task.metadata.bibtex_citation,
}))
"""


@pytest.fixture
def exported(released, tmp_path):
    """The store, the release, and the folder to which it was exported with all candidates."""
    store, release = released
    return store, release, export_release(store, TEMPEL, release, tmp_path / "out", {"retrieval": "own"})


def rows(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def query_id(row):
    return f"{row['target_page_id']}-{row['anchor_page_id']}-{row['start_char']}"


def mentions(store, cut, **which):
    return store.read("tempel_mentions", release="r", cut=cut, **which).to_pylist()


SPLITS = ("train", "validation", "test", "test-continual", "test-new")


def test_beir_reads_each_split_of_each_snapshot(exported):
    store, _, folder = exported
    for cut, split in product(CUTS, SPLITS):
        corpus, queries, qrels = GenericDataLoader(str(folder / "retrieval" / str(cut))).load(split=split)
        subset, _, category = split.partition("-")
        there = mentions(store, cut, subset=subset, **({"category": category} if category else {}))
        assert len(there) > 0
        assert qrels == {query_id(row): {str(row["target_page_id"]): 1} for row in there}
        assert queries.keys() == qrels.keys()
        entities = store.read("tempel_entities", release="r", cut=cut).to_pylist()
        assert {page: one["title"] for page, one in corpus.items()} == {
            str(row["page_id"]): row["title"] for row in entities
        }
        assert all(one["text"] for one in corpus.values())


def test_a_document_has_the_title_and_the_beginning_of_the_article(exported):
    store, _, folder = exported
    documents = rows(folder / "retrieval/2022-01-01/corpus.jsonl")
    (harbour,) = [one for one in documents if one["title"] == "Grand Harbour"]
    (entity,) = store.read("tempel_entities", release="r", cut=CUTS[0], title="Grand Harbour").to_pylist()
    assert harbour["_id"] == str(entity["page_id"])
    assert harbour["metadata"] == {name: entity[name] for name in ("entity_id", "revision_id")}
    assert harbour["text"].startswith("Grand Harbour is a well-known part of Varland")
    assert max(len(one["text"].split()) for one in documents) == 128
    assert [int(one["_id"]) for one in documents] == sorted(int(one["_id"]) for one in documents)


def test_a_query_is_the_mention_and_its_sentence_and_does_not_tell_the_entity(exported):
    store, _, folder = exported
    by_id = {one["_id"]: one for one in rows(folder / "retrieval/2022-01-01/queries.jsonl")}
    there = mentions(store, CUTS[0])
    assert len(by_id) == len(there)
    for row in there:
        query = by_id[query_id(row)]
        around = row["context_left"].split()[-20:], row["mention"].split(), row["context_right"].split()[:20]
        # The white space at the borders of a mention is as it is in the article.
        assert query["text"].replace(" ", "") == f"{row['mention']}:{''.join(sum(around, []))}".replace(" ", "")
        assert query["text"].startswith(f"{row['mention']}: ")
        assert (
            " ".join(f"{row['context_left'][-9:]}{row['mention']}{row['context_right'][:9]}".split()) in query["text"]
        )
        assert query["metadata"] == {
            "left": row["context_left"],
            "mention": row["mention"],
            "right": row["context_right"],
            "subset": row["subset"],
            "category": row["category"],
        }


def test_a_category_without_tests_has_no_file(exported):
    _, _, folder = exported
    names = {path.name for path in (folder / "retrieval/2022-01-01/qrels").iterdir()}
    assert names == {"train.tsv", "validation.tsv", "test.tsv", "test-continual.tsv", "test-new.tsv"}
    lines = (folder / "retrieval/2022-01-01/qrels/test.tsv").read_text("utf-8").splitlines()
    assert lines[0] == "query-id\tcorpus-id\tscore"


def fixed_pool(store, release, cut, n, told=None):
    """The pages of a pool of fixed size."""
    snapshots = snapshots_of(release)
    pool = pool_of(store, snapshots, cut, f"fixed-{n}", "test", [].append if told is None else told.append)
    return page_ids_of(store, snapshots, pool).tolist()


def test_a_fixed_pool_has_the_entities_of_the_tests_and_is_equally_large_at_each_snapshot(released, tmp_path):
    store, release = released
    at = {
        cut: {row["page_id"] for row in store.read("tempel_entities", release="r", cut=cut).to_pylist()} for cut in CUTS
    }
    everywhere = at[CUTS[0]] & at[CUTS[1]]
    tested = {cut: {row["target_page_id"] for row in mentions(store, cut, subset="test")} for cut in CUTS}
    assert tested[CUTS[0]] != tested[CUTS[1]]
    told = []
    for n in (60, 61, 100):
        pools = {cut: fixed_pool(store, release, cut, n, told) for cut in CUTS}
        for cut in CUTS:
            assert pools[cut] == sorted(set(pools[cut]))
            assert len(pools[cut]) == n
            assert tested[cut] <= set(pools[cut])
            assert set(pools[cut]) - tested[cut] <= everywhere
        # They differ by the entities of the tests, and by the pages that these leave room for.
        assert len({*pools[CUTS[0]]} & {*pools[CUTS[1]]}) >= n - 2 * len(tested[CUTS[0]] ^ tested[CUTS[1]])
    assert not told
    assert set(fixed_pool(store, release, CUTS[1], 60)) < set(fixed_pool(store, release, CUTS[1], 100))
    least = min(len(everywhere | tested[cut]) for cut in CUTS)
    for cut in CUTS:
        assert len(fixed_pool(store, release, cut, 50_000, told)) == least
        assert set(fixed_pool(store, release, cut, 1, told)) == tested[cut]
    assert f"pool fixed-50000 has only {least} entities" in told[0]
    assert f"pool fixed-1 at 2022-01-01 has {len(tested[CUTS[0]])} entities" in told[1]
    folder = export_release(store, TEMPEL, release, tmp_path / "out", {"retrieval": "fixed-60"})
    for cut in CUTS:
        corpus, _, _ = GenericDataLoader(str(folder / "retrieval" / str(cut))).load(split="test")
        assert sorted(map(int, corpus)) == fixed_pool(store, release, cut, 60)
    task = json.loads((folder / "retrieval/task.json").read_text("utf-8"))
    assert (task["pool"], task["documents"]) == ("fixed-60", [60, 60])
    assert "a pool of 60 entities" in (folder / "README.md").read_text("utf-8")


def words_of(text):
    """The vector of a text, as in `EVALUATE`."""
    words = [hashlib.shake_256(word.lower().encode()).digest(512) for word in text.split() if len(word) > 3]
    whole = np.sum([np.frombuffer(word, np.int8) for word in words], axis=0).astype(np.float64)
    return whole / np.linalg.norm(whole)


@pytest.mark.slow
def test_mteb_evaluates_its_task_without_tempkb_and_without_a_network(exported):
    _, _, folder = exported
    variables = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder.parent), "MTEB_CACHE": str(folder.parent)}
    done = subprocess.run(
        [sys.executable, "-c", EVALUATE, json.dumps([*_TAGS.values(), "und-Zyyy"])],
        cwd=folder / "retrieval",
        env={name: value for name, value in variables.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["loaded"], told["licence"], told["languages"]) == ([], "cc-by-sa-4.0", ["eng"])
    assert told["revision"] == json.loads((folder / "retrieval/task.json").read_text("utf-8"))["revision"]
    assert "Kaffee, Lucie-Aim{\\'e}e" in told["cite"]
    by_cut = {one["hf_subset"]: one for one in told["scores"]}
    assert sorted(by_cut) == [str(cut) for cut in CUTS]
    for cut, scores in by_cut.items():
        here = folder / "retrieval" / cut
        documents = rows(here / "corpus.jsonl")
        entities = np.stack([words_of(f"{one['title']} {one['text']}") for one in documents])
        place = {one["_id"]: number for number, one in enumerate(documents)}
        lines = (here / "qrels/test.tsv").read_text("utf-8").splitlines()[1:]
        wanted = dict(line.split("\t")[:2] for line in lines)
        ranks = {"continual": [], "new": []}
        for query in rows(here / "queries.jsonl"):
            if query["_id"] in wanted:
                similar = entities @ words_of(query["text"])
                gold = similar[place[wanted[query["_id"]]]]
                assert np.sum(np.abs(similar - gold) < 1e-9) == 1  # no ties, which MTEB breaks in its own way
                ranks[query["metadata"]["category"]].append(1 + np.sum(similar > gold))
        assert all(ranks.values())
        for k in K:
            hits = {category: [rank <= k for rank in found] for category, found in ranks.items()}
            assert scores[f"hit_rate_at_{k}"] == pytest.approx(np.mean(sum(hits.values(), [])), abs=6e-6)
            for category, found in hits.items():
                assert scores[f"{category}_hit_rate_at_{k}"] == pytest.approx(np.mean(found), abs=6e-6)
        assert scores["main_score"] == scores["hit_rate_at_64"]
        assert len({scores[f"hit_rate_at_{k}"] for k in K}) > 2  # the encoder is poor, but not without success


@pytest.mark.slow
def test_its_files_have_checksums_and_equal_exports_have_equal_bytes(exported, tmp_path):
    store, release, folder = exported
    names = verified_files(folder)
    assert "retrieval/mteb_task.py" in names
    assert "retrieval/2023-01-01/qrels/test-new.tsv" in names
    again = export_release(store, TEMPEL, release, tmp_path / "again", {"retrieval": "own"})
    assert (again / "SHA256SUMS").read_bytes() == (folder / "SHA256SUMS").read_bytes()
    other = export_release(store, TEMPEL, release, tmp_path / "other", {"retrieval": "fixed-40"})
    revisions = {json.loads((one / "retrieval/task.json").read_text("utf-8"))["revision"] for one in (folder, other)}
    assert len(revisions) == 2


def test_without_the_option_nothing_of_it_is_there(exported, tmp_path):
    store, release, folder = exported
    assert "## Retrieval\n" in (folder / "README.md").read_text("utf-8")
    assert "among more of them fewer mentions" in (folder / "README.md").read_text("utf-8")
    plain = export_release(store, TEMPEL, release, tmp_path / "plain")
    assert not (plain / "retrieval").exists()
    assert "Retrieval" not in (plain / "README.md").read_text("utf-8")


@pytest.mark.parametrize("pool", ["all", "fixed-0", "fixed-", "2022-01-01", "fixed-1e3", " own"])
def test_an_unknown_pool_is_refused_before_anything_is_written(released, tmp_path, pool):
    store, release = released
    with pytest.raises(SettingsError, match=r"no such pool; expected own .*, fixed-N .*, or fixed for fixed-50000"):
        export_release(store, TEMPEL, release, tmp_path / "out", {"retrieval": pool})
    assert not list((tmp_path / "out").iterdir())
