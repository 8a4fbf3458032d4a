"""The commands that are measured, each a process of its own: `python -m tempkb_tests.bench.sides SIDE ...`.

decompress FILE                    only the plain bytes, by tempkb's own reader
select HOME FILES GRANULARITY      winners, log and texts as Parquet, by tempkb; GRANULARITY year or quarter
mwxml FILE GRANULARITY OUT         the same selection on top of the library mwxml
texts FILE OUT                     the last text of every page, as JSON lines
clean READER TEXTS                 readable text and links of those, by tempkb or a library
chain HOME FILE OUT                all from a dump to a TempEL release, with CPU seconds by stage
growth HOME PAGES OUT              mentions and a release of a demo world of so many pages
entities READER FILE               Wikidata's entities decoded by tempkb (prefiltered, or all), or by json.loads
wikidata HOME FILE                 all tables of a Wikidata dump
make-facts HOME N                  a home with so many synthetic facts
release-facts HOME N [prompts]     a DynamicTempLAMA release of them over forty quarters, perhaps with its prompts
prefers-new FOLDER                 the view prefers_new over tables that `preferences` has written
"""

import json
import os
import sys
from datetime import UTC, date, datetime
from pathlib import Path

FIRST, LAST = date(2012, 1, 1), date(2022, 1, 1)


def decompress(file: str) -> None:
    """Read a file and count its bytes."""
    from tempkb.wiki.dumps.files import open_dump

    print(sum(len(piece) for piece in open_dump(Path(file))))


def select(
    home: str, files: str, granularity: str, last: str = LAST.isoformat(), since: str = FIRST.isoformat()
) -> None:
    """Build the windows whose start lies in [since, last), of a home whose first window begins in 2012."""
    os.environ["TEMPKB_HOME"] = home
    from tempkb.core.settings import load_home
    from tempkb.core.windows import epoch_seconds, windows_between
    from tempkb.store.store import Store
    from tempkb.wiki.dumps.catalogue import Dump, DumpFile
    from tempkb.wiki.dumps.tables import TABLES as DUMPS
    from tempkb.wiki.revisions.building import Plan, build
    from tempkb.wiki.revisions.tables import TABLES

    loaded = load_home(
        granularity=granularity, first_window=FIRST, namespaces="all", workers=int(os.environ["BENCH_WORKERS"])
    )
    dump = Dump(
        "benchwiki-20220201",
        "benchwiki",
        date(2022, 2, 1),
        tuple(DumpFile(Path(file), "history") for file in files.split(",")),
        epoch_seconds(date(2022, 2, 1)),
        is_named=True,
    )
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

    from tempkb.core.windows import Granularity, epoch_seconds, windows_between
    from tempkb.wiki.revisions.stable import select_stable

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
                log.append(
                    {
                        "page_id": page.id,
                        "revision_id": revision.id,
                        "time": time,
                        "user": str(revision.user.id),
                        "sha1": revision.sha1,
                        "bytes": revision.bytes,
                        "is_minor": bool(revision.minor),
                    }
                )
            for cut in cuts:
                best = select_stable(times, contents, weak, cut, 30 * 86_400)
                if best is not None:
                    winners.append(
                        {
                            "cut": cut,
                            "page_id": page.id,
                            "revision_id": history[best.index].id,
                            "text": history[best.index].text,
                        }
                    )
    pq.write_table(pa.Table.from_pylist(log), f"{out}/log.parquet", compression="zstd", compression_level=3)
    pq.write_table(pa.Table.from_pylist(winners), f"{out}/winners.parquet", compression="zstd", compression_level=3)
    print(len(winners))


def texts(file: str, out: str) -> None:
    """Write the last text of each page."""
    from tempkb.wiki.dumps.elements import unescape
    from tempkb.wiki.dumps.files import open_dump
    from tempkb.wiki.dumps.xml import PageStream

    stream = PageStream(open_dump(Path(file)), file)
    with Path(out).open("w", encoding="utf-8") as lines:
        while stream.next_page() is not None:
            for revision in list(stream.revisions())[-4:]:
                lines.write(json.dumps(unescape(revision.text).decode()) + "\n")


