"""The commands of `tempkb release`: make, extend, balance, measure and export releases of the benchmarks."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import click

from tempkb.screens.failure import fail_all, warn
from tempkb.windows import refuse_future_cuts, refuse_unended, windows_between


@click.group()
def release() -> None:
    """Make, extend and export releases of the benchmarks; what stands of a release never changes."""


@release.command()
@click.argument("snapshots")
@click.option("--preset", default="tempkb", show_default=True, help="tempkb, paper or small.")
@click.option("--name", default="", help="By default made of the first and last snapshot and a hash of the design.")
@click.option(
    "--set", "changes", multiple=True, metavar="NAME=VALUE", help="Another value of a hyperparameter; may be repeated."
)
def tempel(snapshots: str, preset: str, name: str, changes: tuple[str, ...]) -> None:
    """Build a TempEL release over SNAPSHOTS, cuts that are built.

    SNAPSHOTS are days, or a span with an interval: weekly, monthly, quarterly,
    yearly, or seconds.

    \b
    Examples:
      tempkb release tempel 2013-01-01..2022-01-01/yearly --preset paper
      tempkb release tempel 2022-01-01,2023-01-01,2024-01-01 --preset small --set min_nr_inlinks=2
    """
    from tempkb.benchmarks.tempel import releases
    from tempkb.benchmarks.tempel.design import make_design
    from tempkb.settings import load_home

    asked = dict(_pair(change) for change in changes)
    design = make_design(preset, _snapshots(snapshots), asked)
    _build_release(releases.create(load_home(), preset, design, name))


def _of_facts(granularity: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Options that both benchmarks of facts have."""
    options = (
        click.argument("windows", metavar="A..B"),
        click.option("--granularity", default=granularity, show_default=True, help="week, month, quarter or year."),
        click.option("--preset", default="tempkb", show_default=True, help="tempkb, paper or small."),
        click.option("--dump-id", default="", help="Wikidata dump; by default the newest that was read."),
        click.option(
            "--templates",
            multiple=True,
            metavar="NAME|FILE.csv",
            help="templama, dynamic, dynamic_improved, or a CSV (relation,language,wording); may repeat.",
        ),
        click.option("--name", default="", help="By default made of the study and a hash of the design."),
        click.option(
            "--set",
            "changes",
            multiple=True,
            metavar="NAME=VALUE",
            help="Another value of a part of the design; may be repeated.",
        ),
    )

    def add(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


@release.command()
@_of_facts("year")
def templama(**asked: Any) -> None:
    """Build a TempLAMA release: which fact held in which year, from A up to but not including B.

    \b
    Examples:
      tempkb release templama 2010-01-01..2021-01-01
      tempkb release templama 2010-01-01..2021-01-01 --preset paper --name templama-2010s
      tempkb release templama 2021-01-01..2024-01-01 --templates mine.csv --set answers=certain
    """
    _release_facts("templama", **asked)


@release.command("dynamic-templama")
@_of_facts("quarter")
def dynamic_templama(**asked: Any) -> None:
    """Build a DynamicTempLAMA release: facts by quarter, and what changed, from A up to but not including B.

    \b
    Examples:
      tempkb release dynamic-templama 2019-01-01..2022-07-01
      tempkb release dynamic-templama 2019-01-01..2022-07-01 --granularity month --set max_subjects=100
      tempkb release dynamic-templama 2019-01-01..2022-07-01 --templates dynamic --templates dynamic_improved
    """
    _release_facts("dynamic_templama", **asked)


@release.command()
@click.argument("windows", metavar="A..B")
@click.option("--cut", default="", help="Day that ends the window whose snapshot gives the texts; by default the last.")
@click.option("--preset", default="tempkb", show_default=True, help="tempkb, paper, paper_2021, ecbd_compat or small.")
@click.option("--dump-id", default="", help="Wikidata dump; by default the newest that was read; none: popular only.")
@click.option(
    "--popular",
    default="",
    metavar="N|FILE",
    help="Popular entities as well: how many, or a file of page numbers (a line each, or CREAK's JSON).",
)
@click.option("--name", default="", help="By default made of the study, the cut and a hash of the design.")
@click.option(
    "--set", "changes", multiple=True, metavar="NAME=VALUE", help="Another value of a part of the design; may repeat."
)
def ecbd(**asked: Any) -> None:
    """Build an ECBD release: cloze sentences about entities that came into the world from A up to but not including B.

    \b
    Examples:
      tempkb release ecbd 2017-01-01..2022-01-01 --cut 2022-01-01 --preset paper --popular 2000
      tempkb release ecbd 2022-01-01..2024-01-01 --set min_words=300 --set noun_chunker=spacy
      tempkb release ecbd 2017-01-01..2022-01-01 --dump-id none --popular creak/train.json
    """
    _release_ecbd(**asked)


@release.command()
@click.argument("name")
@click.argument("tokenizer", type=click.Path(path_type=Path, exists=True))
def tokens(name: str, tokenizer: Path) -> None:
    """Count the tokens of the answers of release NAME by a TOKENIZER, a tokenizer.json.

    The views dynamic_templama_single_token, dynamic_templama_multi_token and
    dynamic_templama_token_losses tell what is left for models of that tokenizer.

    \b
    Example:
      tempkb release tokens demo-quarters roberta-base/tokenizer.json
    """
    from tempkb.release_runs import count_answer_tokens
    from tempkb.screens.console import print_next, say

    summary = count_answer_tokens(name, tokenizer)
    if summary.failures:
        fail_all(summary.failures)
    say(f"The tokens of the answers of release {name} are counted.")
    print_next(f"sql \"FROM dynamic_templama_token_losses WHERE release = '{name}'\"")


@release.command()
@click.argument("name")
@click.argument("snapshots")
def extend(name: str, snapshots: str) -> None:
    """Add SNAPSHOTS to the release NAME; what it has stays byte for byte.

    \b
    Example:
      tempkb release extend tempel-20130101-20220101-0a1b2c3d 2023-01-01
    """
    from tempkb.benchmarks.tempel import releases
    from tempkb.settings import load_home

    home = load_home()
    _build_release(releases.extend(home, name, _snapshots(snapshots)))


@release.command()
@click.argument("name")
def finish(name: str) -> None:
    """Build what the release NAME still lacks, since a run of it was killed; a release that is built stays as it is.

    The command that asked for it, typed again, does the same.

    \b
    Example:
      tempkb release finish demo-quarters
    """
    from tempkb.release_runs import finish_release

    summary = finish_release(name)
    for note in summary.notes:
        warn(note)
    if summary.failures:
        fail_all(summary.failures)
    click.echo(f"release {name} is built.")


@release.command()
@click.argument("name")
def balance(name: str) -> None:
    """Make the view of an extended release that holds only entities of all its snapshots."""
    from tempkb.api import open_store
    from tempkb.benchmarks.register import require_whole
    from tempkb.benchmarks.tempel import releases

    store = open_store()
    home = store.home
    require_whole(home, store.lake, name)
    _build_release(releases.balanced(home, name))


@release.command()
@click.argument("name")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--tokenizer",
    type=click.Path(path_type=Path, exists=True),
    metavar="FILE",
    help="A tokenizer.json or a BERT vocab.txt: adds the released files' token fields.",
)
def export(name: str, folder: Path, tokenizer: Path | None) -> None:
    """Write the release NAME below FOLDER: JSON lines, Parquet, a dataset card and check sums.

    \b
    Examples:
      tempkb release export tempel-20220101-20240101-0a1b2c3d exports
      tempkb release export templama-2010s exports
    """
    from tempkb.api import open_store
    from tempkb.benchmarks.ecbd import releases as ecbd_releases
    from tempkb.benchmarks.ecbd.exporting import export_ecbd
    from tempkb.benchmarks.fact_queries import releases as fact_releases
    from tempkb.benchmarks.fact_queries.exporting import export_facts
    from tempkb.benchmarks.register import benchmark_of, require_whole
    from tempkb.benchmarks.tempel import releases
    from tempkb.benchmarks.tempel.exporting import export_release

    store = open_store()
    home = store.home
    require_whole(home, store.lake, name)
    if benchmark_of(home, name) == releases.BENCHMARK:
        written = export_release(store, releases.load(home, name), folder, tokenizer)
    elif tokenizer is not None:
        raise click.UsageError("--tokenizer: adds fields to TempEL; for facts: tempkb release tokens NAME FILE")
    elif benchmark_of(home, name) == "ecbd":
        written = export_ecbd(store, ecbd_releases.load(home, name), folder)
    else:
        written = export_facts(store, fact_releases.load(home, name), folder)
    click.echo(f"wrote {written}")


