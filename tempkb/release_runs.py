"""Runs that make releases: written down first, built whole, or taken back."""

from collections.abc import Callable
from pathlib import Path

from tempkb.benchmarks.ecbd import releases as ecbd_releases
from tempkb.benchmarks.fact_queries import releases as fact_releases
from tempkb.benchmarks.register import (
    COMMAND,
    LOOK,
    alone,
    benchmark_of,
    built_entry,
    held_places,
    is_registered,
    lost_of_release,
    require_whole,
)
from tempkb.benchmarks.tempel import releases
from tempkb.benchmarks.withdrawal import withdraw_unbuilt
from tempkb.errors import SourceError
from tempkb.instance import dagster_at
from tempkb.jobs import Summary, forget_partition, past_damage, run_job, set_aside_in_words
from tempkb.settings import Home, load_home
from tempkb.store.locks import Patience


def build_tempel(release: releases.Release) -> Summary:
    """Build a TempEL release, or what it lacks.

    Args:
        release: as it is to be; it is written down first, since the run reads it.
    """
    home = load_home()
    with alone(home, release.name, COMMAND, Patience(LOOK)):
        return _build(home, "build_tempel", release.name, keep=lambda: releases.keep(home, release))


def build_facts(release: fact_releases.Release) -> Summary:
    """Build a release of TempLAMA or DynamicTempLAMA, or what it lacks.

    Args:
        release: as it is to be; it is written down first, since the run reads it.
    """
    home = load_home()
    with alone(home, release.name, COMMAND, Patience(LOOK)):
        return _build(home, f"build_{release.benchmark}", release.name, keep=lambda: fact_releases.keep(home, release))


def build_ecbd(release: ecbd_releases.Release) -> Summary:
    """Build an ECBD release, unless it stands.

    Args:
        release: as it is to be; it is written down first, since the run reads it.
    """
    home = load_home()
    with alone(home, release.name, COMMAND, Patience(LOOK)):
        return _build(home, "build_ecbd", release.name, keep=lambda: ecbd_releases.keep(home, release))


def finish_release(name: str) -> Summary:
    """Build what a release lacks, whatever it is of, as it was asked for.

    Raises:
        DesignError: there is none of that name, or another program builds it.
    """
    home = load_home()
    benchmark = benchmark_of(home, name)
    if benchmark == releases.BENCHMARK:
        return build_tempel(releases.load(home, name))
    if benchmark == "ecbd":
        return build_ecbd(ecbd_releases.load(home, name))
    return build_facts(fact_releases.load(home, name))


def _build(home: Home, job: str, name: str, *, keep: Callable[[], None]) -> Summary:
    """Build what a release lacks, also what of it was damaged; the summary says where that came out otherwise.

    Args:
        home: of the release.
        job: that builds it.
        name: of the release.
        keep: writes down what is asked for. Called in each round, since a round that fails takes it back.
    """
    from tempkb.api import open_store

    store = open_store()
    # What is damaged is set aside here, so that it is known under which version each partition was frozen.
    aside = set_aside_in_words(store.set_aside_damaged())
    asked = built_entry(home, name)
    lost: set[tuple[str, str]] = set()
    before = held_places(home, name)

    def work() -> Summary:
        for table in store.tables.values():
            for key in lost_of_release(store.lake, table, name):
                lost.add((table.name, key))
                before.setdefault((table.name, key), store.lake.lost_version(table.name, key))
        keep()
        return _run(home, job, name)

    summary = past_damage(work)
    summary.notes[:0] = aside
    is_grown = built_entry(home, name) != asked
    for (table_name, partition), version in sorted(before.items()):
        now = store.lake.current(table_name, partition)
        # What there is once in a release tells of an added snapshot too.
        may_differ = is_grown and store.tables[table_name].partitioned_by == "release"
        if now is not None and now.version == version and (table_name, partition) in lost:
            summary.notes.append(f"built again as it was: {table_name} {partition}")
        elif now is not None and now.version != version and not may_differ:
            summary.notes.append(
                f"built again, but not as it was: {table_name} {partition} was version {version or 'unknown'} and is "
                f"{now.version} now. If that is not only another form of the file, its sources have changed since; to "
                f"have all of the release from one state: tempkb rm --release {name}, then make it anew"
            )
    return summary


def _run(home: Home, job: str, name: str) -> Summary:
    """Run a job for a release; the steps take back what fails in them, this takes back what no step has begun."""
    from tempkb.api import open_store

    summary = Summary()
    with dagster_at(home) as instance:
        is_whole = False
        try:
            run_job(instance, job, [name], {}, [], summary)
            is_whole = not summary.failures
        finally:
            # Also when somebody interrupts the run between two of its steps.
            if not is_whole:
                withdraw_unbuilt(open_store(), name)
            if not is_registered(home, name):
                forget_partition(instance, job, name)
    return summary


def newest_cut() -> str:
    """Return the cut of the newest window that is built.

    Raises:
        SourceError: none is.
    """
    from tempkb.api import open_store
    from tempkb.windows import window_of_key

    store = open_store()
    windows = store.lake.partitions("entity_popularity")
    if not windows:
        raise SourceError("no window is built yet, so no text stands at any cut; build first: tempkb build")
    return window_of_key(max(windows), store.home.settings.granularity).cut.isoformat()


def newest_wikidata() -> str:
    """Return the newest Wikidata dump that was read.

    Raises:
        SourceError: none was.
    """
    from tempkb.api import open_store
    from tempkb.wikidata.late import dump_dates

    read = dump_dates(open_store().lake)
    if not read:
        raise SourceError(
            "no Wikidata dump was read yet; put one into the home's dumps, as "
            "wikidatawiki/entities/20260101/wikidata-20260101-all.json.gz, or name it: tempkb build --dump FILE"
        )
    return max(read, key=lambda name: (read[name], name))


def count_answer_tokens(name: str, tokenizer: Path) -> Summary:
    """Count the tokens of a release's answers by a tokenizer's file."""
    from tempkb.api import open_store

    home = load_home()
    fact_releases.load(home, name)
    require_whole(home, open_store().lake, name)
    summary = Summary()
    config = {"ops": {"answer_tokens": {"config": {"tokenizer": str(tokenizer.resolve())}}}}
    with dagster_at(home) as instance:
        run_job(instance, "count_answer_tokens", [name], config, [], summary)
    return summary
