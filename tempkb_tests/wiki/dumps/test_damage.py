"""A thousand spoilt exports and a thousand spoilt SQL tables: nothing crashes, hangs, or is silently shorter.

What is lost is judged without tempkb: tags and rows are counted in the spoilt bytes, which another library unpacks.
"""

import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tempkb.core.errors import SourceError
from tempkb.wiki.dumps.elements import BrokenPageError
from tempkb.wiki.dumps.files import open_dump
from tempkb.wiki.dumps.sql import read_rows
from tempkb.wiki.dumps.xml import PageStream
from tempkb_tests.damage import mutations, refused_well, spoil
from tempkb_tests.wiki.dumps.test_sql import COLUMNS, CREATE, HOSTILE, sql
from tempkb_tests.wiki.revisions.builds import HEAD, build_files, page, revision

ODD = """    <revision>
      <id>{rev}</id>
      <parentid>{parent}</parentid>
      <timestamp>2021-0{month}-02T03:04:05Z</timestamp>
      <contributor deleted="deleted" />
      <minor/>
      <comment deleted="deleted" />
      <origin>{rev}</origin>
      <model>wikitext</model>
      <format>text/x-wiki</format>
{text}    </revision>
"""
TEXTS = (
    '      <text bytes="-1" deleted="deleted" />\n      <sha1 />\n',
    '      <text bytes="0" />\n      <sha1>phoiac9h4m842xq45sp7s6u21eteeq1</sha1>\n',
    '      <text id="9" bytes="5" />\n',
    '      <text xml:space="preserve"><![CDATA[a < b]]></text>\n',
    '      <text bytes="4" xml:space="preserve">main</text>\n      <content><role>mediainfo</role><origin>3</origin>'
    "<model>wikibase-mediainfo</model><format>application/json</format>"
    '<text bytes="2" xml:space="preserve">{{}}</text></content>\n      <sha1>0000000000000000000000000000002</sha1>\n',
)
UPLOAD = (
    "    <upload>\n      <timestamp>2021-01-02T03:04:05Z</timestamp>\n      <contributor><ip>192.0.2.1</ip></contributor>\n"
    "      <comment>a file</comment>\n      <filename>X.jpg</filename>\n      <size>5</size>\n    </upload>\n"
)


def odd_revisions(first):
    return [ODD.format(rev=first + at, parent=first + at - 1, month=1 + at, text=text) for at, text in enumerate(TEXTS)]


def some_export(first_page=1):
    """Nine pages of every kind and some forty revisions, with a comment between two pages."""
    pages = []
    for number in range(first_page, first_page + 9):
        begin = number * 100
        plain = [
            revision(begin + 50 + at, f"202{at}-05-06T07:08:09Z", f"text {at} of {number} &lt;b&gt; '''Ünïcödé''' " * 4)
            for at in range(3)
        ]
        odd = odd_revisions(begin) if number % 3 == 0 else []
        more = [UPLOAD] if number % 4 == 0 else []
        pages.append(page(number, *odd, *plain, *more, title=f"Page &amp; {number}", ns=number % 2))
    pages.insert(4, "  <!-- between two pages -->\n")
    return (HEAD + "".join(pages) + "</mediawiki>\n").encode()


XML, OTHER_XML = some_export(), some_export(40)


def read_export(path: Path):
    """(head, revisions) of whole pages, how many revisions, and the stream."""
    stream = PageStream(open_dump(path), path.name)
    pages, kept = [], 0
    while (head := stream.next_page()) is not None:
        try:
            revisions = list(stream.revisions())
        except BrokenPageError:
            continue
        pages.append((head, revisions))
        kept += len(revisions)
    return pages, kept, stream


def tags(data: bytes, name: bytes) -> int:
    """Opening tags, or closing ones if there are more."""
    return max(len(re.findall(rb"<%s[ >]" % name, data)), data.count(b"</%s>" % name))


def well_formed(data: bytes):
    try:
        return ET.fromstring(data)
    except ET.ParseError:
        return None


def judge_export(path: Path, mutation, plain: bytes | None) -> str:
    """Read a spoilt export; return what became of it."""
    try:
        pages, kept, stream = read_export(path)
    except SourceError as error:
        refused_well(error, path)
        return "refused"
    assert stream.elements == kept + sum(one.lost_revisions for one in stream.damages)
    if stream.damages:
        assert all(one.position >= 0 and one.reason for one in stream.damages)
        return "told"
    assert plain is not None, "another library refuses the file"
    assert plain.rstrip(b" \r\n\t\0").endswith(b"</mediawiki>")
    assert (len(pages), kept) == (tags(plain, b"page"), tags(plain, b"revision"))
    assert len(stream.site.namespaces) == plain.count(b"<namespace ")
    parsed = well_formed(plain)
    if parsed is not None:
        assert kept == sum(one.tag.endswith("}revision") for one in parsed.iter())
    if mutation.kind != "splice":
        assert (len(pages), kept) == WHOLE_EXPORT
    return "same" if pages == pages_of_whole(XML) else "changed"


@cache
def pages_of_whole(data: bytes):
    stream, pages = PageStream(iter([data]), "whole"), []
    while (head := stream.next_page()) is not None:
        pages.append((head, list(stream.revisions())))
    assert stream.damages == []
    return pages


