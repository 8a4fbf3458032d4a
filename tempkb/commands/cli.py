"""The `tempkb` command and its subcommands. Expected errors end with one message, without a trace."""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from gc import set_threshold
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

import tempkb
from tempkb.commands.corpora import corpus
from tempkb.commands.declared import YES, options
from tempkb.commands.linkers import index, link, linker
from tempkb.commands.models import generate, model, score, scores, train
from tempkb.commands.results import FILE, answers, knows, late, linking, paper, results
from tempkb.commands.screens.failure import Failure, end, leave, prepare_streams
from tempkb.platform.planning.declaration import Request

if TYPE_CHECKING:
    from tempkb.commands.screens.demo import Steps

# Nothing here multiplies matrices, and workers share the cores: idle threads of NumPy's linear algebra would cost a
# tenth of a second per process. A value that is already set is kept.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_DEMO_WORLD = (7, 627, 12)  # seed, pages, quarters
_WIKIDATA = click.option(
    "--wikidata/--no-wikidata", default=True, show_default=True, help="Include Wikidata's entities."
)


ALIASES = {f"{one}s": one for one in ("window", "model", "cut", "seed")} | {"earlier": "baseline", "answers": "full"}
"""Other names of options, which commands take and help does not list."""
GROUPS = {
    "Getting started": ("demo", "docs", "ui"),
    "Data": ("plan", "fetch", "build", "show"),
    "Benchmarks": ("release",),
    "Models": ("model", "corpus", "train", "score", "generate", "scores"),
    "Linkers": ("linker", "link", "index"),
    "Results": ("knows", "answers", "linking", "late", "paper", "results"),
    "Tables": ("tables", "sql"),
    "Upkeep": ("status", "verify", "publish", "gc", "rm"),
}
"""The commands, as help groups them."""


class _Tempkb(click.Group):
    """A group of commands that ends with one message after every error that is not a defect of tempkb."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by group."""
        longest = max(map(len, self.commands))
        for title, names in GROUPS.items():
            with formatter.section(title):
                helps = (self.commands[name].get_short_help_str(formatter.width - 6 - longest) for name in names)
                formatter.write_dl([(name.ljust(longest), said) for name, said in zip(names, helps, strict=True)])

    def invoke(self, ctx: click.Context) -> Any:
        prepare_streams()
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BaseException as error:
            end(error)
            raise
        return result


