"""First builds of a home, killed at every tenth of a second and several at once: each home ends as an undisturbed one.

    python -m tempkb_tests.soak.first_builds [--rounds 20] [--kills 31] [--steps 40] [--full]

A kill falls so many tenths of a second after the build has first touched its home, or, whatever the speed of the
machine, when so many files and folders have appeared in it; then the home is built to the end. Prints a line for each trial and a summary, and ends with 1 if any home differs or any message is not one line.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import duckdb

# Homes can be compared only if their contributors are hashed with the same salt, which is a home's own chance.
COMMAND = "import secrets; secrets.token_hex = lambda n: '00' * n; from tempkb.commands.cli import main; main()"
LIGHT = ("build", "--select", "dump_files", "--select", "pages")
FULL = ("build",)
# When a row came, and a hash that of a view over files tells where the home lies.
OWN = {"published_at", "fingerprint"}


def start(home: Path, arguments: tuple[str, ...]) -> subprocess.Popen:
    """Start the command over a home, as the leader of a group, so that its workers can be killed with it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TEMPKB_")}
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        env={**clean, "TEMPKB_HOME": str(home), "TEMPKB_WORKERS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def contents_of(home: Path) -> dict[str, object]:
    """Everything of a home that must be the same however it was built: lake and DuckDB rows."""
    told: dict[str, object] = {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in home.glob("lake/*/*/*/part-*.parquet")
    }
    with duckdb.connect(str(home / "tempkb.duckdb"), read_only=True) as connection:
        for name, form in connection.execute("SELECT table_name, table_type FROM information_schema.tables").fetchall():
            if form == "VIEW":
                continue
            known = connection.execute("SELECT column_name FROM duckdb_columns() WHERE table_name = ?", [name])
            columns = [column for (column,) in known.fetchall() if column not in OWN]
            listed = ", ".join(f'"{column}"' for column in columns)
            rows = connection.execute(f'SELECT {listed} FROM "{name}" ORDER BY ALL').fetchall()
            # How a view was made tells where its home lies.
            said = repr(rows).replace(str(home), "HOME")
            told[f"duckdb {name}"] = (len(rows), hashlib.sha256(said.encode()).hexdigest())
    told["drafts"] = sorted(path.name for path in home.glob("*draft*"))
    return told


def trial(home: Path, expected: dict[str, object], errors: list[str], codes: list[int]) -> tuple[str, bool]:
    """Say what became of a home: (in words, is it as it must be?)."""
    words = [" ".join(error.split()) for error in errors]
    is_told = all(
        not code or (code == 1 and "Traceback" not in error) for code, error in zip(codes, errors, strict=True)
    )
    found = contents_of(home) if (home / "tempkb.duckdb").exists() else {}
    other = sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))
    is_good = is_told and not other and 0 in codes
    said = "; ".join(word[-300:] for word in words if word) if not is_good or any(codes) else ""
    return f"exits {codes}, {'equal' if not other else f'differs in {other}'}{': ' + said if said else ''}", is_good


def killed(template: Path, home: Path, arguments: tuple[str, ...], paths: int, delay: float) -> None:
    """Kill a first build so many seconds after so many files and folders have appeared in its home."""
    shutil.copytree(template, home)
    before = set(walked(home))
    process, seen = start(home, arguments), set()
    while process.poll() is None and len(seen) < paths:
        seen.update(walked(home))
        seen -= before
    time.sleep(delay)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def walked(home: Path) -> list[str]:
    """All paths of a home; what vanishes meanwhile is passed over."""
    return [f"{folder}/{name}" for folder, inner, files in os.walk(home) for name in (*inner, *files)]


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--rounds", type=int, default=20, help="trials of two, of three and of four builds at once")
    asked.add_argument("--kills", type=int, default=31, help="kills at 0, 0.1, ... seconds")
    asked.add_argument("--steps", type=int, default=40, help="kills when 1, 2, ... files and folders have appeared")
    asked.add_argument("--full", action="store_true", help="build every table of every window, not the dump's own")
    options = asked.parse_args()
    arguments = FULL if options.full else LIGHT
    outcomes: Counter[tuple[str, bool]] = Counter()
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        template, alone = folder / "template", folder / "alone"
        demo = start(template, ("demo", "--pages", "250", "--quarters", "8"))
        assert demo.communicate()[1] == ""
        shutil.copytree(template, alone)
        first = start(alone, arguments)
        _, error = first.communicate()
        assert first.returncode == 0, error
        expected = contents_of(alone)
        print(json.dumps({"files and tables": len(expected)}), flush=True)
        when = [(1, tenths / 10) for tenths in range(options.kills)]
        for paths, delay in [*when, *((number, 0.0) for number in range(1, options.steps + 1))]:
            home = folder / "killed"
            killed(template, home, arguments, paths, delay)
            again = start(home, arguments)
            said, is_good = trial(home, expected, [again.communicate()[1]], [again.returncode])
            outcomes["killed", is_good] += 1
            print(f"killed {delay} s after {paths} new paths: {said}", flush=True)
            shutil.rmtree(home)
        for number in range(options.rounds):
            for n in (2, 3, 4):
                home = folder / f"{n}-{number}"
                shutil.copytree(template, home)
                builds = [start(home, arguments) for _ in range(n)]
                errors = [build.communicate()[1] for build in builds]
                said, is_good = trial(home, expected, errors, [build.returncode for build in builds])
                outcomes[f"{n} at once", is_good] += 1
                print(f"{n} at once, {number}: {said}", flush=True)
                shutil.rmtree(home)
    for (what, is_good), count in sorted(outcomes.items()):
        print(f"{what}: {count} {'as an undisturbed home' if is_good else 'NOT as an undisturbed home'}")
    sys.exit(0 if all(is_good for _, is_good in outcomes) else 1)


if __name__ == "__main__":
    main()
