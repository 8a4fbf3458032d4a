"""Real dumps, built through Dagster and compared with the naive oracle: `TEMPKB_REAL_DATA=folder make real`.

The folder holds `dumps/` with files gathered from public repositories; nothing
of theirs is in this repository. Each test prints a line about its wiki.
"""

import gzip
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

import tempkb
from tempkb.core.windows import Granularity, epoch_seconds, instant, windows_until
from tempkb_tests import oracle
from tempkb_tests.conftest import run_module
from tempkb_tests.real.data import DUMPS, REAL, as_history

pytestmark = REAL
LOOKBACK = 30 * 86_400


def build(home: Path, *files: str, **settings: str):
    """Build all quarters from files of the folder; return CPU seconds and the largest worker's megabytes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    arguments = [str(DUMPS / name) for name in files]
    named = {"TEMPKB_HOME": str(home), "TEMPKB_NAMESPACES": "all", "TEMPKB_WORKERS": "2", **settings}
    done = run_module("tempkb_tests.real.building", "build", "--all", "--dump", *arguments, **named)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    told = [line.split()[1:] for line in done.stderr.splitlines() if line.startswith("workers ")]
    return cpu + sum(float(seconds) for _, seconds in told), max(int(peak) for peak, _ in told), done.stdout


def found(home: Path, monkeypatch) -> dict[tuple[int, date], tuple[int, int]]:
    """{(page, cut): (revision, seconds)} of the built home."""
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    rows = tempkb.open().read("stable_snapshots").to_pylist()
    return {(row["page_id"], row["cut"]): (row["revision_id"], row["standing_seconds"]) for row in rows}


def expected(histories, until: date) -> dict[tuple[int, date], tuple[int, int]]:
    """What the oracle finds at every quarter's cut from 2001 on."""
    windows = windows_until(date(2001, 1, 1), until, Granularity.QUARTER)
    chosen = {}
    for page_id, history in histories.items():
        for window in windows:
            best = oracle.winner(history, epoch_seconds(window.cut), LOOKBACK)
            if best is not None:
                chosen[page_id, window.cut] = best
    return chosen


def report(wiki: str, monkeypatch, cpu: float, peak: float, ours, theirs) -> None:
    """Print a line about a wiki."""
    counts = {
        name: tempkb.open().read(name).num_rows
        for name in ("revision_log", "stable_snapshots", "page_wikitexts", "pages")
    }
    agree = sum(ours.get(key) == value for key, value in theirs.items())
    told = ", ".join(f"{n:,} {name}" for name, n in counts.items())
    print(f"\n{wiki}: {told}; oracle agrees on {agree:,} of {len(theirs):,}; {cpu:.1f} CPU s, {peak:.0f} MB at most")


@pytest.mark.skipif(shutil.which("7zz") is None, reason="7zz, by which the oracle reads archives, is not installed")
def test_aawiki_every_quarter_and_every_namespace(tmp_path, monkeypatch):
    name = "dkpro+dkpro-jwpl/aawiki-20260101-pages-meta-history.xml.7z"
    cpu, peak, _ = build(tmp_path, name)
    ours = found(tmp_path, monkeypatch)
    theirs = expected(oracle.histories(DUMPS / name), date(2026, 1, 1))
    report("aawiki", monkeypatch, cpu, peak, ours, theirs)
    assert ours == theirs

    # The official dump of current revisions, an oracle that is not ours: nothing was edited after July 2025.
    current = oracle.histories(DUMPS / "dkpro+dkpro-jwpl/aawiki-20260101-pages-meta-current.xml.bz2")
    latest = {page_id: revisions[-1].revision_id for page_id, revisions in current.items()}
    for cut in (date(2025, 10, 1), date(2026, 1, 1)):
        at_cut = {page: revision for (page, day), (revision, _) in ours.items() if day == cut}
        assert at_cut == latest
        assert len(at_cut) == 507
    titles = {row["page_id"]: (row["namespace"], row["title"]) for row in tempkb.open().read("pages").to_pylist()}
    newest = tempkb.open().read("stable_snapshots", cut="2026-01-01").to_pylist()
    assert {row["page_id"]: (row["namespace"], row["title"]) for row in newest} == titles
    texts = {row["revision_id"]: row["wikitext"] for row in tempkb.open().read("page_wikitexts").to_pylist()}
    assert all(texts[latest[page]] == revisions[-1].text for page, revisions in current.items())


