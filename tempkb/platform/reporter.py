"""Tells Dagster what stands in the lake, whoever made it, so that its UI shows it.

A ledger in Dagster's folder says what was told. An event is about one of Dagster's partitions, such as a window or a
release; it has rows, a sample, the versions of data and code, and whether the partition is current by our own stamps.
"""

import hashlib
import json
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import dagster as dg

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.register import releases_of
from tempkb.benchmarks.tasks import tasks_of
from tempkb.core.files import replace_whole
from tempkb.core.settings import Home
from tempkb.engine.steps import Look
from tempkb.engine.tasks import Shows, Task
from tempkb.platform.assets import code_version_of, facts_of_key, in_dagster, keys_of, partitions_of, sample_of
from tempkb.platform.rooms import steps, tasks
from tempkb.store.store import Store
from tempkb.store.tables import Family, Table
from tempkb.store.versions import Version
from tempkb.wiki.revisions.tables import PAGE_WIKITEXTS, STABLE_SNAPSHOTS

_LEDGER = "told.json"
_NONE = ""
# An event before any other: what was made from something as it was then is stale to Dagster.
_STALE = 1


@dataclass(frozen=True)
class _Asset:
    """An asset: its table and task, keys and tables of what it is made from; of which releases, if of a benchmark's."""

    key: dg.AssetKey
    table: Table
    task: Task
    sources: tuple[tuple[dg.AssetKey, Table], ...]
    releases: frozenset[str] | None

    @property
    def name(self) -> str:
        return self.key.to_user_string()


def report(instance: dg.DagsterInstance, store: Store, until: float = math.inf) -> int:
    """Tell Dagster what it was not told yet; return the number of events.

    Args:
        until: when to stop, by the clock `time.monotonic`; the next call goes on.
    """
    return _Report(instance, store, until).tell()


