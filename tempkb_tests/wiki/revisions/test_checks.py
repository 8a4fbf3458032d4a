"""Every check of the room passes on what was built, and can fail."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tempkb.core.errors import ContractError
from tempkb.store.drafts import Provenance
from tempkb.store.promises import Subject
from tempkb.wiki.dumps.tables import PAGES
from tempkb.wiki.revisions.steps import PROMISES
from tempkb.wiki.revisions.tables import REVISION_LOG, STABLE_SNAPSHOTS
from tempkb_tests.wiki.revisions.builds import build_files, export, page, revision

(LOGGED, RECOGNISED, LOG_HAS_NO_GAP, SNAPSHOTS_HAVE_NO_GAP) = PROMISES
FIRST, SECOND, THIRD = "2021-01-01", "2021-04-01", "2021-07-01"


@pytest.fixture
def store(home_folder, tmp_path):
    """Two quarters; the winner of page 1 is of the first quarter in both."""
    path = tmp_path / "testwiki-20210701-pages-meta-history.xml"
    path.write_bytes(
        export(page(1, revision(11, "2021-02-03T00:00:00Z")), page(2, revision(21, "2021-05-01T00:00:00Z")))
    )
    built, _, windows = build_files(path, first_window=FIRST)
    assert [window.key for window in windows] == [FIRST, SECOND]
    return built


def spoil(store, key, **values):
    """Write the snapshot of a window again with other values in its first row, as if its step had."""
    rows = pq.read_table(store.lake.current(STABLE_SNAPSHOTS.name, key).paths()[0])
    for column, value in values.items():
        at = rows.schema.get_field_index(column)
        field = rows.schema.field(at)
        rows = rows.set_column(at, field, pa.array([value, *rows[column].to_pylist()[1:]], field.type))
    store.write(STABLE_SNAPSHOTS, key, [rows], Provenance())


def test_all_pass(store):
    assert LOGGED.broken(store, Subject()) == []
    # The log of the first quarter is looked at for the second as well.
    assert LOGGED.broken(store, Subject([SECOND])) == []


def test_a_winner_at_its_cut_is_refused_but_by_tempels_rule(store):
    cut = datetime(2021, 4, 1, tzinfo=UTC)
    for rule, first_late in (("standing", cut), ("tempel", cut + timedelta(seconds=1))):
        spoil(store, FIRST, revision_timestamp=first_late - timedelta(seconds=1), stability_rule=rule)
        with pytest.raises(ContractError, match="no revision at or after its cut"):
            spoil(store, FIRST, revision_timestamp=first_late, stability_rule=rule)


def test_a_winner_that_is_not_in_the_log_is_found(store):
    spoil(store, SECOND, revision_id=12)
    (row,) = LOGGED.broken(store, Subject([SECOND]))
    assert LOGGED.shown(row) == "window 2021-04-01, page 1, revision 12"
    assert LOGGED.broken(store, Subject([FIRST])) == []
    # Of a window without a log nothing can be said.
    store.lake.remove(REVISION_LOG.name, FIRST)
    assert LOGGED.broken(store, Subject()) == []


def test_without_a_log_there_is_nothing_to_compare(store):
    for key in (FIRST, SECOND):
        store.lake.remove(REVISION_LOG.name, key)
    assert LOGGED.broken(store, Subject()) is None


@pytest.fixture
def with_redirects(home_folder, tmp_path):
    """A quarter with twenty redirects to Lamp, and three texts with a word for redirects that nobody knows."""
    path = tmp_path / "testwiki-20210401-pages-meta-history.xml"
    known = [page(n, revision(n, "2021-02-03T00:00:00Z", "#REDIRECT [[Lamp]]")) for n in range(1, 21)]
    unknown = [page(n, revision(n, "2021-02-03T00:00:00Z", "#ELSEWHERE [[Lamp]]")) for n in (31, 32, 33)]
    path.write_bytes(export(*known, *unknown))
    return build_files(path, first_window=FIRST)[0]


def say_redirects(store, *ids):
    """Write the table of pages as the dump has it: the named ones are redirects, and page 40 is an article."""
    about = {"wiki": "testwiki", "dump_id": "testwiki-20210401", "namespace": 0}
    rows = [{**about, "page_id": one, "title": f"Page {one}", "is_redirect": one in ids} for one in sorted({*ids, 40})]
    store.write(PAGES, "testwiki-20210401", [pa.Table.from_pylist(rows, PAGES.schema)], Provenance())


def test_a_dump_that_calls_no_page_a_redirect_says_nothing_about_words(with_redirects):
    assert RECOGNISED.broken(with_redirects, Subject()) == []


def test_redirects_that_the_snapshot_takes_for_articles_are_found(with_redirects):
    say_redirects(with_redirects, *range(1, 21), 31, 32, 33)
    rows = RECOGNISED.broken(with_redirects, Subject([FIRST]))
    assert [(page_id, revision_id) for _, page_id, revision_id in rows] == [(31, 31), (32, 32), (33, 33)]
    assert RECOGNISED.shown(rows[0]) == "window 2021-01-01, page 31, revision 31"
    assert RECOGNISED.judged(with_redirects, Subject()).is_warning


def test_few_pages_may_have_become_redirects_behind_the_last_window(with_redirects):
    # One of 21 is less than a twentieth.
    say_redirects(with_redirects, *range(1, 21), 31)
    assert RECOGNISED.broken(with_redirects, Subject()) == []


def test_redirects_that_were_edited_later_are_not_compared(home_folder, tmp_path):
    path = tmp_path / "testwiki-20210701-pages-meta-history.xml"
    was_article = page(1, revision(11, "2021-02-03T00:00:00Z"), revision(12, "2021-06-30T00:00:00Z", "#REDIRECT [[A]]"))
    path.write_bytes(export(was_article))
    store, _, _ = build_files(path, first_window=FIRST)
    about = {"wiki": "testwiki", "dump_id": "testwiki-20210701", "namespace": 0, "title": "Page 1"}
    rows = pa.Table.from_pylist([{**about, "page_id": 1, "is_redirect": True}], PAGES.schema)
    store.write(PAGES, "testwiki-20210701", [rows], Provenance())
    assert RECOGNISED.broken(store, Subject([FIRST])) == []


def test_an_empty_window_between_others_is_a_warning(home_folder, tmp_path):
    path = tmp_path / "testwiki-20211101-pages-meta-history.xml"
    edits = [revision(n, f"2021-{month}-03T00:00:00Z") for n, month in ((11, "02"), (12, "08"))]
    path.write_bytes(export(page(1, *edits)))
    store, _, windows = build_files(path, first_window="2020-10-01")
    assert [window.key for window in windows] == ["2020-10-01", FIRST, SECOND, THIRD]
    # In the second quarter nobody has edited; what stood in the first still stands. Before the first there is nothing.
    assert SNAPSHOTS_HAVE_NO_GAP.broken(store, Subject()) == []
    verdict = LOG_HAS_NO_GAP.judged(store, Subject())
    assert (verdict.passed, verdict.is_warning) == (False, True)
    assert verdict.facts == {"broken": 1, "examples": ["window 2021-04-01"]}
    # A run that fills a window beside the empty one sees it, one over windows further away does not.
    assert LOG_HAS_NO_GAP.broken(store, Subject([THIRD])) == [(SECOND,)]
    assert LOG_HAS_NO_GAP.broken(store, Subject(["2020-10-01"])) == []
    # An end of the windows has one neighbour, and what is not built is none.
    store.lake.remove(REVISION_LOG.name, THIRD)
    assert LOG_HAS_NO_GAP.broken(store, Subject()) == []
    nothing = STABLE_SNAPSHOTS.schema.empty_table()
    store.write(STABLE_SNAPSHOTS, SECOND, [nothing], Provenance())
    assert SNAPSHOTS_HAVE_NO_GAP.broken(store, Subject([SECOND])) == [(SECOND,)]
