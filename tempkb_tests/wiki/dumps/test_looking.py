"""Files that are not what their names say, in every packing: refused before anything is written down of them."""

import bz2
import gzip
import re

import pytest

from tempkb.core.errors import SourceError
from tempkb.wiki.dumps.catalogue import name_dump
from tempkb.wiki.dumps.entities import name_entities
from tempkb.wiki.dumps.looking import look_at
from tempkb_tests.damage import PACKINGS
from tempkb_tests.wiki.dumps.test_damage import page_table, props, table
from tempkb_tests.wiki.dumps.test_sql import CREATE
from tempkb_tests.wiki.revisions.builds import HEAD, export, page, revision

HTML = b"<!DOCTYPE html><html><head><title>404</title></head><body><pagelet>Not found</pagelet></body></html>\n"
# A file of .lzma has no sign at its beginning.
PACK = {suffix: pack for suffix, (pack, _) in PACKINGS.items() if suffix != ".lzma"}
WHOLE = page(1, revision(1, "2020-01-01T00:00:00Z"))
BROKEN = WHOLE.replace("<timestamp>2020-01-01T00:00:00Z</timestamp>", "<timestamp>yesterday</timestamp>")


def refused(path, kind):
    with pytest.raises(SourceError) as error:
        look_at(path, kind)
    assert path.name in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("kind", ["history", "entities", "page", "page_props"])
@pytest.mark.parametrize("suffix", PACK)
def test_an_html_page_is_named_as_one_packed_or_under_the_name_of_something_packed(tmp_path, suffix, kind):
    names = {"history": "x.xml", "entities": "x.json"}
    path = tmp_path / f"{names.get(kind, 'x.sql')}{suffix}"
    for data in (HTML, PACK[suffix](HTML), HTML.replace(b"<!DOCTYPE html>", b"\n")):
        path.write_bytes(data)
        assert "it is an HTML page from byte 0 on" in refused(path, kind)


@pytest.mark.parametrize("suffix", [suffix for suffix in PACK if suffix])
def test_an_empty_file_and_plain_text_under_the_name_of_something_packed(tmp_path, suffix):
    for kind, name in (("history", "x.xml"), ("entities", "x.json"), ("page", "x.sql")):
        path = tmp_path / (name + suffix)
        path.write_bytes(b"")
        assert "the file is empty" in refused(path, kind)
        path.write_bytes(b"Some plain text.\n" * 9)
        assert "byte 0" in refused(path, kind)
        path.write_bytes(PACK[suffix](b"Some plain text.\n" * 9))
        assert "expected" in refused(path, kind) or "the file ends" in refused(path, kind)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (export(), "there is no <page> from byte 0 to its end"),
        (export(BROKEN, BROKEN), r"a revision cannot be read .timestamp 'yesterday'"),
        (export(WHOLE)[: len(HEAD) + 40], "the file ends inside a page's head"),
        (export(WHOLE)[:-60], "the file ends inside a revision"),
        (HEAD.encode()[:90], "is not whole|holds neither|no whole page"),
    ],
)
def test_an_export_without_one_whole_page_says_what_is_there_instead(tmp_path, data, words):
    path = tmp_path / "testwiki-20220101-x.xml"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=words):
        name_dump([path], "testwiki")


def test_one_whole_page_is_enough_wherever_it_stands(tmp_path):
    path = tmp_path / "testwiki-20220101-x.xml"
    path.write_bytes(export(BROKEN, BROKEN.replace("<id>1<", "<id>2<"), WHOLE)[:-13])
    assert name_dump([path]).wiki == "testwiki"


def test_a_packed_file_that_was_cut_says_where_it_ends_and_not_that_the_wiki_is_missing(tmp_path):
    path = tmp_path / "history.xml.bz2"
    whole = bz2.compress(export(WHOLE))
    path.write_bytes(whole[:-30])
    with pytest.raises(SourceError, match=rf"history\.xml\.bz2: .*cut at byte {len(whole) - 30} \(compressed bytes\)"):
        name_dump([path])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "it is an empty list"),
        ("[\n]\n", "it is an empty list"),
        ('{"a": 1}', "has an id"),
        ('[\n{"a": 1},\n{"b": 2}\n]\n', "has an id"),
        ("id,name\n1,Ada\n", "line 1 begins with b'id,name"),
    ],
)
def test_json_without_an_entity(tmp_path, text, words):
    for path, data in ((tmp_path / "x.json", text.encode()), (tmp_path / "x.json.gz", gzip.compress(text.encode()))):
        path.write_bytes(data)
        with pytest.raises(SourceError, match=rf"holds no entity .*{words}"):
            name_entities([path])


def test_tables_without_rows(tmp_path):
    """A small wiki may have neither items nor redirects, but there is none without pages."""
    path = tmp_path / "x-20220101-page_props.sql"
    path.write_bytes(props(1, 0))
    assert look_at(path, "page_props") is None
    path.write_bytes(page_table(1, 0))
    assert "the table has no rows, but every wiki has pages" in refused(path, "page")
    path.write_bytes(table(CREATE, "page_props", []))
    assert "no column 'page_id' in table page_props" in refused(path, "page")


