"""A rebuild from a newer dump says, page by page, what has changed and why."""

from datetime import date

from tempkb_tests.wiki.revisions.builds import build_files, export, page, revision

SUPPRESSED = """    <revision>
      <id>{rev}</id>
      <timestamp>{time}</timestamp>
      <contributor><username>Ada</username><id>1</id></contributor>
      <model>wikitext</model>
      <format>text/x-wiki</format>
      <text bytes="-1" deleted="deleted" />
      <sha1 />
    </revision>
"""


def put(tmp_path, day, *pages):
    path = tmp_path / f"testwiki-{day}-pages-meta-history.xml"
    path.write_bytes(export(*pages))
    return path


def changes(store):
    return {
        (row["page_id"], row["change"]): (row["n_revisions"], row["old_revision_id"], row["revision_id"])
        for row in store.read("rebuild_changes").to_pylist()
    }


def test_each_kind_of_change_is_told_once(home_folder, tmp_path, monkeypatch):
    """Eight pages in the first dump; until the second one of each kind of thing has happened."""
    monkeypatch.setenv("TEMPKB_FIRST_WINDOW", "2021-10-01")
    first = put(
        tmp_path,
        "20220101",
        page(1, revision(11, "2021-10-05T00:00:00Z")),
        page(2, revision(21, "2021-10-05T00:00:00Z"), revision(22, "2021-11-05T00:00:00Z", "two")),
        page(3, revision(31, "2021-10-05T00:00:00Z", "three")),
        page(4, revision(41, "2021-12-05T00:00:00Z", "four")),
        page(5, revision(51, "2021-10-05T00:00:00Z", "five"), revision(52, "2021-10-06T00:00:00Z", "of six")),
        page(6, revision(61, "2021-10-05T00:00:00Z", "six")),
        page(7, revision(71, "2021-10-05T00:00:00Z", "seven")),
        page(9, revision(91, "2021-10-05T00:00:00Z", "nine")),
    )
    second = put(
        tmp_path,
        "20220201",
        # 1 was deleted; of 2 the newer revision was removed.
        page(2, revision(21, "2021-10-05T00:00:00Z")),
        page(3, SUPPRESSED.format(rev=31, time="2021-10-05T00:00:00Z")),
        # Into 4 an older history was imported.
        page(4, revision(40, "2021-10-01T00:00:00Z", "old"), revision(41, "2021-12-05T00:00:00Z", "four")),
        # A revision of 5 stands under 6 now.
        page(5, revision(51, "2021-10-05T00:00:00Z", "five")),
        page(6, revision(61, "2021-10-05T00:00:00Z", "six"), revision(52, "2021-10-06T00:00:00Z", "of six")),
        page(7, revision(71, "2021-10-05T00:00:00Z", "seven")),
        page(8, revision(81, "2021-10-05T00:00:00Z", "restored")),
        # Of 9 only what was saved after the cut is left.
        page(9, revision(92, "2022-01-15T00:00:00Z", "nine")),
    )
    store, report, _ = build_files(first, until=date(2022, 1, 1))
    assert report.changes == {}
    assert changes(store) == {}
    store, report, _ = build_files(second, until=date(2022, 1, 1), rebuild=True)
    assert changes(store) == {
        (1, "deleted"): (1, 11, None),
        (2, "removed"): (1, 22, 21),
        (2, "winner_changed"): (0, 22, 21),
        (3, "suppressed"): (1, 31, 31),
        (4, "imported"): (1, 41, 41),
        (5, "merged"): (1, 52, 51),
        (5, "winner_changed"): (0, 52, 51),
        (6, "winner_changed"): (0, 61, 52),
        (8, "come"): (0, None, 81),
        (8, "imported"): (1, None, 81),
        (9, "left"): (0, 91, None),
        (9, "removed"): (1, 91, None),
    }
    merged = next(row for row in store.read("rebuild_changes").to_pylist() if row["change"] == "merged")
    assert merged["other_page_id"] == 6
    assert (merged["previous_dump_id"], merged["dump_id"]) == ("testwiki-20220101", "testwiki-20220201")
    assert report.changes["2021-10-01"] == {
        "come": 1,
        "deleted": 1,
        "imported": 2,
        "left": 1,
        "merged": 1,
        "removed": 2,
        "suppressed": 1,
        "winner_changed": 3,
    }
    _, again, _ = build_files(second, until=date(2022, 1, 1), rebuild=True)
    assert again.changes == {}, "the same dump again changes nothing"
