"""From files to snapshots: against the naive oracle, and through damage, disorder and repeats."""

import bz2
import shutil
from datetime import UTC, date, datetime
from types import SimpleNamespace

import pytest

from tempkb.core.windows import epoch_seconds
from tempkb.demo.export import export_xml
from tempkb.demo.world import make_world
from tempkb.wiki.revisions import building
from tempkb_tests.oracle import histories, winner
from tempkb_tests.wiki.revisions.builds import build_files, export, page, revision, winners

LOOKBACK = 30 * 86_400


def expected_winners(files, windows):
    """What the oracle finds for every page and window."""
    found = {}
    for page_id, history in histories(*files).items():
        for window in windows:
            best = winner(history, epoch_seconds(window.cut), LOOKBACK)
            if best is not None:
                found[page_id, window.cut] = best
    return found


@pytest.fixture(scope="module")
def world():
    return make_world()


@pytest.fixture
def demo_file(tmp_path, world):
    """The demo world's first dump as one file without a date in its name."""
    day = world.dump_days[0]
    path = tmp_path / "history.xml.bz2"
    path.write_bytes(bz2.compress(export_xml(list(world.pages_at(day)), day).encode()))
    return path


@pytest.mark.slow
def test_agrees_with_the_oracle_on_every_page_and_cut_of_the_demo_world(home_folder, demo_file):
    store, report, windows = build_files(demo_file, until=date(2024, 1, 1))
    assert report.bad == {}
    expected = expected_winners([demo_file], windows)
    assert len(expected) > 1000
    assert winners(store) == expected


@pytest.mark.slow
@pytest.mark.parametrize("granularity", ["week", "year"])
def test_agrees_at_other_granularities(home_folder, demo_file, granularity):
    first = "2022-08-01" if granularity == "week" else "2022-01-01"
    store, _, windows = build_files(demo_file, until=date(2023, 1, 2), granularity=granularity, first_window=first)
    assert winners(store) == expected_winners([demo_file], windows)


@pytest.mark.slow
def test_windows_added_later_do_not_rewrite_earlier_ones_and_still_account_for_everything(home_folder, demo_file):
    elements = bz2.decompress(demo_file.read_bytes()).count(b"<revision>")

    def all_are_told(store):
        excluded = store.read("exclusions", table_name="revision_log")
        assert store.read("revision_log").num_rows + sum(excluded["n"].to_pylist()) == elements
        return excluded["reason"].to_pylist()

    store, report, windows = build_files(demo_file, until=date(2023, 10, 1))
    assert all_are_told(store) == ["outside_windows"]
    (counts,) = report.counts.values()
    assert (counts.elements, counts.agree) == (elements, True)
    before = {name: store.lake.current("stable_snapshots", name) for name in store.lake.partitions("stable_snapshots")}
    store, report, _ = build_files(demo_file, until=date(2024, 1, 1), since=date(2023, 10, 1))
    assert [key for _, key in sorted(report.versions) if key.startswith("2023-10")] == ["2023-10-01"] * 2
    assert {name: store.lake.current("stable_snapshots", name) for name in before} == before
    assert winners(store) == expected_winners([demo_file], windows) | {
        key: value for key, value in winners(store).items() if key[1] == date(2024, 1, 1)
    }
    all_are_told(store)


@pytest.mark.slow
def test_one_and_two_workers_and_any_order_of_parts_give_the_same_bytes(home_folder, tmp_path, world, monkeypatch):
    day = world.dump_days[0]
    pages = list(world.pages_at(day))
    parts = []
    for number, (begin, end) in enumerate(((0, 30), (30, 90), (90, len(pages)))):
        some = pages[begin:end]
        path = tmp_path / f"demowiki-20240101-pages-meta-history{number}.xml-p{some[0].page_id}p{some[-1].page_id}.bz2"
        path.write_bytes(bz2.compress(export_xml(some, day).encode()))
        parts.append(path)
    store, _, _ = build_files(*parts, workers=1)
    once = {path.relative_to(store.lake.root): path.read_bytes() for path in store.lake.root.rglob("part-*.parquet")}
    other = home_folder.with_name("other")
    other.mkdir()
    shutil.copy(home_folder / "home.toml", other / "home.toml")
    monkeypatch.setenv("TEMPKB_HOME", str(other))
    again, _, _ = build_files(*reversed(parts), workers=2)
    twice = {path.relative_to(again.lake.root): path.read_bytes() for path in again.lake.root.rglob("part-*.parquet")}
    assert len(once) > 200
    assert twice == once
    whole = tmp_path / "whole.xml"
    whole.write_bytes(export_xml(pages, day).encode())
    third = home_folder.with_name("third")
    monkeypatch.setenv("TEMPKB_HOME", str(third))
    assert winners(build_files(whole, until=date(2024, 1, 1))[0]) == winners(store)


