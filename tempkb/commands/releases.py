"""The commands of `tempkb release`, made of what the benchmarks declare: make, change, measure and export releases."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from tempkb.benchmarks.benchmark import Action, Benchmark, Measurement
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.commands.declared import add_upkeep, click_option, close
from tempkb.core.options import Option

_NAME = click.Argument(["name"])


def add_commands(group: click.Group) -> None:
    """Add a command for each benchmark, and those that are about releases, with what each benchmark adds to them."""
    for benchmark in BENCHMARKS:
        group.add_command(_make_command(benchmark))
    actions = {action.name: action for one in BENCHMARKS for action in one.actions}
    measurements = {measured.name: measured for one in BENCHMARKS for measured in one.measurements}
    for action in actions.values():
        group.add_command(_action_command(action))
    for measured in measurements.values():
        group.add_command(_measurement_command(measured))
    options = {option.name: option for one in BENCHMARKS for option in one.export_options}
    group.add_command(_export_command(options.values()))
    group.add_command(finish)
    add_upkeep(
        group,
        "release",
        ("tables", "print_releases", "print_design"),
        "demo-quarters",
        "List the releases of the home.",
        "Show the design of the release NAME, and what it holds.",
        "Remove the release NAME with all that was made of it alone.",
    )


def _make_command(benchmark: Benchmark) -> click.Command:
    """Return the command that makes a release of a benchmark."""

    def make(name: str, changes: tuple[str, ...], **asked: Any) -> None:
        from tempkb.commands.runs import releases as release_runs

        parts = dict(_pair(change) for change in changes)
        made, summary = release_runs.make(benchmark, name, {**asked, "changes": parts})
        _say(benchmark, made.name, summary)

    name = click.Option(["--name"], default="", help="By default made of the study and a hash of the design.")
    changes = click.Option(
        ["--set", "changes"],
        multiple=True,
        metavar="NAME=VALUE",
        help="Another value of a part of the design; may be repeated.",
    )
    params = [_argument(benchmark.study), *map(_option, benchmark.all_options[1:]), name, changes]
    return _command(benchmark.command, make, params, (benchmark.meaning, benchmark.details), benchmark.examples)


def _action_command(action: Action) -> click.Command:
    """Return the command that makes a release from one that exists."""

    def act(name: str, **asked: Any) -> None:
        from tempkb.benchmarks.benchmark import benchmark_named
        from tempkb.commands.runs import releases as release_runs

        made, summary = release_runs.act(name, action.name, asked)
        _say(benchmark_named(BENCHMARKS, made.benchmark), made.name, summary)

    params = [_NAME, *map(_argument, action.arguments)]
    return _command(action.name, act, params, (action.meaning,), action.examples)


def _measurement_command(measurement: Measurement) -> click.Command:
    """Return the command that adds a table to a release that is built."""

    def measure(name: str, **asked: Any) -> None:
        from tempkb.commands.runs import releases as release_runs
        from tempkb.commands.screens.console import print_next, say
        from tempkb.store.quoting import literal

        # The run may have another working directory.
        files = {one.name for one in measurement.arguments if one.is_file}
        given = {key: str(Path(value).resolve()) if key in files else value for key, value in asked.items()}
        close(release_runs.measure_release(measurement, name, given))
        say(measurement.done.format(name=name))
        print_next(f'sql "FROM {measurement.view} WHERE release = {literal(name)}"')

    params = [_NAME, *map(_argument, measurement.arguments)]
    return _command(measurement.name, measure, params, (measurement.meaning,), measurement.examples)


def _export_command(options: Iterable[Option]) -> click.Command:
    """Return the command that writes a release as a folder."""

    def export(name: str, folder: Path, **asked: Any) -> None:
        from tempkb.commands.runs import releases as release_runs

        given = {key: value for key, value in asked.items() if value}
        click.echo(f"wrote {release_runs.export(name, folder, given)}")

    params = [_NAME, click.Argument(["folder"], type=click.Path(path_type=Path)), *map(_option, options)]
    meaning = "Write the release NAME below FOLDER: JSON lines, Parquet, a dataset card and checksums."
    examples = ("export tempel-20220101-20240101-0a1b2c3d exports", "export templama-2010s exports")
    return _command("export", export, params, (meaning,), examples)


@click.command()
@click.argument("name")
def finish(name: str) -> None:
    """Build what the release NAME still lacks, since a run of it was killed; a release that is built stays as it is.

    The command that asked for it, typed again, does the same.

    \b
    Example:
      tempkb release finish demo-quarters
    """
    from tempkb.commands.runs.releases import finish_release

    close(finish_release(name))
    click.echo(f"release {name} is built.")


def _say(benchmark: Benchmark, name: str, summary: Any) -> None:
    """Say how a build of a release went."""
    from tempkb.commands.screens.tables import print_release

    close(summary)
    print_release(benchmark, name)


def _command(
    name: str,
    run: Callable[..., None],
    params: Sequence[click.Parameter],
    sentences: Sequence[str],
    examples: Sequence[str],
) -> click.Command:
    """Return a command with its help: sentences, then examples that are shown as they are."""
    lines = [f"  tempkb release {one}" for one in examples]
    shown = "\n".join(["\b", "Examples:" if len(lines) > 1 else "Example:", *lines])
    text = "\n\n".join([*(one for one in sentences if one), shown])
    return click.Command(name, callback=run, params=list(params), help=inspect.cleandoc(text))


def _argument(option: Option) -> click.Argument:
    kind = click.Path(exists=True) if option.is_file else None
    return click.Argument([option.name], metavar=option.metavar or None, type=kind)


def _option(one: Option) -> click.Option:
    flags, how = click_option(one, one.default)
    return click.Option(flags, **how)


def _pair(change: str) -> tuple[str, str]:
    name, equals, value = change.partition("=")
    if not equals:
        raise click.UsageError(f"--set {change}: expected NAME=VALUE")
    return name.strip(), value.strip()
