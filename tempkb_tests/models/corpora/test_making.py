"""Which sentences are new in which window, texts of a user's own, and what is made again."""

import json
import shutil
from datetime import date
from unittest import mock

import pytest

from tempkb.benchmarks.sentences import Place, sentencex_splitter, split_paragraph
from tempkb.core.errors import ContractError, SettingsError
from tempkb.engine.steps import Look
from tempkb.models.again import command_for
from tempkb.models.corpora import making
from tempkb.models.corpora.steps import require_fit, versions_in
from tempkb.models.corpora.tables import CORPUS_YEARS, DATED_TEXTS
from tempkb.platform.api import open_store
from tempkb.platform.rooms import steps
from tempkb.store.lake import Lake
from tempkb.store.store import Store
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb_tests.killed import KilledError
from tempkb_tests.models.corpora.small_wiki import LEFT_OUT, NEW, Q1, Q2, Q3, held, make, small_wiki


def rows(store, corpus="home"):
    return store.read(DATED_TEXTS.name, corpus=corpus).to_pylist()


def new(store):
    """What is new, by window."""
    found: dict[str, set] = {}
    for row in rows(store):
        found.setdefault(str(row["window_start"]), set()).add((row["page_id"], row["text"]))
    return found


def stale(store):
    return Look(store, steps()).stale(DATED_TEXTS.name)


@pytest.fixture
def store(home_folder, tmp_path, monkeypatch):
    return small_wiki(tmp_path, monkeypatch)


def written(path, *texts):
    """Write a file of a user's own, of pairs of text and date."""
    path.write_text("".join(json.dumps({"text": text, "date": day}) + "\n" for text, day in texts), "utf-8")
    return str(path)


@pytest.mark.slow
def test_a_sentence_is_of_the_first_window_whose_snapshot_of_the_page_has_it(store):
    done = make(store, chunker="textblob")
    assert not done.bad
    assert new(store) == NEW
    left_out = store.read("exclusions", table_name=DATED_TEXTS.name).to_pylist()
    assert {(one["partition"], one["reason"], one["n"], one["example"]) for one in left_out} == LEFT_OUT
    found = {row["text"]: row for row in rows(store) if row["page_id"] < 4}
    ada, ships = found["Ada Lovelace sailed to the old port."], found["Ships come on 12 March 2020."]
    assert ada["spans"] == [
        {"start_char": 0, "end_char": 12, "kind": "phrase"},
        {"start_char": 23, "end_char": 35, "kind": "link"},
    ]
    assert ships["spans"] == [{"start_char": 14, "end_char": 27, "kind": "date"}]
    assert (ships["years"], ships["revision_id"], ships["day"]) == ([2020], 11, None)
    texts = {row["revision_id"]: row["text"] for row in store.read("page_texts").to_pylist()}
    for row in rows(store):
        assert texts[row["revision_id"]][row["start_char"] :].startswith(row["text"])
        assert row["is_since_first_window"] == (str(row["window_start"]) == Q1)
    years = {str(row["window_start"]): row for row in store.read(CORPUS_YEARS.name).to_pylist()}
    assert [(years[key]["n_texts"], years[key]["names_a_year"], years[key]["names_its_year"]) for key in NEW] == [
        (5, 0.2, 0.2),
        (2, 0.5, 0.5),
        (2, 0, 0),
    ]


@pytest.mark.slow
def test_window_by_window_or_in_any_ranges_of_pages_the_bytes_are_the_same(store, monkeypatch):
    make(store, chunker="none")
    whole = held(store)
    for key in whole:
        store.lake.remove(DATED_TEXTS.name, key)
    # The newest first, of which the older ones are needed and not made.
    for window, after in ((Q3, "2020-10-01"), (Q1, Q2), (Q2, Q3)):
        make(store, chunker="none", windows=f"{window}..{after}")
    assert held(store) == whole
    for key in whole:
        store.lake.remove(DATED_TEXTS.name, key)
    monkeypatch.setattr(making, "_CHARS", 100)
    monkeypatch.setenv("TEMPKB_WORKERS", "2")
    make(open_store(), chunker="none")
    assert held(store) == whole
    assert not any((store.home.lake / "_staging").iterdir())


