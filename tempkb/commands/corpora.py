"""The commands of `tempkb corpus`. All else is imported when they run."""

from collections.abc import Sequence
from typing import Any

import click

from tempkb.commands.declared import add_upkeep, close, options, words_typed
from tempkb.models.corpora.requests import CorpusRequest


@click.group()
def corpus() -> None:
    """Make, add, list, show and remove corpora of dated text, on which models are trained.

    \b
    Examples:
      tempkb corpus make --window 2021-01-01..2023-01-01 --chunker none
      tempkb corpus add news news-2019.jsonl news-2020.parquet
      tempkb corpus show news
      tempkb corpus rm news
    """


@corpus.command()
@options(CorpusRequest)
def make(**asked: Any) -> None:
    """Date the sentences of the home's wiki: each is of the window whose snapshot of the page has it first.

    The corpus has the name home. Windows that are up to date are not made again.
    """
    _run("home", (), asked)


@corpus.command()
@click.argument("name")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False), metavar="FILE...")
@options(CorpusRequest, "chunker", "spacy_model")
def add(name: str, files: tuple[str, ...], **asked: Any) -> None:
    """Add the corpus NAME from FILEs of your own: lines of JSON, or Parquet, with text and date.

    The date is a day, YYYY-MM-DD, or an instant. A text may have spans, pairs of offsets
    between which its entities stand, such as [[0, 6]]. Files with anything odd are refused with
    the first such line, and nothing is added. An earlier corpus of that name is replaced.
    """
    _run(name, files, asked)


add_upkeep(
    corpus,
    "corpus",
    ("corpora", "print_corpora", "print_corpora"),
    "news",
    "List the corpora of the home.",
    "Show the corpus NAME by window: its texts, and how many of them name years.",
    "Remove the corpus NAME from the home; files from which it was read stay.",
)


def _run(name: str, files: Sequence[str], asked: dict[str, Any]) -> None:
    from tempkb.commands.runs.jobs import past_damage, run_each
    from tempkb.commands.screens.corpora import print_corpora
    from tempkb.models.corpora.steps import require_fit
    from tempkb.models.corpora.tables import DATED_TEXTS

    require_fit(name, files)
    summary = past_damage(lambda: run_each([DATED_TEXTS], {name: {**words_typed(asked), "files": files}}))
    close(summary, *(() if summary.failures else (print_corpora, name)))
