"""Texts that were lost to damage stay lost until every window that needs them was read again."""

import re
import shutil
from datetime import date

import pyarrow as pa
import pytest

from tempkb.commands.runs.removal import of_windows, remove
from tempkb.core.errors import ContractError
from tempkb.core.settings import load_home
from tempkb.platform.planning.built import is_built, missing_windows
from tempkb.platform.planning.due import look_out, retirable
from tempkb.platform.rooms import TABLES
from tempkb.store.drafts import Provenance
from tempkb.store.store import Store
from tempkb.wiki.dumps.catalogue import name_dump
from tempkb.wiki.dumps.pages import write_namespaces
from tempkb.wiki.mentions.steps import BY_WINDOW, look
from tempkb.wiki.revisions.building import ALL, Plan, build
from tempkb.wiki.revisions.losses import lacking_quarters, lacking_texts
from tempkb.wiki.revisions.tables import PAGE_WIKITEXTS
from tempkb_tests.wiki.mentions.windows_for_tests import clean, write_window
from tempkb_tests.wiki.revisions.builds import build_files, export, page, revision

PAGES = (
    page(
        1,
        revision(11, "2020-11-03T00:00:00Z", "The [[Mill]] turns."),
        revision(12, "2021-02-03T00:00:00Z", "Old."),
        title="Clock",
    ),
    page(
        2,
        revision(21, "2020-12-01T00:00:00Z", "By the [[Clock]]."),
        revision(22, "2021-05-01T00:00:00Z", "New."),
        title="Mill",
    ),
    page(3, revision(31, "2021-05-02T00:00:00Z", "The [[Clock]] of the quay."), title="Quay"),
)
QUARTER = "2020-10-01"


@pytest.fixture
def built(home_folder, tmp_path):
    """The store, windows and dump of a home whose oldest quarter of texts was lost.

    The last quarter of 2020 has winners of 2021-01-01 (revisions 11 and 21) and of 2021-04-01 (revision 21).
    """
    path = tmp_path / "testwiki-20210701-pages-meta-history.xml"
    path.write_bytes(export(*PAGES))
    store, report, windows = build_files(path, first_window="2020-10-01")
    assert report.bad == {}
    dump = name_dump([path], "testwiki")
    write_namespaces(store, dump)
    clean(store)
    cut_off(store, "page_wikitexts", QUARTER)
    return store, windows, dump


def cut_off(store, table, partition):
    path = store.lake.current(table, partition).places()[0]
    path.write_bytes(path.read_bytes()[:-10])
    assert store.lake.lost(table) == [partition]


def read_again(store, dump, windows, known):
    return build(store, [Plan(dump, None, tuple(windows))], known, lambda line: None)


def unbuilt(store, windows):
    return [one.key for one in windows if not is_built(look(store), one, sorted(ALL))]


def in_part(store):
    return lacking_quarters(store, store.lake.versions("stable_snapshots"))


def texts(store):
    return sorted(store.read("page_wikitexts")["revision_id"].to_pylist())


def test_one_window_read_again_does_not_end_the_loss_for_the_others(built):
    store, windows, dump = built
    assert [one.key for one in windows] == ["2020-10-01", "2021-01-01", "2021-04-01"]
    assert unbuilt(store, windows) == ["2020-10-01", "2021-01-01"]
    read_again(store, dump, windows[1:2], windows)
    assert texts(store) == [12, 21, 22, 31], "revision 11 won in the oldest window only"
    assert in_part(store) == {QUARTER}
    assert unbuilt(store, windows) == ["2020-10-01"]
    read_again(store, dump, windows[:1], windows)
    assert texts(store) == [11, 12, 21, 22, 31]
    assert in_part(store) == set()
    assert unbuilt(store, windows) == []


def test_the_dump_of_lost_texts_is_due_and_stays(built):
    store, windows, dump = built
    place = store.home.dumps / "testwiki" / "20210701"
    place.mkdir(parents=True)
    shutil.copy(dump.history[0].path, place)
    later = store.home.dumps / "testwiki" / "20211001"
    later.mkdir()
    shutil.copy(dump.history[0].path, later / "testwiki-20211001-pages-meta-history.xml")
    keeping = Store(load_home(first_window="2020-10-01", keep_dumps=1, namespaces="all", workers=1), TABLES)
    day = date(2021, 7, 5)
    assert [one.key for one in missing_windows(keeping, day)] == ["2020-10-01", "2021-01-01"]
    (due,) = look_out(keeping, day, from_mirror=False, only_listed=False).due
    assert (due.dump.dump_id, [one.key for one in due.windows]) == (dump.dump_id, ["2020-10-01", "2021-01-01"])
    assert retirable(keeping, day) == []
    read_again(store, dump, windows, windows)
    assert missing_windows(keeping, day) == []
    assert [one.dump_id for one in retirable(keeping, day)] == [dump.dump_id]


