"""Linkers over real English articles of 2014 and 2016: `TEMPKB_REAL_DATA=folder make real`.

TEMPKB_REAL_ENCODER may name a folder with an encoder of sentences (sentence-transformers' layout, safetensors), which is
then used as it is, and compared with what sentence-transformers itself finds in the exported files.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from tempkb_tests.conftest import run_tempkb
from tempkb_tests.real.data import DUMPS, REAL, as_history

FILES = (
    "yohasebe+wp2txt/ad8949a2dd/testdata_en.bz2",
    "piskvorky+gensim/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2",
)
CUTS = ("2014-12-01", "2016-05-01")
ENCODER = os.environ.get("TEMPKB_REAL_ENCODER")
pytestmark = [*REAL, pytest.mark.timeout(1800)]
SETTINGS = {"TEMPKB_GRANULARITY": "month", "TEMPKB_WORKERS": "2", "TEMPKB_FIRST_WINDOW": "2014-11-01"}
# Each article has one text in a file, so an article is as old as its text: older than a day before the first cut. Of
# some hundred articles, few entities have surfaces for three subsets, so these need not be unlike.
DESIGN = (
    "first_cut_from=2014-11-30",
    "min_nr_inlinks=1",
    "min_nr_distinct_mentions_per_entity=1",
    "ed_men_title=0",
    "ed_men_subsets=0",
    "nr_ct_ents_per_cut=1000",
    "max_mens_per_ent=500,500,500",
)
SUBSETS = ("test", "validation")
K = (1, 4, 16, 64)


def ask(home: Path, query: str) -> list[dict]:
    """The rows of a query of the published home."""
    return [json.loads(line) for line in run_tempkb(home, "sql", query, "--json", **SETTINGS).stdout.splitlines()]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A release over both days, linked by all linkers, and its export."""
    home = tmp_path_factory.mktemp("real")
    files = [as_history(DUMPS / name, tmp_path_factory.mktemp("files")) for name in FILES]
    for windows in ("2014-11-01..2014-12-01", "2016-04-01..2016-05-01"):
        run_tempkb(home, "build", "--window", windows, "--dump", *files, **SETTINGS)
    changes = [part for change in DESIGN for part in ("--set", change)]
    run_tempkb(home, "release", "tempel", ",".join(CUTS), "--preset", "small", "--name", "real", *changes, **SETTINGS)
    linkers = ["prior", "bm25"]
    if ENCODER:
        run_tempkb(home, "linker", "add", "encoder", str(Path(ENCODER).resolve()), **SETTINGS)
        linkers.append("encoder")
    for subset in SUBSETS:
        run_tempkb(
            home, "linker", "score", *linkers, "--subset", subset, "--pool", "own", "--pool", "fixed-150", **SETTINGS
        )
    run_tempkb(home, "release", "export", "real", str(home / "exports"), "--retrieval", "own", **SETTINGS)
    return home


def test_accuracies_with_intervals_by_category(home):
    rows = ask(
        home,
        """
        SELECT linker, pool, subset, cut, category, k, value, low, high, n_items, n_clusters, n_missing, n_candidates
        FROM linking_accuracy WHERE metric = 'accuracy' ORDER BY ALL
        """,
    )
    cells = {}
    for row in rows:
        where = tuple(row[name] for name in ("linker", "pool", "subset", "cut", "category"))
        cells.setdefault(where, {})[row["k"]] = row
    linkers = {"prior", "bm25"} | ({"encoder"} if ENCODER else set())
    # No article is younger than the first cut, so there are no new entities.
    categories = ("all", "continual")
    assert set(cells) == {
        (linker, pool, subset, cut, category)
        for linker in linkers
        for pool in ("own", "fixed-150")
        for subset in SUBSETS
        for cut in CUTS
        for category in categories
    }
    print("\naccuracy@K (95 % interval, clusters are entities)")
    for where, by_k in cells.items():
        last = by_k[64]
        shares = "  ".join(f"@{k} {by_k[k]['value']:.3f} ({by_k[k]['low']:.2f}..{by_k[k]['high']:.2f})" for k in K)
        print(f"{' '.join(where):46} n={last['n_items']}/{last['n_clusters']} of {last['n_candidates']}: {shares}")
        values = [by_k[k]["value"] for k in sorted(by_k)]
        assert values == sorted(values)
        assert all(by_k[k]["low"] <= by_k[k]["value"] <= by_k[k]["high"] for k in K)
        assert last["n_missing"] == 0
        assert last["n_candidates"] == 150 or where[1] == "own"
        # Hardly any surface means two of so few articles, and a mention has a word of its entity's text.
        assert by_k[1]["value"] >= 0.9 or where[0] != "prior"
        assert last["value"] >= 0.9


@pytest.mark.skipif(not ENCODER, reason="TEMPKB_REAL_ENCODER names no folder with an encoder")
def test_an_encoder_finds_what_sentence_transformers_finds_in_the_export(home):
    from beir.datasets.data_loader import GenericDataLoader
    from sentence_transformers import SentenceTransformer

    (linker,) = ask(home, "SELECT weights_sha256, dim, max_tokens FROM linkers WHERE linker = 'encoder'")
    print(f"\nencoder {ENCODER}: SHA-256 {linker['weights_sha256']}, {linker['dim']} numbers")
    encoder = SentenceTransformer(ENCODER, device="cpu", local_files_only=True)
    encoder.max_seq_length = linker["max_tokens"]
    for cut in CUTS:
        corpus, queries, qrels = GenericDataLoader(str(home / "exports/real/retrieval" / cut)).load(split="test")
        entities = encoder.encode([f"{one['title']} {one['text']}" for one in corpus.values()])
        place = {page: number for number, page in enumerate(corpus)}
        ranks = {}
        for name, text in queries.items():
            similar = entities @ encoder.encode(text)
            (gold,) = qrels[name]
            ranks[name] = int(1 + np.sum(similar > similar[place[gold]]))
        rows = ask(
            home,
            f"""
            SELECT concat_ws('-', target_page_id, anchor_page_id, start_char) AS name, rank FROM linking_scores
            WHERE linker = 'encoder' AND pool = 'own' AND subset = 'test' AND cut = '{cut}'
            """,
        )
        found = {row["name"]: row["rank"] for row in rows}
        assert found.keys() == ranks.keys()
        # float16 exchanges near neighbours now and then.
        assert np.mean([found[name] == rank for name, rank in ranks.items()]) >= 0.9
        assert all(abs(found[name] - rank) <= 1 for name, rank in ranks.items())
