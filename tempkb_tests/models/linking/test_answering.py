"""Texts of people are linked, and indexes written, on a home that is written by hand.

Mentions that people mark in a text.
"""

import io
import json
import os
import re
import shutil
import sys
from datetime import UTC, date, datetime

import numpy as np
import pytest
from click.testing import CliRunner

from tempkb.commands.cli import main
from tempkb.commands.screens import linking_texts
from tempkb.core.errors import ModelError, SettingsError
from tempkb.models.linking import answering
from tempkb.models.linking.answering import (
    Answer,
    AsOf,
    Found,
    Links,
    as_of_day,
    encoder_row,
    link_text,
    marked_mentions,
)
from tempkb.models.linking.indexing import write_index
from tempkb.models.linking.inputs import MentionText
from tempkb.models.linking.linkers import add_linker
from tempkb.models.linking.nil import Nil
from tempkb.models.linking.requests import LinkRequest, linker_request
from tempkb.models.linking.scoring import link_mentions
from tempkb.models.linking.vectors import _loaded
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb_tests.models.linking.small_home import TEXTS, TITLES, A, B, hand_made_linker, small_home, write
from tempkb_tests.models.linking.tiny import save_encoder

DAY = "2022-06-30"


@pytest.fixture
def store(tmp_path, monkeypatch):
    store = small_home(tmp_path / "home", monkeypatch)
    rows = [
        {
            "cut": A,
            "window_start": date(2021, 1, 1),
            "page_id": page,
            "namespace": 0,
            "title": TITLES[page],
            "revision_id": revision,
            "revision_timestamp": datetime(quarter.year, quarter.month, 5, tzinfo=UTC),
            "is_blank": False,
            "is_disambiguation": False,
        }
        for page, (revision, quarter, _) in TEXTS[A].items()
    ]
    write(store, STABLE_SNAPSHOTS, "2021-01-01", rows)
    return store


def linked(store, text, n=5):
    return [(one.mention, [(found.title, found.score) for found in one.entities]) for one in answers(store, text, n=n)]


def answers(store, text, linker="hand", n=5, **asked):
    some = link_text(store, [text], DAY, linker, n, lambda _: None, **asked)
    return [one for links in some for one in links.mentions]


def test_mentions_are_linked_to_the_articles_of_the_last_cut_before_a_day(store, monkeypatch):
    hand_made_linker(store, monkeypatch)
    # The query (1, 0) gives 1 to the port and to the assembly, which has the higher number, and 0 to the goddess.
    first = ("Aurora", [("Aurora (port)", 1.0), ("Mejlis", 1.0), ("Aurora (goddess)", 0.0)])
    second = ("elders", [("Aurora (port)", 0.0), ("Aurora (goddess)", -1.0), ("Mejlis", -1.0)])
    assert linked(store, "[[Aurora]] and the [[elders]]", n=64) == [first, second]
    assert linked(store, "[[Aurora]]", n=1) == [("Aurora", [("Aurora (port)", 1.0)])]


def test_a_text_is_linked_in_the_precision_of_the_vectors_that_are_there(store, monkeypatch):
    hand_made_linker(store, monkeypatch)
    link_mentions(store, "hand", LinkRequest(dtype="bfloat16"), lambda _: None)
    assert linked(store, "[[Aurora]]", n=1) == [("Aurora", [("Aurora (port)", 1.0)])]


def test_a_text_that_is_no_utf8_is_linked_and_json_is_utf8_in_any_terminal(monkeypatch):
    asked = []

    def link_text(_store, parts, *_):
        asked.append("".join(parts))
        found = Answer("caf\ufffd", [Found(1, None, "Zürich", 1.0)])
        yield Links("hand", AsOf(A, A, 0), 3, "why not", [found])

    written = io.BytesIO()
    monkeypatch.setattr(linking_texts, "open_store", lambda: None)
    monkeypatch.setattr(linking_texts, "link_text", link_text)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii", "backslashreplace"))
    # How Python passes on the byte 0xe9, which is é in Latin-1.
    main(["link", "[[caf\udce9]]", "--as-of", DAY, "--json"], standalone_mode=False)
    sys.stdout.flush()
    assert asked == ["[[caf\ufffd]]"]
    said = json.loads(written.getvalue().decode("utf-8"))
    assert (said["mention"], said["entities"][0]["title"]) == ("caf\ufffd", "Zürich")


