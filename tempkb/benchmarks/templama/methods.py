"""The methods of TempLAMA, which the code that all benchmarks share calls."""

from collections.abc import Mapping, Sequence

from tempkb.benchmarks.fact_queries.card import card_of
from tempkb.benchmarks.fact_queries.design import TEMPLAMA, Release, read_entry
from tempkb.benchmarks.fact_queries.exporting import configs_of, tasks_of, write_files
from tempkb.benchmarks.fact_queries.life import (
    closing_of,
    design_of,
    prompts_step,
    queries_step,
    shared_partitions,
    spells_step,
    window_partitions,
)
from tempkb.benchmarks.fact_queries.prompt_building import Tables
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES
from tempkb.benchmarks.methods import Made, Methods, Step
from tempkb.benchmarks.templama.future import future_prompts, future_relation_rows
from tempkb.benchmarks.templama.reading import PROMPTING
from tempkb.benchmarks.templama.tables import FUTURE, FUTURE_RELATION_QUERIES, TEMPLAMA_PROMPTS, TEMPLAMA_QUERIES
from tempkb.benchmarks.work import ReleaseWork
from tempkb.core.files import read_parquet

_TABLES = Tables(TEMPLAMA_QUERIES, TEMPLAMA_PROMPTS)


def _partitions(release: Release) -> Mapping[str, Sequence[str]]:
    windows = window_partitions(release)
    return {
        **shared_partitions(release),
        TEMPLAMA_QUERIES.name: windows,
        FUTURE_RELATION_QUERIES.name: [release.name],
        TEMPLAMA_PROMPTS.name: [*windows, _future_partition(release)],
    }


def _future_partition(release: Release) -> str:
    return f"{release.name}.{FUTURE}"


def _write_future_queries(work: ReleaseWork) -> None:
    if not work.stands(FUTURE_RELATION_QUERIES, work.release.name):
        rows = future_relation_rows(work.store.home.wiki or "", work.release.name)
        work.write(FUTURE_RELATION_QUERIES, work.release.name, rows)


def _write_future_prompts(work: ReleaseWork) -> None:
    if not work.stands(TEMPLAMA_PROMPTS, _future_partition(work.release)):
        (queries,) = work.read(FUTURE_RELATION_QUERIES, work.release.name)
        rows = future_prompts(read_parquet(queries.paths()).to_pylist())
        work.write(TEMPLAMA_PROMPTS, _future_partition(work.release), rows)


_FUTURE = Step(
    FUTURE_RELATION_QUERIES.name,
    (
        Made(
            FUTURE_RELATION_QUERIES,
            # The queries are a source so that the steps follow one another.
            (FACT_RELEASES, TEMPLAMA_QUERIES),
        ),
    ),
    _write_future_queries,
)
_PROMPTS = prompts_step(_TABLES, (FUTURE_RELATION_QUERIES,), _write_future_prompts)

METHODS = Methods(
    design=design_of(TEMPLAMA),
    read_entry=read_entry,
    partitions=_partitions,
    steps=(spells_step(TEMPLAMA), queries_step(TEMPLAMA_QUERIES), _FUTURE, _PROMPTS),
    files=write_files(TEMPLAMA_QUERIES),
    configs=configs_of(_TABLES),
    lm_eval=tasks_of(_TABLES, PROMPTING),
    card=card_of("TempLAMA", TEMPLAMA_QUERIES),
    closing=lambda store, release: closing_of(store, release, TEMPLAMA_QUERIES),
)
