"""`make unchanged`: does a change of the code change anything that users have?

    python -m tempkb_tests.unchanged [--accept] [--carried FOLDER] [--folder FOLDER]

Makes a demo home and the home of a generated history, exports their releases, and compares figures of them with those
in the folder `figures`, which an earlier commit made. Ends with status 1 if one differs. `--accept` writes the figures
instead (`make unchanged ARGUMENTS=--accept`), so that a commit shows the differences that it is meant to make.

Models and linkers are not trained anew: their checkpoints are carried in a folder, which the first run fills.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tempkb_tests.unchanged import figures, homes
from tempkb_tests.unchanged.figures import Figures

FOLDER = Path(__file__).parent / "figures"
_CHECKPOINTS, _OF_TABLES = "checkpoints", ("lake", "columns")
_COMMAND = re.compile(r"^\$ (.*)\n", re.MULTILINE)
_TEXTS = ("help", "screens")


def main() -> None:
    """Make, collect, compare or write, and print."""
    asked = _asked()
    with tempfile.TemporaryDirectory(prefix="unchanged-") as temporary:
        made = homes.make((asked.folder or Path(temporary)).resolve(), asked.carried)
        found = figures.collect(made)
        if asked.accept or not dict(figures.of_checkpoints(asked.carried)):
            homes.carry(made[homes.DEMO], asked.carried)
        if asked.accept:
            write_all(found)
            return
        expected = {kind: read(kind) for kind in found}
        left = _left_out(expected[_CHECKPOINTS], asked.carried, made[homes.DEMO])
    differing = [_tell(kind, *(_without(left, kind, one[kind]) for one in (expected, found))) for kind in found]
    sys.exit(1 if any(differing) else 0)


def differences(expected: Figures, found: Figures) -> list[str]:
    """Name each figure that is not as expected, in a line."""
    return [
        f"{' '.join(key)}: expected {_shown(expected.get(key), found.get(key))}, "
        f"found {_shown(found.get(key), expected.get(key))}"
        for key in sorted(expected.keys() | found.keys())
        if expected.get(key) != found.get(key)
    ]


def read(kind: str, folder: Path = FOLDER) -> Figures:
    """Read the figures of a kind."""
    text = (folder / kind).with_suffix(_suffix(kind)).read_text("utf-8")
    if kind in _TEXTS:
        _, *parts = _COMMAND.split(text)
        return {(name,): said.rstrip("\n") for name, said in zip(parts[::2], parts[1::2], strict=True)}
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return {tuple(key): value for *key, value in rows}


def write(kind: str, found: Figures, head: str, folder: Path = FOLDER) -> None:
    """Write the figures of a kind, in order, so that a commit shows what differs."""
    if kind in _TEXTS:
        lines = [f"$ {' '.join(key)}\n{value}\n" for key, value in sorted(found.items())]
    else:
        lines = ["\t".join((*key, value)) for key, value in sorted(found.items())]
    (folder / kind).with_suffix(_suffix(kind)).write_text("\n".join((f"# {head}", *lines)) + "\n", "utf-8")


def write_all(found: dict[str, Figures]) -> None:
    """Write all figures, each file with the commit whose code made it."""
    told = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True)
    for kind, values in found.items():
        write(kind, values, f"made by {told.stdout.strip()}")
        print(f"{kind}: {len(values)} written")


def _asked() -> argparse.Namespace:
    reader = argparse.ArgumentParser(prog="tempkb_tests.unchanged", description=__doc__)
    reader.add_argument("--accept", action="store_true", help="write the figures instead of comparing them")
    reader.add_argument("--carried", type=Path, default=Path("data/unchanged"), help="folder of checkpoints")
    reader.add_argument("--folder", type=Path, help="keep the homes here; a folder that does not exist yet")
    return reader.parse_args()


def _left_out(expected: Figures, carried: Path, home: Path) -> set[str]:
    """Return the tables that are not compared, since they rest on checkpoints that were trained elsewhere; say so."""
    if dict(figures.of_checkpoints(carried)) == expected:
        return set()
    names = figures.resting_on_checkpoints(home)
    print(
        f"Checkpoints in {carried} are not those of the figures (another machine or PyTorch has trained them, or "
        f"earlier code: then remove the folder), so what rests on them is not compared: {', '.join(sorted(names))}."
    )
    return names


def _without(left: set[str], kind: str, values: Figures) -> Figures:
    """Figures but for those of tables that are left out, and of their checkpoints."""
    if left and kind == _CHECKPOINTS:
        return {}
    return {key: value for key, value in values.items() if kind not in _OF_TABLES or key[1] not in left}


def _tell(kind: str, expected: Figures, found: Figures) -> list[str]:
    """Print how many figures of a kind are equal, and those that differ; return these."""
    told = differences(expected, found)
    n = len(expected.keys() | found.keys())
    print("\n  ".join((f"{kind}: {n} compared, {n - len(told)} equal", *told)))
    return told


def _shown(value: str | None, other: str | None) -> str:
    """A value in a line; of a text the first line that differs from the other's."""
    if value is None:
        return "nothing"
    lines, others = value.split("\n"), (other or "").split("\n")
    at = next((at for at, pair in enumerate(zip(lines, others, strict=False)) if pair[0] != pair[1]), len(others))
    return repr(lines[at].strip()) if at < len(lines) else "no further line"


def _suffix(kind: str) -> str:
    return ".txt" if kind in _TEXTS else ".tsv"


if __name__ == "__main__":
    main()