class _Releases(click.Group):
    """The commands of releases. They follow from the benchmarks' tables, which other commands need not import."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        self._load()
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        self._load()
        return super().get_command(ctx, cmd_name)

    def _load(self) -> None:
        if not self.commands:
            from tempkb.commands.releases import add_commands

            add_commands(self)


_SETTINGS = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,
    "token_normalize_func": lambda name: ALIASES.get(name, name),
}


@click.group(cls=_Tempkb, context_settings=_SETTINGS)
@click.version_option(tempkb.__version__, prog_name="tempkb")
def main() -> None:
    """Turn Wikimedia's dumps into time-stratified benchmarks for language models.

    All data of one wiki is in a home, a folder that TEMPKB_HOME names (by
    default data/demo). Settings are TEMPKB_* variables or lines of
    tempkb.toml in the home; tempkb docs settings lists them.

    \b
    Examples:
      tempkb build --all
      TEMPKB_HOME=data/simplewiki tempkb build --dump simplewiki-*.xml.bz2 --all
      tempkb sql "SELECT cut, count(*) FROM stable_snapshots GROUP BY cut"
      tempkb show "Harbour Clock" --cut 2021-01-01
    """


@main.command()
@options(Request, "select", "windows", "all_windows", "dump_files", "day")
@click.option(
    "--pages",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep only the pages of this list, one number or title per line. Defines the home, so use a new one.",
)
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="Keep only one page in N, chosen by a hash. Defines the home, so use a new one.",
)
@click.argument("more", nargs=-1, type=click.Path(path_type=Path))
@options(Request, "rebuild")
def build(more: tuple[Path, ...], pages: Path | None, sample: int | None, **asked: Any) -> None:
    """Build tables and publish them to DuckDB.

    Without --window or --all this builds the windows that a dump serves and
    that are not built yet. After --dump FILE more file names may follow, so
    that patterns of the shell work.

    \b
    Examples:
      tempkb build
      tempkb build --window 2020-01-01..2021-01-01
      tempkb build --select stable_snapshots --all --dump history.xml.bz2
      TEMPKB_WIKI=enwiki tempkb build --dump entities.json.bz2 --day 2017-03-01
      TEMPKB_HOME=data/try tempkb build --sample 1000 --dump enwiki-*.7z
    """
    if pages and sample:
        raise click.UsageError("--pages and --sample exclude one another; give one of them")
    if pages:
        from tempkb.core.settings import load_home
        from tempkb.wiki.revisions.choice import keep_list, read_list

        os.environ["TEMPKB_PAGES"], listed = read_list(pages)
        keep_list(load_home().path, os.environ["TEMPKB_PAGES"], listed)
    elif sample:
        os.environ["TEMPKB_PAGES"] = f"1/{sample}" if sample > 1 else "all"
    if more and not asked["dump_files"]:
        raise click.UsageError(f"{more[0]}: name files with --dump")
    from tempkb.commands.runs.building import build
    from tempkb.commands.screens.status import print_summary

    summary = build(Request(**asked | {"dump_files": (*asked["dump_files"], *more)}))
    print_summary(summary)
    if summary.failures:
        raise Failure(1, "\n".join(f"failed: {failure}" for failure in summary.failures))


# A query may begin with a comment, whose two hyphens would be taken for an option.
@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("query")
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated, to standard output.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per row, to standard output.")
@click.option("--parquet", type=click.Path(path_type=Path), metavar="FILE", help="Write a Parquet file.")
def sql(query: str, as_csv: bool, as_json: bool, parquet: Path | None) -> None:
    """Run one SQL statement that reads the tables.

    It may begin with SELECT, FROM, WITH, EXPLAIN, DESCRIBE, SHOW or SUMMARIZE.
    Prints a table, or one column per line if the table does not fit the
    terminal. In a file or a pipe each row is one line. The
    statement cannot open other files; for anything else use
    duckdb -readonly HOME/tempkb.duckdb.

    \b
    Examples:
      tempkb sql "SELECT * FROM stable_snapshots WHERE title = 'Harbour Clock' ORDER BY cut"
      tempkb sql "SELECT cut, count(*) AS pages FROM stable_snapshots GROUP BY cut ORDER BY cut" --csv
      tempkb sql "FROM revision_log" --parquet log.parquet
    """
    forms = {"--csv": as_csv, "--json": as_json, "--parquet": parquet is not None}
    given = [name for name, is_given in forms.items() if is_given]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} exclude one another; give one of them")
    from tempkb.commands.screens.query import run_query

    run_query(query, "csv" if as_csv else "json" if as_json else None, parquet)


@main.command()
@click.argument("name", required=False)
def tables(name: str | None) -> None:
    """List the tables and views of the home, or describe one.

    The list has a line for each: rows, kind (table or view) and what it is.
    With NAME the command shows its columns with types and meanings, what it
    is made from, and an example of a query.

    \b
    Examples:
      tempkb tables
      tempkb tables stable_snapshots
    """
    from tempkb.commands.screens.tables import print_table, print_tables

    print_table(name) if name else print_tables()


@main.command()
def status() -> None:
    """Show what is built, out of date or pending, and the dumps."""
    from tempkb.commands.screens.status import print_status

    print_status()


@main.command()
def publish() -> None:
    """Bring the DuckDB file up to date with the lake.

    Waits up to a minute if another process has the file open.
    """
    from tempkb.commands.screens.upkeep import publish_all

    publish_all()


@main.command()
@click.option(
    "--window", "windows", default="", metavar="KEY | A..B", help="A window by its first day, or a range of windows."
)
@click.option("--release", default="", metavar="NAME", help="A release of a benchmark.")
@click.option(
    "--dump", default="", metavar="ID", help="A dump: its files, and the tables made for it (pages, Wikidata's tables)."
)
@click.option(
    "--model",
    default="",
    metavar="NAME",
    help="A language model with all its scores; its checkpoint stays where it is.",
)
@click.option(
    "--linker",
    default="",
    metavar="NAME",
    help="A linker with its vectors and scores, and with its checkpoint if it was trained here.",
)
@click.option("--corpus", default="", metavar="NAME", help="A corpus of dated text.")
@click.option("--force", is_flag=True, help="Remove the dump even if windows still wait for it.")
@YES
def rm(force: bool, yes: bool, **named: str) -> None:
    """Remove windows, a release, a dump, a language model, a linker or a corpus.

    They are removed from the lake and from DuckDB. Lists first what would be
    removed, and asks for confirmation. The files of the lake are deleted by
    tempkb gc.

    \b
    Examples:
      tempkb rm --window 2021-10-01
      tempkb rm --window 2020-01-01..2021-01-01 --yes
      tempkb rm --release demo-years
      tempkb rm --dump simplewiki-20260101
      tempkb rm --model t5-large
      tempkb rm --linker demo-2022-01-01-demo
      tempkb rm --corpus home
    """
    from tempkb.commands.screens.upkeep import remove_what

    remove_what(**named, force=force, ask=not yes)


@main.command()
@_WIKIDATA
def plan(wikidata: bool) -> None:
    """Show which windows are missing, and what they cost.

    Lists the dumps that would serve them. Searches the home and, if one is
    set, the mirror. Fails if the disk is too small.

    \b
    Examples:
      tempkb plan
      TEMPKB_HOME=data/simplewiki TEMPKB_WIKI=simplewiki TEMPKB_CONTACT=me@example.org \\
        TEMPKB_MIRROR=https://dumps.wikimedia.org tempkb plan --no-wikidata
    """
    from tempkb.commands.screens.plan import print_plan

    print_plan(wikidata=wikidata)


@main.command()
@_WIKIDATA
def fetch(wikidata: bool) -> None:
    """Download and verify the dumps that are missing.

    These are the dumps that tempkb plan lists. Continues where an earlier
    download stopped.

    \b
    Example:
      TEMPKB_HOME=data/simplewiki TEMPKB_WIKI=simplewiki TEMPKB_CONTACT=me@example.org \\
        TEMPKB_MIRROR=https://dumps.wikimedia.org tempkb fetch --no-wikidata
    """
    from tempkb.commands.screens.console import print_next, say
    from tempkb.commands.screens.failure import tell
    from tempkb.platform.planning.due import fetch

    fetched = fetch(tell, only_windows=not wikidata)
    for line in fetched.untaken:
        say(f"not taken: {line}")
    if fetched.dumps:
        say(f"fetched: {', '.join(fetched.dumps)}")
    else:
        here = f": {', '.join(fetched.here)} {'is' if len(fetched.here) == 1 else 'are'} already in the home"
        say(f"Nothing to fetch{here if fetched.here else '.'}")
    if fetched.dumps or fetched.here:
        print_next("build")


@main.command()
def gc() -> None:
    """Delete files that are no longer used.

    These are old versions of partitions, drafts of runs that died, and the rest of
    a dump whose removal was interrupted.
    """
    from tempkb.commands.screens.upkeep import collect_garbage

    collect_garbage()


@main.command()
@click.option("--table", "tables", multiple=True, metavar="NAME", help="Only this table; may be repeated.")
@click.option("--since", default="", metavar="DATE", help="Only partitions written on this day or later.")
def verify(tables: tuple[str, ...], since: str) -> None:
    """Compare all stored files with their checksums.

    Also compares the DuckDB file with the lake, and dumps with their notes.
    Reads everything and changes no data. Prints one line per fault with what
    was found, what was expected and the command to type. A damaged partition counts
    as absent from then on. Fails if there is any fault. With --table or
    --since, dumps are not checked.

    \b
    Examples:
      tempkb verify
      tempkb verify --table revision_log --table stable_snapshots
      tempkb verify --since 2026-11-01
    """
    from tempkb.commands.screens.verify import print_verification

    print_verification(tables, since)


@main.command()
@click.argument("title", required=False)
@click.option(
    "--cut", "day", default=None, metavar="DATE", help="A cut, YYYY-MM-DD; by default the newest one that is built."
)
@click.option(
    "--entity",
    default=None,
    metavar="NAME",
    help="Instead: an entity (its Wikidata item, title or label) through all benchmarks.",
)
@click.option("--csv", "csv_file", type=FILE, metavar="FILE", help="Write all that is about it to a CSV file.")
def show(title: str | None, day: str | None, entity: str | None, csv_file: Path | None) -> None:
    """Show the revisions of a page around a cut, or one entity through all benchmarks.

    Of a page it explains why one text was chosen. Of an entity it shows its origin, its
    mentions in TempEL at each snapshot, the sentences about it in ECBD, its facts and changes
    through time with their sources, and what each model or linker makes of them.

    \b
    Examples:
      tempkb show "Harbour Clock"
      tempkb show "Harbour Clock" --cut 2021-01-01
      tempkb show --entity "Ida Brandt" --csv ida.csv
    """
    if (title is None) == (entity is None) or (day if entity else csv_file):
        raise click.UsageError("expected TITLE, with --cut or without, or --entity NAME, with --csv or without")
    from tempkb.commands.screens.timeline import print_entity, print_timeline

    print_timeline(title, day) if title is not None else print_entity(entity or "", csv_file)


@main.command()
@click.option(
    "--port", type=click.IntRange(1, 65_535), default=3000, show_default=True, help="Port, on localhost only."
)
def ui(port: int) -> None:
    """Start Dagster's web UI and daemon; Ctrl-C ends both."""
    from tempkb.platform.instance import serve_ui

    serve_ui(port)


