"""The commands `tempkb score` and `tempkb generate`. All else is imported when it runs."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from tempkb.commands.declared import close, options, words_typed
from tempkb.generations.requests import GenerateRequest
from tempkb.scores.requests import AskRequest, ScoreRequest

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _of_models(request: type[AskRequest]) -> Callable[[_Command], _Command]:
    """Return a decorator that gives a command models, and the options of a request."""

    def decorate(command: _Command) -> _Command:
        command = options(request)(command)
        command = click.option("--all", "is_all", is_flag=True, help="All models of the home.")(command)
        same = "The same as an argument; may be repeated."
        command = click.option("--model", "models", multiple=True, metavar="MODEL", help=same)(command)
        return click.argument("names", nargs=-1, metavar="[MODEL]...")(command)

    return decorate


@click.command()
@_of_models(ScoreRequest)
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
    from tempkb.runs.scores import ask
    from tempkb.scores.kinds import SCORES
    from tempkb.screens.scores import print_scores

    words = words_typed(asked)
    scored, summary = ask(SCORES, (*names, *models), words, is_all=is_all)
    close(summary, print_scores, scored, words)


@click.command()
@_of_models(GenerateRequest)
def generate(names: tuple[str, ...], models: tuple[str, ...], is_all: bool, **asked: Any) -> None:
    """Let models answer the questions of releases.

    MODEL is a model of the home; or a folder or an id of the Hugging Face hub, which is
    added first. Each question is asked once and kept: the next time only new ones are
    asked, and a run that was killed continues. Questions without an answer keep the reason.

    \b
    Examples:
      tempkb generate --all --benchmark dynamic-templama
      tempkb generate t5-large --benchmark ecbd --decoder recall_beam100 --limit 1000
      tempkb generate timelm-2019-q4 --decoder paper --windows 2020-01-01..2020-07-01
    """
    from tempkb.generations.kind import SAID
    from tempkb.runs.scores import ask
    from tempkb.screens.generations import print_generations

    words = words_typed(asked)
    answered, summary = ask(SAID, (*names, *models), words, is_all=is_all)
    close(summary, print_generations, answered, words)