def test_other_files_do_not_bring_lost_texts_back_unless_they_are_asked_to(built, tmp_path):
    store, windows, dump = built
    path = tmp_path / "testwiki-20210801-pages-meta-history.xml"
    path.write_bytes(export(*PAGES))
    other = name_dump([path], "testwiki")
    report = read_again(store, other, windows, windows)
    assert sorted(report.bad) == ["2020-10-01", "2021-01-01"]
    assert "expected those of testwiki-20210701, from which it was built" in report.bad["2020-10-01"]
    assert report.bad["2020-10-01"].endswith("tempkb build --rebuild --window 2020-10-01..2021-01-01")
    assert unbuilt(store, windows) == ["2020-10-01", "2021-01-01"]
    build(store, [Plan(other, None, tuple(windows))], windows, lambda line: None, rebuild=True)
    assert unbuilt(store, windows) == []
    assert texts(store) == [11, 12, 21, 22, 31]


def mentions_of(store, window):
    """Write the mentions of a window alone, and return how many there are."""
    write_window(store, window, BY_WINDOW[:1])
    return store.lake.current("mentions", window.key).rows


def test_no_mentions_are_made_from_a_part_of_the_texts(built):
    store, windows, dump = built
    cut_off(store, "page_links", QUARTER)
    with pytest.raises(ContractError, match="stable_snapshots of 2020-10-01 is not built, was lost .*: tempkb build$"):
        mentions_of(store, windows[0])
    read_again(store, dump, windows[1:2], windows)
    clean(store)
    assert mentions_of(store, windows[1]) == 1
    with pytest.raises(ContractError, match="mentions 2020-10-01: stable_snapshots of 2020-10-01 is not built"):
        mentions_of(store, windows[0])
    read_again(store, dump, windows[:1], windows)
    with pytest.raises(ContractError, match="mentions 2020-10-01: page_links of 2020-10-01 is not built"):
        mentions_of(store, windows[0])
    clean(store)
    assert mentions_of(store, windows[0]) == 2


def test_a_window_that_is_removed_is_waited_for_no_longer(built):
    store, windows, dump = built
    read_again(store, dump, windows[1:2], windows)
    remove(store, of_windows(store, windows[:1]))
    assert in_part(store) == set()


def lacking(store, folder, *, logs=True):
    names = ("stable_snapshots", "page_wikitexts", *(("revision_log",) if logs else ()))
    versions = [store.lake.versions(name) for name in names]
    return lacking_texts(*versions, *([] if logs else [[]]), folder)


def test_texts_that_are_gone_though_nothing_was_noted_are_missed(built, tmp_path):
    store, windows, dump = built
    read_again(store, dump, windows, windows)
    assert lacking(store, tmp_path) == {}
    store.forget(PAGE_WIKITEXTS, QUARTER, "revision_id", pa.array([21]), Provenance())
    assert lacking(store, tmp_path) == {QUARTER: {"2020-10-01": 1, "2021-01-01": 1}}


def test_a_text_that_a_rebuild_has_hidden_is_not_missed(built, tmp_path):
    store, windows, dump = built
    read_again(store, dump, windows, windows)
    hidden, n = re.subn(r"<text[^>]*>By the [^<]*</text>", '<text deleted="deleted" />', PAGES[1])
    assert n == 1
    path = tmp_path / "testwiki-20210801-pages-meta-history.xml"
    path.write_bytes(export(PAGES[0], hidden, PAGES[2]))
    # The other window's snapshot is as the first dump told it, and names the revision.
    build(store, [Plan(name_dump([path], "testwiki"), None, tuple(windows[:1]))], windows, print, rebuild=True)
    assert texts(store) == [11, 12, 22, 31]
    assert lacking(store, tmp_path, logs=False) == {QUARTER: {"2021-01-01": 1}}
    assert lacking(store, tmp_path) == {}
