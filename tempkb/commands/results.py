"""The commands `tempkb knows`, `answers`, `linking` and `results`. All else is imported when they run."""

import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from tempkb.commands.declared import close, options, words_typed
from tempkb.results.requests import AnswersRequest, KnowledgeRequest


class _File(click.Path):
    """The path of a file to write, in a folder that is there. An empty word, such as an unset variable, is none."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        if value == "":
            self.fail("found '', which names no file; expected the path of a file to write", param, ctx)
        if not (folder := Path(os.fsdecode(value)).absolute().parent).is_dir():
            self.fail(f"there is no folder {folder}; make it: mkdir -p {shlex.quote(str(folder))}", param, ctx)
        return super().convert(value, param, ctx)


FILE = _File(dir_okay=False, path_type=Path)


@click.command()
@options(KnowledgeRequest)
@click.option(
    "--full",
    "is_full",
    is_flag=True,
    help="Also the tables: each release and window with baseline, minimum detectable effect and rank, what was left "
    "out, generated answers, and all windows.",
)
@click.option(
    "--by-popularity",
    type=click.Choice(("mentions", "contributors")),
    help="Also split the figures by thirds of the subjects or entities, by how often other articles mention them, or "
    "by how many people have edited their articles, at the last cut at or before the window's end.",
)
@click.option(
    "--fact",
    nargs=2,
    default=None,
    metavar="SUBJECT RELATION",
    help="Instead: the log-probabilities of the objects of one fact, such as Ostvik P6.",
)
@click.option("--csv", "csv_file", type=FILE, metavar="FILE", help="Write all columns to a CSV file.")
@click.option("--latex", "latex_file", type=FILE, metavar="FILE", help="Write the tables to a LaTeX file.")
@click.option("--picture", type=FILE, metavar="FILE", help="Draw them to a PNG file.")
def knows(
    is_full: bool,
    by_popularity: str | None,
    fact: tuple[str, str] | None,
    csv_file: Path | None,
    latex_file: Path | None,
    picture: Path | None,
    **asked: Any,
) -> None:
    """Say what models know, and until when: a line for each model.

    It has the model's training cutoff, as it is stated and as its answers estimate it, and
    what it knows of the newest window that can be judged: in how many of the window's changes
    it prefers the new object, or how well it predicts spans about entities that originated in
    it, compared with the model itself in a baseline window. All is computed from scores that
    are stored. Where the data say nothing, so does the line. tempkb docs results explains
    every figure.

    \b
    Examples:
      tempkb knows
      tempkb knows --full
      tempkb knows --window 2022-01-01..2023-01-01 --model t5-large --model t5-base
      tempkb knows --window 2022-01-01..2023-01-01 --baseline 2021-01-01..2022-01-01
      tempkb knows --full --csv knows.csv --latex knows.tex --picture knows.png
      tempkb knows --by-popularity contributors
      tempkb knows --fact Ostvik P6 --picture ostvik.png
    """
    if fact is not None:
        if odd := _given_beside("--fact", "--release", "--picture"):
            raise click.UsageError(f"--fact takes --release and --picture only; leave out {' and '.join(odd)}")
        from tempkb.commands.screens.answers import print_fact

        print_fact(*fact, asked["releases"], picture)
        return
    if asked["takes_all"] and "--buffer" in _given_beside():
        raise click.UsageError("--all-items leaves nothing out, so that --buffer has no meaning; give one of them")
    from tempkb.commands.screens.results import print_knowledge

    request = KnowledgeRequest.of(words_typed(asked))
    print_knowledge(request, csv_file, latex_file, picture, is_full=is_full, by_popularity=by_popularity)


@click.command()
@click.argument("model")
@options(AnswersRequest)
@click.option("--csv", "csv_file", type=FILE, metavar="FILE", help="Write all rows, not only some, to a CSV file.")
def answers(model: str, csv_file: Path | None, **asked: Any) -> None:
    """Show what a model said beside what is right.

    First changes of facts, with the object that came and the one that left; then items with
    the names that are accepted. What it names and what that is worth was computed by tempkb
    results. tempkb docs results explains every figure.

    \b
    Examples:
      tempkb answers t5-large
      tempkb answers t5-large --kind stale --window 2022-01-01..2023-01-01
      tempkb answers t5-large --release demo-cloze --decoder recall_beam10 --csv answers.csv
    """
    from tempkb.commands.screens.answers import print_answers

    print_answers(model, AnswersRequest.of(words_typed(asked)), csv_file)


@click.command()
@click.option("--csv", "csv_file", type=FILE, metavar="FILE", help="Write all rows and columns to a CSV file.")
def late(csv_file: Path | None) -> None:
    """Say how long after a window its facts are in Wikidata: the reporting lag.

    By relation, from the dumps that were read: after how many days which share of the facts was there.
    It was computed by tempkb results. tempkb docs results explains every figure.

    \b
    Examples:
      tempkb late
      tempkb late --csv late.csv
    """
    from tempkb.commands.screens.answers import print_delays

    print_delays(csv_file)


def _given_beside(*expected: str) -> list[str]:
    """The options that were typed, without some of them."""
    context = click.get_current_context()
    return [
        option.opts[0]
        for option in context.command.params
        if option.name
        and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
        and option.opts[0] not in expected
    ]


def _pool(_context: click.Context, _option: click.Parameter, text: str) -> str:
    """The name of a pool as tables have it."""
    from tempkb.benchmarks.linkable.declaration import pool_name

    with suppress(ValueError):  # a day is its own name
        return pool_name(text)
    return text


_of_pool = click.option(
    "--pool",
    default="own",
    show_default=True,
    metavar="NAME",
    callback=_pool,
    help="Of linkers, among which candidates: own (of the mentions' snapshot), the day of another snapshot, fixed or "
    "fixed-N.",
)


@click.command()
@options(KnowledgeRequest, "releases")
@click.option(
    "--k",
    type=int,
    default=64,
    show_default=True,
    metavar="N",
    help="A mention is linked if its entity is among so many candidates: 1, 2, 4, 8, 16, 32 or 64.",
)
@_of_pool
@click.option("--csv", "csv_file", type=FILE, metavar="FILE", help="Write all figures, of all k, to a CSV file.")
def linking(releases: tuple[str, ...], k: int, pool: str, csv_file: Path | None) -> None:
    """Say how well linkers of different snapshots link mentions of different snapshots.

    Accuracy by the snapshot of training and of test for continual and new entities, its change
    over time, and what training on the snapshot of the test is worth, with verdicts. It was
    computed by tempkb results. tempkb paper tempel writes the paper's tables and draws its
    figures. tempkb docs linking explains every figure.

    \b
    Examples:
      tempkb linking
      tempkb linking --release demo --k 1
      tempkb linking --pool fixed-50000 --csv linking.csv
    """
    from tempkb.commands.screens.linking import print_linking

    print_linking(releases, pool, k, csv_file)


@click.command()
@click.argument("paper", default="")
@click.argument("item", default="")
@options(KnowledgeRequest, "releases", "models")
@_of_pool
@click.option("--csv", "csv_file", type=FILE, metavar="FILE", help="Write all figures, with intervals, to a CSV file.")
@click.option("--latex", "latex_file", type=FILE, metavar="FILE", help="Write the tables to a LaTeX file.")
@click.option("--picture", type=FILE, metavar="FILE", help="Draw it to a PNG file.")
def paper(
    paper: str,
    item: str,
    pool: str,
    csv_file: Path | None,
    latex_file: Path | None,
    picture: Path | None,
    **asked: Any,
) -> None:
    """Show a table or figure of the benchmarks' papers, from this home's data.

    Without an ITEM all are listed, with what this home lacks for them. The papers are tempel,
    ecbd, templama and dynamic-templama. tempkb docs papers has a line for each item: what it
    shows, what it is made from, and how it differs from what is printed.

    \b
    Examples:
      tempkb paper
      tempkb paper ecbd
      tempkb paper ecbd table-5 --csv table-5.csv --latex table-5.tex
      tempkb paper tempel figure-5 --release demo --picture figure-5.png
      tempkb paper tempel table-2 --pool fixed
    """
    from tempkb.commands.screens.papers import print_item, print_items

    if item:
        print_item(paper, item, asked["releases"], asked["models"], pool, csv_file, latex_file, picture)
        return
    if odd := _given_beside("paper", "item"):
        raise click.UsageError(f"{', '.join(odd)}: name an item, such as tempkb paper {paper or 'ecbd'} table-5")
    print_items(paper)


@click.command()
def results() -> None:
    """Compute the tables of results from the scores that are there.

    A table is computed if something that it is made from has changed, and of answers only those
    are judged that were not before. None is computed while something that it is made from is
    lost to damage. The tables are knowledge and knows (what tempkb knows says of the last window,
    and of all), estimated_cutoffs (until when models know), linking_effects (what linkers of
    several snapshots show of time), linking_sums, over which are the views linking_by_training,
    linking_changes and linking_by_type, and nil_results (how well linkers tell that an entity is
    not there yet). All other views follow the present scores by themselves.

    \b
    Example:
      tempkb results
    """
    from tempkb.commands.runs.results import compare
    from tempkb.commands.screens.results import print_results

    close(compare(), print_results)
