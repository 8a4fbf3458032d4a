"""`make bench`: measure speed and memory, and print the tables of `docs/benchmarks.md`.

CPU seconds are user + system of the whole process with its children. Sides of a
comparison run in turn, five pairs by default (BENCH_PAIRS); medians are given
with their spread, and ratios are taken pair by pair, so that a machine which
changes its speed does not favour a side. `python -m tempkb_tests.bench chain`
measures only what comes after the snapshots, `... facts` only
Wikidata and the benchmarks of facts, `... cloze` only ECBD, `... merging` only the merging of runs,
`... commands` only the commands that read, `... scoring` only the scorers of models, `... generation` only their decoders, `... preferences` only the view
`prefers_new`, `... statistics` only the estimators of results, `... searching` only the search and the vectors of
linkers, `... encoding` only their encoders.
"""

import bz2
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path

from tempkb_tests.bench import (
    chain,
    cloze,
    commands,
    encoding,
    facts,
    generation,
    merging,
    preferences,
    scoring,
    searching,
    statistics,
)
from tempkb_tests.bench.history import write_history
from tempkb_tests.bench.measuring import Side, measure, ratios, row, speed, spread

PARTS: Mapping[str, Callable[[Path], None]] = {
    "merging": merging.measure_all,
    "facts": facts.measure_all,
    "cloze": cloze.measure_all,
    "commands": commands.measure_all,
    "scoring": lambda _folder: scoring.measure_all(),
    "generation": lambda _folder: generation.measure_all(),
    "preferences": preferences.measure_all,
    "statistics": lambda _folder: statistics.measure_all(),
    "searching": lambda _folder: searching.measure_all(),
    "encoding": lambda _folder: encoding.measure_all(),
}
"""What needs no history and can be measured alone, by the word that asks for it, in the order of the whole."""


def main() -> None:
    """Measure what the words of the command line ask for, by default everything."""
    asked = [name for name in PARTS if name in sys.argv]
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        folder = Path(name)
        os.environ["BENCH_PEAK"] = str(folder / "peak")
        if not asked:
            _measure_history(folder, is_chain_alone="chain" in sys.argv)
        if "chain" not in sys.argv:
            for part in asked or PARTS:
                PARTS[part](folder)


def _measure_history(folder: Path, *, is_chain_alone: bool) -> None:
    raw = folder / "history.xml"
    with raw.open("w", encoding="utf-8") as out:
        write_history(out, 500, 100, 7)
    megabytes = raw.stat().st_size / 1e6
    packed = {".bz2": raw.with_suffix(".xml.bz2")}
    packed[".bz2"].write_bytes(bz2.compress(raw.read_bytes()))
    seven = shutil.which("7zz") or shutil.which("7z") or shutil.which("7za")
    if seven:
        packed[".7z"] = raw.with_suffix(".xml.7z")
        subprocess.run([seven, "a", "-mx=4", "-bd", str(packed[".7z"]), str(raw)], check=True, capture_output=True)
    _about(raw, packed)
    if not is_chain_alone:
        _selection(folder, raw, megabytes)
        _packed(folder, packed, megabytes)
        _big_page(folder)
        _workers(folder)
        _one_more_window(folder, raw)
    chain.measure_all(folder, raw, packed, megabytes)


def _about(raw: Path, packed: dict[str, Path]) -> None:
    libraries = ", ".join(
        f"{name} {version(name)}"
        for name in ("pyarrow", "duckdb", "mwxml", "numpy", "mwparserfromhell", "wikitextparser")
    )
    cpu = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "?",
    )
    print(f"{cpu}, {os.cpu_count()} cores; Python {platform.python_version()}, {libraries}.\n")
    text = raw.read_bytes()
    sizes = ", ".join(f"{path.stat().st_size / 1e6:.1f} MB as {kind}" for kind, path in packed.items())
    print(
        f"History: {len(text) / 1e6:.0f} MB, {text.count(b'<page>')} pages, {text.count(b'<revision>')} revisions; {sizes}.\n"
    )


def _selection(folder: Path, raw: Path, megabytes: float) -> None:
    row("selection from raw XML", "CPU s", "MB/s per core", "CPU of mwxml / ours", "peak MB")
    row("---", "---", "---", "---", "---")
    for granularity, label in (("year", "10 yearly cuts"), ("quarter", "40 quarterly cuts")):
        ours = Side("tempkb", ["select", str(folder / "home"), str(raw), granularity], prepare=folder / "home")
        theirs = Side("mwxml", ["mwxml", str(raw), granularity, str(folder / "mwxml")], prepare=folder / "mwxml")
        measure(ours, theirs)
        row(
            f"tempkb, {label}",
            spread(ours.cpu),
            speed(ours, megabytes),
            spread(ratios(theirs, ours), "{:.1f}"),
            f"{ours.peak_mb:.0f}",
        )
        row(f"mwxml, {label}", spread(theirs.cpu), speed(theirs, megabytes), "", f"{theirs.peak_mb:.0f}")
    print()


