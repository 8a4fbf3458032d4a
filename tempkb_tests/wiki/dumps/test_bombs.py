"""Files of some kilobytes that unpack to megabytes made to fill the memory or to keep a parser busy."""

import bz2
import gzip
import subprocess
import sys

import pytest
import zstandard

from tempkb_tests.wiki.dumps.test_sql import CREATE
from tempkb_tests.wiki.revisions.builds import HEAD

PLAIN = 10_000_000  # bytes
MEGABYTES = 330  # the largest process, whose share for one document of JSON is the most
SECONDS = 60

READ = """
import sys
from pathlib import Path
from tempkb.wiki.dumps.elements import BrokenPageError
from tempkb.wiki.dumps.files import open_dump
from tempkb.wiki.dumps.sql import read_rows
from tempkb.wiki.dumps.xml import PageStream
from tempkb.engine.items import peak_megabytes
from tempkb.core.errors import SourceError
from tempkb.wiki.wikidata.reading import Tally, read_entities

path, kept = Path(sys.argv[1]), 0
try:
    if ".xml" in path.name:
        stream = PageStream(open_dump(path), path.name)
        while stream.next_page() is not None:
            try:
                kept += sum(1 for _ in stream.revisions())
            except BrokenPageError:
                continue
        told = f"{len(stream.damages)} damages: {[one.reason for one in stream.damages[:2]]}" if stream.damages else ""
    elif ".sql" in path.name:
        kept, told = sum(1 for _ in read_rows(path, ["pp_page"])), ""
    else:
        tally = Tally()
        kept, told = sum(1 for _ in read_entities(path, ["en"], [], tally)), tally.reason
except SourceError as error:
    told = str(error)
print(kept, told[:300].replace("\\n", " "))
print(peak_megabytes())
"""

IN_PAGE = HEAD + "<page><title>x</title><ns>0</ns><id>1</id>"
REVISION = "<revision><id>1</id><timestamp>2020-01-01T00:00:00Z</timestamp><contributor><ip>1</ip></contributor>"
END = "<text>x</text></revision></page></mediawiki>"
INSERT = CREATE + "INSERT INTO `page_props` VALUES "

BOMBS = {
    # name: (file, what comes first, what is repeated, what comes last, what is told)
    "blanks before pages": ("x.xml.gz", HEAD, " ", IN_PAGE[len(HEAD) :] + REVISION + END, "1 "),
    "blanks between revisions": (
        "x.xml.gz",
        IN_PAGE + REVISION + "<text>x</text></revision>",
        " ",
        "</page></mediawiki>",
        "1 ",
    ),
    "nothing but pages": ("x.xml.gz", HEAD, "<page>" + " " * 30, "</mediawiki>", "200 damages"),
    "tags in tags in a revision": ("x.xml.gz", IN_PAGE + REVISION, "<a>", END, "more than 10000 tags"),
    "a gigantic attribute": (
        "x.xml.gz",
        IN_PAGE + REVISION + '<text a="',
        "b",
        '"/></revision></page></mediawiki>',
        "a revision of more than",
    ),
    "references to entities": (
        "x.xml.gz",
        IN_PAGE + REVISION + "<text>",
        "&lol;",
        "</text></revision></page></mediawiki>",
        "1 ",
    ),
    "tags in a page's head": ("x.xml.gz", IN_PAGE, "<a/>", REVISION + END, "not followed by <revision>"),
    "a gigantic title": (
        "x.xml.gz",
        HEAD + "<page><title>",
        "x",
        "</title><id>1</id>" + REVISION + END,
        "not followed by <revision>",
    ),
    "namespaces without end": (
        "x.xml.gz",
        HEAD.replace("</namespaces></siteinfo>\n", ""),
        "<namespace/>",
        "</namespaces></siteinfo>",
        "expected some thousands",
    ),
    "tags between revisions": (
        "x.xml.gz",
        IN_PAGE + REVISION + "<text>x</text></revision>",
        "<a/>" + " " * 20,
        "</page></mediawiki>",
        "1 ",
    ),
    "a text without end": ("x.sql.gz", INSERT + "(1,'", "x", "", "in the middle of the statement"),
    "texts that end lines": ("x.sql.gz", INSERT + "(1,'", "xxxx;\n", "", "not closed"),
    "rows in rows": ("x.sql.gz", INSERT, "(", ";\n", "not a value"),
    "a row without end": ("x.sql.gz", INSERT + "(1", ",1111111", ");\n", "a row of 1250001 values"),
    "comments that open": ("x.sql.gz", CREATE, "/*", ";\n", "does not write"),
    "lists in lists": ("x.json.gz", "[\n", "[", "\n]", "line 2"),
    "lines of nothing": ("x.json.gz", "[\n", "      \n", "]", "0 "),
    "a document of braces": ("x.json.gz", "", "{   \n", "", "not Wikidata's JSON, read from line 1"),
}


def told_of(path):
    """What a process of its own tells of a file that it reads, and its megabytes at the most."""
    command = [sys.executable, "-c", READ, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)
    said, megabytes = done.stdout.splitlines()
    return said, int(megabytes)


@pytest.mark.slow
@pytest.mark.timeout(SECONDS * 2)
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_bounded_in_memory_and_time(tmp_path, bomb):
    name, first, repeated, last, told = BOMBS[bomb]
    path = tmp_path / name
    plain = first.encode() + repeated.encode() * (PLAIN // len(repeated)) + last.encode()
    path.write_bytes(gzip.compress(plain, 1))
    said, megabytes = told_of(path)
    assert told in said
    assert megabytes < MEGABYTES


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "compress", "head"),
    [
        ("bomb.xml.gz", gzip.compress, b"<mediawiki><page><title>x</title><id>1</id><revision><id>"),
        ("bomb.xml.bz2", bz2.compress, b"<mediawiki><siteinfo>"),
        ("bomb.xml.zst", zstandard.ZstdCompressor().compress, b"<mediawiki>"),
    ],
)
def test_a_decompression_bomb_is_bounded_by_memory(tmp_path, name, compress, head):
    """A quarter of a gigabyte of one letter, in some hundred kilobytes, inside one element or before any page."""
    path = tmp_path / name
    # One stream of four megabytes, sixty-four times: packing all of it would take longer than reading it.
    path.write_bytes(compress(head) + compress(b"A" * (1 << 22)) * 64)
    assert path.stat().st_size < 1_000_000
    said, megabytes = told_of(path)
    assert "64 MB" in said
    # The process itself has some 100; with the bomb in memory once, it would have 350.
    assert megabytes < 300
