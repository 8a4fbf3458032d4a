"""Every real file in the folder, also the damaged and the odd ones: what is lost is told, and nothing else is.

The folder's `INDEX.md` tells how many pages, revisions, rows or entities each file holds; another tool counted them.
"""

import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tempkb.core.errors import SourceError
from tempkb.wiki.dumps.elements import BrokenPageError
from tempkb.wiki.dumps.entities import holds_entities
from tempkb.wiki.dumps.files import open_dump
from tempkb.wiki.dumps.sql import read_rows
from tempkb.wiki.dumps.xml import PageStream
from tempkb.wiki.wikidata.reading import Tally, read_entities
from tempkb_tests.damage import refused_well, spoil
from tempkb_tests.real.data import DUMPS, REAL
from tempkb_tests.wiki.dumps.test_damage import rows_in, tags

pytestmark = REAL
NOT_JSON = r"not Wikidata's JSON \(line 1: Object missing required field"
LARGE = "maribelacosta+wikiwho/large.xml.lzma"


@dataclass(frozen=True)
class Found:
    """What a reader made of a file: pages or nothing, revisions or rows or entities, and what it told."""

    form: str
    pages: int = 0
    rows: int = 0
    told: str = ""
    is_refused: bool = False


def read_file(path: Path) -> Found:
    """Read a file by the reader that it is for."""
    try:
        if ".sql" in path.name:
            return read_table(path)
        return read_json(path) if holds_entities(path) else read_xml(path)
    except SourceError as error:
        form = "sql" if ".sql" in path.name else "json" if holds_entities(path) else "xml"
        return Found(form, told=str(error), is_refused=True)


def read_xml(path: Path) -> Found:
    stream, pages, kept = PageStream(open_dump(path), path.name), 0, 0
    while stream.next_page() is not None:
        try:
            kept += sum(1 for _ in stream.revisions())
            pages += 1
        except BrokenPageError:
            continue
    assert stream.elements == kept + sum(one.lost_revisions for one in stream.damages)
    told = "; ".join(f"byte {one.position} ({one.of}): {one.reason}" for one in stream.damages)
    return Found("xml", pages, kept, told)


def read_table(path: Path) -> Found:
    first = b"".join(open_dump(path))
    column = re.search(rb"CREATE TABLE `\w+` \(\s*`(\w+)`", first)
    return Found("sql", 0, sum(1 for _ in read_rows(path, [column[1].decode() if column else "id"])))


def read_json(path: Path) -> Found:
    tally = Tally()
    n = sum(1 for _ in read_entities(path, ["en"], [], tally))
    return Found("json", 0, n + len(tally.missing), tally.reason)


@dataclass(frozen=True)
class Listed:
    """What the index says of a file."""

    kind: str
    pages: int | None
    rows: int | None


def listed() -> dict[str, Listed]:
    """{path: what the index says}."""
    files = {}
    for entry in re.split(r"^- `", (DUMPS / "INDEX.md").read_text("utf-8"), flags=re.M)[1:]:
        name, text = entry.split("`", 1)
        if not (DUMPS / name).is_file():
            continue
        export = re.search(r"pages ([\d,]+) \(redirects [\d,]+\), revisions ([\d,]+)", text)
        table = re.search(r"; rows (?:\{'\w+': (\d+)\}|(0));", text)
        entities = re.search(r"Wikidata JSON.*; entities (\d+)", text)
        if export:
            files[name] = Listed("xml", *(int(one.replace(",", "")) for one in export.groups()))
        elif table:
            files[name] = Listed("sql", None, int(table[1] or 0))
        else:
            files[name] = Listed("json", None, int(entities[1])) if entities else Listed("other", None, None)
    for language, pages in re.findall(r"([\w-]+): (\d+) / \d+", (DUMPS / "INDEX.md").read_text("utf-8")):
        name = f"dbpedia+extraction-framework/{language}/wiki.xml.bz2"
        if (DUMPS / name).is_file():
            files[name] = Listed("xml", int(pages), int(pages))
    return files


# name -> what must be told of it (an expression), and whether it is refused; all other files hold no damage.
DAMAGED = {
    "yohasebe+wp2txt/5d6ff36d55/testdata.bz2": (
        r"byte 1077685 \(plain bytes\): the file ends without </mediawiki>",
        False,
    ),
    "yohasebe+wp2txt/ad8949a2dd/testdata_en.bz2": (
        r"byte 10509828 \(plain bytes\): the file ends without </media",
        False,
    ),
    "wikimedia+pywikibot/article-pyrus.xml_invalid.7z": (r"byte 0 \(plain bytes\): .*7z", False),
    "maxlath+wikibase-dump-filter/entities": (r"the list is not closed: the file may be cut off after line 50", False),
    "shilad+wikibrain/pagelinks.sql": (
        r"byte 21876 \(plain bytes\): the file ends here, without .*Dump completed",
        True,
    ),
    "wikimedia+analytics-refinery-source/mediawikidumper/wmf_content_mediawiki_content_history_v1.json.gz": (
        NOT_JSON,
        True,
    ),
    "wikimedia+analytics-refinery-source/mediawikidumper/wmf_raw_mediawiki_project_namespace_map.json.gz": (
        NOT_JSON,
        True,
    ),
}
# Three pages without a root, one after another; the index counted the first.
OTHER_COUNTS = {"wikimedia+analytics-wikihadoop/page_sample.xml": (3, 6)}
# Odd, but whole: cut into two elements, UTF-16, LZMA-alone, a bare <page>, only redirects, no siteinfo.
ODD = {
    "texttechnologylab+WikiDragon/": (5, 9),
    "piskvorky+gensim/bgwiki-latest-pages-articles-shortened.xml.bz2": (3, 3),
    "wikimedia+pywikibot/article-pyrus-utf16.xml": (1, 6),
    "SoothingDuck+wikipedia-dump-extractor/undertale.xml": (1, 1),
    "shilad+wikibrain/testPage.xml": (1, 1),
    "SoothingDuck+wikipedia-dump-extractor/enwiki-test-extract.xml.bz2": (7421, 7421),
}