def _release_ecbd(
    windows: str, cut: str, preset: str, dump_id: str, popular: str, name: str, changes: tuple[str, ...]
) -> None:
    from tempkb.benchmarks.ecbd import releases
    from tempkb.benchmarks.ecbd.design import make_design
    from tempkb.release_runs import build_ecbd, newest_cut, newest_wikidata
    from tempkb.screens.releases import print_ecbd_release
    from tempkb.settings import load_home

    asked = dict(_pair(change) for change in changes)
    dump_id = "" if dump_id == "none" else dump_id or newest_wikidata()
    design = make_design(preset, windows, cut or newest_cut(), dump_id, popular, asked)
    home, today = load_home(), datetime.now(UTC).date()
    refuse_future_cuts(f"--cut {design.cut}", [design.cut], today, home.settings.granularity, "--cut ")
    if design.end > today:
        origins = list(windows_between(design.first, design.end, design.origin_granularity))
        refuse_unended(windows, origins, today, "{first}..{end}")
    release = releases.create(home, preset, design, name)
    summary = build_ecbd(release)
    for note in summary.notes:
        warn(note)
    if summary.failures:
        fail_all(summary.failures)
    print_ecbd_release(release.name)


def _release_facts(
    benchmark: str,
    windows: str,
    granularity: str,
    preset: str,
    dump_id: str,
    templates: tuple[str, ...],
    name: str,
    changes: tuple[str, ...],
) -> None:
    from tempkb.benchmarks.fact_queries import releases
    from tempkb.benchmarks.fact_queries.design import make_design
    from tempkb.release_runs import build_facts, newest_wikidata
    from tempkb.screens.releases import print_fact_release
    from tempkb.settings import load_home

    asked = dict(_pair(change) for change in changes)
    dump_id = dump_id or newest_wikidata()
    design = make_design(benchmark, preset, dump_id, windows, granularity, templates, asked)
    refuse_unended(windows, design.windows(), datetime.now(UTC).date(), "{first}..{end}")
    release = releases.create(load_home(), benchmark, preset, design, name)
    summary = build_facts(release)
    for note in summary.notes:
        warn(note)
    if summary.failures:
        fail_all(summary.failures)
    print_fact_release(release.name, benchmark)


def _snapshots(text: str) -> list[date]:
    """The snapshots of TempEL that are asked for, none of which lies in the future."""
    from tempkb.benchmarks.tempel.design import read_snapshots
    from tempkb.settings import load_home

    cuts = read_snapshots(text)
    refuse_future_cuts(f"snapshots {text}", cuts, datetime.now(UTC).date(), load_home().settings.granularity)
    return cuts


def _pair(change: str) -> tuple[str, str]:
    name, equals, value = change.partition("=")
    if not equals:
        raise click.UsageError(f"--set {change}: expected NAME=VALUE")
    return name.strip(), value.strip()


def _build_release(release: Any) -> None:
    from tempkb.release_runs import build_tempel
    from tempkb.screens.releases import print_release

    summary = build_tempel(release)
    for note in summary.notes:
        warn(note)
    if summary.failures:
        fail_all(summary.failures)
    print_release(release.name)
