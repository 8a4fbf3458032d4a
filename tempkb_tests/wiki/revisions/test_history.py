"""Texts that the file once gave, on random histories against the definition."""

import random

import pytest

from tempkb.core.titles import Site, Title
from tempkb.wiki.dumps.elements import Revision, TextState
from tempkb.wiki.revisions.history import (
    ABSENT,
    SUPPRESSED,
    Cuts,
    PageHistory,
    Remark,
    TextStore,
    Who,
    may_be_move,
    names_over_time,
    naming_at,
)
from tempkb.wiki.revisions.snapshots import Cut, PageSnapshots, TextMissingError

DAY = 86_400
STATES = [TextState.PRESENT, TextState.BLANK, TextState.SUPPRESSED, TextState.ABSENT]


def history(folder, states_and_contents):
    """A page with a revision a day, whose texts are all dropped, since there is no cut for which they are kept."""
    page = PageHistory(1, Cuts([], 0), TextStore(folder), Site(), Who(b"salt"))
    for at, (state, content) in enumerate(states_and_contents):
        text = b"text" if state is TextState.PRESENT else b""
        page.add(Revision(at + 1, None, at * DAY, 7, None, False, b"", b"%031d" % content, 4, state, text), 0)
    page.settle()
    return page


def test_a_text_was_given_if_its_content_had_it_there_or_earlier(tmp_path):
    chance = random.Random(24)
    answers = set()
    for _ in range(300):
        # Hashes begin with twelve digits that tell contents apart; few contents, so that they come again.
        told = [(chance.choice(STATES), chance.randrange(5) * 10**25) for _ in range(chance.randrange(1, 12))]
        page = history(tmp_path, told)
        positions = sorted(chance.sample(range(len(told)), chance.randrange(1, len(told) + 1)))
        expected = any(
            page.contents[at] == page.contents[index] and not page.flags[at] & (ABSENT | SUPPRESSED)
            for index in positions
            for at in range(index + 1)
        )
        assert page.once_had_text(positions) == expected
        answers.add(expected)
    assert answers == {False, True}


def snapshots(page, title, n_cuts):
    cuts = [Cut(str(at), at * DAY + 1) for at in range(n_cuts)]
    return PageSnapshots(page, title, Site(), cuts, 3 * DAY, None)


def test_a_text_that_was_dropped_too_early_is_noticed_and_one_that_never_was_is_not(tmp_path):
    store = TextStore(tmp_path)
    stubs = history(tmp_path, [(TextState.ABSENT, at * 10**25) for at in range(8)])
    assert list(snapshots(stubs, Title(0, "A"), 8).texts(store)) == []
    # The first text, which the file gave, is restored as a stub on the last day.
    given = history(tmp_path, [(TextState.PRESENT, 0), (TextState.ABSENT, 10**25), (TextState.ABSENT, 0)])
    with pytest.raises(TextMissingError):
        list(snapshots(given, Title(0, "A"), 3).texts(store))


