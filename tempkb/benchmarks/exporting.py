"""Exports a release to a folder: files of the released layout, tables as Parquet, design, card and checksums."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tempkb.benchmarks.benchmark import LM_EVAL, Benchmark
from tempkb.benchmarks.card import render
from tempkb.benchmarks.croissant import describe
from tempkb.benchmarks.export_folder import export_folder
from tempkb.benchmarks.lm_eval import write_tasks
from tempkb.benchmarks.loading import write_config
from tempkb.benchmarks.methods import Options
from tempkb.benchmarks.register import AnyRelease, release_versions, require_whole
from tempkb.core.files import read_parquet
from tempkb.store.store import Store
from tempkb.store.versions import Version

DESIGN, CARD, CROISSANT = "design.json", "README.md", "croissant.json"
"""Names in every folder."""


def export_release(
    store: Store, benchmark: Benchmark, release: AnyRelease, folder: Path, options: Options | None = None
) -> Path:
    """Write a release to a folder with its name below `folder`, and return the path.

    The benchmark writes the released layout. The folder also has the tables in `parquet/<table>.parquet`, or in
    `parquet/<table>/<day>.parquet` if they have a partition for each window or snapshot; those that
    `datasets.load_dataset` gives are by split (`write_config`). There are also `design.json`, `README.md`,
    `croissant.json` and `SHA256SUMS`. Derived tables, such as prompts, are left out, because they follow from others.

    Args:
        folder: made if needed; an earlier export of the same release is replaced.

    Raises:
        DesignError: the release is not built, or has lost a partition to damage.
        SettingsError: an option cannot be used, the folder exists and is not an export, or it holds a file that no
            export wrote.
        LockTimeoutError: another process exports the release to this folder.
    """
    require_whole(store, release.name)
    methods = benchmark.loaded()
    target, given = folder / release.name, options or {}
    with export_folder(target, "an export", (DESIGN, CARD)) as out:
        methods.files(store, release, out, given)
        loadables = [found for one in methods.configs for found in write_config(store, release, out, one)]
        if given.get(LM_EVAL.name):
            write_tasks(
                store, release, digest_of(store, release.name, methods.partitions(release)), methods.lm_eval, out
            )
        derived = {table.name for table in benchmark.derived}
        left = derived | {one.folder for one in methods.configs}
        versions = _versions(store, release.name, methods.partitions(release))
        for version in versions:
            if version.table not in left:
                day = version.partition.removeprefix(release.name).removeprefix(".")
                name = f"parquet/{version.table}/{day}.parquet" if day else f"parquet/{version.table}.parquet"
                out.write_parquet(name, store.tables[version.table].schema, map(read_parquet, version.paths()))
        out.write_text(DESIGN, json.dumps(release.design.to_json(), indent=1, sort_keys=True) + "\n")
        card = methods.card(store, release, given)
        steps = [(store.tables[one.table], one) for one in versions if one.table not in derived]
        described = describe(release.name, card, loadables, steps, out, given)
        out.write_text(CROISSANT, json.dumps(described, ensure_ascii=False, indent=1) + "\n")
        out.write_text(CARD, render(release.name, card, loadables))
    return target


def digest_of(store: Store, name: str, partitions: Mapping[str, Sequence[str]]) -> str:
    """Return a hash of the rows of a release, of which each version names those of a partition."""
    named = [(one.table, one.partition, one.version) for one in _versions(store, name, partitions)]
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()


def _versions(store: Store, name: str, partitions: Mapping[str, Sequence[str]]) -> list[Version]:
    found = (release_versions(store, store.tables[table], name, keys) for table, keys in partitions.items())
    return [version for versions in found for version in versions]