@pytest.mark.slow
def test_what_is_current_is_not_made_again_and_what_is_stale_is(home_folder, tmp_path, monkeypatch):
    store = small_wiki(tmp_path, monkeypatch, until=date(2020, 7, 1))
    make(store, chunker="none")
    assert sorted(held(store)) == [f"home.{Q1}", f"home.{Q2}"]
    with mock.patch.object(making, "make_windows", side_effect=AssertionError):
        make(store)
    # A later window changes nothing for those before it.
    store = small_wiki(tmp_path, monkeypatch)
    assert stale(store) == []
    make(store)
    assert new(store) == NEW
    # The chunker is as it was, and another one makes all anew.
    assert {one.settings["phrases"] for one in store.lake.versions(DATED_TEXTS.name)} == {"none (fallback)"}
    make(store, chunker="textblob")
    assert {one.settings["chunker"] for one in store.lake.versions(DATED_TEXTS.name)} == {"textblob"}
    assert stale(store) == []
    # Without a window, sentences that it had first are of later ones.
    store.lake.remove(STABLE_SNAPSHOTS.name, Q1)
    assert stale(store) == [f"home.{Q1}", f"home.{Q2}", f"home.{Q3}"]
    assert command_for(store, DATED_TEXTS.name, f"home.{Q2}") == "tempkb corpus make"
    make(store)
    assert (1, "Ada Lovelace sailed to the old port.") in new(store)[Q2]


def test_without_a_window_there_is_nothing_to_make(home_folder):
    with pytest.raises(
        SettingsError, match=r"corpus make: no window that is asked for is built; none is. .*tempkb build"
    ):
        make(open_store())


OWN = (
    ("It rained in 2020. They met Ada Lovelace.", "2020-01-05"),
    ("Old news.", "2019-12-31"),
    ("Twice.", "2020-03-30"),
    ("Twice.", "2020-02-01"),
    ("Twice.", "2019-10-01"),
)