def test_anarchism_one_page_of_a_gigabyte(tmp_path, monkeypatch):
    name = "maribelacosta+wikiwho/large.xml.lzma"
    cpu, peak, _ = build(tmp_path, name)
    ours = found(tmp_path, monkeypatch)
    history = oracle.histories(DUMPS / name)
    assert len(history[12]) == 15_180
    theirs = expected(history, date(2010, 2, 28))
    report("enwiki, Anarchism", monkeypatch, cpu, peak, ours, theirs)
    assert ours == theirs
    assert tempkb.open().read("revision_log").num_rows == 15_180 - sum(
        r.time >= epoch_seconds(date(2010, 1, 1)) for r in history[12]
    )


@pytest.mark.parametrize("wiki", ["Simplewiki", "Commonswiki"])
def test_content_exports_of_2025(tmp_path, monkeypatch, wiki):
    name = f"wikimedia+analytics-refinery-source/mediawikidumper/MediawikiDumperOutputTest.{wiki}.Sample.xml"
    cpu, peak, _ = build(tmp_path, name)
    ours = found(tmp_path, monkeypatch)
    histories = oracle.histories(DUMPS / name)
    last = max(revision.time for history in histories.values() for revision in history)
    theirs = expected(histories, instant(last + 1).date())
    report(wiki.lower(), monkeypatch, cpu, peak, ours, theirs)
    assert ours == theirs


def test_stubs_are_chosen_by_hash_or_revision(tmp_path, monkeypatch):
    name = "dekstop+oii-wikipedia-edit-history/enwiki-20180220-stub-meta-history.head.xml.gz"
    plain = tmp_path / "stub.xml"
    plain.write_bytes(gzip.decompress((DUMPS / name).read_bytes()))
    # A stub alone is refused; so one of its revisions gets its text.
    text = re.search(rb'<text [^>]*bytes="(\d+)" />', plain.read_bytes())
    filled = text[0].replace(b" />", b">" + b"x" * int(text[1]) + b"</text>")
    plain.write_bytes(plain.read_bytes().replace(text[0], filled, 1))
    cpu, peak, _ = build(tmp_path / "home", str(plain))
    ours = found(tmp_path / "home", monkeypatch)
    theirs = expected(oracle.histories(plain), date(2018, 2, 20))
    report("enwiki, stubs", monkeypatch, cpu, peak, ours, theirs)
    assert ours == theirs


def test_every_packing_of_one_file_gives_the_same_rows(tmp_path, monkeypatch):
    seen = {}
    for path in sorted((DUMPS / "wikimedia+pywikibot").glob("article-pyrus*")):
        if "invalid" not in path.name:
            home = tmp_path / path.name
            build(home, f"wikimedia+pywikibot/{path.name}")
            seen[path.name] = found(home, monkeypatch)
    assert len(seen) == 8
    assert len({json.dumps([[list(map(str, k)), v] for k, v in rows.items()]) for rows in seen.values()}) == 1


def test_two_dumps_of_the_same_articles_are_one_history(tmp_path, monkeypatch):
    names = [
        "yohasebe+wp2txt/ad8949a2dd/testdata_en.bz2",
        "piskvorky+gensim/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2",
    ]
    files = [as_history(DUMPS / name, tmp_path) for name in names]
    cpu, peak, said = build(tmp_path / "home", *files)
    ours = found(tmp_path / "home", monkeypatch)
    cut_file = tmp_path / "closed.xml"
    cut_file.write_bytes(
        re.sub(
            rb"</page>\s*(<page>(?!.*</page>).*)?$", b"</page></mediawiki>", oracle.plain(DUMPS / names[0]), flags=re.S
        )
    )
    histories = oracle.histories(cut_file, DUMPS / names[1])
    last = max(revision.time for history in histories.values() for revision in history)
    theirs = expected(histories, instant(last + 1).date())
    report("enwiki, 2014 + 2016", monkeypatch, cpu, peak, ours, theirs)
    assert ours == theirs
    damaged = tempkb.open().read("dump_files", status="damaged").to_pylist()
    assert ["without </mediawiki>" in row["reason"] for row in damaged] == [True]