def clean(reader: str, file: str) -> None:
    """Read every text by one of the readers."""
    import mwparserfromhell
    import wikitextparser

    from tempkb.core.titles import Site
    from tempkb.wiki.wikitext.article import read_article

    site = Site("enwiki")

    def by_mwparserfromhell(text: str) -> int:
        code = mwparserfromhell.parse(text)
        links = [(str(link.title), str(link.text)) for link in code.ifilter_wikilinks()]
        return len(links) + len(code.strip_code())

    def by_wikitextparser(text: str) -> int:
        code = wikitextparser.parse(text)
        links = [(link.title, link.text) for link in code.wikilinks]
        return len(links) + len(code.plain_text())

    readers = {
        "nothing": len,
        "tempkb": lambda text: len(read_article(text, site).text),
        "mwparserfromhell": by_mwparserfromhell,
        "wikitextparser": by_wikitextparser,
    }
    with Path(file).open(encoding="utf-8") as lines:
        print(sum(readers[reader](json.loads(line)) for line in lines))


def chain(home: str, file: str, out: str) -> None:
    """Go all the way, and note the CPU seconds of each stage."""
    stages: dict[str, float] = {}

    def noted(stage: str, began: float) -> float:
        now = sum(os.times()[:4])
        stages[stage] = now - began
        return now

    began = 0.0
    select(home, file, "year")
    from tempkb.core.settings import load_home
    from tempkb.core.windows import epoch_seconds
    from tempkb.platform.rooms import TABLES
    from tempkb.store.store import Store
    from tempkb.wiki.dumps.catalogue import Dump, DumpFile
    from tempkb.wiki.dumps.pages import write_namespaces

    began = noted("start, reading, choosing, writing snapshots and texts", began)
    store = Store(load_home(workers=1), TABLES)
    days = date(2022, 2, 1)
    write_namespaces(
        store, Dump("benchwiki-20220201", "benchwiki", days, (DumpFile(Path(file), "history"),), epoch_seconds(days))
    )
    began = noted("reading the head again for the namespaces", began)
    _finish(store, [date(year, 1, 1) for year in range(2013, 2023)], noted, began)
    Path(out).write_text(json.dumps(stages))


def growth(home: str, pages: str, out: str) -> None:
    """Measure mentions and a release of a demo world."""
    os.environ["TEMPKB_HOME"] = home
    from tempkb.commands.runs.building import build
    from tempkb.demo.world import write_demo
    from tempkb.platform.planning.declaration import Request

    write_demo(7, int(pages), 12)
    build(Request(select=("dump_files", "pages", "namespaces", "revision_log", "stable_snapshots", "page_wikitexts")))
    from tempkb.platform.api import open_store

    stages: dict[str, float] = {}

    def noted(stage: str, began: float) -> float:
        now = sum(os.times()[:4])
        stages[stage] = now - began
        return now

    store = open_store()
    _finish(store, [date(2022, 1, 1), date(2023, 1, 1), date(2024, 1, 1)], noted, sum(os.times()[:4]))
    links = sum(one.rows for one in store.lake.versions("mentions"))
    Path(out).write_text(
        json.dumps({"links": links, "mentions": stages["mentions, priors, popularity"], "release": stages["release"]})
    )


def entities(reader: str, file: str) -> None:
    """Decode the entities of a file."""
    from tempkb.wiki.dumps.files import open_dump
    from tempkb.wiki.wikidata.reading import Tally, read_entities

    if reader == "nothing":
        return
    if reader == "json.loads":
        # The same decompression, then the standard library's parser on every line.
        rest, n = b"", 0
        for piece in open_dump(Path(file)):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                text = line.strip().rstrip(b",")
                if text not in (b"[", b"]", b""):
                    n += len(json.loads(text)["claims"])
        print(n)
        return
    wanted = [b'"enwiki":', b'"P279":'] if reader == "prefiltered" else []
    print(sum(len(one.claims) for one in read_entities(Path(file), ["en", "mul"], wanted, Tally())))


