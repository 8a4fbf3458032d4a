import pytest

from tempkb.revisions.moves import Remark, may_be_move, names_over_time, naming_at
from tempkb.titles import Site, Title

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
