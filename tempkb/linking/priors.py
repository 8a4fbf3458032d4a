"""The mention prior as a linker: the entity to which most links with a surface lead at the candidates' cut."""

from collections.abc import Sequence
from datetime import date

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tempkb.mentions.tables import MENTION_PRIORS
from tempkb.revisions.windows import not_built
from tempkb.store.memory import asking
from tempkb.store.quoting import parquet
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.windows import window_ending

Integers = npt.NDArray[np.int64]
Best = tuple[Integers, npt.NDArray[np.float64], Integers]
"""The best candidates of a mention: page_ids, numbers of links, and numbers of other candidates with as many."""


def priors_at(store: Store, cut: date) -> Version:
    """Return the priors of a cut.

    Raises:
        ContractError: they are not built.
    """
    window = window_ending(cut, store.home.settings.granularity)
    version = store.lake.current(MENTION_PRIORS.name, window.key)
    if version is None:
        raise not_built(store, MENTION_PRIORS.name, cut)
    return version


def rank_by_links(priors: Version, mentions: Sequence[str], page_ids: Integers, k: int) -> list[Best]:
    """Return the candidates of each mention that have links with its surface, by their number and then by page_id.

    Surfaces are compared as TempEL's filters compare them, in lower case.
    """
    nothing = np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)
    found: list[Best] = [nothing] * len(mentions)
    with asking() as memory:
        memory.register("asked", pa.table({"place": np.arange(len(mentions)), "mention": pa.array(mentions, "string")}))
        memory.register("pool", pa.table({"page_id": page_ids}))
        for place, pages, links, ties in _ranked(memory, priors, k):
            found[place] = np.array(pages, np.int64), np.array(links, np.float64), np.array(ties, np.int64)
    return found


def _ranked(
    memory: duckdb.DuckDBPyConnection, priors: Version, k: int
) -> list[tuple[int, list[int], list[int], list[int]]]:
    return memory.execute(
        f"""
        WITH offered AS (
            SELECT surface, target_page_id AS page_id, n_links,
                   count(*) OVER (PARTITION BY surface, n_links) - 1 AS n_tied,
                   row_number() OVER (PARTITION BY surface ORDER BY n_links DESC, target_page_id) AS place_of
            FROM {parquet(priors.paths())}
            SEMI JOIN pool ON pool.page_id = target_page_id
            SEMI JOIN (SELECT DISTINCT lower(mention) AS surface FROM asked) AS wanted USING (surface)
        ), best AS (
            SELECT surface, list(page_id ORDER BY place_of) AS pages, list(n_links ORDER BY place_of) AS links,
                   list(n_tied ORDER BY place_of) AS ties
            FROM offered WHERE place_of <= {k} GROUP BY surface
        )
        SELECT place, pages, links, ties FROM asked JOIN best ON best.surface = lower(mention)
        """
    ).fetchall()
