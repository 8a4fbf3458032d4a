"""The pools of candidates among which mentions are linked: those of a snapshot, or equally many at each snapshot."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from tempkb.benchmarks.linkable.declaration import OWN_POOL, Linkable, fixed_size
from tempkb.benchmarks.register import need_version
from tempkb.core.errors import SettingsError
from tempkb.store.memory import asking
from tempkb.store.quoting import literal, parquet
from tempkb.store.store import Store
from tempkb.store.versions import Version

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Snapshots:
    """A release with mentions, as far as pools of candidates depend on it.

    Attributes:
        cuts: its snapshots, oldest first.
    """

    name: str
    cuts: Sequence[date]
    seed: int
    tables: Linkable


@dataclass(frozen=True)
class LinkableMethods:
    """What only the code of a benchmark can do.

    Attributes:
        snapshots: returns the snapshots of a release from its entry in the register.
        write_described: writes the candidates of a cut to a Parquet file with the columns `texts.DESCRIBED`, in the
            order of `page_id`. Its arguments are the store, the cut, the path, the release (empty: the candidates that
            the default design has at the cut), and the page_ids that are wanted (None: all). It raises ContractError
            if the cut or the release is not built, or texts of it are no longer in the home.
    """

    snapshots: Callable[[Mapping[str, Any]], Snapshots]
    write_described: Callable[[Store, date, Path, str, Integers | None], None]


Log = Callable[[str], None]


@dataclass(frozen=True)
class Pool:
    """The candidates of the mentions of a snapshot.

    Attributes:
        name: own, a day, or fixed-N.
        cut: the snapshot whose candidates they are, and whose texts they have.
        page_ids: ascending; None for all candidates of the release at that snapshot.
        inputs: versions of the tables from which they follow.
    """

    name: str
    cut: date
    page_ids: Integers | None
    inputs: Mapping[str, str]


@dataclass(frozen=True)
class _Choice:
    """Of what the pools of fixed size of a release are made.

    Attributes:
        lasting: pages that are candidates at all snapshots, in the order in which they are taken.
        golds: the entities of the mentions of each snapshot, ascending.
        n_most: how many of both there are at the snapshot that has the fewest.
    """

    lasting: Integers
    golds: tuple[Integers, ...]
    n_most: int


def pool_of(store: Store, release: Snapshots, cut: date, pool: str, subset: str, log: Log) -> Pool:
    """Return the candidates of a release's mentions.

    Args:
        pool: own, a day, or fixed-N.
        subset: the mentions' subset, whose entities are all in a pool of fixed size.
        log: is told if there are fewer entities than a pool of fixed size should have.

    Raises:
        SettingsError: the day is no snapshot of the release.
        ContractError: candidates or mentions are not built.
    """
    if (n := fixed_size(pool)) is not None:
        return _fixed(store, release, cut, pool, n, subset, log)
    of = cut if pool == OWN_POOL else date.fromisoformat(pool)
    if of not in release.cuts:
        raise SettingsError(
            f"pool {pool}: is no snapshot of release {release.name}; expected own, fixed-N, or one of "
            f"{', '.join(map(str, release.cuts))}"
        )
    return Pool(pool, of, None, _inputs([need_version(store, release.tables.entities, release.name, of)]))


def page_ids_of(store: Store, release: Snapshots, pool: Pool) -> Integers:
    """Return the page_ids of a pool, ascending."""
    if pool.page_ids is not None:
        return pool.page_ids
    files = parquet(need_version(store, release.tables.entities, release.name, pool.cut).paths())
    with asking() as memory:
        return _column(memory.execute(f"SELECT page_id FROM {files} ORDER BY page_id"))


def _fixed(store: Store, release: Snapshots, cut: date, pool: str, wanted: int, subset: str, log: Log) -> Pool:
    """As many entities at each snapshot: those of its mentions, filled up with pages that are candidates at all.

    If there are too few of them at a snapshot, the pools of all snapshots are as small as that one's.
    """
    entities = tuple(need_version(store, release.tables.entities, release.name, one) for one in release.cuts)
    mentions = tuple(need_version(store, release.tables.mentions, release.name, one) for one in release.cuts)
    choice = _choice(entities, mentions, release.seed, subset)
    n = min(wanted, choice.n_most)
    if n < wanted:
        log(f"release {release.name}: pool {pool} has only {n:,} entities, since some snapshot has no more of them")
    own = choice.golds[release.cuts.index(cut)]
    if len(own) > n:
        log(f"release {release.name}: pool {pool} at {cut} has {len(own):,} entities, since its mentions have as many")
    others = choice.lasting[~np.isin(choice.lasting, own)][: max(0, n - len(own))]
    return Pool(pool, cut, np.sort(np.concatenate([own, others])), _inputs([*entities, *mentions]))


# The same for all pools, snapshots and linkers, and slow; a run asks for one release after the other.
@lru_cache(maxsize=2)
def _choice(entities: tuple[Version, ...], mentions: tuple[Version, ...], seed: int, subset: str) -> _Choice:
    """What the pools of a release are made of; its versions are those of its snapshots, in their order."""
    with asking() as memory:
        lasting = _column(
            memory.execute(
                f"""
                SELECT page_id FROM {parquet(path for one in entities for path in one.paths())}
                GROUP BY page_id HAVING count(*) = {len(entities)}
                ORDER BY md5(concat_ws('|', {seed}, page_id)), page_id
                """
            )
        )
        golds = tuple(
            _column(
                memory.execute(
                    f"""
                    SELECT DISTINCT target_page_id FROM {parquet(version.paths())}
                    WHERE subset = {literal(subset)} ORDER BY target_page_id
                    """
                )
            )
            for version in mentions
        )
    return _Choice(lasting, golds, min(len(np.union1d(gold, lasting)) for gold in golds))


def _column(found: duckdb.DuckDBPyConnection) -> Integers:
    (column,) = found.fetchnumpy().values()
    return np.asarray(column, np.int64)


def _inputs(versions: Sequence[Version]) -> dict[str, str]:
    return {f"{one.table} {one.partition}": one.version for one in versions}
