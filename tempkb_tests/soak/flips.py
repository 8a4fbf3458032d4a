"""Bits that flip and files that break off, all over a lake: each is noticed by `verify` and mended by the next build.

    python -m tempkb_tests.soak.flips [FOLDER] [--flips N] [--cuts N] [--round N] [--blows N]

builds the demo world with a release of each benchmark in FOLDER (by default a
temporary one; a home that is there is taken as it is), hits its lake 350 times,
deletes the pointers of one partition of each table, flips and cuts its DuckDB
file, and prints what became of all that. Ends with an error if something was not
noticed or not mended.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FLIPS, CUTS, ROUND, BLOWS = 300, 50, 60, 20
RELEASES = (
    ("tempel", "2022-01-01..2024-01-01/yearly", "--preset", "small", "--name", "demo"),
    ("templama", "2021-01-01..2024-01-01", "--name", "demo-years"),
    ("dynamic-templama", "2021-01-01..2024-01-01", "--name", "demo-quarters"),
    ("ecbd", "2021-01-01..2024-01-01", "--preset", "small", "--popular", "3", "--name", "demo-cloze"),
)


@dataclass(frozen=True)
class Hit:
    """One damage to one file: a bit of a byte is turned over, or, without a bit, the file ends before the byte."""

    path: Path
    at: int
    bit: int | None

    @property
    def partition(self) -> tuple[str, str]:
        """Table and partition."""
        place = self.path.parent if self.path.name == "CURRENT" else self.path.parents[1]
        return place.parent.name, place.name

    def strike(self) -> bytes:
        """Damage the file; return the bytes that it had."""
        before = self.path.read_bytes()
        if self.bit is None:
            after = before[: self.at]
        else:
            after = before[: self.at] + bytes([before[self.at] ^ 1 << self.bit]) + before[self.at + 1 :]
        self.path.write_bytes(after)
        return before


def files_of(lake: Path) -> list[Path]:
    """All files that count: pointers, and the descriptions and data files of the versions that they name."""
    found = []
    for pointer in sorted(lake.glob("[a-z]*/*/CURRENT")):
        version = pointer.parent / pointer.read_text("ascii").partition(" ")[0]
        found += [pointer, *sorted(version.iterdir())]
    return found


def choose(lake: Path, flips: int, cuts: int, seed: int) -> list[Hit]:
    """Choose random bits of random files, and random files to break off at random places."""
    chance, files = random.Random(seed), files_of(lake)
    hits = []
    for number in range(flips + cuts):
        path = chance.choice(files)
        at = chance.randrange(path.stat().st_size)
        hits.append(Hit(path, at, chance.randrange(8) if number < flips else None))
    return hits


def rounds(hits: Sequence[Hit], size: int) -> list[list[Hit]]:
    """Put hits together that can be mended at once: no two of one partition."""
    made: list[list[Hit]] = []
    for hit in hits:
        for one in made:
            if len(one) < size and hit.partition not in {other.partition for other in one}:
                one.append(hit)
                break
        else:
            made.append([hit])
    return made


def state() -> dict[tuple[str, str], object]:
    """What the home that the environment names holds: the version of each partition, and what was left out of it."""
    from tempkb.platform.api import open_store

    store = open_store()
    return {
        (name, version.partition): (version.version, version.rows, version.side_rows("exclusions"))
        for name in store.tables
        for version in store.lake.versions(name)
    }


def faults() -> list[tuple[str, str]]:
    """Verify the home's lake; return the table and partition of each fault."""
    from tempkb.platform.api import open_store

    store = open_store()
    keys = [(table, key) for table in store.tables for key in store.lake.keys(table)]
    return [one for one in keys if store.lake.verify(*one)[1] or store.lake.pointer_fault(*one)]


def notice_each(hits: Sequence[Hit]) -> list[Hit]:
    """Strike, verify and put right each by itself; return those that were not noticed."""
    missed = []
    for hit in hits:
        before = hit.strike()
        if faults() != [hit.partition]:
            missed.append(hit)
        hit.path.write_bytes(before)
        # What was put right by hand counts again once it was verified.
        if faults():
            raise SystemExit(f"{hit} was put right, and is still said to be damaged")
    return missed


def differences() -> list[str]:
    """Compare the DuckDB file with the lake."""
    from tempkb.platform.api import open_store

    store = open_store()
    return list(store.database.differences({name: store.lake.versions(name) for name in store.tables}))


def whole() -> list[str]:
    """Verify the home's lake and its DuckDB file; return what is wrong."""
    return [*map(str, faults()), *differences()]


def mend() -> list[str]:
    """Build what there is to build, type the releases again, and write pointers again; return what failed."""
    from tempkb.benchmarks.register import release_names
    from tempkb.commands.runs.building import build
    from tempkb.commands.runs.releases import finish_release
    from tempkb.core.settings import load_home
    from tempkb.platform.api import open_store
    from tempkb.platform.planning.declaration import Request

    failures, home = build(Request()).failures, load_home()
    for name in release_names(home):
        failures += finish_release(name).failures
    open_store().collect_garbage()
    return failures