_LETTERS = str.maketrans({"\n": "n", "\r": "r", "\t": "t", "\0": "0", "\x1a": "Z"})


def test_sql_tables_agree_with_mwsql(monkeypatch):
    from mwsql import Dump

    from tempkb.wiki.dumps.sql import read_rows

    compared = 0
    for path in sorted(DUMPS.rglob("*.sql.gz")):
        theirs = Dump.from_file(str(path))
        columns = theirs.col_names
        if re.search(rb"VALUES\s*\n", gzip.decompress(path.read_bytes())):
            continue  # written by hand, a row a line, which mwsql does not read
        rows = [tuple(row) for row in theirs.rows(convert_dtypes=False)]
        ours = [
            tuple(
                "" if v is None else v.decode("utf-8", "surrogateescape") if isinstance(v, bytes) else str(v)
                for v in row
            )
            for row in read_rows(path, columns)
        ]
        numeric = {
            at for at in range(len(columns)) if any(isinstance(row[at], float) for row in read_rows(path, columns))
        }
        for mine, other in zip(ours, rows, strict=True):
            for at, (value, expected_value) in enumerate(zip(mine, other, strict=True)):
                if at in numeric and value:
                    assert float(value) == float(expected_value)
                else:
                    # mwsql drops the backslash of every escape, so that a line end becomes the letter n.
                    assert value.translate(_LETTERS) == ("" if expected_value == "NULL" else expected_value)
        compared += len(rows)
    print(f"\nSQL tables: {compared:,} rows equal to mwsql's")
    assert compared > 1000


def test_every_readable_export_in_the_folder_accounts_for_its_revisions(tmp_path, monkeypatch):
    """All the other exports, of every era and some damaged: elements = log + exclusions, or one clear error."""
    refused, read, elements = [], 0, 0
    suffixes = (".xml", ".bz2", ".7z", ".gz", ".lzma", ".xz")
    paths = [
        path
        for path in sorted(DUMPS.rglob("*"))
        if path.is_file()
        and path.suffix in suffixes
        and not re.search(r"\.sql|\.json|pageview|dbpedia|siteinfo|large", str(path))
    ]
    code = (
        "import sys, json\nfrom pathlib import Path\nfrom datetime import date\n"
        "from tempkb.core.errors import TempkbError\nfrom tempkb_tests.wiki.revisions.builds import build_files\n"
        "try:\n"
        "    store, report, _ = build_files(Path(sys.argv[1]), granularity='year')\n"
        "    (counts,) = report.counts.values()\n"
        "    print(json.dumps({'agree': counts.agree, 'elements': counts.elements, 'bad': report.bad}))\n"
        "except TempkbError as error:\n    print(json.dumps({'error': str(error)}))\n"
    )
    for number, path in enumerate(paths):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TEMPKB_")}
        environment |= {"TEMPKB_HOME": str(tmp_path / str(number)), "TEMPKB_WIKI": "somewiki"}
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, env=environment, check=True
        )
        told = json.loads(done.stdout)
        if "error" in told:
            refused.append(f"{path.name}: {told['error'][:100]}")
        else:
            assert told["agree"], path
            assert told["bad"] == {}, path
            read, elements = read + 1, elements + told["elements"]
    print(f"\n{read} exports read, {elements:,} <revision> elements all accounted for; {len(refused)} refused:")
    print("\n".join(f"  {line}" for line in refused))
    assert read > 25
    # Many hold current revisions or stubs in place of a history, and are told to.
    broken = [line for line in refused if not re.search(r": (holds current revisions only|is a stub):", line)]
    names = sorted(line.partition(":")[0] for line in broken)
    assert names == ["article-pyrus.xml_invalid.7z", "example-pages-logging-simplewiki.xml"]
