"""What the demo home prints: commands that show it, and those that find nothing left to do."""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from tempkb_tests.unchanged.homes import typed

SCREENS = (
    ("status",),
    ("verify",),
    ("tables",),
    ("tables", "stable_snapshots"),
    ("show", "Grand Harbour"),
    ("show", "Harbour Clock", "--cut", "2021-04-01"),
    ("show", "Harbour Clock", "--cut", "2021-01-01"),
    ("model", "list"),
    ("model", "show", "demo-causal-2022-01-01"),
    ("linker", "list"),
    ("linker", "show", "demo-2022-01-01-demo"),
    ("knows",),
    ("knows", "--full", "--all-items"),
    ("knows", "--window", "2022-01-01..2023-01-01", "--baseline", "2021-01-01..2022-01-01"),
    ("knows", "--fact", "Ostvik", "P6"),
    ("answers", "demo-causal-2022-01-01"),
    ("answers", "demo-seq2seq-2023-07-01", "--kind", "stale", "--limit", "5"),
    ("late",),
    ("linking",),
    ("linking", "--k", "1", "--pool", "fixed-300"),
    ("link", "They sang of [[the old port]].", "--as-of", "2022-03-01", "--linker", "prior"),
    ("link", "They sang of [[the old port]].", "--as-of", "2022-03-01", "--linker", "demo-2022-01-01-demo"),
    ("sql", "SELECT cut, count(*) FROM stable_snapshots GROUP BY cut ORDER BY cut"),
    ("sql", "SELECT * FROM exclusions ORDER BY ALL LIMIT 20"),
    # Nothing is left to do.
    ("build",),
    ("build", "--all"),
    ("score", "--all"),
    ("generate", "--all"),
    ("linker", "score", "--all", "--release", "demo"),
    ("results",),
    ("publish",),
    ("release", "finish", "demo"),
    # What is not there.
    ("rm", "--release", "nothing", "--yes"),
    ("model", "rm", "nothing", "--yes"),
    ("show", "No such page"),
    ("sql", "SELECT * FROM no_such_table"),
)
"""Commands typed one after another; none changes what the others print."""

_SECONDS = re.compile(r"\b\d+(\.\d+)? (s|MB/s)\b")
# Widths follow from the longest path, which is the folder's; what is drawn says nothing.
_DRAWN = re.compile(r"[━─]+|[ ]{2,}")


def printed(home: Path) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each command, as it is typed, with what it prints and how it ends.

    The commands are typed over a copy of the home beside it.
    """
    copy = home.with_name(f"{home.name}-screens")
    shutil.copytree(home, copy, symlinks=True)
    for arguments in SCREENS:
        done = typed(copy, *arguments)
        said = "\n".join(filter(None, (done.stdout.rstrip(), done.stderr.rstrip(), f"ends with {done.returncode}")))
        yield (" ".join(arguments),), _plain(said, copy, home)


def _plain(said: str, *homes: Path) -> str:
    """A text without what differs from one run or folder to the next: paths, seconds, widths."""
    for path, name in (*((home, "HOME") for home in homes), (Path(sys.executable).with_name("tempkb"), "tempkb")):
        said = said.replace(str(path), name)
    lines = (_DRAWN.sub(" ", _SECONDS.sub(r"N \2", line)).strip() for line in said.splitlines())
    return "\n".join(line for line in lines if line.strip("┏┓┡┩└┘╇┳┴┃│ "))
