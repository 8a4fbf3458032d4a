"""Reads the results of linking of a release and pool: the rows of the views, and what the release cannot tell."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

from tempkb.benchmarks.linkable.declaration import pool_name
from tempkb.core.errors import SettingsError
from tempkb.models.linking.known import rows_of
from tempkb.models.linking.tables import LINKING_SCORES
from tempkb.results.linking_sql import KS
from tempkb.results.linking_sums import read_sums
from tempkb.results.tables import LINKING_SUMS
from tempkb.results.views import LINKING_ACCURACY, LINKING_BY_TRAINING, LINKING_BY_TYPE, LINKING_CHANGES
from tempkb.store.memory import in_memory
from tempkb.store.quoting import literal
from tempkb.store.store import Store

Row = Mapping[str, Any]
CATEGORIES = ("continual", "new")


@dataclass(frozen=True)
class Linking:
    """What linkers make of the test mentions of a release, among the candidates of one pool.

    Attributes:
        release: its name.
        pool: as in `linking_scores`.
        k: number of candidates among which the entity has to be.
        accuracy: rows of `linking_accuracy`.
        by_training: rows of `linking_by_training`.
        changes: rows of `linking_changes`.
        by_type: rows of `linking_by_type`.
        n_candidates: of the release, by snapshot.
    """

    release: str
    pool: str
    k: int
    accuracy: Sequence[Row]
    by_training: Sequence[Row]
    changes: Sequence[Row]
    by_type: Sequence[Row]
    n_candidates: Mapping[date, int]

    @cached_property
    def cuts(self) -> list[date]:
        """The test snapshots, oldest first."""
        return sorted({row["cut"] for row in self.accuracy})

    @property
    def setups(self) -> list[str]:
        """The setups of trained linkers, those with most training snapshots first."""
        cuts: dict[str, set[date]] = {}
        for row in self.by_training:
            if row["model_cut"] is not None:
                cuts.setdefault(row["setup"], set()).add(row["model_cut"])
        return sorted(cuts, key=lambda name: (-len(cuts[name]), name))

    @property
    def untrained(self) -> list[str]:
        """The names of the linkers that were not trained on a snapshot."""
        return sorted({row["setup"] for row in self.by_training if row["model_cut"] is None})

    def models(self, setup: str) -> list[date | None]:
        """Return the training snapshots of a setup, oldest first; None for what is not trained."""
        return sorted({row["model_cut"] for row in self.by_training if row["setup"] == setup}, key=lambda day: str(day))

    def row(
        self,
        setup: str,
        category: str,
        aggregate: str,
        cut: date | None,
        model_cut: date | None = None,
        k: int | None = None,
        metric: str = "accuracy",
    ) -> Row | None:
        """Return a row of `linking_changes` or, of a training, `linking_by_training`, by default of this k; or None."""
        return self._rows.get((setup, category, aggregate, cut, model_cut, k or self.k, metric))

    @cached_property
    def _rows(self) -> Mapping[tuple[Any, ...], Row]:
        """Rows by their keys; the first one of those that share all."""
        columns = ("setup", "category", "aggregate", "cut", "model_cut", "k", "metric")
        return {tuple(map(row.get, columns)): row for row in reversed((*self.changes, *self.by_training))}

    def types(self, setup: str) -> list[Row]:
        """Return the rows over all tests by type: the paper's keywords if they tell types apart, else the origin."""
        rows = [row for row in self.by_type if row["setup"] == setup]
        types = {row["entity_type"] for row in rows if row["type_by"] == "paper"}
        return [row for row in rows if row["type_by"] == ("paper" if len(types) > 1 else "origin")]


def read_linking(store: Store, releases: Sequence[str], pool: str, k: int) -> list[Linking]:
    """Return the results of releases, sorted by name.

    Args:
        store: of the home.
        releases: names; empty for all that have scores in this pool.
        pool: as in `linking_scores`, or `fixed`.
        k: one of `KS`.

    Raises:
        SettingsError: there is no such k, release or pool, or no scores at all.
    """
    if k not in KS:
        raise SettingsError(f"--k {k}: expected one of {', '.join(map(str, KS))}")
    with suppress(ValueError):  # a day is its own name
        pool = pool_name(pool)
    there = _there(store)
    if not there:
        raise SettingsError("linking: found no scores of linkers; make them: tempkb linker score --all")
    if odd := sorted(set(releases) - {release for release, _ in there}):
        known = ", ".join(sorted({release for release, _ in there}))
        raise SettingsError(f"--release {odd[0]}: no linker has linked its test mentions; there: {known}")
    found = sorted({release for release, one in there if one == pool and release in (releases or (release,))})
    lacking = sorted({*releases} - {*found})
    if lacking or not found:
        raise _no_such_pool(pool, lacking[0] if lacking else "", there)
    # They are of all releases, so that they are asked once.
    read = [store.read(LINKING_ACCURACY.name, pool=pool, subset="test").to_pylist(), *_present_sums(store, pool)]
    entities = rows_of("entities")
    read.append(store.ask(f"SELECT release, cut, count(*) AS n FROM ({entities.query}) GROUP BY ALL", *entities.needs))
    every = []
    for release in found:
        accuracy, by_training, changes, by_type, candidates = (
            [row for row in rows if row["release"] == release] for rows in read
        )
        n_candidates = {row["cut"]: row["n"] for row in candidates}
        every.append(Linking(release, pool, k, accuracy, by_training, changes, by_type, n_candidates))
    return every


def _present_sums(store: Store, pool: str) -> list[list[Row]]:
    """The rows of test mentions in the views of sums, by the present scores and not by the table of results."""
    with in_memory() as memory:
        memory.register(LINKING_SUMS.name, read_sums(store))
        return [
            memory.sql(f"FROM ({view.query}) WHERE pool = {literal(pool)} AND subset = 'test'")
            .to_arrow_table()
            .to_pylist()
            for view in (LINKING_BY_TRAINING, LINKING_CHANGES, LINKING_BY_TYPE)
        ]


def _no_such_pool(pool: str, release: str, there: set[tuple[str, str]]) -> SettingsError:
    """The error for a pool in which a release was not linked; no release is named if there is none that was."""
    known = ", ".join(sorted({one for of, one in there if of == (release or of)}))
    which, only = (f" of {release}", f" --release {release}") if release else ("", "")
    return SettingsError(
        f"--pool {pool}: no test mention{which} was linked among its candidates; there: {known}; link them: "
        f"tempkb linker score --all{only} --pool {pool}"
    )


def _there(store: Store) -> set[tuple[str, str]]:
    """The releases and pools in which test mentions were linked."""
    if not store.lake.versions(LINKING_SCORES.name):
        return set()
    rows = store.ask(
        f"SELECT DISTINCT release, pool FROM {LINKING_SCORES.name} WHERE subset = 'test'", LINKING_SCORES.name
    )
    return {(row["release"], row["pool"]) for row in rows}