@main.command()
@click.option("--seed", default=_DEMO_WORLD[0], show_default=True, help="Another seed gives another wiki.")
@click.option("--pages", default=_DEMO_WORLD[1], show_default=True, help="Number of pages.")
@click.option("--quarters", default=_DEMO_WORLD[2], show_default=True, help="Number of quarters of history.")
@click.option("--second", is_flag=True, help="Write the dump of one quarter later instead of the first dump.")
@click.option(
    "--all",
    "is_all",
    is_flag=True,
    help="Also build everything: tables, releases, tiny language models and linkers, and their scores.",
)
@click.option("--time", "is_time", is_flag=True, help="Train and compare tiny models that are told the time instead.")
def demo(seed: int, pages: int, quarters: int, second: bool, is_all: bool, is_time: bool) -> None:
    """Write the dumps of the demo wiki into the home.

    They have Wikimedia's own formats.

    With --all, the commands that build tables, releases, tiny language models and linkers
    from them, and score these, follow in the same process. Each is a line with its seconds; what
    they print is in demo.log of the home. At the end are three findings. Interrupted, the same
    command goes on. Without the extra linking, all but linkers is made.

    With --time, in a home of its own, tiny models read news of the wiki's world: as they come,
    each with its year, or each year by a model of its own. Then they are asked what held when.

    \b
    Examples:
      TEMPKB_HOME=data/demo tempkb demo --all
      TEMPKB_HOME=data/demo tempkb demo && TEMPKB_HOME=data/demo tempkb build
      TEMPKB_HOME=data/time tempkb demo --time
    """
    all_or_time = "--all" if is_all else "--time"
    if (is_all or is_time) and (second or (is_all and is_time) or (seed, pages, quarters) != _DEMO_WORLD):
        which = "the default" if is_all else "another"
        raise click.UsageError(f"{all_or_time} builds the first dump of {which} world; leave out the other options")
    if is_all or is_time:
        _run_demo(is_time=is_time)
        return
    from tempkb.demo.world import write_demo

    for path in write_demo(seed, pages, quarters, second=second):
        click.echo(f"wrote {path}")


