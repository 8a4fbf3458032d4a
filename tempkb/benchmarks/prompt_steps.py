"""What steps that make prompts share: the promise of their ids, and what the UI shows."""

from collections.abc import Callable
from typing import Any

import duckdb

from tempkb.benchmarks.methods import Versions
from tempkb.benchmarks.promises import Promise
from tempkb.benchmarks.samples import Sample
from tempkb.engine.tasks import Rows, Shows
from tempkb.prompts import Prompt
from tempkb.store.memory import asking, view_files
from tempkb.store.store import Store
from tempkb.store.tables import Table

_CELL = 200
_MOST_IDS = 20_000
_OTHER_IDS = f"""
    SELECT release, item_id, target_id, variant, prompt_id FROM (
        -- Which prompts are checked depends on their texts alone.
        FROM prompts ORDER BY hash(left_context, target, right_context), item_id LIMIT {_MOST_IDS}
    ) WHERE prompt_id <> id_of(left_context, target, right_context)
"""


def ids_of_texts(prompts: Table, sample: Callable[[Store, Table, str], Sample | None]) -> Promise:
    """Return the promise that prompts have the ids of their texts, which is checked for some of them."""
    return Promise(
        "ids_are_those_of_the_texts",
        f"The id of a prompt follows from its three parts; {_MOST_IDS:,} prompts are checked.",
        prompts,
        _OTHER_IDS,
        {"prompts": prompts},
        prepare=_prepare_ids,
        sample=sample,
    )


def shows_of_prompts(prompts: Table) -> Callable[[Store, Any, Versions], Shows]:
    """Return what gives the UI a release's prompts: their numbers by variant and role, and ten of them."""

    def shows(_store: Store, _release: Any, versions: Versions) -> Shows:
        with asking() as connection:
            view_files(
                connection, "prompts", [path for one in versions[prompts.name] for path in one.paths()], prompts.schema
            )
            counted = connection.sql(
                """
                SELECT variant, role, count(*) AS prompts, count(DISTINCT prompt_id) AS different,
                       count(DISTINCT cluster_id) AS clusters
                FROM prompts GROUP BY ALL ORDER BY ALL
                """
            ).to_arrow_table()
            some = connection.sql(
                """
                SELECT variant, role, left_context || '|' || target || '|' || right_context AS "left | target | right"
                FROM prompts ORDER BY md5(prompt_id || item_id) LIMIT 10
                """
            ).to_arrow_table()
        return {prompts.name: {"by_variant": Rows(counted), "prompts": Rows(some, cell=_CELL)}}

    return shows


def _prepare_ids(connection: duckdb.DuckDBPyConnection) -> None:
    connection.create_function("id_of", _id_of, ["VARCHAR", "VARCHAR", "VARCHAR"], "VARCHAR")


def _id_of(left: str, target: str, right: str) -> str:
    return Prompt(left, target, right).prompt_id
