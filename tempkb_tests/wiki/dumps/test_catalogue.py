"""Which files make a dump, which dump serves a window, and which files share pages."""

import hashlib
import os
import re
from datetime import date
from pathlib import Path

import pytest

from tempkb.core.errors import SettingsError, SourceError
from tempkb.core.windows import Granularity, Window
from tempkb.wiki.dumps.catalogue import (
    DumpFile,
    find_dumps,
    group_items,
    horizon_day,
    name_dump,
    remember,
    serving_dump,
    tables_dump,
)
from tempkb.wiki.dumps.entities import holds_entities, name_entities
from tempkb_tests.wiki.revisions.builds import export, page, revision

Q4 = Window(date(2021, 10, 1), Granularity.QUARTER)


def put(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def test_both_layouts_are_found_oldest_first(tmp_path):
    put(
        tmp_path,
        "xwiki/20220201/xwiki-20220201-pages-meta-history1.xml-p1p9.7z",
        "xwiki/20220201/xwiki-20220201-pages-meta-history1.xml-p1p9.bz2",
        "xwiki/20220201/xwiki-20220201-pages-meta-history2.xml-p10p99.bz2",
        "xwiki/20220201/xwiki-20220201-pages-articles.xml.bz2",
        "xwiki/20220201/xwiki-20220201-page.sql.gz",
        "xwiki/20220201/xwiki-20220201-page_props.sql.gz",
        "xwiki/20220201/xwiki-20220201-pagelinks.sql.gz",
        "xwiki/20220101/other-20220101-pages-meta-history.xml.bz2",
        "other/mediawiki_content_history/xwiki/2021-11-01/xml/bzip2/xwiki-2021-11-01-p1p500.xml.bz2",
        "other/mediawiki_content_history/xwiki/2021-11-01/xml/bzip2/xwiki-2021-11-01-p7r1r9.xml.bz2",
    )
    older, newer = find_dumps(tmp_path)
    assert (older.dump_id, len(older.files), older.table("page")) == ("xwiki-20211101", 2, None)
    assert (newer.dump_id, newer.date, newer.is_named) == ("xwiki-20220201", date(2022, 2, 1), False)
    assert [file.path.name for file in newer.history] == [
        "xwiki-20220201-pages-meta-history1.xml-p1p9.7z",
        "xwiki-20220201-pages-meta-history2.xml-p10p99.bz2",
    ]
    assert sorted(file.kind for file in newer.files if file.kind != "history") == ["page", "page_props"]


def test_a_window_is_served_by_the_earliest_dump_that_reaches_its_cut(tmp_path):
    for day in ("20211201", "20220101", "20220201"):
        put(tmp_path, f"xwiki/{day}/xwiki-{day}-pages-meta-history.xml.bz2")
    put(tmp_path, "xwiki/20220301/xwiki-20220301-page.sql.gz")
    dumps = find_dumps(tmp_path)
    assert serving_dump(dumps, Q4).dump_id == "xwiki-20220101"
    assert serving_dump(dumps, Window(date(2022, 1, 1), Granularity.QUARTER)) is None
    assert serving_dump(dumps, Window(date(2022, 1, 1), Granularity.MONTH)).dump_id == "xwiki-20220201"
    assert tables_dump(dumps, dumps[0]).dump_id == "xwiki-20220301"


def test_a_dump_from_the_future_serves_no_window(tmp_path):
    put(tmp_path, "xwiki/20990101/xwiki-20990101-pages-meta-history.xml.bz2")
    (dump,) = find_dumps(tmp_path)
    assert re.fullmatch(
        r"reaches to 2099-01-01, and today is 20\d\d-\d\d-\d\d; correct the date in its name, or the clock of this "
        "machine",
        dump.flaws[0],
    )
    assert serving_dump([dump], Q4) is None


def history(tmp_path, name, *times):
    path = tmp_path / name
    path.write_bytes(export(page(1, *(revision(n, time) for n, time in enumerate(times, 1)))))
    return path


def test_a_named_file_with_a_date_takes_its_dumps_name(tmp_path):
    path = history(tmp_path, "testwiki-20220101-pages-articles.xml", "2021-05-01T00:00:00Z")
    dump = name_dump([path])
    assert (dump.dump_id, dump.is_named, horizon_day(dump)) == ("testwiki-20220101", True, date(2022, 1, 1))
    assert serving_dump([dump], Q4) is None, "named files serve only what is asked of them"


def test_a_named_file_without_a_date_reaches_to_its_last_revision_and_is_hashed_once(tmp_path, monkeypatch):
    path = history(tmp_path, "history.xml", "2021-05-01T00:00:00Z", "2021-12-31T23:59:59Z", "2020-01-01T00:00:00Z")
    dump = name_dump([path])
    assert dump.dump_id == f"testwiki-{dump.files[0].sha256[:8]}"
    assert horizon_day(dump) == date(2022, 1, 1)
    assert dump.knows(Q4)
    remember(tmp_path, dump)
    (again,) = find_dumps(tmp_path)
    assert (again.dump_id, again.horizon, again.wiki) == (dump.dump_id, dump.horizon, "testwiki")
    for reader in ("tempkb.wiki.dumps.sums.pieces_of", "hashlib.file_digest"):
        monkeypatch.setattr(reader, lambda *_: pytest.fail("read again"))
    assert again.files[0].sha256 == dump.files[0].sha256


def test_the_sum_of_a_file_whose_path_is_not_utf_8_is_noted_and_found(tmp_path, monkeypatch):
    folder = tmp_path / os.fsdecode("Zoë".encode("latin-1"))
    folder.mkdir()
    path = history(folder, "history.xml", "2021-05-01T00:00:00Z")
    remember(tmp_path, name_dump([path]))
    (found,) = find_dumps(tmp_path)
    expected = hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.files[0].sha256 == expected
    monkeypatch.setattr("tempkb.wiki.dumps.sums.sum_of", lambda _path: pytest.fail("read again"))
    (again,) = find_dumps(tmp_path)
    assert again.files[0].sha256 == expected


def test_a_file_whose_own_name_is_not_utf_8_is_refused_as_no_table_can_hold_it(tmp_path):
    path = history(tmp_path, os.fsdecode("Zoë.xml".encode("latin-1")), "2021-05-01T00:00:00Z")
    with pytest.raises(
        SourceError, match=r"--dump: the name 'Zo\\udceb.xml' is not UTF-8, .*; rename or link the file"
    ):
        name_dump([path])


def test_what_cannot_be_named_says_why(tmp_path):
    with pytest.raises(SourceError, match=r"nowhere\.xml: no such file; --dump takes"):
        name_dump([tmp_path / "nowhere.xml"])
    bare = tmp_path / "bare.xml"
    bare.write_bytes(page(1, revision(1, "2020-01-01T00:00:00Z")).encode())
    with pytest.raises(SettingsError, match="names its wiki; set it: TEMPKB_WIKI=simplewiki"):
        name_dump([bare])
    assert name_dump([bare], "barewiki").wiki == "barewiki"
    other = tmp_path / "other.xml"
    other.write_bytes(export(page(1, revision(1, "2020-01-01T00:00:00Z"))).replace(b"testwiki", b"otherwiki"))
    with pytest.raises(SettingsError, match="to several wikis .otherwiki, testwiki."):
        name_dump([other, history(tmp_path, "history.xml", "2020-01-01T00:00:00Z")])
    twin = tmp_path / "twin" / "history.xml"
    twin.parent.mkdir()
    twin.write_bytes((tmp_path / "history.xml").read_bytes())
    with pytest.raises(SourceError, match="have the same name; rename or link one of them"):
        name_dump([tmp_path / "history.xml", twin])
    assert len(name_dump([tmp_path / "history.xml", tmp_path / "history.xml"]).files) == 1
    empty = tmp_path / "empty.xml"
    empty.write_bytes(export())
    with pytest.raises(SourceError, match="holds no whole page .there is no <page> from byte 0 to its end"):
        name_dump([empty])


@pytest.mark.parametrize(
    ("inside", "name"),
    [("MyWiki", "mywiki"), ("my-wiki", "my_wiki"), ("3dwiki", "dwiki"), ("../../evil", "evil"), ("Вики", "mywiki")],
)
def test_a_name_that_no_home_can_have_is_refused_with_one_that_it_can(inside, name, tmp_path):
    path = history(tmp_path, "history.xml", "2020-01-01T00:00:00Z")
    path.write_bytes(path.read_bytes().replace(b"testwiki", inside.encode()))
    with pytest.raises(SettingsError) as refused:
        name_dump([path])
    assert str(refused.value) == (
        f"--dump: history.xml names its wiki {inside!r}; expected a database name of lower-case letters, digits and _ "
        f"that begins with a letter; give it one: TEMPKB_WIKI={name}"
    )
    assert name_dump([path], name).wiki == name


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        pytest.param(["a-p10p19.bz2", "a-p1p9.bz2"], [["a-p1p9.bz2"], ["a-p10p19.bz2"]], id="ranges apart"),
        pytest.param(
            ["a.xml-p1p9.7z", "b.xml-p9p12.7z", "c.xml-p13p20.7z"],
            [["a.xml-p1p9.7z", "b.xml-p9p12.7z"], ["c.xml-p13p20.7z"]],
            id="ranges that touch",
        ),
        pytest.param(
            ["x-2026-01-01-p5r1r9.xml.bz2", "x-2026-01-01-p5r10r19.xml.bz2", "x-2026-01-01-p6p9.xml.bz2"],
            [["x-2026-01-01-p5r1r9.xml.bz2", "x-2026-01-01-p5r10r19.xml.bz2"], ["x-2026-01-01-p6p9.xml.bz2"]],
            id="one page over several files",
        ),
        pytest.param(["a-p1p9.bz2", "whole.xml"], [["a-p1p9.bz2", "whole.xml"]], id="a file that promises nothing"),
    ],
)
def test_files_that_may_share_pages_are_one_item(names, groups):
    found = group_items([DumpFile(Path(name), "history") for name in names])
    assert [[file.path.name for file in group] for group in found] == groups