@pytest.mark.slow
def test_texts_of_a_users_own_are_put_into_windows_each_once(home_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("TEMPKB_WORKERS", "1")
    file, store = written(tmp_path / "a.jsonl", *OWN), open_store()
    make(store, "news", files=[file], chunker="textblob")
    found = rows(store, "news")
    assert {(str(row["window_start"]), row["text"], str(row["day"])) for row in found} == {
        ("2019-10-01", "Old news.", "2019-12-31"),
        ("2019-10-01", "Twice.", "2019-10-01"),
        ("2020-01-01", "It rained in 2020. They met Ada Lovelace.", "2020-01-05"),
        ("2020-01-01", "Twice.", "2020-02-01"),
    }
    (news,) = (row for row in found if row["years"])
    assert news["spans"] == [
        {"start_char": 13, "end_char": 17, "kind": "date"},
        {"start_char": 28, "end_char": 40, "kind": "phrase"},
    ]
    assert {row["page_id"] for row in found} == {None}
    (left_out,) = store.read("exclusions", table_name=DATED_TEXTS.name).to_pylist()
    assert (left_out["partition"], left_out["n"], left_out["example"]) == ("news.2020-01-01", 1, "Twice.")
    make(store, "news", files=[file], chunker="none")
    assert {one["kind"] for row in rows(store, "news") for one in row["spans"]} == {"date"}
    # Another one of the name takes the place of it, and the chunker is as it was.
    make(store, "news", files=[written(tmp_path / "b.jsonl", OWN[1])])
    assert [row["text"] for row in rows(store, "news")] == ["Old news."]
    assert store.lake.versions(DATED_TEXTS.name)[0].settings["chunker"] == "none"


@pytest.mark.slow
def test_one_odd_line_keeps_all_of_a_corpus_out(home_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("TEMPKB_WORKERS", "1")
    files = [written(tmp_path / "a", *OWN), written(tmp_path / "b", OWN[0], ("x", "2020-02-30"))]
    with pytest.raises(SettingsError, match=r"b, line 2: found .*2020-02-30"):
        make(open_store(), "news", files=files)
    assert held(open_store()) == {}


@pytest.mark.parametrize(
    ("name", "files", "said"),
    [
        ("home", ["x"], "found 1 file; expected none for home"),
        ("news", [], "found 0 files"),
        ("News", ["x"], "another name, of lower-case letters"),
        ("../x", ["x"], "another name, of lower-case letters"),
    ],
)
def test_names_and_files_that_do_not_fit_are_refused(name, files, said):
    with pytest.raises(SettingsError, match=said):
        require_fit(name, files)


@pytest.mark.slow
@pytest.mark.parametrize("n_written", [0, 1, 2])
@pytest.mark.parametrize("name", ["home", "news"])
def test_killed_in_the_middle_and_made_again_the_bytes_are_the_same(store, tmp_path, name, n_written):
    files = [] if name == "home" else [written(tmp_path / "a", *OWN, ("Later.", "2020-05-05"))]
    make(store, name, files=files, chunker="none")
    whole, real, n = held(store), Store.write, 0
    assert len(whole) == 3
    for key in whole:
        store.lake.remove(DATED_TEXTS.name, key)

    def killed(*arguments, **named):
        nonlocal n
        n += 1
        if n > n_written:
            raise KilledError
        return real(*arguments, **named)

    # Who is killed leaves the folder of drafts.
    no_end = mock.patch("tempkb.store.lake.remove_tree")
    with mock.patch.object(Store, "write", killed), no_end, pytest.raises(KilledError):
        make(store, name, files=files, chunker="none")
    assert len(held(store)) == n_written
    if name == "news":
        # Half of it is no corpus.
        assert stale(store) == [*held(store)]
        if n_written:
            assert command_for(store, DATED_TEXTS.name, stale(store)[0]) == f"tempkb corpus add news {files[0]}"
    make(store, name, files=files, chunker="none")
    assert held(store) == whole
    assert stale(store) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("owner", "method", "n_before"), [(Store, "write", 0), (Store, "write", 1), (Lake, "remove", 0)]
)
def test_a_corpus_whose_replacement_is_killed_is_the_old_one_or_does_not_look_whole(
    home_folder, tmp_path, monkeypatch, owner, method, n_before
):
    monkeypatch.setenv("TEMPKB_WORKERS", "1")
    store, new = open_store(), (("Text 0.", "2019-12-12"), ("Text 1.", "2020-05-05"))
    make(store, "news", files=[written(tmp_path / "a.jsonl", *OWN)], chunker="none")
    other, real, n, before = written(tmp_path / "b.jsonl", *new), getattr(owner, method), 0, held(store)

    def killed(*arguments, **named):
        nonlocal n
        n += 1
        if n > n_before:
            raise KilledError
        return real(*arguments, **named)

    with mock.patch.object(owner, method, killed), pytest.raises(KilledError):
        make(store, "news", files=[other])
    if held(store) == before:
        assert (n_before, method, stale(store)) == (0, "write", [])
    else:
        assert stale(store) == [*held(store)]
        with pytest.raises(SettingsError, match=r"found a part of its files.*tempkb corpus add news"):
            versions_in(store.lake, "news", date.min, date.max)
    make(store, "news", files=[other])
    assert [row["text"] for row in rows(store, "news")] == [text for text, _ in new]


@pytest.mark.slow
def test_a_worker_that_fails_leaves_the_old_texts(store, tmp_path):
    make(store, chunker="none")
    before = held(store)
    with (
        mock.patch("tempkb.models.corpora.making.first_seen", side_effect=ContractError("odd")),
        pytest.raises(ContractError, match="dated_texts: odd. Nothing was written"),
    ):
        make(store, chunker="textblob")
    assert held(store) == before


@pytest.mark.slow
def test_the_demos_texts_are_those_that_a_plain_search_finds(demo_home, tmp_path, monkeypatch):
    """Every sentence of every snapshot is looked for in all earlier texts of its page."""
    shutil.copytree(demo_home, tmp_path / "home")
    monkeypatch.setenv("TEMPKB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TEMPKB_WORKERS", "1")
    store = open_store()
    make(store, chunker="none")
    split, texts = sentencex_splitter("en"), {row["revision_id"]: row for row in store.read("page_texts").to_pylist()}
    earlier: dict[int, list[str]] = {}
    expected: dict[tuple[date, str], int] = {}
    chosen = store.read("stable_snapshots").to_pylist()
    for row in sorted(chosen, key=lambda one: (one["window_start"], one["page_id"])):
        text = texts.get(row["revision_id"])
        if text is None or row["redirect_title"] or row["is_blank"]:
            continue
        before = earlier.setdefault(row["page_id"], [])
        if row["namespace"] == 0 and not row["is_disambiguation"]:
            for one in text["paragraphs"]:
                if one["kind"] == "prose":
                    for place in split_paragraph(text["text"], Place(one["start_char"], one["end_char"]), split):
                        sentence = text["text"][place.start : place.end]
                        if not any(sentence in old for old in before):
                            expected.setdefault((row["window_start"], sentence), row["page_id"])
        before.append(text["text"])
    assert len(expected) > 1000
    assert {(row["window_start"], row["text"]): row["page_id"] for row in rows(store)} == expected
    # As ECBD dates those sentences that it has.
    ours = {(row["page_id"], row["text"]): row["window_start"] for row in rows(store)}
    cloze = store.read("ecbd_sentences").to_pylist()
    both = [(row, ours.get((row["page_id"], row["sentence"]))) for row in cloze]
    assert [day for row, day in both if day is not None and day != row["sentence_since"]] == []
    assert sum(day is not None for _, day in both) > len(both) / 2
