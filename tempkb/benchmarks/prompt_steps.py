"""What the UI shows of the prompts of a release."""

from collections.abc import Callable
from typing import Any

from tempkb.benchmarks.methods import Versions
from tempkb.engine.tasks import Rows, Shows
from tempkb.store.memory import asking, view_files
from tempkb.store.store import Store
from tempkb.store.tables import Table

_CELL = 200


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