def test_a_file_and_standard_input_are_linked_as_the_same_words_are(store, monkeypatch, tmp_path):
    hand_made_linker(store, monkeypatch)
    text = "[[Aurora]] and the [[elders]]"
    # As editors of Windows write it.
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n")

    def said(*typed, stdin=None):
        done = CliRunner().invoke(main, ["link", *typed, "--as-of", DAY, "--linker", "hand", "--json"], stdin)
        return done.stdout if not done.exit_code else done.output

    expected = said(text)
    assert [json.loads(line)["mention"] for line in expected.splitlines()] == ["Aurora", "elders"]
    assert said("--file", str(tmp_path / "text")) == expected
    assert said("--file", "-", stdin=text) == expected
    for typed in ((), (text, "--file", str(tmp_path / "text"))):
        assert "expected a TEXT in quotation marks or --file FILE, and not both" in said(*typed)


def test_a_text_without_mentions_is_refused_before_the_home_is_read(monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", "/dev/null/nowhere")
    done = CliRunner().invoke(main, ["link", "They sang.", "--as-of", DAY])
    assert (done.exit_code, "no mention in double brackets" in done.output) == (2, True)


def test_a_long_text_is_linked_some_mentions_at_a_time(store, monkeypatch):
    hand_made_linker(store, monkeypatch)
    monkeypatch.setattr(answering, "_MENTIONS", 2)
    some = link_text(store, ["[[Aurora]], [[elders]], [[pier]]"], DAY, "hand", 1, lambda _: None)
    assert [[one.mention for one in links.mentions] for links in some] == [["Aurora", "elders"], ["pier"]]


def test_mentions_without_an_article_are_told_by_the_lead_of_the_best_candidate(store, monkeypatch):
    """By hand: the lead is 0 for Aurora, of which two tie, and 1 for the elders; present mentions have 0.5, 1 and 2."""
    hand_made_linker(store, monkeypatch)
    monkeypatch.setattr(
        answering, "nil_of", lambda _store, _row, given: Nil("margin", np.array([0.5, 1, 2]), given, "")
    )
    text = "[[Aurora]] and the [[elders]]"
    found = [(one.p, one.is_nil, len(one.entities)) for one in answers(store, text, n=1, nil_threshold=0.25)]
    assert found == [(0.25, True, 1), (0.75, False, 1)]
    assert [one.is_nil for one in answers(store, text, nil_threshold=0.8)] == [True, True]
    assert [one.is_nil for one in answers(store, text)] == [None, None]
    said = CliRunner().invoke(main, ["link", text, "--as-of", DAY, "--linker", "hand", "--nil-threshold", "0.25"])
    assert "Aurora: no such article on that day (p = 0.250)" in said.stdout
    assert "elders (p = 0.750)" in said.stdout
    typed = ["link", text, "--as-of", DAY, "--linker", "hand", "--nil-threshold", "0.25", "--json"]
    rows = [json.loads(line) for line in CliRunner().invoke(main, typed).stdout.splitlines()]
    assert [(row["is_nil"], row["p"]) for row in rows] == [(True, 0.25), (False, 0.75)]


def test_baselines_link_texts(store):
    # Seven links with this surface lead to the goddess, five to each of the others, which are in the order of their ids.
    (aurora,) = answers(store, "[[Aurora]]", "prior")
    assert [(one.title, one.score) for one in aurora.entities] == [
        ("Aurora (goddess)", 7.0),
        ("Aurora (port)", 5.0),
        ("Mejlis", 5.0),
    ]
    (unknown,) = answers(store, "[[qwertyuiop]]", "prior")
    assert unknown.entities == []
    # Only one text has these words.
    (assembly,) = answers(store, "[[assembly]]", "bm25")
    assert [one.title for one in assembly.entities] == ["Mejlis"]


@pytest.mark.parametrize(
    ("day", "said"),
    [
        (str(A), ""),
        (
            "2022-01-02",
            "2022-01-01 is the last cut at or before 2022-01-02, by 1 day; 0 articles came since, and cannot be found",
        ),
        (
            "2022-07-05",
            "2022-01-01 is the last cut at or before 2022-07-05, by 185 days; 1 article came since, and cannot be found",
        ),
        (
            "2032-01-01",
            "2023-01-01 is the last cut at or before 2032-01-01, by 3,287 days; how many articles came since is not "
            "known, as no later cut is built",
        ),
    ],
)
def test_it_is_said_how_far_the_cut_is_and_how_many_articles_came_since(store, day, said):
    # The pier became an article on 2022-07-05, a redirect and a page of another day before or after do not count.
    pages = [
        (1, 0, None, "2021-02-01"),
        (4, 0, None, "2022-07-05"),
        (5, 0, "X", "2022-03-01"),
        (6, 0, None, "2022-08-01"),
    ]
    rows = [
        {"cut": B, "window_start": A, "page_id": page, "namespace": namespace, "title": f"P{page}", "revision_id": page}
        | {"revision_timestamp": datetime(2022, 8, 2, tzinfo=UTC), "is_blank": False, "is_disambiguation": False}
        | {"redirect_title": redirect, "article_since": datetime.fromisoformat(f"{since}T23:59:59+00:00")}
        for page, namespace, redirect, since in pages
    ]
    write(store, STABLE_SNAPSHOTS, str(A), rows)
    assert as_of_day(store, day).in_words() == said


# Name, release, snapshot, preset and seed, in the order of their training; and the one that is chosen.
LINKERS_THERE = [
    ([("old", "r", A, "demo", 1), ("young", "r", B, "demo", 1)], "old"),
    ([("a", "r", A, "demo", 1), ("b", "r", A, "paper", 2), ("c", "r", A, "paper", 1)], "c"),
    ([("a", "r", A, "paper", 1), ("c", "r", A, "demo", 2), ("b", "r", A, "demo", 1)], "b"),
    ([("a", "s", date(2021, 1, 1), "demo", 1), ("b", "r", A, "demo", 3)], "b"),
    ([("a", "r", A, "demo", 1), ("plain", None, None, None, None)], "a"),
]


@pytest.mark.parametrize(("there", "chosen"), LINKERS_THERE)
def test_without_a_name_the_newest_snapshot_then_the_last_preset_then_the_lowest_seed(
    store, monkeypatch, there, chosen
):
    trained(store, monkeypatch, there)
    assert encoder_row(store, "", A, "tempkb link TEXT")["linker"] == chosen


def test_of_linkers_of_several_releases_none_is_chosen(store, monkeypatch):
    trained(store, monkeypatch, [("a", "r", A, "demo", 1), ("b", "s", A, "demo", 1), ("c", "r", B, "demo", 1)])
    with pytest.raises(SettingsError) as refused:
        next(link_text(store, ["[[Aurora]]"], DAY, "", 5, print))
    assert str(refused.value) == (
        "found linkers of several releases that were trained on 2022-01-01, the newest snapshot up to 2022-01-01; "
        "expected the name of one; type one of: tempkb link TEXT --as-of 2022-06-30 --linker a (trained on r); "
        "tempkb link TEXT --as-of 2022-06-30 --linker b (trained on s)"
    )


def trained(store, monkeypatch, there):
    for at, (name, release, cut, preset, seed) in enumerate(there, 1):
        hand_made_linker(store, monkeypatch, name, release=release, cut=cut, preset=preset, seed=seed)
        # The pointers of quick writes may have one time.
        os.utime(store.lake.root / "linkers" / name / "CURRENT", ns=(at, at))


@pytest.mark.slow
@pytest.mark.parametrize(
    # Of 64 tokens eight are the mention's, and a quarter of the others is no word of its own: 28 * 3 / 4.
    ("markers", "max_tokens", "forms"),
    [
        (True, 64, ("[Ms] the old port [Me]", "at most some 21 words on either side")),
        (False, 64, ("the old port: At dawn", "at most 20 words on either side")),
        (False, 32, ("at most 9 words on either side",)),
        (
            True,
            32,
            (
                "of the 32 tokens that the encoder reads",
                "description (the first 128 words, at most 2,000 characters)",
                "3 entities: every article at the first instant of 2022-01-01",
            ),
        ),
    ],
)
def test_the_card_of_an_index_has_the_form_that_its_encoder_reads(store, tmp_path, markers, max_tokens, forms):
    add(store, tmp_path / "encoder", markers, max_tokens)
    write_index(store, DAY, tmp_path / "index", "own", lambda _: None)
    card = (tmp_path / "index" / "README.md").read_text()
    assert [form for form in forms if form not in card] == []


def test_a_lost_folder_of_a_linker_is_named_with_what_to_type(store, tmp_path):
    add(store, tmp_path / "encoder", markers=True)
    shutil.rmtree(tmp_path / "encoder")
    _loaded.cache_clear()
    lost = re.escape(
        f"linker 'own': found no {tmp_path}/encoder; expected the files of its checkpoint. Put them back, or name the "
        "folder where they are now: tempkb linker add own FOLDER"
    )
    for ask in (
        lambda: next(link_text(store, ["[[Aurora]]"], DAY, "own", 5, print)),
        lambda: write_index(store, DAY, tmp_path / "index", "own", print),
        lambda: link_mentions(store, "own", LinkRequest(), print),
    ):
        with pytest.raises(ModelError, match=lost):
            ask()


def add(store, folder, markers, max_tokens=32):
    save_encoder(folder, "bert", markers=markers, max_tokens=max_tokens)
    add_linker(store, linker_request("own", {"checkpoint": str(folder)}), lambda _: None)


def marked(text, n_around=100, part=None):
    size = part or len(text) or 1
    return list(marked_mentions([text[at : at + size] for at in range(0, len(text), size)], n_around))


def test_each_mention_has_the_other_marks_as_plain_text_around_it():
    assert marked("From [[Lund]] to [[the port]].") == [
        MentionText("From ", "Lund", " to the port."),
        MentionText("From Lund to ", "the port", "."),
    ]


def test_of_a_long_text_each_mention_has_what_is_near_it():
    assert marked("From [[Lund]] to [[the port]] of [[Ys]].", n_around=8) == [
        MentionText("From ", "Lund", " to the "),
        MentionText("Lund to ", "the port", " of Ys."),
        MentionText("port of ", "Ys", "."),
    ]


@pytest.mark.parametrize("part", [1, 2, 3, 5, 7, 1000])
def test_parts_of_any_size_make_the_same_text(part):
    text = "It [sic] saw [[Lund]], [[the\nport]][1] and [[[a]], a[0]."
    assert marked(text, 9, part) == [
        MentionText("sic] saw ", "Lund", ", the\npor"),
        MentionText("aw Lund, ", "the\nport", "[1] and ["),
        MentionText("t[1] and ", "[a", ", a[0]."),
    ]


def test_no_more_of_a_text_is_held_than_is_near_its_mentions(monkeypatch):
    from tempkb.models.linking import answering as module

    held = []

    class Near(module._Near):
        def complete(self):
            yield from super().complete()
            held.append(len(self.plain))

    monkeypatch.setattr(module, "_Near", Near)
    parts = ("word " * 200 + "[[Lund]] " for _ in range(500))
    assert sum(1 for _ in marked_mentions(parts, 50)) == 500
    # What precedes and follows the mention of the last part that waits.
    assert max(held) <= 50 + len("Lund") + 50


def test_single_brackets_are_text():
    assert marked("It [sic] saw [[Lund]].") == [MentionText("It [sic] saw ", "Lund", ".")]


@pytest.mark.parametrize("text", ["", "no mention", "[[ ]] is blank"])
def test_a_text_without_a_mention_is_refused(text):
    with pytest.raises(SettingsError, match="found no mention"):
        marked(text)


@pytest.mark.parametrize("part", [1, 1000])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[[Lund", 1),
        ("Lund]]", 1),
        ("[[a]]\nand\n[[b", 3),
        ("[[a [[b]]", 1),
        ("\n[[a[]][[[b]] c", 2),
        ("[[a]]\n[[b]]]]", 2),
    ],
)
def test_brackets_that_do_not_belong_together_are_refused_with_their_line(text, line, part):
    with pytest.raises(SettingsError, match=f"do not belong together in line {line};"):
        marked(text, 2, part)


def test_brackets_that_nobody_closes_do_not_keep_a_text_in_memory():
    read = []

    def parts():
        for part in ["[[Lund]] is [[open", *["x" * 10_000] * 100]:
            read.append(part)
            yield part

    with pytest.raises(SettingsError, match="do not belong together in line 1;"):
        list(marked_mentions(parts(), 10))
    assert len(read) < 10
