"""The homes whose figures are compared, and exports of their releases: made by commands, always from the same inputs."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tempkb_tests.bench.history import write_history
from tempkb_tests.forked import run_command
from tempkb_tests.soak.first_builds import COMMAND

DEMO, HISTORY = "demo", "history"
CARRIED = ("models", "linkers")
"""Folders of a home with checkpoints."""

_HISTORY = {"pages": 220, "revisions": 30, "seed": 7}
_WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the of a in ##s old port grand harbour"
_TYPED = {
    DEMO: (
        ("demo", "--all"),
        # What `demo --all` leaves empty: other wordings of ECBD, scores of TempLAMA, a fixed pool of candidates.
        ("score", "--all", "--benchmark", "ecbd"),
        ("score", "--all", "--benchmark", "templama"),
        ("linker", "score", "prior", "bm25", "--release", "demo", "--pool", "fixed-300"),
        ("results",),
    ),
    HISTORY: (
        ("build", "--all", "--dump", "history.xml"),
        ("release", "tempel", "2019-01-01..2022-01-01/yearly", "--preset", "small", "--name", "small"),
    ),
}
_EXPORTS = {
    DEMO: {
        "tempel": ("demo",),
        "tempel, all": ("demo", "--tokenizer", "vocab.txt", "--retrieval", "own"),
        "tempel, fixed": ("demo", "--retrieval", "fixed-300"),
        "templama": ("demo-years",),
        "dynamic-templama": ("demo-quarters",),
        "ecbd": ("demo-cloze",),
    },
    HISTORY: {"tempel": ("small",)},
}


def make(folder: Path, carried: Path) -> dict[str, Path]:
    """Make both homes beside each other, with exports in the folder `exports` of each, and return their paths.

    Args:
        folder: of the homes; empty.
        carried: folder of checkpoints of models and linkers, which are not trained anew; those that are missing are.
    """
    homes = {name: folder / name for name in (DEMO, HISTORY)}
    for home in homes.values():
        home.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(_WORDS.split()) + "\n", "utf-8")
    with (folder / "history.xml").open("w", encoding="utf-8") as out:
        write_history(out, **_HISTORY)
    (homes[HISTORY] / "tempkb.toml").write_text('first_window = 2017-01-01\nnamespaces = "all"\n', "utf-8")
    carry(carried, homes[DEMO])
    with ThreadPoolExecutor(len(homes)) as side_by_side:
        for _ in side_by_side.map(_fill, homes.values()):
            pass
    return homes


def carry(source: Path, target: Path) -> None:
    """Copy the checkpoints of a home, or of the folder of those that are carried; what is in their places is replaced."""
    for kind in CARRIED:
        shutil.rmtree(target / kind, ignore_errors=True)
    for place in _checkpoints(source):
        shutil.copytree(place, target / place.relative_to(source))


def sums_of_checkpoints(folder: Path) -> dict[str, str]:
    """Return a digest of the files of each checkpoint in a home, or in the folder of those that are carried."""
    return {
        str(place.relative_to(folder)): hashlib.sha256(
            "".join(f"{path.relative_to(place)} {sha256_of(path)}\n" for path in _files(place)).encode()
        ).hexdigest()
        for place in _checkpoints(folder)
    }


def exported(home: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of the exports of a home."""
    folder = home / "exports"
    return {f"{path.relative_to(folder)}": sha256_of(path) for path in _files(folder)}


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fill(home: Path) -> None:
    for arguments in _TYPED[home.name]:
        require(home, *arguments)
    for layout, (release, *options) in _EXPORTS[home.name].items():
        require(home, "release", "export", release, str(home / "exports" / layout), *options)


def typed(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command over a home whose contributors are hashed with a salt that is always the same."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TEMPKB_", "DAGSTER_"))}
    own = {"TEMPKB_HOME": str(home), "TEMPKB_WORKERS": "1", "CUDA_VISIBLE_DEVICES": ""}
    return run_command(list(arguments), {**clean, **own, **variables}, home.parent, script=COMMAND)


def require(home: Path, *arguments: str, **variables: str) -> None:
    """Run a command as `typed` does; it must succeed."""
    done = typed(home, *arguments, **variables)
    if done.returncode:
        raise SystemExit(
            f"tempkb {' '.join(arguments)}, in {home}, ended with {done.returncode}:\n{done.stderr[-3000:]}"
        )


def _checkpoints(folder: Path) -> Iterator[Path]:
    for kind in CARRIED:
        yield from sorted(path for path in (folder / kind).glob("*") if path.is_dir())


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
