"""A release as a folder: the files of the released layout, the tables as Parquet, the design, a card, check sums."""

import json
from pathlib import Path

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.card import render
from tempkb.benchmarks.export_folder import ExportFolder, export_folder
from tempkb.benchmarks.methods import Asked
from tempkb.benchmarks.register import require_whole
from tempkb.benchmarks.releases import AnyRelease
from tempkb.store.parquet import read_parquet
from tempkb.store.store import Store


def export_release(
    store: Store, benchmark: Benchmark, release: AnyRelease, folder: Path, asked: Asked | None = None
) -> Path:
    """Write a release below `folder`, in a folder of its name, and return that.

    The benchmark writes the released layout. Beside it are the tables in `parquet/<table>.parquet`, or in
    `parquet/<table>/<day>.parquet` if they have a partition for each window or snapshot; `design.json`, `README.md` and
    `SHA256SUMS`.

    Args:
        store: where the release's tables are.
        benchmark: that it is of.
        release: one that is built.
        folder: made if need be; a former export of the same release is replaced.
        asked: the benchmark's export options by name.

    Raises:
        DesignError: the release is not built, or something of it is lost to damage.
        SettingsError: an option cannot be used, or the folder holds something else.
    """
    require_whole(store.home, store.lake, release.name)
    methods = benchmark.loaded()
    target = folder / release.name
    with export_folder(target) as out:
        methods.files(store, release, out, asked or {})
        for table, keys in methods.partitions(release).items():
            for key in keys:
                _write_table(store, out, table, key, key.removeprefix(release.name).removeprefix("."))
        out.write_text("design.json", json.dumps(release.design.to_json(), indent=1, sort_keys=True) + "\n")
        out.write_text("README.md", render(store, release.name, methods.card(store, release)))
    return target


def _write_table(store: Store, out: ExportFolder, table: str, key: str, day: str) -> None:
    (version,) = store.lake.versions(table, [key])
    name = f"parquet/{table}/{day}.parquet" if day else f"parquet/{table}.parquet"
    out.write_parquet(name, store.declaration(table).schema, map(read_parquet, version.paths()))