class _Report:
    """One look at the lake, and what Dagster is told of it."""

    def __init__(self, instance: dg.DagsterInstance, store: Store, until: float) -> None:
        self.instance, self.store, self.until = instance, store, until
        self.look, self.path = Look(store, steps()), store.home.dagster / _LEDGER
        self.told: dict[str, Any] = json.loads(self.path.read_text()) if self.path.is_file() else {}
        # By asset, the partitions of which this tick has told something.
        self.new: dict[dg.AssetKey, set[str]] = defaultdict(set)
        self._shows: dict[tuple[str, str], Shows] = {}
        # Of assets of which nothing was told since.
        self._known: dict[dg.AssetKey, int] = {}
        self.n = 0

    def tell(self) -> int:
        """Tell what is to be told: sets of partitions first, since of others Dagster shows nothing."""
        seen = self._seen()
        if self.told.get("seen") == seen:
            return 0
        self._tell_sets()
        try:
            for asset in _assets(self.store.home):
                if self._has_time:
                    self._tell_asset(asset)
            if self._has_time:
                self.told["seen"] = seen
        finally:
            replace_whole(self.path, json.dumps(self.told).encode())
        return self.n

    @property
    def _has_time(self) -> bool:
        return not self.n or time.monotonic() < self.until

    def _seen(self) -> str:
        """A digest of all on which depends what is told; most often it is that of the tick before."""
        rules = [[table.name, table.code_version] for table in self.store.tables.values()]
        run = next((one.update_timestamp.timestamp() for one in self.instance.get_run_records(limit=1)), 0)
        listed = sorted(
            (one.name, one.stat().st_mtime_ns) for one in (self.store.home.path / "releases").glob("*.json")
        )
        versions = (one for name in self.store.tables for one in self.store.lake.versions(name))
        stands = [[one.table, one.partition, one.version, one.serial, one.verdicts] for one in versions]
        return _digest([rules, run, listed, stands])

    def _tell_sets(self) -> None:
        """Add the keys that the home has, and take out those that it had."""
        had: dict[str, list[str]] = self.told.get("sets", {})
        now = _sets(self.store)
        for name, keys in now.items():
            if added := sorted({*keys} - {*self.instance.get_dynamic_partitions(name)}):
                self.instance.add_dynamic_partitions(name, added)
            for key in {*had.get(name, ())} - {*keys}:
                self.instance.delete_dynamic_partition(name, key)
        self.told["sets"] = now

    def _tell_asset(self, asset: _Asset) -> None:
        ledger = self.told.setdefault(asset.name, {"parts": {}, "checks": {}, "newest": 0})
        found = self._found(asset)
        if {*ledger["parts"]} - {*found}:
            # Dagster's storage cannot take back what it was told of one partition.
            self.instance.wipe_assets([asset.key])
            self._known.pop(asset.key, None)
            ledger |= {"parts": {}, "checks": {}}
        elif ledger["newest"] != self._newest(asset.key):
            # A run of its own has told something, with versions of its own.
            ledger["parts"] = {}
        for part, versions in found.items():
            if self._has_time:
                self._tell_part(asset, part, versions, ledger["parts"])
        self._tell_checks(asset, found, ledger["checks"])
        ledger["newest"] = self._newest(asset.key)

    def _found(self, asset: _Asset) -> dict[str, list[Version]]:
        """The versions that stand, by Dagster's partition; `_NONE` where there are none."""
        found: dict[str, list[Version]] = {}
        for version in self.store.lake.versions(asset.table.name):
            owner = asset.table.owner_of(version.partition)
            if asset.releases is not None and owner not in asset.releases:
                continue
            is_of_quarter = owner is None and asset.table.family is Family.WINDOW
            for part in self._windows_of[version.partition] if is_of_quarter else (owner or _NONE,):
                found.setdefault(part, []).append(version)
        return dict(sorted(found.items()))

    @cached_property
    def _newest_window(self) -> str:
        return max(self.store.lake.keys(STABLE_SNAPSHOTS.name), default=_NONE)

    @cached_property
    def _windows_of(self) -> dict[str, list[str]]:
        """The windows that have texts of a quarter, by quarter."""
        found = defaultdict[str, list[str]](list)
        for snapshot in self.store.lake.versions(STABLE_SNAPSHOTS.name):
            for quarter in snapshot.fills.get(PAGE_WIKITEXTS.name, ()):
                found[quarter].append(snapshot.partition)
        return found

    def _tell_part(self, asset: _Asset, part: str, versions: Sequence[Version], ledger: dict[str, str]) -> None:
        is_current = all(self.look.is_current(one.table, one.partition) for one in versions)
        data = _digest([[one.partition, one.version] for one in versions])
        # What stands though its code is an older one is not stale; `tempkb status` names it.
        code = code_version_of(asset.table, self.store.home.settings) if is_current else versions[0].rules
        mark = _digest([data, code, is_current])
        if ledger.get(part) == mark and not self._has_new_source(asset, part):
            return
        tags = {"dagster/data_version": data, "dagster/code_version": code}
        for key, _ in asset.sources:
            pointer = self._newest(key) if is_current else _STALE
            tags[f"dagster/input_data_version/{key.to_user_string()}"] = "-"
            tags[f"dagster/input_event_pointer/{key.to_user_string()}"] = str(pointer)
        about = {**facts_of_key(versions), "sample": sample_of(versions[-1]), **self._shown(asset, part)}
        self._add(dg.AssetMaterialization(asset.key, partition=part or None, metadata=about, tags=tags))
        self.new[asset.key].add(part)
        ledger[part] = mark

    def _shown(self, asset: _Asset, part: str) -> dict[str, Any]:
        """What is shown of a partition; of windows, of all of which it is, that of the newest."""
        place = asset.task.name, part
        if asset.table.family is Family.WINDOW and part != self._newest_window:
            return {}
        if place not in self._shows:
            self._shows[place] = asset.task.shows(self.store, part or None)
        return in_dagster(self._shows[place].get(asset.table.name, {}))

    def _has_new_source(self, asset: _Asset, part: str) -> bool:
        """Was something told of what a partition is made from, which Dagster would take for newer?"""
        return any(
            part in self.new[key] if table.family is asset.table.family else bool(self.new[key])
            for key, table in asset.sources
        )

    def _tell_checks(self, asset: _Asset, found: Mapping[str, Sequence[Version]], ledger: dict[str, str]) -> None:
        """Tell the verdicts that are kept with versions: of each check one, which is bad if one of them is."""
        kept: dict[str, dict[str, Any]] = {}
        for version in (one for versions in found.values() for one in versions):
            for name, said in version.verdicts.items():
                if name not in kept or kept[name]["passed"]:
                    kept[name] = said
        for name, said in kept.items():
            # Dagster shows only verdicts that are younger than what an asset was told.
            if ledger.get(name) != (mark := _digest(said)) or self.new[asset.key]:
                severity = dg.AssetCheckSeverity.WARN if said["is_warning"] else dg.AssetCheckSeverity.ERROR
                self._add(
                    dg.AssetCheckEvaluation(
                        asset_key=asset.key,
                        check_name=name,
                        passed=said["passed"],
                        metadata=said["facts"],
                        severity=severity,
                    )
                )
                ledger[name] = mark

    def _add(self, event: dg.AssetMaterialization | dg.AssetCheckEvaluation) -> None:
        self.instance.report_runless_asset_event(event)
        self._known.pop(event.asset_key, None)
        self.n += 1

    def _newest(self, key: dg.AssetKey) -> int:
        """The storage id of the newest event of an asset; that of an asset without any is that of stale ones."""
        if key not in self._known:
            records = self.instance.fetch_materializations(key, limit=1).records
            self._known[key] = records[0].storage_id if records else _STALE
        return self._known[key]


def _assets(home: Home) -> Iterator[_Asset]:
    """Yield the assets, in an order in which each comes after what it is made from."""
    of_benchmarks = [([one], frozenset(releases_of(home, one.name)), tasks_of(one)) for one in BENCHMARKS]
    before = [task for task in tasks() if task.family in (Family.DUMP, Family.WINDOW, Family.ENTITIES)]
    behind = [task for task in tasks() if task not in before]
    for benchmarks, releases, made in ((BENCHMARKS, None, before), *of_benchmarks, (BENCHMARKS, None, behind)):
        for task in made:
            for step in task.steps:
                read = tuple((key, one.table) for one in step.sources for key in keys_of(benchmarks, one.table))
                for table in step.makes:
                    yield _Asset(keys_of(benchmarks, table)[0], table, task, read, releases)


def _sets(store: Store) -> dict[str, list[str]]:
    """The keys of the sets of partitions that come as they appear, by the name of the set."""
    every = partitions_of(store.home.settings).items()
    sets = {family: one for family, one in every if isinstance(one, dg.DynamicPartitionsDefinition)}
    found: dict[str, set[str]] = {str(one.name): set() for one in sets.values()}
    for table in store.tables.values():
        if table.family in sets:
            owners = {table.owner_of(key) for key in store.lake.partitions(table.name)}
            found[str(sets[table.family].name)] |= {one for one in owners if one}
    found |= {one.partition_set: {*releases_of(store.home, one.name)} for one in BENCHMARKS}
    return {name: sorted(keys) for name, keys in found.items()}


def _digest(said: object) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]
