"""What the tables of real articles hold, counted beside what version d3074d4 gave: `TEMPKB_REAL_DATA=folder make real`.

That version knew no holes, took items from `page_props` alone, took whatever stood between two blanks for one word, and had
no random spans in languages for which it had no chunker.
"""

import bz2
import hashlib
import re
from pathlib import Path

import tempkb
from tempkb.store.memory import in_memory
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.real.data import DUMPS, REAL, as_history

pytestmark = REAL
ENGLISH = (
    "yohasebe+wp2txt/ad8949a2dd/testdata_en.bz2",
    "piskvorky+gensim/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2",
)
ITEMS = "shilad+wikibrain/testDump.json.bz2"
COUNTED = {
    "words": "SELECT coalesce(sum(n_words), 0) FROM page_texts",
    "holes": "SELECT coalesce(sum(len(holes)), 0) FROM page_texts",
    "texts with a hole": "SELECT count(*) FROM page_texts WHERE len(holes) > 0",
    "mentions": "SELECT count(*) FROM mentions",
    "mentions through redirects to sections": "SELECT count(*) FROM mentions WHERE via_redirect = 'section'",
    "mentions of items": "SELECT count(*) FROM mentions WHERE target_entity_id IS NOT NULL",
    "snapshot rows with items": "SELECT count(*) FROM stable_snapshots WHERE entity_id IS NOT NULL",
    "entities": "SELECT count(*) FROM ecbd_entities",
    "sentences": "SELECT count(*) FROM ecbd_sentences",
    "items of noun phrases": "SELECT count(*) FROM ecbd_cloze WHERE span_kind = 'np'",
    "items of random spans": "SELECT count(*) FROM ecbd_cloze WHERE span_kind = 'random'",
}
# By the same commands; what that version did not count is not listed.
BEFORE = {
    "en": {
        "words": 872_882,
        "mentions": 738,
        "mentions of items": 0,
        "snapshot rows with items": 0,
        "entities": 146,
        "sentences": 4_646,
        "items of noun phrases": 2_917,
        "items of random spans": 6_320,
    },
    "ja": {
        "words": 4_646,
        "mentions": 89,
        "mentions of items": 0,
        "snapshot rows with items": 0,
        "entities": 0,
        "sentences": 0,
        "items of noun phrases": 0,
        "items of random spans": 0,
    },
}


def print_counts(language: str) -> dict[str, int]:
    """Count the rows of the home that the environment names, and print them beside those of the version before."""
    names = ("stable_snapshots", "page_texts", "mentions", "ecbd_entities", "ecbd_sentences", "ecbd_cloze")
    with in_memory() as connection:
        for name in names:
            connection.register(name, tempkb.open().read(name))
        found = {what: connection.execute(query).fetchall()[0][0] for what, query in COUNTED.items()}
        damaged = connection.execute(
            """
            SELECT count(*) FROM ecbd_sentences AS s JOIN page_texts AS t USING (page_id, revision_id)
            WHERE len(list_filter(t.holes, lambda h: h.offset_char > s.sentence_start_char AND h.offset_char < s.sentence_end_char)) > 0
            """
        ).fetchall()[0][0]
    print(f"\n{language}: before, now")
    for what, now in found.items():
        print(f"  {what}: {BEFORE[language].get(what, 'not counted')}, {now}")
    assert damaged == 0
    return found


def print_items(n: int) -> None:
    """Print some items of either kind, by a hash of their names."""
    items = tempkb.open().read("ecbd_cloze", release="cloze").to_pylist()
    items.sort(key=lambda row: hashlib.md5(row["cloze_id"].encode()).hexdigest())
    for kind in ("np", "random"):
        for row in [one for one in items if one["span_kind"] == kind][:n]:
            shown = row["masked_sentence"].replace("<extra_id_0>", "____")
            print(f"  {kind} [{row['mention']}] {shown} => {row['answer']}")


def release(home: Path, windows: str, option: str, value: str, settings: dict[str, str]) -> None:
    asked = ("ecbd", windows, option, value, "--preset", "small", "--popular", "150", "--name", "cloze")
    run_tempkb(home, "release", *asked, **settings)


def test_english_articles_of_two_years_with_items_named_later(tmp_path, monkeypatch):
    settings = {"TEMPKB_GRANULARITY": "month", "TEMPKB_WORKERS": "2", "TEMPKB_FIRST_WINDOW": "2014-11-01"}
    home = tmp_path / "home"
    files = [as_history(DUMPS / name, tmp_path) for name in ENGLISH]
    for window in ("2014-11-01..2014-12-01", "2016-04-01..2016-05-01"):
        run_tempkb(home, "build", "--window", window, "--dump", *files, **settings)
    # Nobody names the history again: the windows that are built get their items from the site links.
    run_tempkb(home, "build", "--dump", str(DUMPS / ITEMS), "--day", "2014-12-31", **settings)
    release(home, "2000-01-01..2014-12-01", "--cut", "2014-12-01", settings)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    found = print_counts("en")
    print_items(25)
    assert found["snapshot rows with items"] > 0
    assert found["mentions of items"] > 0
    assert found["items of noun phrases"] == found["items of random spans"] > 1000


def test_japanese_articles(tmp_path, monkeypatch):
    settings = {
        "TEMPKB_GRANULARITY": "month",
        "TEMPKB_WORKERS": "2",
        "TEMPKB_FIRST_WINDOW": "2006-07-01",
        "TEMPKB_WIKI": "jawiki",
    }
    run_tempkb(tmp_path, "build", "--all", "--dump", str(DUMPS / "yohasebe+wp2txt/5d6ff36d55/testdata.bz2"), **settings)
    release(tmp_path, "2000-01-01..2006-08-01", "--dump-id", "none", settings)
    monkeypatch.setenv("TEMPKB_HOME", str(tmp_path))
    found = print_counts("ja")
    print_items(15)
    # A word of Japanese is a character: the texts have some 130,000.
    assert found["words"] > 20 * BEFORE["ja"]["words"]
    assert found["items of noun phrases"] == 0
    assert found["items of random spans"] > 100


def test_german_articles(tmp_path, monkeypatch):
    # Two articles whose head names the English wiki; with the right one they are read in German.
    packed = (DUMPS / "dbpedia+extraction-framework/de/wiki.xml.bz2").read_bytes()
    xml = bz2.decompress(packed).replace(b"<dbname>enwiki</dbname>", b"<dbname>dewiki</dbname>")
    (tmp_path / "dewiki.xml").write_bytes(re.sub(rb"<parentid>\d+</parentid>", b"", xml))
    settings = {"TEMPKB_GRANULARITY": "week", "TEMPKB_WORKERS": "1", "TEMPKB_FIRST_WINDOW": "2021-09-06"}
    home = tmp_path / "home"
    run_tempkb(home, "build", "--all", "--dump", str(tmp_path / "dewiki.xml"), **settings)
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    texts = tempkb.open().read("page_texts").to_pylist()
    print(f"\nde: {len(texts)} texts, {sum(row['n_words'] for row in texts):,} words")
    for row in texts:
        for hole in row["holes"]:
            at = hole["offset_char"]
            print(f"  {hole['kind']} {hole['name']}: {row['text'][max(0, at - 40) : at]}|{row['text'][at : at + 40]}")
        print(f"  {row['text'][:300]}")
    assert {row["wiki"] for row in texts} == {"dewiki"}
    assert sum(len(row["holes"]) for row in texts) < sum(row["text"].count(". ") for row in texts) / 100