def test_files_of_two_dates_are_read_as_one_history(home_folder, tmp_path):
    old = tmp_path / "testwiki-20200101-pages-articles.xml"
    new = tmp_path / "testwiki-20210101-pages-articles.xml"
    old.write_bytes(
        export(
            page(1, revision(10, "2019-03-01T00:00:00Z", "first")),
            page(2, revision(11, "2019-03-01T00:00:00Z", "gone")),
        )
    )
    new.write_bytes(
        export(
            page(1, revision(20, "2020-11-01T00:00:00Z", "second")),
            page(3, revision(21, "2020-12-30T00:00:00Z", "new")),
        )
    )
    store, report, windows = build_files(new, old, granularity="year")
    assert winners(store) == expected_winners([old, new], windows)
    rows = {(row["page_id"], str(row["cut"])): row for row in store.read("stable_snapshots").to_pylist()}
    assert rows[1, "2020-01-01"]["revision_id"] == 10
    assert rows[1, "2021-01-01"]["revision_id"] == 20
    assert (rows[1, "2021-01-01"]["dump_id"], rows[2, "2021-01-01"]["dump_id"]) == (
        "testwiki-20210101",
        "testwiki-20200101",
    )


def test_of_a_revision_in_two_dumps_the_newer_counts_and_the_older_is_named(home_folder, tmp_path):
    old = tmp_path / "testwiki-20200101-pages-meta-history.xml"
    new = tmp_path / "testwiki-20210101-pages-meta-history.xml"
    kept = revision(10, "2019-03-01T00:00:00Z", "kept")
    old.write_bytes(export(page(1, kept, revision(11, "2019-04-01T00:00:00Z", "told"))))
    hidden = revision(11, "2019-04-01T00:00:00Z", "").replace(
        '<text bytes="0" xml:space="preserve"></text>', '<text bytes="-1" deleted="deleted" />'
    )
    assert "deleted" in hidden
    new.write_bytes(export(page(1, kept, hidden)))
    store, report, _ = build_files(old, new, granularity="year")
    log = {row["revision_id"]: row for row in store.read("revision_log").to_pylist()}
    assert [(r["is_suppressed"], r["text_sha1"] is None, r["dump_id"]) for r in log.values()] == [
        (False, False, "testwiki-20200101"),
        (True, True, "testwiki-20200101"),
    ]
    (counts,) = report.counts.values()
    assert (counts.elements, counts.duplicates, counts.logged) == (4, 2, 2)


@pytest.mark.slow
def test_a_page_cut_over_files_by_time_is_one_page(home_folder, tmp_path):
    """As the content exports of 2025 do with a page larger than their limit: names with p..r..r.."""
    folder = tmp_path / "parts"
    folder.mkdir()
    edits = [revision(10 + n, f"2020-{n + 1:02}-15T00:00:00Z", f"text {n % 3}") for n in range(12)]
    for begin in (0, 5, 8):
        end = {0: 5, 5: 8, 8: 12}[begin]
        name = f"testwiki-2021-02-01-p7r{10 + begin}r{9 + end}.xml"
        (folder / name).write_bytes(export(page(7, *edits[begin:end])))
    whole = tmp_path / "whole.xml"
    whole.write_bytes(export(page(7, *edits)))
    store, report, windows = build_files(*folder.iterdir())
    assert winners(store) == expected_winners([whole], windows)
    assert store.read("revision_log").num_rows == 12
    assert report.counts["testwiki-20210201"].agree


