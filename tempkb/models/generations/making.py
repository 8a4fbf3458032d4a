"""Makes what language models say, one model a run, and shows first answers to questions of a few releases."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from tempkb.core.prompts import QUESTION_ID
from tempkb.engine.tasks import Done, Order, Rows
from tempkb.models.generations.kind import SAID
from tempkb.models.generations.tables import GENERATIONS
from tempkb.models.scores.making import answers, to_show
from tempkb.models.scores.running import Answered
from tempkb.models.scores.tables import partition_of
from tempkb.store.memory import asking
from tempkb.store.quoting import parquet
from tempkb.store.store import Store

_N_SAMPLE = 20


def samples(store: Store, model: str, done: Sequence[Answered]) -> Mapping[str, pa.Table]:
    """Return first answers to questions of a few releases, by title; of one release always the same questions."""
    shown = {}
    for decoder, source in to_show(store, done)[0]:
        (version,) = store.lake.versions(GENERATIONS.name, [partition_of(model, decoder)])
        with asking() as memory:
            shown[f"{source.release}/what it said ({decoder})"] = memory.sql(
                f"""
                WITH questions AS (
                    SELECT DISTINCT {QUESTION_ID} AS question_id,
                           concat(left_context, '____', right_context) AS question
                    {source.query}
                )
                SELECT question, coalesce(text, status) AS answer, round(score, 3) AS score, n_tokens, stopped
                FROM questions JOIN {parquet(version.paths())} USING (question_id)
                WHERE rank = 1 ORDER BY question_id LIMIT {_N_SAMPLE}
                """
            ).to_arrow_table()
    return shown


def generations(order: Order) -> Done:
    """Ask what has no answer yet."""
    return answers(
        SAID,
        order,
        lambda store, name, done: {title: Rows(rows, cell=200) for title, rows in samples(store, name, done).items()},
    )
