"""The commands `tempkb score`, `tempkb generate` and `tempkb scores`. All else is imported when it runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tempkb.commands.declared import close, options, words_typed
from tempkb.core.model_words import ModelRequest
from tempkb.models.scores.requests import AskRequest, GenerateRequest, ScoreRequest

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
    from tempkb.commands.runs.models import ask
    from tempkb.commands.screens.scores import print_nothing, print_scores
    from tempkb.models.scores.kinds import SCORES

    words = words_typed(asked)
    scored, summary = ask(SCORES, (*names, *models), words, is_all=is_all)
    close(summary, *((print_scores, scored, words) if summary.has_run else (print_nothing, SCORES, scored)))


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
    from tempkb.commands.runs.models import ask
    from tempkb.commands.screens.answers import print_generations
    from tempkb.commands.screens.scores import print_nothing
    from tempkb.models.generations.kind import SAID

    words = words_typed(asked)
    answered, summary = ask(SAID, (*names, *models), words, is_all=is_all)
    close(summary, *((print_generations, answered, words) if summary.has_run else (print_nothing, SAID, answered)))


@click.group()
def scores() -> None:
    """Import what models gave in another program."""


@scores.command("import")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...", type=click.Path(path_type=Path))
@click.option("--model", required=True, metavar="NAME", help="The model that was run: one of the home, or a new name.")
@options(ModelRequest, "knows_until")
def import_(logs: tuple[Path, ...], model: str, knows_until: str) -> None:
    """Import LOGs of samples that lm-evaluation-harness wrote, or folders with such logs.

    The tasks are those that tempkb release export NAME FOLDER --lm-eval writes. What the
    model gave becomes rows of prompt_scores and generations, under scorers and decoders
    whose names end with lm_eval. A log of other releases or texts, of a part of a task, or of
    a harness whose cache of logits mistakes spans is refused. The same again changes nothing,
    and the days that were once given for the model hold until others are.

    \b
    Examples:
      tempkb release export demo-quarters exports --lm-eval
      lm_eval run --model hf --model_args pretrained=gpt2,logits_cache=False \\
          --include_path exports --tasks demo-quarters --log_samples --output_path logs
      tempkb scores import logs --model gpt2 --knows-until 2018-01-01
    """
    from tempkb.benchmarks.declared import BENCHMARKS
    from tempkb.commands.screens.scores import print_imported
    from tempkb.models.generations.importing import import_logs
    from tempkb.models.requests import request_of
    from tempkb.platform.api import open_store

    store = open_store()
    until = request_of(model, words_typed({"checkpoint": model, "knows_until": knows_until})).knows_until
    print_imported(import_logs(store, BENCHMARKS, logs, model, until), model)
