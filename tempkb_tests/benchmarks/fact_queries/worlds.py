"""Small worlds of facts, and releases made of them without Dagster."""

from tempkb.benchmarks.dynamic_templama.building import build_changes
from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_QUERIES
from tempkb.benchmarks.fact_queries import releases
from tempkb.benchmarks.fact_queries.building import build_queries, build_spells
from tempkb.benchmarks.fact_queries.design import DYNAMIC, TEMPLAMA, make_design
from tempkb.benchmarks.templama.tables import TEMPLAMA_QUERIES
from tempkb_tests.wikidata.items import item, said

DAY = "2021-01-01"
DUMP = "wikidatawiki-20210101"


def quiet(_line):
    pass


def release(
    store, benchmark=DYNAMIC, windows="2019-01-01..2021-01-01", granularity="quarter", preset="tempkb", **changes
):
    """Build a release and return it; `changes` are parts of the design as people type them."""
    templates = changes.pop("templates", ())
    dump_id = changes.pop("dump_id", DUMP)
    design = make_design(benchmark, preset, dump_id, windows, granularity, templates, changes)
    made = releases.create(store.home, benchmark, preset, design)
    releases.keep(store.home, made)
    build_spells(store, made, quiet)
    build_queries(store, made, DYNAMIC_TEMPLAMA_QUERIES if benchmark == DYNAMIC else TEMPLAMA_QUERIES, quiet)
    if benchmark == DYNAMIC:
        build_changes(store, made, quiet)
    return made


def players(**spells):
    """People who play for clubs Q101 (Reed), Q102 (Salt), Q103 (Moss): name -> [(club, start, end), ...]."""
    entities = [item(f"Q10{n}", label, label) for n, label in enumerate(("Reed", "Salt", "Moss"), 1)]
    for number, (name, given) in enumerate(spells.items(), 1):
        statements = [said(f"Q{number}${at}", *one) for at, one in enumerate(given)]
        entities.append(item(f"Q{number}", name, f"{name} (player)", P54=statements))
    return entities


def answers(store, benchmark=DYNAMIC, **equal):
    """Answers' names by (query, date)."""
    rows = store.read(f"{benchmark}_queries", **equal).to_pylist()
    return {(row["query"], row["date"]): [one["label"] for one in row["answers"]] for row in rows}


__all__ = ["DAY", "DUMP", "DYNAMIC", "TEMPLAMA", "answers", "players", "quiet", "release"]
