"""The commands that are measured, each a process of its own: `python -m tempkb_tests.bench.sides SIDE ...`.

decompress FILE                    only the plain bytes, by tempkb's own reader
select HOME FILES GRANULARITY      winners, log and texts as Parquet, by tempkb; GRANULARITY year or quarter
mwxml FILE GRANULARITY OUT         the same selection on top of the library mwxml
"""

import os
import sys
from datetime import UTC, date, datetime
from pathlib import Path

FIRST, LAST = date(2012, 1, 1), date(2022, 1, 1)


def decompress(file: str) -> None:
    """Read a file and count its bytes."""
    from tempkb.dumps.files import open_dump

    print(sum(len(piece) for piece in open_dump(Path(file))))


def select(
    home: str, files: str, granularity: str, last: str = LAST.isoformat(), since: str = FIRST.isoformat()
) -> None:
    """Build the windows whose start lies in [since, last), of a home whose first window begins in 2012."""
    os.environ["TEMPKB_HOME"] = home
    from tempkb.dumps.catalogue import Dump, DumpFile
    from tempkb.dumps.tables import TABLES as DUMPS
    from tempkb.revisions.building import Plan, build
    from tempkb.revisions.tables import TABLES
    from tempkb.settings import load_home
    from tempkb.store.store import Store
    from tempkb.windows import epoch_seconds, windows_between

    loaded = load_home(
        granularity=granularity, first_window=FIRST, namespaces="all", workers=int(os.environ["BENCH_WORKERS"])
    )
    dump = Dump(
        "benchwiki-20220201", "benchwiki", date(2022, 2, 1),
        tuple(DumpFile(Path(file), "history") for file in files.split(",")), epoch_seconds(date(2022, 2, 1)), is_named=True,
    )  # fmt: skip
    known = list(windows_between(FIRST, date.fromisoformat(last), loaded.settings.granularity))
    asked = tuple(window for window in known if window.start >= date.fromisoformat(since))
    report = build(Store(loaded, [*DUMPS, *TABLES]), [Plan(dump, None, asked)], known, lambda line: None)
    assert not report.bad, report.bad
    print(sum(version.rows for version in report.versions.values()))


def mwxml(file: str, granularity: str, out: str) -> None:
    """Choose the same winners on top of mwxml, and write log and winners with pyarrow."""
    import mwxml
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tempkb.revisions.stable import select_stable
    from tempkb.windows import Granularity, epoch_seconds, windows_between

    cuts = [epoch_seconds(window.cut) for window in windows_between(FIRST, LAST, Granularity(granularity))]
    log: list[dict[str, object]] = []
    winners: list[dict[str, object]] = []
    with Path(file).open("rb") as handle:
        for page in mwxml.Dump.from_file(handle):
            history = sorted(page, key=lambda revision: (revision.timestamp, revision.id))
            times = [
                int(datetime.fromisoformat(str(r.timestamp).replace("Z", "+00:00")).astimezone(UTC).timestamp())
                for r in history
            ]
            names: dict[str, int] = {}
            contents = [names.setdefault(r.sha1, len(names)) for r in history]
            weak = [not (r.text or "").strip() for r in history]
            for revision, time in zip(history, times, strict=True):
                log.append({"page_id": page.id, "revision_id": revision.id, "time": time, "user": str(revision.user.id),
                            "sha1": revision.sha1, "bytes": revision.bytes, "is_minor": bool(revision.minor)})  # fmt: skip
            for cut in cuts:
                best = select_stable(times, contents, weak, cut, 30 * 86_400)
                if best is not None:
                    winners.append({"cut": cut, "page_id": page.id, "revision_id": history[best.index].id,
                                    "text": history[best.index].text})  # fmt: skip
    pq.write_table(pa.Table.from_pylist(log), f"{out}/log.parquet", compression="zstd", compression_level=3)
    pq.write_table(pa.Table.from_pylist(winners), f"{out}/winners.parquet", compression="zstd", compression_level=3)
    print(len(winners))


if __name__ == "__main__":
    {"decompress": decompress, "select": select, "mwxml": mwxml}[sys.argv[1]](*sys.argv[2:])
