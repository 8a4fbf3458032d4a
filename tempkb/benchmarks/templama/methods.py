"""The methods of TempLAMA, which the code that all benchmarks share calls."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from tempkb.benchmarks.fact_queries.card import card_of
from tempkb.benchmarks.fact_queries.design import TEMPLAMA
from tempkb.benchmarks.fact_queries.exporting import configs_of, write_files
from tempkb.benchmarks.fact_queries.life import (
    closing_of,
    design_of,
    prompts_step,
    queries_step,
    shared_partitions,
    spells_step,
    window_partitions,
)
from tempkb.benchmarks.fact_queries.lm_eval import tasks_of
from tempkb.benchmarks.fact_queries.prompt_building import Tables
from tempkb.benchmarks.fact_queries.releases import Release, read_entry
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES
from tempkb.benchmarks.methods import Built, Log, Made, Methods, Options, Step
from tempkb.benchmarks.prompt_steps import are_current
from tempkb.benchmarks.templama.checking import OF_FUTURE_PROMPTS, OF_FUTURE_RELATIONS
from tempkb.benchmarks.templama.future_prompts import future_prompts
from tempkb.benchmarks.templama.future_relations import future_relation_rows
from tempkb.benchmarks.templama.reading import PROMPTING
from tempkb.benchmarks.templama.tables import FUTURE, FUTURE_RELATION_QUERIES, TEMPLAMA_PROMPTS, TEMPLAMA_QUERIES
from tempkb.errors import ContractError
from tempkb.store.drafts import Provenance
from tempkb.store.parquet import read_parquet
from tempkb.store.store import Store

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


def _write_future_queries(store: Store, release: Release, _log: Log, _options: Options) -> Built:
    if store.lake.current(FUTURE_RELATION_QUERIES.name, release.name) is None:
        rows = future_relation_rows(store.home.wiki or "", release.name)
        table = pa.Table.from_pylist(rows, FUTURE_RELATION_QUERIES.schema)
        store.write(FUTURE_RELATION_QUERIES, release.name, [table], Provenance())
    return Built()


def _write_future_prompts(store: Store, release: Release) -> None:
    if not are_current(store, store.lake.current(TEMPLAMA_PROMPTS.name, _future_partition(release))):
        queries = store.lake.current(FUTURE_RELATION_QUERIES.name, release.name)
        if queries is None:
            raise ContractError(
                f"{FUTURE_RELATION_QUERIES.name} of {release.name} is not built; build the release again"
            )
        rows = future_prompts(read_parquet(queries.paths()).to_pylist())
        provenance = Provenance({f"{queries.table} {queries.partition}": queries.version})
        store.write(TEMPLAMA_PROMPTS, _future_partition(release), [rows], provenance)


_FUTURE = Step(
    FUTURE_RELATION_QUERIES.name,
    (
        Made(
            FUTURE_RELATION_QUERIES,
            "TempLAMA's table 9: 86 queries about the future with closed sets of answers. Key `query_no`.",
            # The queries are a source so that the steps follow one another.
            (FACT_RELEASES, TEMPLAMA_QUERIES),
        ),
    ),
    _write_future_queries,
    OF_FUTURE_RELATIONS,
)
_PROMPTS = prompts_step(_TABLES, (FUTURE_RELATION_QUERIES,), OF_FUTURE_PROMPTS, _write_future_prompts)

METHODS = Methods(
    design=design_of(TEMPLAMA),
    read_entry=read_entry,
    partitions=_partitions,
    steps=(spells_step(TEMPLAMA), queries_step(TEMPLAMA_QUERIES, "TempLAMA"), _FUTURE, _PROMPTS),
    files=write_files(TEMPLAMA_QUERIES),
    configs=configs_of(_TABLES),
    lm_eval=tasks_of(_TABLES, PROMPTING),
    card=card_of("TempLAMA", TEMPLAMA_QUERIES),
    closing=lambda store, release: closing_of(store, release, TEMPLAMA_QUERIES),
)
