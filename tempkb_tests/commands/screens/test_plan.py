"""`tempkb plan`: what is missing, where it lies, what it takes; refused where it does not fit."""

import json
import re
from pathlib import Path

import pytest

from tempkb.core.wording import sized
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.wiki.dumps.server import serving

OPERATIONS, ENWIKI = (
    (Path(__file__).parents[3] / f"docs/{name}.md").read_text("utf-8") for name in ("operations", "enwiki")
)
# As `tempkb plan` would find them at the mirror. Of aawiki the sizes are real; the others are assumed (docs/scaling.md).
WIKIS = {
    "aawiki": ("pages-meta-history.xml.7z", 199_699),
    "simplewiki": ("pages-meta-history.xml.bz2", 3_000_000_000),
    "enwiki": ("pages-meta-history.xml.bz2", 1_500_000_000_000),
}


@pytest.fixture
def server():
    """A mirror that lists a dump of each wiki; nothing of it can be fetched, and nobody tries to."""
    with serving() as one:
        for wiki, (rest, size) in WIKIS.items():
            folder = one.put_legacy(wiki, "20260101", {rest: b"", "page.sql.gz": b"", "page_props.sql.gz": b""})
            status = json.loads(one.files[f"{folder}/dumpstatus.json"])
            for job in status["jobs"].values():
                for name, said in job["files"].items():
                    said["size"] = size if "history" in name else 0
            one.files[f"{folder}/dumpstatus.json"] = json.dumps(status).encode()
        yield one


def planned(server, home, wiki, **settings):
    """What the command prints for a wiki: (cells of the row, all it said)."""
    done = run_tempkb(
        home,
        "plan",
        "--no-wikidata",
        check=False,
        TEMPKB_WIKI=wiki,
        TEMPKB_MIRROR=server.root,
        **{
            "TEMPKB_WORKERS": "16",
            "TEMPKB_CONTACT": "me@example.org",
            "TEMPKB_FIRST_WINDOW": "2016-01-01",
            **settings,
        },
    )
    row = next(line for line in done.stdout.splitlines() if f"{wiki}-20260101" in line)
    return [cell.strip() for cell in row.strip("│\n").split("│")], done


@pytest.mark.parametrize("wiki", WIKIS)
def test_the_table_of_the_documentation_is_what_the_command_says(wiki, server, tmp_path):
    (_, span, windows, lies, fetch, _, fetch_in, processor, build_in, disk), _ = planned(
        server, tmp_path / "home", wiki
    )
    assert (span, windows, lies) == ("2016-Q1 to 2025-Q4", "40", "in the mirror")
    told = re.search(rf"^\| {wiki} \|(.*)\|$", OPERATIONS, re.MULTILINE)
    assert told, f"docs/operations.md has a row for {wiki}"
    assert [cell.strip() for cell in told[1].split("|")] == [fetch, fetch_in, processor, build_in, disk]


def test_the_rows_of_the_page_on_enwiki_are_what_the_command_says(server, tmp_path):
    rows = re.findall(r"^\| (\d.+?) \((\d+)\) \| (\d+) \|(.*)\|$", ENWIKI, re.MULTILINE)
    assert len(rows) == 4
    for number, (span, n, workers, costs) in enumerate(rows):
        yearly = {} if "Q" in span else {"TEMPKB_GRANULARITY": "year", "TEMPKB_FIRST_WINDOW": "2013-01-01"}
        cells, done = planned(server, tmp_path / f"{number}", "enwiki", TEMPKB_WORKERS=workers, **yearly)
        (_, spanned, windows, _, fetch, _, *times_and_disk) = cells
        more = re.search(r"up to (.+) more while it builds", done.stdout)[1]
        assert (span, n) == (spanned, windows)
        assert [cell.strip() for cell in costs.split("|")] == [fetch, *times_and_disk, more]


def test_a_disk_that_is_too_small_is_refused(server, tmp_path):
    _, done = planned(server, tmp_path / "home", "enwiki")
    assert done.returncode == 1
    assert re.search(
        r"[\d.]+ TB of disk are needed, but only [\d.]+ [GT]B are free; take a home on a larger", done.stderr
    )
    assert not [asked for asked in server.asked if "meta-history" in asked[0]], "nothing was fetched"


def test_what_has_come_already_need_not_be_fetched(server, tmp_path):
    part = tmp_path / "home/dumps/_arriving/aawiki/20260101/aawiki-20260101-pages-meta-history.xml.7z.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(bytes(99_699))
    (_, _, _, _, fetch, *_), _ = planned(server, tmp_path / "home", "aawiki")
    assert fetch == "100.0 kB"


def test_a_limit_of_bandwidth_makes_it_longer(server, tmp_path):
    (*_, fetch_in, _, _, _), done = planned(server, tmp_path / "home", "simplewiki", TEMPKB_BANDWIDTH="1")
    assert fetch_in == "50 min"
    assert "Times are for 1 MB/s of download (the setting bandwidth)" in done.stdout


def test_windows_that_no_dump_reaches_are_named(server, tmp_path):
    _, done = planned(server, tmp_path / "home", "aawiki")
    assert re.search(r"No complete dump reaches \d+ windows? that ha(s|ve) ended: 2026-Q1", done.stdout)


def test_what_stays_and_what_a_build_takes_for_a_while_are_told_apart(server, tmp_path):
    (*_, disk), done = planned(server, tmp_path / "home", "aawiki")
    assert re.search(
        rf"In all {disk} of disk, and up to [\d.]+ MB more while it builds; [\d.]+ [GT]B are free\.", done.stdout
    )


def test_an_empty_home_is_told_where_dumps_go_and_not_that_all_is_built(tmp_path):
    home = tmp_path / "home"
    said = run_tempkb(home, "plan").stdout
    assert "Every window" not in said
    assert f"Nothing is built, and no dump is here. Put dumps into {home}/dumps as Wikimedia lays them out" in said
    assert f"TEMPKB_HOME={home} tempkb build --all --dump FILE, or" in said
    assert "TEMPKB_MIRROR=https://dumps.wikimedia.org" in said
    assert "No complete dump reaches" not in said
    assert run_tempkb(home, "status").stdout == (
        f"home {home}: no dump is here and nothing is built; where dumps go: TEMPKB_HOME={home} tempkb plan\n"
    )
    assert not home.exists()


@pytest.mark.parametrize(
    ("n_bytes", "shown"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2_500_000_000, "2.5 GB"), (1e13, "10.0 TB")]
)
def test_sizes_are_shown_as_people_read_them(n_bytes, shown):
    assert sized(n_bytes) == shown
