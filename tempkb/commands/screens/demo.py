"""What `tempkb demo` prints: a line a step and, at the end, three findings. All else goes to a log in the home."""

import io
import os
import shutil
import textwrap
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import click

from tempkb.commands.screens.console import duration, print_next, say
from tempkb.commands.screens.failure import Failure, tell
from tempkb.core.settings import in_shell
from tempkb.core.wording import percent
from tempkb.demo.pages import FIRST_CUT, SECOND_CUT
from tempkb.demo.words import words_of
from tempkb.demo.world import QUARTERS
from tempkb.platform.api import open_store
from tempkb.results.reading import read_cutoffs
from tempkb.results.requests import KnowledgeRequest
from tempkb.results.tabling import cutoff_in_words, stated_in_words
from tempkb.store.listings import estimate
from tempkb.store.store import Store

LOG = "demo.log"
_WIDEST = 100  # columns of a paragraph
_NEXT = {
    "all": ("knows", "answers demo-causal-2022-01-01", 'show "Harbour Clock" --cut 2021-10-01', "docs tutorial"),
    "time": ("paper templama regimes", "model list", 'sql "FROM model_trainings"', "docs results"),
}


class _Stamped(io.FileIO):
    """The file of a log. Each line that this process writes begins with the time, in UTC."""

    _is_begun = False

    def write(self, data: Any, /) -> int:
        lines = bytes(data).splitlines(keepends=True)
        stamp = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} ".encode()
        super().write(b"".join(line if at == 0 and self._is_begun else stamp + line for at, line in enumerate(lines)))
        if lines:
            self._is_begun = not lines[-1].endswith((b"\n", b"\r"))
        return len(data)


class Steps:
    """The `n` steps of a demo: a line each, with its seconds. What is printed meanwhile is appended to a log."""

    def __init__(self, log: Path, n: int) -> None:
        self.log, self.n = log, n
        log.parent.mkdir(parents=True, exist_ok=True)
        # It stays open, since libraries keep the stream that they find when they are imported.
        self._stream = io.TextIOWrapper(_Stamped(log, "a"), "utf-8", "backslashreplace", write_through=True)

    def __reduce__(self) -> tuple[type["Steps"], tuple[Path, int]]:
        return Steps, (self.log, self.n)  # another process opens the file itself

    @contextmanager
    def step(self, number: int, title: str, *, is_beside: bool = False) -> Iterator[None]:
        """Do a step inside the block; beside others, whose lines would come between, its own is printed at its end."""
        head, began = f"[{number}/{self.n}] {title}", monotonic()
        click.echo("" if is_beside else head, nl=False)
        try:
            with self._logged():
                click.echo(head)
                yield
        except BaseException as error:
            click.echo(head if is_beside else "")
            self._stream.writelines(traceback.format_exception(error))
            if isinstance(error, Failure):
                tell(error.message)
            tell(f"All that was printed is in {in_shell(self.log)}. The same command goes on from here.")
            raise
        click.echo(f"{head if is_beside else ''}  {duration(round(monotonic() - began))}")

    @contextmanager
    def _logged(self) -> Iterator[None]:
        kept = [os.dup(number) for number in (1, 2)]
        try:
            for number in (1, 2):
                os.dup2(self._stream.fileno(), number)
            with redirect_stdout(self._stream), redirect_stderr(self._stream):
                yield
        finally:
            for number, own in enumerate(kept, 1):
                os.dup2(own, number)
                os.close(own)


def print_end(steps: Steps, kind: str) -> None:
    """Print where a demo is (kind: all or time), what it shows, and which commands may be typed next."""
    store, width = open_store(), min(shutil.get_terminal_size().columns, _WIDEST)
    say(
        f"\nThe home is {in_shell(store.home.path)}, the log {in_shell(steps.log)}. What it shows, with 95 % intervals:"
    )
    for number, found in enumerate(_findings(store, kind), 1):
        say(textwrap.fill(f"{number}. {found}", width, subsequent_indent="   ", break_on_hyphens=False))
    print_next(*_NEXT[kind])


def _findings(store: Store, kind: str) -> Iterator[str]:
    """Yield sentences with 95 % intervals, or why one of them cannot be said."""
    for one in words_of("findings")[kind]:
        show = partial(percent, sign="" if one["unit"] == " %" else "+")
        rows = [row for row in store.ask(one["query"], *one["needs"]) if row["low"] is not None]
        try:
            yield one["says"].format_map({row["name"]: estimate(row, show=show, unit=one["unit"]) for row in rows})
        except KeyError:
            yield one["otherwise"]
    if kind == "all":
        models = tuple(f"demo-causal-{cut.date()}" for cut in (FIRST_CUT, SECOND_CUT))
        every = read_cutoffs(store, KnowledgeRequest(models=models, releases=(QUARTERS,)))
        said = [f"{one['model']} at {cutoff_in_words(one)} (stated: {stated_in_words(one)})" for one in every]
        cutoffs = f"By the answers alone, the training cutoff is estimated: of {', of '.join(said)}."
        yield cutoffs if said else "No training cutoff is estimated: no model has scores of changes of facts."
