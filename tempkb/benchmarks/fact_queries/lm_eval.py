"""Queries about facts as tasks of lm-evaluation-harness: pairs of objects, and queries that models are to complete."""

from functools import partial

import duckdb
import pyarrow as pa

from tempkb.benchmarks.fact_queries.design import Release
from tempkb.benchmarks.fact_queries.prompt_building import PAIRS, Tables, read_pairs
from tempkb.benchmarks.fact_queries.prompts import NO_SUBJECT, NO_SUBJECT_OBJECT_LAST, OBJECT_LAST, UNDATED
from tempkb.benchmarks.fact_queries.reading import answers_of
from tempkb.benchmarks.lm_eval import LmEvalTask
from tempkb.benchmarks.prompting import Prompting
from tempkb.benchmarks.register import release_files
from tempkb.core.prompts import QUESTION_ID
from tempkb.store.memory import asking, view_files
from tempkb.store.quoting import literals
from tempkb.store.store import Store
from tempkb.wiki.wikidata.tables import WIKIDATA_ENTITIES

# Of two wordings the one without the object at its beginning, where nothing precedes it, is asked.
_PAIRS = """
    WITH asked AS (
        SELECT item_id, coalesce(stands_for_id, target_id) AS object_id, variant, left_context, right_context,
               min_by(struct_pack(target, prompt_id), target_id) AS one
        FROM prompts
        WHERE variant IN ($first, $last) AND (role = 'control') = $is_control AND trim(left_context) <> ''
        GROUP BY ALL
    )
    SELECT p.date, query_id AS item_id, subject_id, p.split, [o.one.prompt_id, n.one.prompt_id] AS prompt_ids,
           n.left_context, n.right_context,
           [concat(o.one.target, o.right_context), concat(n.one.target, n.right_context)] AS choices, 1 AS answer
    FROM pairs AS p
    JOIN asked AS n ON n.item_id = query_id AND n.object_id = p.new.entity_id
    JOIN asked AS o ON o.item_id = query_id AND o.object_id = p.old.entity_id AND o.variant = n.variant
    QUALIFY row_number() OVER (
        PARTITION BY query_id, p.new.entity_id, p.old.entity_id ORDER BY n.variant = $last
    ) = 1
    ORDER BY date, item_id, prompt_ids
"""


def tasks_of(tables: Tables, prompting: Prompting) -> tuple[LmEvalTask, ...]:
    """Return the tasks of a benchmark of facts.

    Pairs are the old object against the new one, which is right and comes second, so that a tie does not count as a
    preference for it; with the text behind the object, as `span_end` counts it. There are pairs with a noun in the
    subject's place, and with controls in the objects' place, too. What a causal model completes is a task for each
    window.
    """
    with_subject, without = (UNDATED, OBJECT_LAST), (NO_SUBJECT, NO_SUBJECT_OBJECT_LAST)
    of_pairs = [
        LmEvalTask(name, "multiple_choice", partial(_pairs, tables, variants, is_control))
        for name, variants, is_control in (
            ("pairs", with_subject, False),
            ("pairs_no_subject", without, False),
            ("controls", with_subject, True),
            ("controls_no_subject", without, True),
        )
    ]
    return (*of_pairs, LmEvalTask("cloze", "generate_until", partial(_cloze, tables, prompting), by_window=True))


def _pairs(tables: Tables, variants: tuple[str, str], is_control: bool, store: Store, release: Release) -> pa.Table:
    pairs = pa.concat_tables([PAIRS.empty_table(), *read_pairs(store, release, tables)])
    first, last = variants
    with asking() as connection:
        connection.register("pairs", pairs)
        _view_prompts(store, tables, release, connection)
        asked = {"first": first, "last": last, "is_control": is_control}
        return connection.sql(_PAIRS, params=asked).to_arrow_table()


def _cloze(tables: Tables, prompting: Prompting, store: Store, release: Release) -> pa.Table:
    """The queries that causal models complete, each with all names that are right in its window."""
    way, answers = prompting.answered["causal"], answers_of(tables.queries)
    variants = literals(way.variants)
    entities = store.lake.files(WIKIDATA_ENTITIES.name, [release.design.dump_id])
    with asking() as connection:
        view_files(connection, tables.queries.name, release_files(store, tables.queries, release.name))
        view_files(connection, WIKIDATA_ENTITIES.name, entities, WIKIDATA_ENTITIES.schema)
        _view_prompts(store, tables, release, connection)
        return connection.sql(
            f"""
            WITH answers AS ({answers.query})
            SELECT q.date, p.item_id, any_value(p.cluster_id) AS subject_id, any_value(p.split) AS split,
                   list(p.prompt_id ORDER BY p.target_id) AS prompt_ids, p.left_context, p.right_context,
                   any_value({QUESTION_ID}) AS question_id,
                   list_distinct(flatten(list(a.names ORDER BY p.target_id))) AS names
            FROM prompts AS p JOIN answers AS a USING (item_id, target_id)
            JOIN {tables.queries.name} AS q ON q.query_id = p.item_id
            WHERE p.role = 'current' AND p.variant IN ({variants}) AND {way.condition}
            GROUP BY q.date, p.item_id, p.variant, p.left_context, p.right_context ORDER BY q.date, p.item_id, p.variant
            """
        ).to_arrow_table()


def _view_prompts(store: Store, tables: Tables, release: Release, connection: duckdb.DuckDBPyConnection) -> None:
    view_files(connection, "prompts", release_files(store, tables.prompts, release.name))