@pytest.mark.parametrize(("namespace", "since"), [(0, 0), (1, None)])
def test_a_page_that_was_never_in_the_main_namespace_was_never_an_article(tmp_path, namespace, since):
    page = history(tmp_path, [(TextState.PRESENT, 0), (TextState.PRESENT, 10**25)])
    rows = list(snapshots(page, Title(namespace, "A"), 3).rows({}))
    assert [row[7] for _, row in rows] == [since] * 3


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store that spills after every kilobyte."""
    monkeypatch.setattr("tempkb.wiki.revisions.history.BLOCK_BYTES", 1000)
    return TextStore(tmp_path)


def test_gives_back_what_was_kept_in_rising_order(store):
    kept = [bytes([65 + n % 26]) * (n * 37 % 700) for n in range(60)]
    numbers = [store.add(text) for text in kept]
    assert numbers == list(range(60))
    asked = [59, 3, 17, 3, 0, 42]
    assert list(store.get(asked)) == [(n, kept[n]) for n in (0, 3, 17, 42, 59)]


def test_leaves_no_file_behind(store, tmp_path):
    for _ in range(10):
        store.add(b"x" * 400)
    assert list(tmp_path.iterdir()) == []


def test_begins_anew_for_the_next_page(store):
    for _ in range(10):
        store.add(b"x" * 400)
    store.clear()
    assert store.add(b"y") == 0
    assert list(store.get([0])) == [(0, b"y")]


DRAFTS = Site("demowiki", {0: "", 1: "Talk", 2: "User", 118: "Draft"})


def titles(remarks, today, site=DRAFTS):
    """Names over time, as (since, full title, source)."""
    namings = names_over_time([Remark(*remark) for remark in remarks], site.normalize(today), site)
    return [(n.since, f"{n.title.namespace}:{n.title.title}", n.source) for n in namings]


def test_a_page_that_never_moved_bears_todays_title():
    assert titles([], "Rain") == [(None, "0:Rain", "today")]


@pytest.mark.parametrize(
    "comment",
    [
        "Ada moved page [[Drizzle]] to [[Rain]]: better name",
        "Ada moved page [[Drizzle]] to [[Rain]] over redirect",
        "moved [[Drizzle]] to [[Rain]]",
        "[[Drizzle]] moved to [[Rain]]",
        "[[Drizzle]] moved to [[Rain]]: Automatically moved page while renaming the user",
        "Drizzle moved to Rain",
        "Drizzle moved to Rain over redirect: why not",
        "Ada verschob die Seite [[Drizzle]] nach [[Rain]]",
        "Ada a renommé [[Drizzle]] en [[Rain]] : titre",
        "Ada moved page [[Drizzle]] to [[Rain]] without leaving a redirect: because of [[Fog|mist]]...",
    ],
)
def test_moves_are_known_by_their_comments(comment):
    assert titles([(100, comment, True)], "Rain") == [
        (None, "0:Drizzle", "move_comment"),
        (100, "0:Rain", "move_comment"),
    ]


def test_a_draft_lies_in_its_namespace_until_it_is_moved():
    remarks = [(100, "Ada moved page [[Draft:Rain]] to [[Rain]]", True)]
    assert titles(remarks, "Rain") == [(None, "118:Rain", "move_comment"), (100, "0:Rain", "move_comment")]


def test_moves_chain_backwards():
    remarks = [(100, "moved [[A]] to [[B]]", True), (200, "moved [[B]] to [[C]]", True)]
    assert titles(remarks, "C") == [
        (None, "0:A", "move_comment"),
        (100, "0:B", "move_comment"),
        (200, "0:C", "move_comment"),
    ]


def test_an_unrecorded_later_move_leaves_todays_title_to_the_time_after_the_last_record():
    remarks = [(100, "moved [[A]] to [[B]]", True)]
    assert titles(remarks, "C") == [(None, "0:A", "move_comment"), (100, "0:C", "today")]


@pytest.mark.parametrize(
    ("comment", "null_edit"),
    [
        ("Reverted edits by [[Special:Contributions/1|1]] to last version by [[User:Rain|Rain]]", False),
        ("I moved [[Fog]] to [[Mist]] in the list", False),
        ("see [[Drizzle]] and [[Rain]]", False),
        ("see [[Drizzle]] and [[Mist]]", True),
        ("moved [[Rain]] to [[Rain]]", True),
        ("the paragraph was moved to the end", False),
    ],
)
def test_comments_that_people_typed_are_no_moves(comment, null_edit):
    assert titles([(100, comment, null_edit)], "Rain") == [(None, "0:Rain", "today")]


@pytest.mark.parametrize(("cut", "title"), [(50, "A"), (100, "A"), (101, "B"), (200, "B"), (201, "C"), (999, "C")])
def test_the_title_just_before_a_cut(cut, title):
    remarks = [Remark(100, "moved [[A]] to [[B]]", True), Remark(200, "moved [[B]] to [[C]]", True)]
    assert naming_at(names_over_time(remarks, Title(0, "C"), DRAFTS), cut).title.title == title


def test_the_cheap_test_on_bytes():
    assert may_be_move(b"Drizzle moved to Rain")
    assert may_be_move(b"verschob [[A]] nach [[B]]")
    assert not may_be_move(b"rv to the last version by [[User:B]]")