def hit_and_mend(hits: Sequence[Hit], size: int) -> list[str]:
    """Strike several at a time, notice and mend them, and compare with the home before; return what went wrong."""
    undisturbed, wrong = state(), []
    for number, some in enumerate(rounds(hits, size)):
        began = time.monotonic()
        for hit in some:
            hit.strike()
        if set(noticed := faults()) != {hit.partition for hit in some}:
            wrong.append(f"round {number}: noticed {noticed}; struck {some}")
        wrong += [f"round {number}: {said}" for said in (*mend(), *whole())]
        now = state()
        for one in sorted({*undisturbed, *now}):
            if undisturbed.get(one) != now.get(one):
                wrong.append(f"round {number}: {one} was {undisturbed.get(one)} and is {now.get(one)}")
        print(f"round {number}: {len(some)} hits, {time.monotonic() - began:.0f} s, {len(wrong)} wrong", flush=True)
    return wrong


def delete_pointers(lake: Path, seed: int) -> list[str]:
    """Delete the pointer of one partition of each table, and one partition whole; return what went wrong.

    The pointers are to be written again, and the partition that is gone is to be built again.
    """
    from tempkb.platform.api import open_store

    chance, undisturbed, wrong = random.Random(seed), state(), []
    by_table: dict[str, list[Path]] = {}
    for pointer in sorted(lake.glob("[a-z]*/*/CURRENT")):
        by_table.setdefault(pointer.parents[1].name, []).append(pointer)
    struck = [chance.choice(pointers) for pointers in by_table.values()]
    gone = chance.choice(struck)
    for pointer in struck:
        pointer.unlink()
    shutil.rmtree(gone.parent)
    open_store().database.note_missing()
    noticed = set(faults())
    if noticed != {(one.parents[1].name, one.parent.name) for one in struck}:
        wrong.append(f"pointers: noticed {noticed}; deleted {struck}")
    wrong += [f"pointers: {said}" for said in (*mend(), *whole())]
    now = state()
    wrong += [
        f"pointers: {one} is not as it was" for one in {*undisturbed, *now} if undisturbed.get(one) != now.get(one)
    ]
    print(f"{len(struck)} pointers deleted, {gone.parent} whole: {len(wrong)} wrong", flush=True)
    return wrong


def strike_database(path: Path, blows: int, seed: int) -> list[str]:
    """Flip bits of the DuckDB file and cut it, each by itself; a verification and a publication have to mend it.

    A bit of the first twelve bytes makes it a file of somebody else, and one that no block covers changes nothing.
    """
    from tempkb.core.errors import TempkbError
    from tempkb.platform.api import open_store

    chance, wrong, outcomes = random.Random(seed), [], Counter()
    for number in range(blows):
        size = path.stat().st_size
        hit = Hit(path, chance.randrange(12, size), chance.randrange(8) if number % 4 else None)
        hit.strike()
        store = open_store()
        try:
            wrong += [f"{hit}: {one}" for one in differences()]
            outcome = "read all the same"
        except TempkbError:
            outcome = "noticed"
        publication = store.publish()
        if publication.left or bool(publication.set_aside) != (outcome == "noticed"):
            wrong.append(f"{hit}: {outcome}, and then {publication}")
        wrong += [f"{hit}: {said}" for said in whole()]
        for aside in store.database.set_aside_files():
            aside.unlink()
        outcomes[outcome] += 1
    print(f"{blows} blows to the DuckDB file: {dict(outcomes)}, {len(wrong)} wrong", flush=True)
    return wrong


def build_demo(home: Path) -> None:
    """Write the demo world into a home, and build all of it."""
    commands = (("demo",), ("build",), *(("release", *one) for one in RELEASES))
    for arguments in commands:
        done = subprocess.run(
            [sys.executable, "-m", "tempkb.commands.cli", *arguments],
            env={**os.environ, "TEMPKB_HOME": str(home)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"tempkb {' '.join(arguments)}:\n{done.stdout}\n{done.stderr}")


def main() -> None:
    """Run the whole trial."""
    reader = argparse.ArgumentParser(prog="tempkb_tests.soak.flips", description=__doc__.partition("\n")[0])
    reader.add_argument("folder", nargs="?", help="the home, built where it is empty; by default a temporary one")
    reader.add_argument("--flips", type=int, default=FLIPS, help="bits turned over in files of the lake")
    reader.add_argument("--cuts", type=int, default=CUTS, help="files of the lake that end early")
    reader.add_argument("--round", type=int, default=ROUND, help="hits that are mended by one build")
    reader.add_argument("--blows", type=int, default=BLOWS, help="times the DuckDB file is flipped or cut")
    asked = reader.parse_args()
    home = Path(asked.folder or tempfile.mkdtemp(prefix="flips-")).absolute()
    os.environ["TEMPKB_HOME"] = str(home)
    if not home.exists() or not any(home.iterdir()):
        build_demo(home)
    hits = choose(home / "lake", asked.flips, asked.cuts, seed=14)
    began = time.monotonic()
    wrong = delete_pointers(home / "lake", seed=15) + strike_database(home / "tempkb.duckdb", asked.blows, seed=16)
    missed = notice_each(hits)
    print(
        f"{len(hits) - len(missed)} of {len(hits)} hits were noticed ({time.monotonic() - began:.0f} s); missed: {missed}"
    )
    wrong += hit_and_mend(hits, asked.round)
    print(f"{len(hits)} hits were mended in rounds ({time.monotonic() - began:.0f} s); wrong: {len(wrong)}")
    for line in wrong:
        print(line)
    if missed or wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
