"""The commands of language models: `tempkb model`, `train`, `score`, `generate`, `scores`. Each imports all else."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tempkb.commands.declared import add_upkeep, close, options, words_typed
from tempkb.core.errors import SettingsError
from tempkb.core.model_words import ModelRequest
from tempkb.core.options import Option, Words, options_of
from tempkb.models.scores.requests import AskRequest, GenerateRequest, ScoreRequest
from tempkb.models.training.requests import TrainRequest

if TYPE_CHECKING:
    from tempkb.models.scores.kinds import Kind


@click.group()
def model() -> None:
    """Add, list, show and remove language models; a model's name is bound to its files for good."""


@model.command()
@click.argument("name", default="")
@click.argument("checkpoint", default="")
@click.option(
    "--preset",
    "presets",
    multiple=True,
    metavar="NAME",
    help="Add the models of a paper: timelms, ecbd or cbqa. May be repeated.",
)
@options(ModelRequest, "revision", "family", "knows_until")
def add(name: str, presets: tuple[str, ...], **asked: Any) -> None:
    """Add the model NAME from CHECKPOINT, a folder or an id of the Hugging Face hub.

    Without CHECKPOINT it is the one that tempkb.toml of the home has in [models.NAME],
    or with which NAME was added before; and without NAME all models of tempkb.toml.
    Files on the hub are fetched unless they are in the cache. Code of a checkpoint is
    never run. A checkpoint that is there and cannot be used is listed with the reason;
    adding it again tries again.

    \b
    Examples:
      tempkb model add t5-large google-t5/t5-large --knows-until 2019-04-01..2019-05-01
      tempkb model add mine ./checkpoints/mine --family masked
      tempkb model add --preset timelms
    """
    words = words_typed(asked)
    if presets and (name or words):
        raise click.UsageError("--preset names all that is to be added; leave out the name and the other options")
    if words and not name:
        raise click.UsageError("options are for one model; give its name")
    from tempkb.commands.runs.models import add
    from tempkb.commands.screens.scores import print_models
    from tempkb.models.known import said_of
    from tempkb.models.requests import preset, requested
    from tempkb.platform.api import open_store

    store = open_store()
    said = said_of(store, name) if name else {}
    wanted = preset(presets) if presets else requested(store.home, name, words, said)
    close(add(wanted), print_models, wanted)


add_upkeep(
    model,
    "model",
    ("scores", "print_models", "print_model"),
    "t5-large",
    "List the models of the home.",
    "Show all that is known about the model NAME.",
    "Remove the model NAME and all its scores from the home; its checkpoint stays where it is.",
)
# What other commands take for a seed is here a number of seeds.
_ALIASES = {"cuts": "cut", "seeds": "n-seeds"}


@model.command(context_settings={"token_normalize_func": lambda name: _ALIASES.get(name, name)})
@click.option(
    "--family",
    "families",
    multiple=True,
    metavar="FAMILY",
    help="masked, seq2seq or causal; by default all. May be repeated.",
)
@click.option(
    "--cut",
    "cuts",
    multiple=True,
    metavar="DATE",
    help="A cut of a built window; may be repeated. By default 2022-01-01 and 2023-07-01.",
)
@click.option(
    "--n-seeds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Models of each family and cut.",
)
@click.option("--untrained", is_flag=True, help="Also models with random weights, which have read nothing.")
def demo(families: tuple[str, ...], cuts: tuple[str, ...], n_seeds: int, untrained: bool) -> None:
    """Train tiny models on what the articles said at some cuts, and add them.

    There is one model for each family, cut and seed, such as demo-causal-2022-01-01,
    and demo-causal-2022-01-01-s1 for the second seed. Checkpoints are kept in the
    folder models of the home; those that are there are not trained again. Test
    sentences of ECBD and the articles about a fifth of the subjects of facts are
    held out from all models. Untrained models, such as demo-causal-untrained, are
    for comparison: what they prefer has nothing to do with time.

    \b
    Examples:
      tempkb model demo
      tempkb model demo --family causal --n-seeds 5 --untrained
      tempkb model demo --cut 2021-07-01 --cut 2024-01-01
    """
    from tempkb.commands.runs.models import add_demo_models
    from tempkb.commands.screens.failure import tell
    from tempkb.commands.screens.scores import print_models
    from tempkb.demo.models.recipe import asked_for
    from tempkb.demo.pages import FIRST_CUT, SECOND_CUT

    days = ",".join(cuts) or f"{FIRST_CUT:%Y-%m-%d},{SECOND_CUT:%Y-%m-%d}"
    asked = asked_for(families, days, n_seeds, with_untrained=untrained)
    close(add_demo_models(asked, tell), print_models, asked.names())


@click.command()
@click.argument("regime")
@options(TrainRequest, "base", "corpus", "windows", "release", "period", "seed", "preset", "settings")
@click.option("--name", default="", help="Its name; by default made of regime, corpus, windows, preset and seed.")
@options(TrainRequest, "device")
@click.option("--dry-run", is_flag=True, help="Only say what would be read, and what steps, disk and memory it takes.")
def train(name: str, dry_run: bool, **asked: Any) -> None:
    """Train a language model further on dated text, by the REGIME in which it is told the time, and add it.

    \b
      temporal   each text after its date, as in "year: 2014 "
      uniform    the same texts without any date
      yearly     an expert for each year; a query is answered by that of its year
      continual  the texts in the order of time, without any date

    Texts are those of a corpus (tempkb corpus); with --release, train queries of a release
    of facts are mixed in. T5 learns to fill in names and dates, causal models to continue
    the text. Temporal and yearly models are asked by the date of a query, or that of their
    last texts. A model of the home is brought up to date by its name as base, with windows up
    to the new ones, newest_share and few steps. A training that was killed continues. Needs
    the extra linking.

    \b
    Examples:
      tempkb train temporal --base google-t5/t5-small --window 2019-01-01..2022-01-01 --dry-run
      tempkb train yearly --base ./t5 --window 2019-01-01..2022-01-01 --release templama --name yearly
      tempkb train uniform --base ./gpt2 --window 2019-01-01..2022-01-01 --preset small --set steps=50
      tempkb train temporal --base yours-2021 --window 2019-01-01..2023-01-01 --set newest_share=0.5 --set steps=1000
    """
    words = words_typed(asked)
    if dry_run:
        from tempkb.commands.screens.scores import print_plan_of_training

        print_plan_of_training(name, words)
        return
    from tempkb.commands.runs.models import train as run
    from tempkb.commands.screens.scores import print_trained

    name, summary = run(name, words)
    close(summary, print_trained, name)


