"""Makes the queries of a window from the spells: all objects that hold in the window are answers."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tempkb.benchmarks.fact_queries.design import TEMPLAMA
from tempkb.benchmarks.fact_queries.releases import Release
from tempkb.benchmarks.fact_queries.study import Numbers, Study
from tempkb.benchmarks.fact_queries.tables import DATED_ANSWER
from tempkb.store.tables import Table
from tempkb.wikidata.late import is_provisional
from tempkb.windows import Window


def partition_of(release: str, window: Window) -> str:
    """Return the partition of a release and window in the lake."""
    return f"{release}.{window.key}"


def make_queries(study: Study, texts: pa.Table, release: Release, window: Window, table: Table) -> pa.Table:
    """Return the queries of a window in key order.

    An object with two spells in the window is one answer; by the released rule of
    DynamicTempLAMA it is two.

    Args:
        texts: the result of `study.query_texts` for the release's templates.
    """
    design = release.design
    spells = study.in_answer_order[study.holding(window, design.answers)[study.in_answer_order]]
    if design.rules != "paper" or release.benchmark == TEMPLAMA:
        spells = _first_of_each(spells, study.thing)
    pairs = study.pair[spells]
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    offsets = pa.array(np.append(starts, len(pairs)), pa.int32())
    plain = study.answers.take(pa.array(spells))
    dated = pa.StructArray.from_arrays([*plain.flatten(), study.ages(spells, window)], fields=list(DATED_ANSWER.arrow))
    answers = pa.ListArray.from_arrays(offsets, dated)
    place = np.full(study.pairs.num_rows, -1)
    place[pairs[starts]] = np.arange(len(starts))
    place_of_query = place[texts["pair"].to_numpy()]
    is_answered = place_of_query >= 0
    rows = texts.filter(pa.array(is_answered))
    return table.conform(_rows(study, rows, answers.take(pa.array(place_of_query[is_answered])), release, window))


def _first_of_each(spells: Numbers, thing: Numbers) -> Numbers:
    _, first = np.unique(thing[spells], return_index=True)
    kept: Numbers = spells[np.sort(first)]
    return kept


def _rows(study: Study, texts: pa.Table, answers: pa.ListArray, release: Release, window: Window) -> pa.Table:
    about = study.pairs.take(texts["pair"])
    n = texts.num_rows
    ids = pc.binary_join_element_wise(texts["before_date"], pa.scalar(window.label), texts["behind_date"], "")
    columns = {
        "wiki": about["wiki"],
        "dump_id": about["dump_id"],
        "release": about["release"],
        "window_start": pa.repeat(pa.scalar(window.start), n),
        "query_id": ids,
        "template_no": texts["template_no"],
        "subject_id": about["subject_id"],
        "relation": about["relation"],
        "date": pa.repeat(window.label, n),
        "query": texts["query"],
        "answers": answers,
        "split": about["split"],
        "granularity": pa.repeat(str(release.design.granularity), n),
        "is_provisional": pa.repeat(is_provisional(window.end, study.dump_date), n),
    }
    return pa.table(columns)
