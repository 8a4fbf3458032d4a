"""Runs that make releases: written down first, and struck again when nothing of it could be built."""

from collections.abc import Sequence
from pathlib import Path

from tempkb.benchmarks.ecbd import releases as ecbd_releases
from tempkb.benchmarks.fact_queries import releases as fact_releases
from tempkb.benchmarks.register import strike
from tempkb.benchmarks.tempel import releases
from tempkb.errors import SourceError
from tempkb.run import FAMILIES, Summary, dagster_at, run_job
from tempkb.settings import Home, load_home


def build_tempel(release: releases.Release, before: releases.Release | None = None) -> Summary:
    """Build a TempEL release, or what it lacks.

    Args:
        release: as it is to be; it is written down first, since the run reads it.
        before: as it was, written down again when the build fails; None: there was none.
    """
    home = load_home()
    releases.keep(home, release)
    summary = Summary()
    with dagster_at(home) as instance:
        from tempkb.automation import TEMPEL_JOB

        run_job(instance, TEMPEL_JOB, [release.name], {}, [], summary)
    if summary.failures and before is not None:
        releases.keep(home, before)
    elif summary.failures and not any_built(release):
        releases.forget(home, release.name)
    return summary


def any_built(release: releases.Release) -> bool:
    """Does any snapshot of a release stand?"""
    from tempkb.api import open_store
    from tempkb.benchmarks.tempel.frozen import partition_of

    lake = open_store().lake
    return any(lake.current("tempel_mentions", partition_of(release.name, cut)) for cut in release.cuts)


def build_facts(release: fact_releases.Release) -> Summary:
    """Build a release of TempLAMA or DynamicTempLAMA, or what it lacks.

    Args:
        release: as it is to be; it is written down first, since the run reads it.
    """
    from tempkb.automation import DYNAMIC_TEMPLAMA_JOB, TEMPLAMA_JOB

    home = load_home()
    fact_releases.keep(home, release)
    job = TEMPLAMA_JOB if release.benchmark == "templama" else DYNAMIC_TEMPLAMA_JOB
    return _build(home, job, release.name, ("fact_subjects", "fact_spells", "fact_releases"))


def build_ecbd(release: ecbd_releases.Release) -> Summary:
    """Build an ECBD release, unless it stands.

    Args:
        release: as it is to be; it is written down first, since the run reads it.
    """
    from tempkb.automation import ECBD_JOB

    home = load_home()
    ecbd_releases.keep(home, release)
    return _build(home, ECBD_JOB, release.name, ("ecbd_entities", "ecbd_sentences", "ecbd_cloze", "ecbd_releases"))


def _build(home: Home, job: str, name: str, tables: Sequence[str]) -> Summary:
    """Run a job for a release; if it fails before the last of `tables` has it, take back the release and its rows."""
    from tempkb.api import open_store

    summary = Summary()
    with dagster_at(home) as instance:
        run_job(instance, job, [name], {}, [], summary)
        store = open_store()
        if summary.failures and store.lake.current(tables[-1], name) is None:
            strike(home, name)
            instance.delete_dynamic_partition(FAMILIES[job], name)
            for table in tables:
                store.lake.remove(table, name)
            store.publish()
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
    from tempkb.automation import TOKENS_JOB

    home = load_home()
    fact_releases.load(home, name)
    summary = Summary()
    config = {"ops": {"answer_tokens": {"config": {"tokenizer": str(tokenizer.resolve())}}}}
    with dagster_at(home) as instance:
        run_job(instance, TOKENS_JOB, [name], config, [], summary)
    return summary