def test_the_same_part_plain_and_packed_is_one_file(tmp_path):
    put(
        tmp_path,
        "xwiki/20220201/xwiki-20220201-page.sql",
        "xwiki/20220201/xwiki-20220201-page.sql.gz",
        "xwiki/20220201/xwiki-20220201-pages-meta-history.xml",
        "xwiki/20220201/xwiki-20220201-pages-meta-history.xml.bz2",
    )
    (dump,) = find_dumps(tmp_path)
    assert sorted(file.path.name for file in dump.files) == [
        "xwiki-20220201-page.sql.gz",
        "xwiki-20220201-pages-meta-history.xml.bz2",
    ]


def test_a_broken_note_of_named_files_is_named(tmp_path):
    put(tmp_path, "named/x.json")
    with pytest.raises(SourceError, match="not what tempkb wrote"):
        find_dumps(tmp_path)


def test_entities_of_wikidata_lie_beside_the_wikis(tmp_path):
    put(tmp_path, "wikidatawiki/entities/20220103/wikidata-20220103-all.json.bz2")
    put(tmp_path, "wikidatawiki/entities/20220103/wikidata-20220103-all.json.gz")
    put(tmp_path, "wikidatawiki/entities/20220103/wikidata-20220103-lexemes.json.gz")
    put(tmp_path, "wikidatawiki/entities/20220110/wikidata-20220103-all.json.gz")
    (dump,) = find_dumps(tmp_path)
    assert (dump.dump_id, dump.date, dump.holds_pages, dump.history) == (
        "wikidatawiki-20220103",
        date(2022, 1, 3),
        False,
        (),
    )
    # Of two compressions the one that is cheaper to read.
    assert [file.path.name for file in dump.entities] == ["wikidata-20220103-all.json.gz"]


