"""From wikitexts to mentions to a TempEL release: cleaning beside libraries, the whole chain, how SQL and cleaner grow."""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tempkb.core.titles import Site
from tempkb.wiki.wikitext.article import read_article
from tempkb_tests.bench.measuring import PAIRS, Side, measure, ratios, row, speed, spread
from tempkb_tests.wiki.wikitext.hostile import HOSTILE


def measure_all(folder: Path, raw: Path, packed: dict[str, Path], megabytes: float) -> None:
    """Measure all of it."""
    _cleaning(folder, raw)
    _hostile()
    _chain(folder, packed, megabytes)
    _growth(folder)


def _cleaning(folder: Path, raw: Path) -> None:
    texts = folder / "texts.jsonl"
    subprocess.run([sys.executable, "-m", "tempkb_tests.bench.sides", "texts", str(raw), str(texts)], check=True)
    size = texts.stat().st_size / 1e6
    sides = [
        Side(name, ["clean", name, str(texts)]) for name in ("nothing", "tempkb", "mwparserfromhell", "wikitextparser")
    ]
    measure(*sides)
    base = statistics.median(sides[0].cpu)
    row(
        f"text and links of {size:.0f} MB of wikitext",
        "CPU s",
        "MB/s per core, start-up and reading the file left out",
        "CPU / ours",
    )
    row("---", "---", "---", "---")
    for side in sides[1:]:
        own = [cpu - base for cpu in side.cpu]
        ours = [cpu - base for cpu in sides[1].cpu]
        beside = "" if side is sides[1] else spread([a / b for a, b in zip(own, ours, strict=True)], "{:.1f}")
        row(side.name, spread(side.cpu), spread([size / cpu for cpu in own], "{:.1f}"), beside)
    print()


def _hostile() -> None:
    site = Site("enwiki")
    worst = ("", 0.0)
    for name, piece in HOSTILE.items():
        seconds = []
        for size in (1 << 19, 1 << 20):
            text = piece * (size // len(piece))
            runs = []
            for _ in range(3):
                began = time.process_time()
                read_article(text, site)
                runs.append(time.process_time() - began)
            seconds.append(min(runs))
        grows = seconds[1] / max(seconds[0], 0.005)
        worst = max(worst, (f"{name}: {seconds[0]:.2f} s, {seconds[1]:.2f} s", grows), key=lambda pair: pair[1])
    print(
        f"{len(HOSTILE)} hostile inputs of half a megabyte and of one: T(2n)/T(n) at most {worst[1]:.2f} ({worst[0]}).\n"
    )


def _chain(folder: Path, packed: dict[str, Path], megabytes: float) -> None:
    row(
        "dump to tempel_mentions, 10 yearly cuts, from",
        "CPU s",
        "MB/s per core",
        "CPU of decompression alone",
        "ratio",
        "peak MB",
    )
    row("---", "---", "---", "---", "---", "---")
    stages: dict[str, dict[str, float]] = {}
    for kind, path in packed.items():
        told = folder / "stages.json"
        whole = Side("chain", ["chain", str(folder / "home"), str(path), str(told)], prepare=folder / "home")
        alone = Side("decompress", ["decompress", str(path)])
        measure(whole, alone)
        row(
            kind,
            spread(whole.cpu),
            speed(whole, megabytes),
            spread(alone.cpu),
            spread(ratios(whole, alone)),
            f"{whole.peak_mb:.0f}",
        )
        stages[kind] = json.loads(told.read_text())
    print()
    row("CPU s of a stage, last run", *stages)
    row("---", *("---" for _ in stages))
    for stage in next(iter(stages.values())):
        row(stage, *(f"{told[stage]:.2f}" for told in stages.values()))
    print()


def _growth(folder: Path) -> None:
    """The same release over the demo world and over one ten times as large."""
    row("SQL and Python of mentions and a release, demo world of", "links", "CPU s of mentions", "CPU s of the release")
    row("---", "---", "---", "---")
    for pages in (280, 2800):
        told = folder / "growth.json"
        side = Side("growth", ["growth", str(folder / "home"), str(pages), str(told)], prepare=folder / "home")
        measure(side, pairs=min(PAIRS, 3))
        found = json.loads(told.read_text())
        row(f"{pages} pages", f"{found['links']:,.0f}", f"{found['mentions']:.2f}", f"{found['release']:.2f}")
    print()