def test_a_link_keeps_its_own_name_which_tells_the_day(tmp_path):
    target = tmp_path / "store" / "0123abcd"
    target.parent.mkdir()
    target.write_bytes(export(WHOLE))
    link = tmp_path / "testwiki-20220101-pages-meta-history.xml"
    link.symlink_to(target)
    dump = name_dump([link, link])
    assert (dump.dump_id, [file.path for file in dump.files]) == ("testwiki-20220101", [link])


def test_of_a_file_that_goes_on_behind_the_look_the_last_byte_of_the_look_is_named(tmp_path):
    path = tmp_path / "x.xml.bz2"
    path.write_bytes(bz2.compress(bytes(50_000_000)))
    assert "holds neither <mediawiki> nor <page> from byte 0 to byte 16777216 (plain bytes);" in refused(
        path, "history"
    )


def parent(number, revision_text):
    """The revision with a parent."""
    return revision_text.replace("</id>", f"</id><parentid>{number}</parentid>", 1)


def first(number):
    return revision(number, "2020-01-01T00:00:00Z", text=f"text {number}")


def later(number):
    return parent(number - 1, first(number))


def stub(number):
    return re.sub("<text.*</text>", f'<text bytes="6" id="{number}" sha1="0" />', first(number))


def named(folder, **files):
    """Name files of testwiki of 2022: {part of the name: pages}."""
    paths = [folder / f"testwiki-20220101-{name.replace('_', '-')}.xml" for name in files]
    for path, pages in zip(paths, files.values(), strict=True):
        path.write_bytes(export(*pages))
    return name_dump(paths)


def pages_of(make, *numbers):
    return [page(number, make(10 * number)) for number in numbers]


CURRENT = {
    "all were edited": {"pages_articles": pages_of(later, 1, 2, 3)},
    "under the name of a history": {"pages_meta_history": pages_of(later, 1, 2) + pages_of(first, 3, 4)},
    "few were edited": {"pages_meta_current": pages_of(later, 1) + pages_of(first, *range(2, 40))},
    "a hundred of many were edited": {"x": pages_of(later, *range(1, 101)) + pages_of(first, *range(101, 900))},
    "of an era without parents": {"pages_articles": pages_of(first, *range(1, 101))},
    "in parts, one of which was never edited": {"x1": pages_of(first, 1, 2), "x2": pages_of(later, 3, 4, 5)},
    "of two days": {"pages_articles": pages_of(first, 1), "pages_articles_2": pages_of(later, 1)},
}


@pytest.mark.parametrize("files", CURRENT.values(), ids=CURRENT)
def test_current_revisions_are_no_history(tmp_path, files):
    n = sum(map(len, files.values()))
    with pytest.raises(SourceError) as error:
        named(tmp_path, **files)
    assert f"holds current revisions only: none of {n} page" in str(error.value)
    assert str(error.value).endswith(": tempkb build --dump testwiki-20220101-pages-meta-history*.xml*")


HISTORIES = {
    "a young wiki": {"pages_meta_history": pages_of(first, 1, 2, 3)},
    "a young wiki, one page of which was imported": {"pages_meta_history": pages_of(later, 1) + pages_of(first, 2, 3)},
    "current by name, never edited": {"pages_articles": pages_of(first, 1, 2)},
    "imported pages, and one that was edited later": {
        "pages_meta_history": [*pages_of(later, *range(1, 9)), page(9, first(90), later(91))]
    },
    "a part of one imported page beside others": {"x1": pages_of(later, 1), "x2": [page(2, first(20), later(21))]},
    "a newer selection beside a history": {
        "pages_meta_history": [page(1, first(10), later(11))],
        "pages_articles": pages_of(later, 1),
    },
}


@pytest.mark.parametrize("files", HISTORIES.values(), ids=HISTORIES)
def test_histories_of_young_wikis_and_of_imported_pages_are_taken(tmp_path, files):
    assert len(named(tmp_path, **files).history) == len(files)


def test_a_stub_is_refused_and_a_history_that_lost_a_text_is_not(tmp_path):
    with pytest.raises(SourceError, match="is a stub: none of 3 revisions has its text; .*pages-meta-history") as error:
        named(tmp_path, stub_meta_history=[page(1, stub(10), parent(10, stub(11))), page(2, stub(20))])
    assert "testwiki-20220101-stub-meta-history.xml: " in str(error.value)
    blank = revision(30, "2020-01-01T00:00:00Z", text="")
    for pages in ([page(1, stub(10), parent(10, first(11)))], [page(3, blank)]):
        assert named(tmp_path, pages_meta_history=pages).wiki == "testwiki"
    assert named(tmp_path, pages_meta_history=pages_of(first, 1), stub_meta_history=pages_of(stub, 1)).history


def test_the_days_and_names_of_the_file_to_take(tmp_path):
    for name, wanted in (
        ("simplewiki-2026-01-01-p1p9.xml", "simplewiki-20260101-pages-meta-history*.xml*"),
        ("enwiki-latest-pages-articles.xml", "enwiki-latest-pages-meta-history*.xml*"),
        ("export.xml", "FILE"),
    ):
        path = tmp_path / name
        path.write_bytes(export(*pages_of(later, 1)))
        with pytest.raises(SourceError) as error:
            name_dump([path])
        assert str(error.value).endswith(f"--dump {wanted}")