def entities(folder, name, modified=""):
    path = folder / name
    changed = f'"modified":"{modified}",' if modified else ""
    path.write_text('[\n{"type":"item",' + changed + '"id":"Q1"}\n]\n')
    return path


def test_named_entities_tell_their_day_by_name_or_by_their_last_change(tmp_path):
    named = name_entities([entities(tmp_path, "wikidata-20220103-all.json")])
    assert (named.dump_id, named.date) == ("wikidatawiki-20220103", date(2022, 1, 3))
    changed = name_entities([entities(tmp_path, "mine.json", "2023-04-04T05:21:49Z")])
    assert (changed.date, changed.is_named) == (date(2023, 4, 5), True)
    assert changed.dump_id == f"wikidatawiki-{changed.files[0].sha256[:8]}"
    told = name_entities([entities(tmp_path, "other.json")], date(2017, 3, 1))
    assert told.date == date(2017, 3, 1)
    with pytest.raises(SourceError, match="neither the name nor an entity gives the day of the dump; add it: --day"):
        name_entities([entities(tmp_path, "silent.json")])
    with pytest.raises(SourceError, match="no such file"):
        name_entities([tmp_path / "none.json"])


def test_files_of_entities_are_known_by_their_names_and_by_how_they_begin(tmp_path):
    plain = entities(tmp_path, "entities")
    export = tmp_path / "export"
    export.write_text("<mediawiki>")
    table = tmp_path / "x-page.sql"
    table.write_text("[")
    assert [holds_entities(path) for path in (plain, tmp_path / "any.json.gz", export, table, tmp_path / "none")] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], r"is a folder without dump files directly in it; --dump takes export files \(.xml, .bz2"),
        (["dumpstatus.json", "notes.txt", "sub/x.xml"], "is a folder without dump files directly in it"),
        (
            [
                "xwiki-20220201-pages-meta-history1.xml-p1p9.bz2",
                "xwiki-20220201-page.sql.gz",
                "dumpstatus.json",
                "xwiki-20220201-pagelinks.sql.gz",
            ],
            r"the folder has some; name them: tempkb build --dump '.*a folder'/\*.xml\* '.*a folder'/\*-page.sql.gz$",
        ),
        (["wikidata-20220103-all.json.gz"], r"name them: tempkb build --dump '.*a folder'/\*.json\*$"),
    ],
)
def test_a_folder_is_no_file_of_a_dump_but_its_files_are_named(tmp_path, names, words):
    folder = tmp_path / "a folder"
    folder.mkdir()
    put(folder, *names)
    with pytest.raises(SourceError, match=words):
        name_dump([folder])
    assert not holds_entities(folder)
