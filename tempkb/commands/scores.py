"""The command `tempkb score`. All else is imported when it runs."""

from typing import Any

import click

from tempkb.commands.declared import close, options, words_typed
from tempkb.scores.requests import ScoreRequest


@click.command()
@click.argument("names", nargs=-1, metavar="[MODEL]...")
@click.option("--model", "models", multiple=True, metavar="MODEL", help="The same as an argument; may be repeated.")
@click.option("--all", "is_all", is_flag=True, help="All models of the home.")
@options(ScoreRequest)
def score(names: tuple[str, ...], models: tuple[str, ...], is_all: bool, **asked: Any) -> None:
    """Score the prompts of releases with models.

    MODEL is a model of the home; or a folder or an id of the Hugging Face hub, which is
    added first. Each prompt is scored once and kept: the next time only new prompts are
    computed, and a run that was killed continues. Prompts without a score keep the reason.

    \b
    Examples:
      tempkb score --all
      tempkb score t5-large --benchmark ecbd --limit 1000
      tempkb score google-t5/t5-large ./checkpoints/mine --device cuda
      tempkb score t5-large --release demo-quarters --windows 2022-01-01..2023-01-01
    """
    from tempkb.runs.scores import score as run
    from tempkb.screens.scores import print_scores

    words = words_typed(asked)
    scored, summary = run((*names, *models), words, is_all=is_all)
    close(summary, print_scores, scored, words)