WHOLE_EXPORT = (9, 9 * 3 + 3 * len(TEXTS))


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("x.xml", 500),
        ("x.xml.bz2", 100),
        ("x.xml.gz", 100),
        ("x.xml.xz", 60),
        ("x.xml.lzma", 60),
        ("x.xml.zst", 80),
        ("x.xml.7z", 50),
    ],
)
def test_a_spoilt_export_is_told_or_whole(tmp_path, name, n):
    spoil(tmp_path, name, XML, OTHER_XML, n, 1, judge_export)


def test_a_spoilt_export_of_utf_16_is_told_or_whole(tmp_path):
    def judge(path, mutation, _plain):
        try:
            plain = mutation.data.decode("utf-16").encode()
        except UnicodeDecodeError:
            plain = None
        return judge_export(path, mutation, plain)

    spoil(tmp_path, "u.xml", XML.decode().encode("utf-16"), OTHER_XML.decode().encode("utf-16"), 50, 2, judge)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_books_of_a_build_from_spoilt_exports_are_balanced(tmp_path, home_folder, monkeypatch):
    """The whole way into the lake: elements = log + exclusions, or one clear error."""
    path, balanced = tmp_path / "x.xml", 0
    for mutation in mutations(XML, 27, 3, OTHER_XML):
        path.write_bytes(mutation.data)
        monkeypatch.setenv("TEMPKB_HOME", str(tmp_path / str(mutation.number)))
        try:
            _, report, _ = build_files(path, wiki="testwiki", granularity="year", first_window="2020-01-01")
        except SourceError as error:
            refused_well(error, path)
            continue
        (counts,) = report.counts.values()
        assert counts.agree, mutation.what
        assert report.bad == {}, mutation.what
        balanced += 1
    assert balanced > 15


HEADER = "-- MariaDB dump 10.19  Distrib 10.5.29-MariaDB\n--\n-- Host: db    Database: xwiki\n\n/*!40101 SET NAMES utf8mb4 */;\n"
TRAILER = "/*!40000 ALTER TABLE `t` ENABLE KEYS */;\n/*!40111 SET SQL_NOTES=@OLD_SQL_NOTES */;\n\n-- Dump completed on 2026-01-01 13:22:14\n"


def table(create, name, rows, per_statement=7):
    """A table as mysqldump writes it: header, several INSERT lines, trailer."""
    told = [
        f"INSERT INTO `{name}` VALUES " + ",".join(rows[at : at + per_statement]) + ";\n"
        for at in range(0, len(rows), per_statement)
    ]
    return (HEADER + create + f"--\n-- Dumping data for table `{name}`\n--\n\n" + "".join(told) + TRAILER).encode()


def props(first, n):
    rows = [(first + at, HOSTILE[at % 10][1], f"{HOSTILE[at % 10][2]}{at}", HOSTILE[at % 10][3]) for at in range(n)]
    return table(CREATE, "page_props", ["(" + ",".join(map(sql, row)) + ")" for row in rows])


def page_table(first, n):
    create = (
        "DROP TABLE IF EXISTS `page`;\nCREATE TABLE `page` (\n  `page_id` int(8) unsigned NOT NULL,\n  `page_namespace` int(11)"
        " NOT NULL,\n  `page_title` varbinary(255) NOT NULL,\n  `page_is_redirect` tinyint(1) NOT NULL,\n  `page_random` double\n,"
        "  PRIMARY KEY (`page_id`)\n) ENGINE=InnoDB DEFAULT CHARSET=binary;\n\n"
    )
    return table(
        create, "page", [f"({at},{at % 3},'It\\'s_page_({at}),_(x)',{at % 2},0.{at})" for at in range(first, first + n)]
    )


def rows_in(data: bytes) -> int:
    """Count rows letter by letter: parentheses outside of strings and comments, those of CREATE left out."""
    text, at, depth, rows = data.decode("latin-1"), 0, 0, 0
    while at < len(text):
        letter = text[at]
        if letter == "'" and depth:
            at += 1
            while at < len(text) and text[at] != "'":
                at += 2 if text[at] == "\\" else 1
        elif depth == 0 and text.startswith("--", at):
            at = re.compile(r"\n|(?=CREATE TABLE)|(?=INSERT INTO)|\Z").search(text, at).end()
            continue
        elif depth == 0 and text.startswith("/*", at):
            at = max(at, text.find("*/", at) + 1)
        elif depth == 0 and text.startswith("CREATE TABLE", at):
            end = re.compile(r"\n\)[^\n]*;\n").search(text, at)
            at = end.end() - 1 if end else len(text)
        elif letter == "(":
            rows, depth = rows + (depth == 0), depth + 1
        elif letter == ")":
            depth = max(0, depth - 1)
        at += 1
    return rows


def judge_table(read, whole):
    def judge(path, mutation, plain):
        try:
            rows = read(path)
        except SourceError as error:
            refused_well(error, path)
            return "refused"
        assert plain is not None, "another library refuses the file"
        assert len(rows) == rows_in(plain)
        # Two texts with a row's end between them may become one text: nobody can see that without sums.
        if mutation.kind != "splice" and not mutation.is_long:
            assert len(rows) == len(whole)
        return "same" if rows == whole else "changed"

    return judge


def props_of(path):
    return list(read_rows(path, COLUMNS))


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("name", "n"), [("p.sql", 300), ("p.sql.gz", 100)])
def test_a_spoilt_table_of_odd_values_is_told_or_whole(tmp_path, name, n):
    whole = tmp_path / "whole.sql"
    whole.write_bytes(props(1, 60))
    spoil(tmp_path, name, props(1, 60), page_table(900, 60), n, 4, judge_table(props_of, props_of(whole)))