def named_in_folder() -> list[str]:
    return [str(path.relative_to(DUMPS)) for path in sorted(DUMPS.glob("*/**/*")) if path.is_file()]


def test_every_real_file_is_whole_or_tells_what_is_lost():
    known, counts, told = listed(), Counter(), []
    for name in named_in_folder():
        found = Found("xml (1 GB)", 1, 15_180) if name == LARGE else read_file(DUMPS / name)
        counts[found.form, "refused" if found.is_refused else "told" if found.told else "whole"] += 1
        expected, is_refused = DAMAGED.get(name, ("", False))
        if name not in DAMAGED and is_foreign(name):
            expected, is_refused = "holds neither|not Wikidata's JSON", True
        assert found.is_refused == is_refused, (name, found)
        assert not is_refused or Path(name).name in found.told
        assert re.search(expected, found.told) if expected else not found.told, (name, found)
        want = known.get(name)
        if found.is_refused or want is None or want.rows is None:
            told += [f"  {name}: {found.told}"] if found.told else []
            continue
        pages, rows = OTHER_COUNTS.get(name, (want.pages, want.rows))
        assert found.rows == rows, name
        assert pages is None or found.pages == pages, name
        told += [f"  {name}: {found.told}"] if found.told else []
    print("\n" + "\n".join(f"{form:<12}{what:<9}{n:>5}" for (form, what), n in sorted(counts.items())))
    print("\n".join(told))
    assert sum(counts.values()) > 230


def is_foreign(name: str) -> bool:
    return (
        "pageviews" in name or "siteinfo-namespaces" in name or name.endswith((".md", ".csv", ".tsv", ".txt", ".log"))
    )


@pytest.mark.parametrize("start", ODD)
def test_odd_files_are_read_as_a_whole(start):
    pages, revisions = ODD[start]
    names = [name for name in named_in_folder() if name.startswith(start) and name.endswith((".xml", ".bz2"))]
    found = [read_file(DUMPS / name) for name in names]
    assert (pages, revisions, "") in [(one.pages, one.rows, one.told) for one in found]


def test_a_wrong_header_is_taken_as_it_stands():
    """All these wikis say that they are enwiki: a user names the right one."""
    sites = Counter(
        PageStream(open_dump(path), path.name).site.dbname
        for path in DUMPS.glob("dbpedia+extraction-framework/*/wiki.xml.bz2")
    )
    assert sites == {"enwiki": 123, "wikidatawiki": 1}


def test_files_that_are_none_of_ours_get_one_clear_error():
    refused = 0
    for path in sorted(DUMPS.parent.rglob("*")):
        # Of the folder `cases` some are whole dumps.
        if path.is_file() and not {DUMPS, DUMPS.parent / "cases"} & {*path.parents}:
            found = read_file(path)
            assert found.is_refused, (path, found)
            assert re.search(r"expected (a MediaWiki|Wikidata's JSON|an entity|one entity per line)", found.told), (
                path,
                found,
            )
            refused += 1
    print(f"\n{refused} foreign files refused")


LARGE_FILE = """
import sys
from pathlib import Path
from tempkb.wiki.dumps.files import open_dump
from tempkb.wiki.dumps.xml import PageStream
from tempkb.engine.items import peak_megabytes
stream = PageStream(open_dump(Path(sys.argv[1])), "large")
stream.next_page()
print(sum(1 for _ in stream.revisions()), stream.next_page(), stream.damages, peak_megabytes())
"""


def test_a_file_packed_551_to_1_needs_little_memory():
    done = subprocess.run(
        [sys.executable, "-c", LARGE_FILE, str(DUMPS / LARGE)], capture_output=True, text=True, check=True
    )
    *said, megabytes = done.stdout.split()
    assert said == ["15180", "None", "[]"]
    print(f"\na gigabyte: {megabytes} MB at most")
    assert int(megabytes) < 100


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("wikimedia+analytics-refinery-source/mediawikidumper/MediawikiDumperOutputTest.Simplewiki.Sample.xml", 1000),
        ("mediawiki-utilities+python-mwsql/testfile.sql", 1000),
        ("Wikidata+Wikidata-Toolkit/wbgetentites-Oliver-Kahn.json", 300),
        ("maxlath+wikibase-dump-filter/entities", 100),
    ],
)
def test_spoilt_real_files_are_told_or_whole(tmp_path, name, n):
    path = DUMPS / name
    whole = read_file(path)
    data = path.read_bytes()

    def judge(spoilt, mutation, plain):
        found = read_file(spoilt)
        if found.is_refused:
            refused_well(SourceError(found.told), spoilt)
            return "refused"
        if found.told and found.told != whole.told:
            return "told"
        if found.form == "xml":
            assert (found.pages, found.rows) == (tags(plain, b"page"), tags(plain, b"revision"))
        elif found.form == "sql":
            assert found.rows == rows_in(plain)
        elif mutation.kind == "flip" and not mutation.is_long:
            assert found.rows == whole.rows
        return "same" if found == whole else "changed"

    spoil(tmp_path, path.name, data, b"", n, 8, judge)
