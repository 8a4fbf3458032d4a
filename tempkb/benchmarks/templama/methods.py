"""The methods of TempLAMA, which the code that all benchmarks share calls."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from tempkb.benchmarks.fact_queries.card import card_of
from tempkb.benchmarks.fact_queries.design import TEMPLAMA
from tempkb.benchmarks.fact_queries.exporting import write_files
from tempkb.benchmarks.fact_queries.life import (
    closing_of,
    design_of,
    queries_step,
    shared_partitions,
    spells_step,
    window_partitions,
)
from tempkb.benchmarks.fact_queries.releases import Release, read_entry
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES
from tempkb.benchmarks.methods import Built, Log, Made, Methods, Options, Step
from tempkb.benchmarks.templama.checking import OF_FUTURE_RELATIONS
from tempkb.benchmarks.templama.future_relations import future_relation_rows
from tempkb.benchmarks.templama.tables import FUTURE_RELATION_QUERIES, TEMPLAMA_QUERIES
from tempkb.store.drafts import Provenance
from tempkb.store.store import Store


def _partitions(release: Release) -> Mapping[str, Sequence[str]]:
    own = {TEMPLAMA_QUERIES.name: window_partitions(release), FUTURE_RELATION_QUERIES.name: [release.name]}
    return {**shared_partitions(release), **own}


def _write_future_queries(store: Store, release: Release, _log: Log, _options: Options) -> Built:
    if store.lake.current(FUTURE_RELATION_QUERIES.name, release.name) is None:
        rows = future_relation_rows(store.home.wiki or "", release.name)
        table = pa.Table.from_pylist(rows, FUTURE_RELATION_QUERIES.schema)
        store.write(FUTURE_RELATION_QUERIES, release.name, [table], Provenance())
    return Built()


_FUTURE = Step(
    FUTURE_RELATION_QUERIES.name,
    (
        Made(
            FUTURE_RELATION_QUERIES,
            "TempLAMA's table 9: 86 queries about the future with closed sets of answers. Key `query_no`.",
            # The queries are a source so that this step is the last one. With several last steps, one would continue
            # after another has withdrawn the release.
            (FACT_RELEASES, TEMPLAMA_QUERIES),
        ),
    ),
    _write_future_queries,
    OF_FUTURE_RELATIONS,
)

METHODS = Methods(
    design=design_of(TEMPLAMA),
    read_entry=read_entry,
    partitions=_partitions,
    steps=(spells_step(TEMPLAMA), queries_step(TEMPLAMA_QUERIES, "TempLAMA"), _FUTURE),
    files=write_files(TEMPLAMA_QUERIES),
    card=card_of("TempLAMA", TEMPLAMA_QUERIES),
    closing=lambda store, release: closing_of(store, release, TEMPLAMA_QUERIES),
)
