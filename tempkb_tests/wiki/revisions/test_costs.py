"""Costs before a build: what docs/scaling.md says is what the function says, which agrees with what was measured."""

import re
from pathlib import Path

import pytest

from tempkb.core.errors import SourceError
from tempkb.wiki.revisions.costs import estimate

SCALING = (Path(__file__).parents[3] / "docs/scaling.md").read_text("utf-8")
PER_YEAR = {"yearly cuts": 1, "quarters": 4}


def rows():
    """The rows of the table: what is built, of how much, and the figures."""
    return re.findall(
        r"^\| (\w+), (\d+) (yearly cuts|quarters) \| ([\d,]+) GB `(\.\w+)` \| (.*) \|$", SCALING, re.MULTILINE
    )


def figures(gigabytes, suffix, windows, per_year):
    compressed = {suffix: int(gigabytes * 1e9)}
    on_16, on_128 = (estimate(compressed, windows, workers, per_year) for workers in (16, 128))
    hours = [seconds / 3600 for seconds in (on_16.cpu_seconds, on_16.wall_seconds, on_128.wall_seconds)]
    sizes = [one / 1e9 for one in (on_16.staging_bytes, on_16.lake_bytes, on_16.network_bytes)]
    return " | ".join(
        [
            *(f"{one:.2g}" if one < 10 else f"{one:.0f}" for one in hours),
            *(f"{one:,.0f}" if one >= 10 else f"{one:.1f}" for one in sizes),
        ]
    )


def test_the_table_of_the_documentation_is_what_the_function_says():
    assert {(wiki, int(windows)) for wiki, windows, *_ in rows()} == {
        ("simplewiki", 40),
        ("enwiki", 10),
        ("enwiki", 40),
    }
    for wiki, windows, what, gigabytes, suffix, told in rows():
        assert told == figures(float(gigabytes.replace(",", "")), suffix, int(windows), PER_YEAR[what]), (
            wiki,
            windows,
            suffix,
        )


# docs/benchmarks.md, less the 0.4 s of start-up: 22.0 MB of .bz2 and 15.0 of .7z, each 334 MB of text.
@pytest.mark.parametrize(
    ("suffix", "windows", "measured"), [("", 10, 1.8), ("", 40, 3.0), (".bz2", 10, 7.2), (".7z", 10, 2.9)]
)
def test_the_rates_give_back_what_was_measured(monkeypatch, suffix, windows, measured):
    from tempkb.wiki.revisions import costs

    # The generated history compresses less, has shorter revisions and more winners than what is assumed for a real one.
    monkeypatch.setitem(costs.EXPANSION, suffix, 1.0)
    monkeypatch.setattr(costs, "LARGE", 334e6)
    monkeypatch.setattr(costs, "REVISION_BYTES", 6.9e3)
    monkeypatch.setattr(costs, "SNAPSHOT_SHARE", 0.0075)
    # It measures the pass over the history alone.
    monkeypatch.setattr(costs, "START_SECONDS", 0.0)
    monkeypatch.setattr(costs, "SECONDS_PER_WINDOW", 0.0)
    monkeypatch.setattr(costs, "MENTIONS_PER_SNAPSHOT_ROW", 0.0)
    monkeypatch.setattr(costs, "CHANGED_IN_A_YEAR", 0.92)
    monkeypatch.setattr(costs, "CLEANED_PER_SECOND", float("inf"))  # the benchmark does not clean
    monkeypatch.setattr(costs, "LAKE_PER_TEXT_BYTE", 1 / 2.9)
    cost = estimate({suffix: 334_000_000}, windows, 1, windows / 10)
    assert cost.cpu_seconds == pytest.approx(measured, rel=0.25)


# Whole builds with `tempkb build --all`: CPU seconds of all processes, and megabytes (du) of what the home then holds.
# Generated histories of 20 pages and 3 revisions each, 170 and 25, 900 and 82; and the whole of a small real wiki.
@pytest.mark.parametrize(
    ("compressed", "windows", "per_year", "seconds", "megabytes"),
    [
        ({"": 236_043}, 10, 4, 7.5, 13.2),
        ({"": 236_043}, 40, 4, 14.9, 29.8),
        ({".7z": 199_699}, 40, 4, 11.1, 22.2),
        ({".7z": 199_699}, 100, 4, 22.7, 45.7),
        ({"": 20_306_824}, 10, 4, 9.2, 17.4),
        ({"": 20_306_824}, 40, 4, 16.1, 40.2),
        ({"": 20_306_824}, 100, 12, 38.4, 74.3),
        ({"": 440_005_249}, 40, 4, 26.0, 122.9),
    ],
)
def test_builds_of_small_histories_cost_what_was_measured_within_a_factor_of_two(
    compressed, windows, per_year, seconds, megabytes
):
    cost = estimate(compressed, windows, 2, per_year)
    assert 0.5 < cost.cpu_seconds / seconds < 2
    assert 0.5 < cost.home_bytes / 1e6 / megabytes < 2


def test_more_costs_more_and_workers_share_all_but_the_steps_own_work():
    small, more, wider = (
        estimate({".bz2": 10**9}, 10, 4),
        estimate({".bz2": 2 * 10**9}, 10, 4),
        estimate({".bz2": 10**9}, 40, 4),
    )
    # Not twice as much: a part is the same for all, and a larger wiki has more revisions for each article.
    assert 1.5 * small.cpu_seconds < more.cpu_seconds < 2 * small.cpu_seconds
    assert wider.cpu_seconds > small.cpu_seconds
    assert wider.lake_bytes > small.lake_bytes
    alone, many = estimate({".bz2": 10**9}, 10, 1), estimate({".bz2": 10**9}, 10, 10**6)
    assert alone.wall_seconds == alone.cpu_seconds == small.cpu_seconds
    assert 0 < many.wall_seconds < small.wall_seconds < alone.wall_seconds


def test_kinds_of_files_add_up_and_closer_windows_share_texts():
    mixed = estimate({".bz2": 10**9, "": 10**9}, 4, 1)
    assert mixed.raw_bytes == 21e9
    assert estimate({".bz2": 10**9}, 40, 1, 52).staging_bytes < estimate({".bz2": 10**9}, 40, 1, 1).staging_bytes
    # Nothing to read: what a start and four windows take all the same.
    assert estimate({}, 4, 1).cpu_seconds == pytest.approx(5 + 4 * 0.28)


def test_a_suffix_without_a_rate_is_named():
    with pytest.raises(SourceError, match=r"no rate is known for files in \.rar; known: \.bz2, \.7z, \.gz, \.zst"):
        estimate({".rar": 1}, 1, 1)