def wikidata(home: str, file: str) -> None:
    """Read a Wikidata dump into a home."""
    os.environ |= {"TEMPKB_HOME": home, "TEMPKB_WIKI": "enwiki", "TEMPKB_FIRST_WINDOW": "2012-01-01"}
    from tempkb.platform.api import open_store
    from tempkb.wiki.dumps.entities import name_entities
    from tempkb.wiki.wikidata.building import read_dump

    print(read_dump(open_store(), name_entities([Path(file)], LAST), print).n_entities)


FACTS_DUMP = "wikidatawiki-20220101"


def make_facts(home: str, n: str) -> None:
    """Write synthetic facts into a home's lake."""
    os.environ |= {"TEMPKB_HOME": home, "TEMPKB_WIKI": "enwiki"}
    from tempkb.platform.api import open_store
    from tempkb.store.drafts import Provenance
    from tempkb.wiki.wikidata.tables import FACTS, UNDATED_STATEMENTS, WIKIDATA_ENTITIES
    from tempkb_tests.bench.facts import facts_table

    store = open_store()
    store.claim("enwiki")
    described, told = facts_table(int(n), "enwiki", FACTS_DUMP, LAST)
    for table, rows in ((WIKIDATA_ENTITIES, [described]), (FACTS, [told]), (UNDATED_STATEMENTS, [])):
        store.write(table, FACTS_DUMP, rows, Provenance())


def release_facts(home: str, n: str, last: str = "changes") -> None:
    """Build a release over forty quarters, with all subjects, up to its changes or its prompts."""
    os.environ |= {"TEMPKB_HOME": home, "TEMPKB_WIKI": "enwiki"}
    from tempkb.benchmarks.dynamic_templama.benchmark import DYNAMIC_TEMPLAMA
    from tempkb.benchmarks.fact_queries.design import DYNAMIC, make_design
    from tempkb.benchmarks.methods import build_step
    from tempkb.benchmarks.register import create, keep
    from tempkb.platform.api import open_store

    store = open_store()
    design = make_design(DYNAMIC, "tempkb", FACTS_DUMP, f"{FIRST}..{LAST}", "quarter", (), {"max_subjects": n})
    made = create(store.home, DYNAMIC_TEMPLAMA, "tempkb", design, "bench")
    keep(store.home, made)
    methods = DYNAMIC_TEMPLAMA.loaded()
    for step in methods.steps if last == "prompts" else methods.steps[:-1]:
        build_step(store, methods, step, made, print)


def _finish(store, cuts, noted, began: float) -> None:
    from tempkb.benchmarks.register import create, keep
    from tempkb.benchmarks.tempel.benchmark import TEMPEL
    from tempkb.benchmarks.tempel.design import make_design
    from tempkb.core.windows import window_ending
    from tempkb.engine.steps import bring
    from tempkb.platform.rooms import steps
    from tempkb.wiki.mentions.steps import BY_WINDOW, CLEAN
    from tempkb_tests.benchmarks.building import build_release

    bring(store, steps(), CLEAN, store.lake.partitions("page_wikitexts"), print)
    began = noted("cleaning, links", began)
    for step in BY_WINDOW:
        keys = [window_ending(cut, store.home.settings.granularity).key for cut in cuts]
        bring(store, steps(), step, keys, print)
    began = noted("mentions, priors, popularity", began)
    design = make_design("small", cuts, {"min_nr_inlinks": "1", "nr_ct_ents_per_cut": "1000"})
    release = create(store.home, TEMPEL, "small", design, "bench")
    keep(store.home, release)
    build_release(store, TEMPEL, release)
    noted("release", began)
    print(sum(one.rows for one in store.lake.versions("tempel_mentions")))


def prefers_new(folder: str) -> None:
    """Read the view, and print its number of rows."""
    from tempkb_tests.bench.preferences import read

    print(read(Path(folder)))


if __name__ == "__main__":
    sides = (
        decompress,
        select,
        mwxml,
        texts,
        clean,
        chain,
        growth,
        entities,
        wikidata,
        make_facts,
        release_facts,
        prefers_new,
    )
    {side.__name__.replace("_", "-"): side for side in sides}[sys.argv[1]](*sys.argv[2:])