def _run_demo(*, is_time: bool) -> None:
    """Write the dumps of a demo and run its commands, each as a step; say what they show."""
    from multiprocessing import get_context

    from tempkb.commands.screens.demo import LOG, Steps, print_end
    from tempkb.core.errors import ModelError, SettingsError
    from tempkb.core.settings import load_home
    from tempkb.demo import world
    from tempkb.models.linking.training.lessons import LEARNING
    from tempkb.models.training.lessons import DatedLesson
    from tempkb.models.training.requests import require_extra

    home, of, learning = load_home().path, _DEMO_WORLD, LEARNING
    groups: list[Sequence[Mapping[str, Sequence[str]]]] = [[world.STEPS]]
    if is_time:
        require_extra("demo --time: training models", ("datasets", "accelerate"))
        of, learning, groups = world.TIME_WORLD, DatedLesson.learning, [*world.time_steps(home / "time")]
    else:
        try:
            require_extra("training them")
        except SettingsError as error:
            click.echo(f"Without linkers: {error}")
            groups = [[{title: words for title, words in world.STEPS.items() if words[0] != "linker"}]]
    shown, done = Steps(home / LOG, 1 + sum(len(steps) for group in groups for steps in group)), 1
    with shown.step(done, "writing the dumps of an invented wiki"):
        for path in world.write_demo(*of):
            click.echo(f"wrote {path}")
        for path in world.write_time(world.make_world(*of), home / "time") if is_time else ():
            click.echo(f"wrote {path}")
    for own, *others in groups:
        beside = []
        for steps in others:
            words = (steps, learning, shown, done + len(own), True)
            beside.append(get_context("spawn").Process(target=_run_and_leave, args=words))
            beside[-1].start()
        run_steps(own, learning, shown, done, bool(others))
        for process in beside:
            process.join()
            if process.exitcode:
                raise ModelError("demo --time: a command in a second process has failed; its message is above")
        done += sum(map(len, (own, *others)))
    print_end(shown, "time" if is_time else "all")