_Command = TypeVar("_Command", bound=Callable[..., Any])
_ALL = Option("is_all", "All models of the home.", default=False, called="all")
_SAID = ("revision", "family", "knows_until")
OF_MODELS = (_ALL, *(options_of(ModelRequest)[name] for name in _SAID))


def words_of(asked: Mapping[str, Any], names: Sequence[str]) -> tuple[Words, Words]:
    """Return the words of what is asked, and those of the model that is added before it is asked."""
    words = words_typed(asked)
    said = {name: word for name, word in words.items() if name in _SAID}
    if said and len(names) != 1:
        raise SettingsError("--revision, --family and --knows-until are for one model; give its name")
    return {name: word for name, word in words.items() if name not in _SAID}, said


def _ask(
    kind: "Kind",
    screen: Callable[..., None],
    *,
    names: tuple[str, ...],
    models: tuple[str, ...],
    is_all: bool,
    **asked: Any,
) -> None:
    """Ask models, of which one may be added before, and print what was asked."""
    from tempkb.commands.runs.models import ask
    from tempkb.commands.screens.scores import print_nothing

    words, said = words_of(asked, chosen := (*names, *models))
    done, summary = ask(kind, chosen, words, said, is_all=is_all)
    close(summary, *((screen, done, words) if summary.has_run else (print_nothing, kind, done)))


def _of_models(request: type[AskRequest]) -> Callable[[_Command], _Command]:
    """Return a decorator that gives a command models, and the options of a request."""

    def decorate(command: _Command) -> _Command:
        command = options(request)(options(ModelRequest, *_SAID)(command))
        command = click.option(_ALL.typed_as, _ALL.name, is_flag=True, help=_ALL.meaning)(command)
        same = "The same as an argument; may be repeated."
        command = click.option("--model", "models", multiple=True, metavar="MODEL", help=same)(command)
        return click.argument("names", nargs=-1, metavar="[MODEL]...")(command)

    return decorate


@click.command()
@_of_models(ScoreRequest)
def score(**asked: Any) -> None:
    """Score the prompts of releases with models.

    MODEL is a model of the home or of its tempkb.toml; or a folder or an id of the Hugging
    Face hub, which is added first, as tempkb model add does. Each prompt is scored once and
    kept: the next time only new prompts are computed, and a run that was killed continues.
    Prompts without a score keep the reason. Then the tables of results that follow from
    scores are brought up to date.

    \b
    Examples:
      tempkb score --all
      tempkb score t5-large --benchmark ecbd --limit 1000
      tempkb score gpt2 --knows-until 2018-01-01
      tempkb score google-t5/t5-large ./checkpoints/mine --device cuda
      tempkb score t5-large --release demo-quarters --window 2022-01-01..2023-01-01
    """
    from tempkb.commands.screens.scores import print_scores
    from tempkb.models.scores.kinds import SCORES

    _ask(SCORES, print_scores, **asked)


@click.command()
@_of_models(GenerateRequest)
def generate(**asked: Any) -> None:
    """Let models answer the questions of releases.

    MODEL is a model of the home or of its tempkb.toml; or a folder or an id of the Hugging
    Face hub, which is added first, as tempkb model add does. Each question is asked once and
    kept: the next time only new ones are asked, and a run that was killed continues.
    Questions without an answer keep the reason. Then the tables of results that follow from
    answers are brought up to date.

    \b
    Examples:
      tempkb generate --all --benchmark dynamic-templama
      tempkb generate t5-large --benchmark ecbd --decoder recall_beam100 --limit 1000
      tempkb generate timelm-2019-q4 --decoder paper --window 2020-01-01..2020-07-01
    """
    from tempkb.commands.screens.answers import print_generations
    from tempkb.models.generations.kind import SAID

    _ask(SAID, print_generations, **asked)


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
          --include_path exports --tasks demo-quarters_full --log_samples --output_path logs
      tempkb scores import logs --model gpt2 --knows-until 2018-01-01
    """
    from tempkb.benchmarks.declared import BENCHMARKS
    from tempkb.commands.runs.jobs import Summary, past_damage
    from tempkb.commands.runs.results import bring_results
    from tempkb.commands.screens.scores import print_imported
    from tempkb.models.generations.importing import import_logs
    from tempkb.models.generations.tables import GENERATIONS
    from tempkb.models.requests import request_of
    from tempkb.models.scores.tables import PROMPT_SCORES
    from tempkb.models.tables import MODELS
    from tempkb.platform.api import open_store

    store = open_store()
    until = request_of(model, words_typed({"checkpoint": model, "knows_until": knows_until})).knows_until
    imported = import_logs(store, BENCHMARKS, logs, model, until)
    summary = past_damage(lambda: bring_results(Summary(), MODELS, PROMPT_SCORES, GENERATIONS))
    close(summary, print_imported, imported, model)
