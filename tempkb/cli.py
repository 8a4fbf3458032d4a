"""The `tempkb` command: build, look, query. Errors are one message, never a trace."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

import tempkb
from tempkb.errors import TempkbError

# Nothing here multiplies matrices before models are scored, and workers share the cores: idle threads of NumPy's
# linear algebra would cost a tenth of a second per process. A value that is set already stays.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


class _Tempkb(click.Group):
    """Shows errors of ours as one message, with exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except TempkbError as error:
            _fail(str(error))


@click.group(cls=_Tempkb, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(tempkb.__version__, prog_name="tempkb")
def main() -> None:
    """Turn Wikimedia's dumps into benchmarks of what language models know about when.

    Everything happens in a home, a folder that holds one wiki: TEMPKB_HOME,
    by default data/demo. Settings are TEMPKB_* variables or lines of
    tempkb.toml in the home.

    \b
    Examples:
      tempkb build --all
      TEMPKB_HOME=data/simplewiki tempkb build --dump simplewiki-*.xml.bz2 --all
      tempkb sql "SELECT cut, count(*) FROM stable_snapshots GROUP BY cut"
      tempkb show "Harbour Clock" --cut 2021-01-01
    """


@main.command()
@click.option("--select", multiple=True, metavar="ASSET", help="Build this table only; may be repeated.")
@click.option("--windows", default="", metavar="A..B", help="Windows whose start lies in [A, B), two days.")
@click.option("--all", "all_windows", is_flag=True, help="Every window up to where the dumps end.")
@click.option(
    "--dump", "dumps", multiple=True, metavar="FILE", type=click.Path(path_type=Path),
    help="Read this file (export, .sql.gz table, or Wikidata's JSON); may be repeated, files are then read as one.",
)  # fmt: skip
@click.option(
    "--day", default="", metavar="DATE", help="Day of the files of Wikidata's JSON, if their names do not tell."
)
@click.argument("more", nargs=-1, type=click.Path(path_type=Path))
@click.option("--rebuild", is_flag=True, help="Also windows that another dump has built; says what changed.")
def build(
    select: tuple[str, ...],
    windows: str,
    all_windows: bool,
    dumps: tuple[Path, ...],
    more: tuple[Path, ...],
    day: str,
    rebuild: bool,
) -> None:
    """Build tables, in the order of the data, and publish them to DuckDB.

    Without --windows or --all, those windows that a dump serves and that are
    not built yet. Further file names may follow --dump FILE, as a shell expands
    them.

    \b
    Examples:
      tempkb build
      tempkb build --windows 2020-01-01..2021-01-01
      tempkb build --select stable_snapshots --all --dump history.xml.bz2
      TEMPKB_WIKI=enwiki tempkb build --dump entities.json.bz2 --day 2017-03-01
    """
    if more and not dumps:
        raise click.UsageError(f"{more[0]}: name files with --dump")
    from tempkb.run import Request, build
    from tempkb.screens.status import print_summary

    summary = build(Request(select, windows, all_windows, (*dumps, *more), day, rebuild))
    print_summary(summary)
    if summary.failures:
        sys.exit(1)


@main.command()
@click.argument("query")
@click.option("--csv", "form", flag_value="csv", help="Comma-separated, to standard output.")
@click.option("--json", "form", flag_value="json", help="One JSON object a line, to standard output.")
@click.option("--parquet", type=click.Path(path_type=Path), metavar="FILE", help="Write a Parquet file.")
def sql(query: str, form: str | None, parquet: Path | None) -> None:
    """Query the published tables, read-only.

    \b
    Examples:
      tempkb sql "SELECT * FROM stable_snapshots WHERE title = 'Harbour Clock' ORDER BY cut"
      tempkb sql "SELECT cut, count(*) AS pages FROM stable_snapshots GROUP BY cut ORDER BY cut" --csv
      tempkb sql "FROM revision_log" --parquet log.parquet
    """
    from tempkb.screens.query import run_query

    run_query(query, form, parquet)


@main.command()
def tables() -> None:
    """List the tables of the home: rows, partitions, table or view, meaning."""
    from tempkb.screens.status import print_tables

    print_tables()


@main.command()
def status() -> None:
    """Say what is built, stale and pending, and which dumps there are."""
    from tempkb.screens.status import print_status

    print_status()


@main.command()
def publish() -> None:
    """Bring the DuckDB file up to the lake, waiting up to a minute for others to let go of it."""
    from tempkb.api import open_store
    from tempkb.store.locks import Patience

    publication = open_store(Patience(60.0)).publish()
    if publication.left:
        _fail(f"{publication.left} partitions are still pending: {publication.reason}")
    click.echo(f"Brought in: {publication.done}. Nothing is pending.")


@main.command()
def gc() -> None:
    """Remove old versions of partitions and drafts of dead runs."""
    from tempkb.api import open_store

    removed = open_store().collect_garbage()
    click.echo(f"{len(removed)} {'folder' if len(removed) == 1 else 'folders'} removed.")


@main.command()
@click.argument("title")
@click.option("--cut", "day", default=None, metavar="DATE", help="A cut, YYYY-MM-DD; by default the newest built.")
def show(title: str, day: str | None) -> None:
    """Show a page's timeline around a cut, and why that text won.

    \b
    Examples:
      tempkb show "Harbour Clock"
      tempkb show "Harbour Clock" --cut 2021-01-01
    """
    from tempkb.screens.timeline import print_timeline

    print_timeline(title, day)


@main.group()
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
    from tempkb.benchmarks.tempel.design import make_design, read_snapshots
    from tempkb.settings import load_home

    asked = dict(_pair(change) for change in changes)
    design = make_design(preset, read_snapshots(snapshots), asked)
    _build_release(releases.create(load_home(), preset, design, name))


def _of_facts(granularity: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Options that both benchmarks of facts have."""
    options = (
        click.argument("windows", metavar="A..B"),
        click.option("--granularity", default=granularity, show_default=True, help="week, month, quarter or year."),
        click.option("--preset", default="tempkb", show_default=True, help="tempkb, paper or small."),
        click.option("--dump-id", default="", help="Wikidata dump; by default the newest that was read."),
        click.option("--templates", multiple=True, metavar="NAME|FILE.csv",
                     help="templama, dynamic, dynamic_improved, or a CSV (relation,language,wording); may repeat."),
        click.option("--name", default="", help="By default made of the study and a hash of the design."),
        click.option("--set", "changes", multiple=True, metavar="NAME=VALUE",
                     help="Another value of a part of the design; may be repeated."),
    )  # fmt: skip

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
    from tempkb.run import count_answer_tokens

    summary = count_answer_tokens(name, tokenizer)
    if summary.failures:
        _fail("; ".join(summary.failures))
    click.echo(f"counted; next: tempkb sql \"FROM dynamic_templama_token_losses WHERE release = '{name}'\"")


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
    from tempkb.benchmarks.tempel.design import read_snapshots
    from tempkb.settings import load_home

    home = load_home()
    _build_release(releases.extend(home, name, read_snapshots(snapshots)), releases.load(home, name))


@release.command()
@click.argument("name")
def balance(name: str) -> None:
    """Make the view of an extended release that holds only entities of all its snapshots."""
    from tempkb.benchmarks.tempel import releases
    from tempkb.settings import load_home

    _build_release(releases.balanced(load_home(), name))


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
    from tempkb.benchmarks.fact_queries import releases as fact_releases
    from tempkb.benchmarks.fact_queries.exporting import export_facts
    from tempkb.benchmarks.register import benchmark_of
    from tempkb.benchmarks.tempel import releases
    from tempkb.benchmarks.tempel.exporting import export_release
    from tempkb.settings import load_home

    home = load_home()
    if benchmark_of(home, name) == releases.BENCHMARK:
        written = export_release(open_store(), releases.load(home, name), folder, tokenizer)
    elif tokenizer is not None:
        raise click.UsageError("--tokenizer: adds fields to TempEL; for facts: tempkb release tokens NAME FILE")
    else:
        written = export_facts(open_store(), fact_releases.load(home, name), folder)
    click.echo(f"wrote {written}")


def _release_facts(
    benchmark: str, windows: str, granularity: str, preset: str, dump_id: str, templates: tuple[str, ...], name: str,
    changes: tuple[str, ...],
) -> None:  # fmt: skip
    from tempkb.benchmarks.fact_queries import releases
    from tempkb.benchmarks.fact_queries.design import make_design
    from tempkb.run import build_facts, newest_wikidata
    from tempkb.screens.releases import print_fact_release
    from tempkb.settings import load_home

    asked = dict(_pair(change) for change in changes)
    dump_id = dump_id or newest_wikidata()
    design = make_design(benchmark, preset, dump_id, windows, granularity, templates, asked)
    release = releases.create(load_home(), benchmark, preset, design, name)
    summary = build_facts(release)
    if summary.failures:
        _fail("; ".join(summary.failures))
    print_fact_release(release.name, benchmark)


def _pair(change: str) -> tuple[str, str]:
    name, equals, value = change.partition("=")
    if not equals:
        raise click.UsageError(f"--set {change}: expected NAME=VALUE")
    return name.strip(), value.strip()


def _build_release(release: Any, before: Any = None) -> None:
    from tempkb.run import build_tempel
    from tempkb.screens.releases import print_release

    summary = build_tempel(release, before)
    if summary.failures:
        _fail("; ".join(summary.failures))
    print_release(release.name)


@main.command()
@click.option("--port", default=3000, show_default=True, help="On localhost only.")
def ui(port: int) -> None:
    """Open Dagster's web UI for this home, with its daemon; Ctrl-C ends both."""
    from tempkb.run import serve_ui

    serve_ui(port)


@main.command()
@click.option("--seed", default=7, show_default=True, help="Another seed, another world.")
@click.option("--pages", default=295, show_default=True, help="How many pages.")
@click.option("--quarters", default=12, show_default=True, help="How many quarters of history.")
@click.option("--second", is_flag=True, help="Write the dump of a quarter later instead of the first one.")
def demo(seed: int, pages: int, quarters: int, second: bool) -> None:
    """Write the dumps of the demo world into the home, in Wikimedia's own formats.

    \b
    Example:
      TEMPKB_HOME=data/demo tempkb demo && TEMPKB_HOME=data/demo tempkb build
    """
    from tempkb.demo.world import write_demo

    for path in write_demo(seed, pages, quarters, second=second):
        click.echo(f"wrote {path}")


def _fail(message: str) -> NoReturn:
    click.echo(f"tempkb: {message}", err=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