def _packed(folder: Path, packed: dict[str, Path], megabytes: float) -> None:
    row("10 yearly cuts from", "CPU s", "MB/s per core", "CPU s of decompression alone", "ratio", "peak MB")
    row("---", "---", "---", "---", "---", "---")
    for kind, path in packed.items():
        ours = Side("select", ["select", str(folder / "home"), str(path), "year"], prepare=folder / "home")
        alone = Side("decompress", ["decompress", str(path)])
        measure(ours, alone)
        row(
            kind,
            spread(ours.cpu),
            speed(ours, megabytes),
            spread(alone.cpu),
            spread(ratios(ours, alone)),
            f"{ours.peak_mb:.0f}",
        )
    print()


def _big_page(folder: Path) -> None:
    """One page of a gigabyte: a third of its texts may still win at some quarter's cut."""
    big = folder / "big.xml"
    with big.open("w", encoding="utf-8") as out:
        write_history(out, 12, 100, 11)
    text = big.read_text("utf-8")
    head, _, rest = text.partition("  <page>")
    revisions = rest.split("    <revision>\n")[1:]
    blocks = ["    <revision>\n" + part.partition("    </revision>\n")[0] + "    </revision>\n" for part in revisions]
    blocks = [block for block in blocks if len(block) > 5_000]
    with big.open("w", encoding="utf-8") as out:
        out.write(head + "  <page>\n    <title>Big</title>\n    <ns>0</ns>\n    <id>1</id>\n")
        size, number = 0, 0
        start, span = 1_325_376_000, 315_000_000  # 2012-01-01, ten years
        while size < 1_050_000_000:
            block = _renumbered(blocks[number % len(blocks)], number, start + span * size // 1_050_000_000)
            out.write(block)
            size, number = size + len(block), number + 1
        out.write("  </page>\n</mediawiki>\n")
    row("one page of 1.05 GB", "CPU s", "MB/s per core", "peak MB")
    row("---", "---", "---", "---")
    side = Side("big", ["select", str(folder / "home"), str(big), "quarter"], prepare=folder / "home")
    measure(side, pairs=1)
    row("40 quarterly cuts", spread(side.cpu), speed(side, big.stat().st_size / 1e6), f"{side.peak_mb:.0f}")
    print()
    big.unlink()


def _renumbered(block: str, number: int, second: int) -> str:
    """Give a revision another number, time and hash, so that it is a text of its own."""
    import re
    from datetime import UTC, datetime

    block = re.sub(r"<id>\d+</id>", f"<id>{number + 1}</id>", block, count=1)
    block = re.sub(r"<timestamp>[^<]*", f"<timestamp>{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%SZ}", block)
    return re.sub(r'sha1="[^"]*"|<sha1>[^<]*</sha1>', f'sha1="{number:031}"', block, count=1)


def _workers(folder: Path) -> None:
    """Eight equal files: CPU of two workers beside one."""
    files = []
    for number in range(8):
        path = folder / f"part{number}.xml-p{number * 1000 + 1}p{number * 1000 + 999}"
        with path.open("w", encoding="utf-8") as out:
            write_history(out, 60, 100, number)
        text = path.read_text("utf-8")
        lines = text.replace("    <id>", "    <id>").split("  <page>\n")
        moved = [lines[0]] + [_in_range(part, number) for part in lines[1:]]
        path.write_text("  <page>\n".join(moved), "utf-8")
        files.append(str(path))
    one = Side("1 worker", ["select", str(folder / "home"), ",".join(files), "year"], 1, folder / "home")
    two = Side("2 workers", ["select", str(folder / "home"), ",".join(files), "year"], 2, folder / "home")
    measure(one, two)
    row("8 files, 10 yearly cuts", "CPU s", "CPU of 2 workers / 1", "peak MB of a process")
    row("---", "---", "---", "---")
    row("1 worker", spread(one.cpu), "", f"{one.peak_mb:.0f}")
    row("2 workers", spread(two.cpu), spread(ratios(two, one)), f"{two.peak_mb:.0f}")
    print()


def _in_range(part: str, number: int) -> str:
    """Move a page's number, and its revisions', into the file's own range."""
    import re

    def page(match: "re.Match[str]") -> str:
        return f"<id>{number * 1000 + int(match[1])}</id>"

    def revision(match: "re.Match[str]") -> str:
        return f"<revision>\n      <id>{number * 10_000_000 + int(match[1])}</id>"

    return re.sub(r"<revision>\n      <id>(\d+)</id>", revision, re.sub(r"<id>(\d+)</id>", page, part, count=1))


def _one_more_window(folder: Path, raw: Path) -> None:
    """Forty quarters stand; one more is added, beside building all forty-one at once."""
    base, last = folder / "base", date(2022, 1, 1)
    forty = Side("40", ["select", str(base), str(raw), "quarter", "2021-10-01"], prepare=base)
    measure(forty, pairs=1)
    more = Side(
        "1 more",
        ["select", str(folder / "home"), str(raw), "quarter", str(last), "2021-10-01"],
        prepare=folder / "home",
        template=base,
    )
    whole = Side("all", ["select", str(folder / "home2"), str(raw), "quarter"], prepare=folder / "home2")
    measure(more, whole)
    row("windows from raw XML", "CPU s", "CPU of one more / all")
    row("---", "---", "---")
    row("all 40 at once", spread(whole.cpu), "")
    row("one more beside 39", spread(more.cpu), spread(ratios(more, whole)))


if __name__ == "__main__":
    main()