@pytest.mark.slow
def test_a_page_in_elements_far_apart_is_put_together(home_folder, tmp_path):
    """Nine pages lie between the halves, and the second half holds the older revisions."""
    late = [revision(50 + n, f"2020-0{n + 4}-02T00:00:00Z", f"late {n}") for n in range(3)]
    early = [revision(40 + n, f"2020-0{n + 1}-02T00:00:00Z", "early") for n in range(3)]
    others = [page(20 + n, revision(100 + n, "2020-01-05T00:00:00Z")) for n in range(9)]
    path = tmp_path / "testwiki-20210101-history.xml"
    path.write_bytes(export(page(10, *late), *others, page(10, *early)))
    store, report, windows = build_files(path)
    assert winners(store) == expected_winners([path], windows)
    assert store.read("revision_log", page_id=10).num_rows == 6
    assert report.counts["testwiki-20210101"].agree
    assert store.read("pages")["page_id"].to_pylist() == [10, *range(20, 29)]


CUT_PAGES = [page(n, revision(100 + n, f"2020-0{n}-05T00:00:00Z", f"text {n}")) for n in range(1, 7)]


@pytest.mark.parametrize(
    ("change", "kept", "lost", "words"),
    [
        pytest.param((b"text 5", None), 4, 1, "the file ends inside a revision", id="cut in a text"),
        pytest.param((b"</mediawiki>", None), 6, 0, "ends without </mediawiki>", id="root not closed"),
        pytest.param((b"text 3<", b"text < 3<"), 5, 1, "cannot be read", id="a raw < in a text"),
        pytest.param((b"2020-03-05T", b"2020-13-05T"), 5, 1, "no such day", id="no such month"),
        pytest.param((b"<id>103</id>", b"<id>x</id>"), 5, 1, "cannot be read", id="no number"),
        pytest.param((b"<title>Page 3", b"<titel>Page 3"), 5, 1, "without a title", id="no title"),
        pytest.param((b"<page>\n    <title>Page 3", b"<qage>\n    <title>Page 3"), 5, 1, "between pages", id="no page"),
        pytest.param((b"text 3</text>\n    </revision>\n  </page>", b"text 3"), 5, 1, "cannot be read", id="no end"),
    ],
)
def test_of_a_damaged_file_every_whole_page_is_kept(home_folder, tmp_path, change, kept, lost, words):
    path = tmp_path / "testwiki-20210101-history.xml"
    data = export(*CUT_PAGES)
    before, after = change
    assert before in data
    path.write_bytes(data[: data.index(before)] if after is None else data.replace(before, after))
    store, report, _ = build_files(path)
    assert store.read("pages").num_rows == kept
    (row,) = store.read("dump_files").to_pylist()
    assert row["status"] == "damaged"
    assert words in row["reason"]
    assert "byte " in row["reason"]
    excluded = {r["reason"]: r["n"] for r in store.read("exclusions", table_name="revision_log").to_pylist()}
    assert excluded.get("damaged", 0) == lost
    (counts,) = report.counts.values()
    assert counts.agree


def test_strict_fails_with_one_clear_error_and_replaces_nothing(home_folder, tmp_path):
    path = tmp_path / "testwiki-20210101-history.xml"
    path.write_bytes(export(*CUT_PAGES))
    store, _, _ = build_files(path)
    before = winners(store)
    path.write_bytes(export(*CUT_PAGES)[:-300])
    _, report, windows = build_files(path, strict=True, rebuild=True)
    assert set(report.bad) == {window.key for window in windows}
    assert "damaged at byte" in report.bad["2020-01-01"]
    kept = "Fetch the file again (without the setting strict the complete pages before that place are kept)."
    assert kept in report.bad["2020-01-01"]
    assert winners(store) == before