def _run_and_leave(*words: Any) -> NoReturn:
    """Run commands, and end this process as that of a command ends, without libraries' complaints."""
    run_steps(*words)
    leave(0)


def run_steps(
    steps: Mapping[str, Sequence[str]],
    learning: str,
    shown: "Steps",
    done: int = 0,
    is_beside: bool = False,  # noqa: FBT001, FBT002 - handed to another process
) -> None:
    """Run commands, by what they do, in this process, beside one that trains by a module; `done` steps were before."""
    from gc import collect, freeze

    from tempkb.commands.runs.results import results_later
    from tempkb.core.settings import home_in_front
    from tempkb.models.training.teaching import school

    # The process that trains imports what it needs beside the commands before, which leave a core idle.
    with results_later(), school(learning, is_needed=any("train" in one for one in steps.values())):
        for number, (title, arguments) in enumerate(steps.items(), done + 1):
            with shown.step(number, title, is_beside=is_beside):
                click.echo(f"$ {home_in_front()}tempkb {shlex.join(arguments)}")
                main(list(arguments), standalone_mode=False)
            # What the commands import stays, a million objects in the end. Each collection would look at all of them
            # again, which took a tenth of the whole time.
            collect()
            freeze()


@main.command()
@click.argument("page", default="")
def docs(page: str) -> None:
    """Print a PAGE of the documentation, or list the pages.

    \b
    Examples:
      tempkb docs
      tempkb docs results
    """
    from tempkb.commands.screens.pages import list_pages, print_page

    print_page(page) if page else list_pages()


@main.group(cls=_Releases)
def release() -> None:
    """Make, extend and export releases of the benchmarks; what is built of a release never changes."""


main.add_command(corpus)
main.add_command(train)
for _command in (model, score, generate, scores, linker, link, index, linking, knows, answers, late, paper, results):
    main.add_command(_command)


def run() -> NoReturn:
    """Run the command that was typed, and end the process."""
    # The libraries are a million objects that stay. By default, Python looks at all of them again whenever a quarter as
    # many are new, which took up to a tenth of a command; hardly anything is garbage of the kind that is found by it.
    set_threshold(50_000, 10, 10)
    try:
        main(prog_name="tempkb")
    except SystemExit as exited:
        leave(exited.code)
    except BaseException:  # noqa: BLE001 - a defect, whose trace is printed as Python would
        sys.excepthook(*sys.exc_info())
        leave(1)
    leave(0)


if __name__ == "__main__":
    run()