def test_a_cut_bz2_keeps_the_pages_of_its_whole_blocks(home_folder, tmp_path):
    noise = [f"{n:x}" * 3000 for n in range(400)]
    pages = [page(n, revision(1000 + n, "2020-01-05T00:00:00Z", noise[n])) for n in range(400)]
    path = tmp_path / "testwiki-20210101-history.xml.bz2"
    whole = bz2.compress(export(*pages), 1)
    path.write_bytes(whole[: len(whole) // 2])
    store, report, _ = build_files(path)
    n = store.read("pages").num_rows
    assert 50 < n < 400
    (row,) = store.read("dump_files").to_pylist()
    assert "the file ends in the middle of a stream" in row["reason"]
    assert row["n_pages"] == n
    (counts,) = report.counts.values()
    assert counts.agree


def test_a_page_that_breaks_off_in_its_first_revision_keeps_what_an_older_file_has_of_it(home_folder, tmp_path):
    old = tmp_path / "testwiki-20200801-pages-meta-history.xml"
    new = tmp_path / "testwiki-20210101-pages-meta-history.xml"
    told = revision(1, "2020-01-05T00:00:00Z", "one"), revision(2, "2020-05-05T00:00:00Z", "two")
    old.write_bytes(export(page(1, revision(9, "2019-01-05T00:00:00Z")), page(5, *told)))
    data = export(page(1, revision(9, "2019-01-05T00:00:00Z")), page(5, revision(3, "2020-09-05T00:00:00Z", "three")))
    new.write_bytes(data[: data.index(b"three")])
    store, report, _ = build_files(old, new, first_window="2020-01-01")
    assert report.bad == {}
    best = {str(cut): held for (number, cut), (held, _) in winners(store).items() if number == 5}
    # After the older file's day its text is not known: revision 3 was saved before the cut of October, and is lost.
    assert best == {"2020-04-01": 1, "2020-07-01": 2}
    assert store.read("page_wikitexts", revision_id=2)["wikitext"].to_pylist() == ["two"]
    assert left_out(store) == {"2020-07-01": 1, "2020-10-01": 1}
    assert store.read("pages")["page_id"].to_pylist() == [1, 5]


def left_out(store):
    """{window: pages} that a newer dump lacks or has damaged."""
    rows = store.read("exclusions", table_name="stable_snapshots", reason="not_in_newer").to_pylist()
    return {row["partition"]: row["n"] for row in rows}


@pytest.mark.parametrize(
    ("newer", "known_at"),
    [
        pytest.param("testwiki-20220101-pages-meta-history.xml", ["2020", "2021"], id="all pages"),
        pytest.param("testwiki-20220101-pages-meta-history1.xml-p1p10", ["2020", "2021"], id="its part"),
        pytest.param("testwiki-2022-01-01-p1p10.xml", ["2020", "2021"], id="its part of a content export"),
        pytest.param("testwiki-20220101-pages-meta-history2.xml-p3p10", ["2020", "2021", "2022"], id="another part"),
        pytest.param("testwiki-20220101-pages-meta-hist-incr.xml", ["2020", "2021", "2022"], id="additions"),
        pytest.param("testwiki-20220101-pages-articles.xml", ["2020", "2021", "2022"], id="articles"),
    ],
)
def test_a_page_that_a_newer_complete_history_lacks_is_in_no_later_snapshot(home_folder, tmp_path, newer, known_at):
    old, new = tmp_path / "testwiki-20210101-pages-meta-history.xml", tmp_path / newer
    told = [page(n, revision(n, "2019-01-05T00:00:00Z", f"text {n}")) for n in (2, 4)]
    old.write_bytes(export(*told))
    new.write_bytes(export(told[1], page(5, revision(9, "2021-03-05T00:00:00Z", "new"))))
    store, report, _ = build_files(old, new, granularity="year")
    found = winners(store)
    assert [str(cut)[:4] for number, cut in sorted(found) if number == 2] == known_at
    assert [str(cut)[:4] for number, cut in sorted(found) if number == 4] == ["2020", "2021", "2022"]
    assert [str(cut)[:4] for number, cut in sorted(found) if number == 5] == ["2022"]
    assert left_out(store) == ({"2021-01-01": 1} if len(known_at) == 2 else {})
    # Its revisions stay in the log, and it is no page of the newer dump's day.
    assert store.read("revision_log")["revision_id"].to_pylist() == [2, 4, 9]
    assert store.read("pages")["page_id"].to_pylist() == ([4, 5] if len(known_at) == 2 else [2, 4, 5])
    (counts,) = report.counts.values()
    assert counts.agree


@pytest.mark.parametrize("rule", ["standing", "tempel"])
def test_a_page_whose_text_is_known_at_none_of_the_cuts_is_in_no_snapshot(home_folder, tmp_path, rule):
    """Only 2021 is built, at whose end the newer history lacks page 2."""
    old, new = (tmp_path / f"testwiki-{year}0101-pages-meta-history.xml" for year in (2021, 2022))
    told = [page(n, revision(n, "2019-01-05T00:00:00Z", f"text {n}")) for n in (2, 4)]
    old.write_bytes(export(*told))
    new.write_bytes(export(told[1]))
    store, _, _ = build_files(old, new, granularity="year", since=date(2021, 1, 1), stability_rule=rule)
    assert [(number, str(cut)) for number, cut in winners(store)] == [(4, "2022-01-01")]
    assert left_out(store) == {"2021-01-01": 1}


def test_a_deleted_page_that_is_read_twice_ends_with_the_older_dump_too(home_folder, tmp_path):
    """Its elements are far apart, so that a second pass puts it together."""
    halves = [page(2, revision(n, f"2019-0{n}-05T00:00:00Z", f"text {n}")) for n in (1, 2)]
    old, new = (tmp_path / f"testwiki-{year}0101-pages-meta-history.xml" for year in (2021, 2022))
    other = page(4, revision(4, "2019-01-05T00:00:00Z"))
    old.write_bytes(export(halves[1], other, halves[0]))
    new.write_bytes(export(other))
    store, _, _ = build_files(old, new, granularity="year")
    assert {str(cut): held for (number, cut), (held, _) in winners(store).items() if number == 2} == {
        "2020-01-01": 2,
        "2021-01-01": 2,
    }
    assert left_out(store) == {"2021-01-01": 1}


def test_namespaces_are_those_at_the_cut(home_folder, tmp_path):
    moved = [
        revision(10, "2020-01-05T00:00:00Z", "draft"),
        revision(11, "2020-05-05T00:00:00Z", "draft", "Ada moved page [[Draft:Rain]] to [[Rain]]"),
    ]
    path = tmp_path / "testwiki-20210101-history.xml"
    path.write_bytes(
        export(page(5, *moved, title="Rain"), page(6, revision(12, "2020-01-01T00:00:00Z"), title="Talk:Rain", ns=1))
    )
    store, _, _ = build_files(path, namespaces="0")
    rows = store.read("stable_snapshots").to_pylist()
    assert [(str(r["cut"]), r["page_id"], r["title"], r["title_source"]) for r in rows] == [
        ("2020-07-01", 5, "Rain", "move_comment"),
        ("2020-10-01", 5, "Rain", "move_comment"),
        ("2021-01-01", 5, "Rain", "move_comment"),
    ]
    since = datetime(2020, 5, 5, tzinfo=UTC)
    assert {r["article_since"] for r in rows} == {since}
    excluded = store.read("exclusions", table_name="stable_snapshots", reason="other_namespace").to_pylist()
    assert [(r["partition"], r["n"]) for r in excluded] == [
        ("2020-01-01", 2),
        ("2020-04-01", 1),
        ("2020-07-01", 1),
        ("2020-10-01", 1),
    ]
    assert store.read("revision_log").num_rows == 3


def test_the_account_notices_rows_that_a_merge_loses(home_folder, tmp_path, monkeypatch):
    from tempkb.wiki.revisions import building

    path = tmp_path / "testwiki-20210101-history.xml"
    path.write_bytes(export(*CUT_PAGES))
    real = building.merge_sorted

    def lossy(runs, key):
        for number, table in enumerate(real(runs, key)):
            yield table.slice(1) if number == 0 and table.num_rows > 1 else table

    monkeypatch.setattr(building, "merge_sorted", lossy)
    _, report, _ = build_files(path)
    assert not report.counts["testwiki-20210101"].agree


@pytest.mark.parametrize("before", [b"  </page>\n  <page>\n    <title>Page 2", b"<ns>0</ns>\n    <id>1</id>\n"])
def test_a_page_after_one_that_is_not_closed_is_kept(home_folder, tmp_path, before):
    """The end of page 1 is missing, or all of it behind its title."""
    data = export(*CUT_PAGES)
    if b"<ns>" in before:
        start = data.index(before)
        data = data[:start] + data[data.index(b"<page>", start) :]
    else:
        data = data.replace(before, before.replace(b"  </page>\n", b""), 1)
    path = tmp_path / "testwiki-20210101-history.xml"
    path.write_bytes(data)
    store, report, _ = build_files(path)
    assert store.read("pages")["page_id"].to_pylist() == [2, 3, 4, 5, 6]
    assert report.counts["testwiki-20210101"].agree


def test_dated_parts_of_two_days_have_all_their_pages(home_folder, tmp_path):
    one = tmp_path / "testwiki-20210101-pages-meta-history1.xml-p1p10"
    two = tmp_path / "testwiki-20220101-pages-meta-history2.xml-p11p20"
    one.write_bytes(export(page(1, revision(1, "2020-01-05T00:00:00Z"))))
    two.write_bytes(export(page(11, revision(2, "2020-01-05T00:00:00Z"))))
    store, _, _ = build_files(one, two)
    assert store.read("pages")["page_id"].to_pylist() == [1, 11]
    assert set(store.read("pages")["dump_id"].to_pylist()) == {"testwiki-20220101"}


def test_the_title_is_the_newest_files_whatever_the_order_of_pages(home_folder, tmp_path):
    old, new = tmp_path / "testwiki-20200101-pages.xml", tmp_path / "testwiki-20210101-pages.xml"
    old.write_bytes(export(*(page(n, revision(n, "2019-01-05T00:00:00Z"), title=f"Old {n}") for n in (5, 1))))
    new.write_bytes(export(*(page(n, revision(n + 10, "2020-01-05T00:00:00Z"), title=f"New {n}") for n in (1, 5))))
    store, _, windows = build_files(old, new)
    assert store.read("pages")["title"].to_pylist() == ["New 1", "New 5"]
    assert winners(store) == expected_winners([old, new], windows)


def test_other_files_of_the_same_day_do_not_replace_what_is_built(home_folder, tmp_path):
    one = tmp_path / "testwiki-20210101-pages-meta-history1.xml-p1p10"
    two = tmp_path / "testwiki-20210101-pages-meta-history2.xml-p11p20"
    one.write_bytes(export(page(1, revision(1, "2020-01-05T00:00:00Z"))))
    two.write_bytes(export(page(11, revision(2, "2020-01-05T00:00:00Z"))))
    before = winners(build_files(one)[0])
    store, report, windows = build_files(two)
    assert report.kept == [window.key for window in windows]
    assert winners(store) == before


def test_a_text_that_the_file_lost_is_absent_not_blank(home_folder, tmp_path):
    """Schemas before 0.11 give a hash and no length: two lost texts are two contents, and neither is blank."""
    lost = '<text xml:space="preserve" /><sha1>{}</sha1>'
    edits = [
        revision(n, f"2020-0{4 * n - 3}-05T00:00:00Z", "gone").replace(
            '<text bytes="4" xml:space="preserve">gone</text>', lost.format(str(n) * 31)
        )
        for n in (1, 2)
    ]
    path = tmp_path / "testwiki-20210101-history.xml"
    # A file without any text would be a stub.
    path.write_bytes(export(page(1, *edits), page(2, revision(3, "2020-01-05T00:00:00Z", "kept"))))
    store, _, _ = build_files(path)
    rows = store.read("stable_snapshots", page_id=1).to_pylist()
    assert {(row["revision_id"], row["is_blank"], row["has_text"], row["text_sha1"]) for row in rows} == {
        (1, False, False, "1" * 31),
        (2, False, False, "2" * 31),
    }


def test_a_lost_text_that_the_file_gave_before_is_found_again(home_folder, tmp_path):
    """A text stands briefly long before any cut, so it is dropped; then it comes back with a hash and without its text."""
    from tempkb.wiki.revisions.history import base36_sha1

    sha1 = base36_sha1(b"good").decode()
    good = revision(1, "2020-01-05T00:00:00Z", "good")
    other = revision(2, "2020-01-06T00:00:00Z", "other")
    back = revision(3, "2020-05-05T00:00:00Z", "gone").replace(
        '<text bytes="4" xml:space="preserve">gone</text>', f'<text bytes="4" sha1="{sha1}" /><sha1>{sha1}</sha1>'
    )
    path = tmp_path / "testwiki-20210101-history.xml"
    path.write_bytes(export(page(1, good, other, back)))
    store, report, _ = build_files(path)
    row = store.read("stable_snapshots", cut="2020-07-01").to_pylist()[0]
    assert (row["revision_id"], row["has_text"], row["text_sha1"]) == (3, True, sha1)
    assert store.read("page_wikitexts", revision_id=3)["wikitext"].to_pylist() == ["good"]
    assert report.counts["testwiki-20210101"].agree


LATE = [
    # An undated file: its last revision is its end, so the third quarter, in which two of three lie, is not over in it.
    (
        "history.xml",
        "2021-08-09",
        "2 of 3 revisions of {id} lie in no window: the next one ends on 2021-10-01, and without a day in its name a dump "
        "reaches only to its last revision, here of 2021-08-09. If it was made on 2021-10-01 or later, say so in the "
        "file's name, and build again: testwiki-20211001-history.xml",
    ),
    # The file's day may not be in the future.
    (
        "history.xml",
        "2021-10-09",
        "1 of 3 revisions of {id} lies in no window: the next one ends on 2022-01-01. A dump of that day or later has "
        "what belongs to it",
    ),
    (
        "testwiki-20210901-pages-meta-history.xml",
        "2021-08-09",
        "2 of 3 revisions of testwiki-20210901 lie in no window: the next one ends on 2021-10-01. A dump of that day or "
        "later has what belongs to it",
    ),
    ("testwiki-20211001-pages-meta-history.xml", "2021-08-09", None),
]


@pytest.mark.parametrize(("name", "last", "said"), LATE, ids=["undated", "too young", "dated", "none"])
def test_the_end_of_a_build_counts_the_revisions_after_the_last_window(
    name, last, said, home_folder, tmp_path, monkeypatch
):
    monkeypatch.setattr(building, "datetime", SimpleNamespace(now=lambda _zone: datetime(2021, 11, 1, tzinfo=UTC)))
    days = [(11, "2021-02-03"), (12, "2021-07-03"), (21, last)]
    first, second, third = (revision(n, f"{day}T00:00:00Z") for n, day in days)
    (tmp_path / name).write_bytes(export(page(1, first, second), page(2, third)))
    _, report, _ = build_files(tmp_path / name, first_window="2021-01-01")
    assert report.warnings == ([said.format(id=next(iter(report.counts)))] if said else [])


def test_tags_and_references_to_no_character_in_a_text_join_no_words_and_are_said(home_folder, tmp_path):
    path = tmp_path / "testwiki-20240110-pages-meta-history.xml"
    texts = ["a&#xD83D;&#56832;b &#x41;", "c<br/>d <i>e</i>f", "whole &amp;#xD83D;"]
    pages = [page(at, revision(at, "2024-01-02T00:00:00Z", text)) for at, text in enumerate(texts, 1)]
    path.write_bytes(export(*pages))
    store, _, _ = build_files(path, first_window=date(2024, 1, 1), granularity="week")
    known = {row["page_id"]: row["wikitext"] for row in store.read("page_wikitexts").to_pylist()}
    assert known == {1: "a\ufffd\ufffdb A", 2: "c\ufffdd \ufffde\ufffdf", 3: "whole &#xD83D;"}
    (file,) = store.read("dump_files").to_pylist()
    assert file["status"] == "damaged"
    said = "the text of revision {} holds bytes that are not UTF-8, a tag or a reference to no character"
    assert all((said.format(at) in file["reason"]) == (at < 3) for at in (1, 2, 3))
    _, report, _ = build_files(path, first_window=date(2024, 1, 1), granularity="week", strict=True, rebuild=True)
    assert "fetch the file again" in str(report.bad)
