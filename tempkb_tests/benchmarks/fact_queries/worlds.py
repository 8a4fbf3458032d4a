"""Small worlds of facts, and releases made of them without Dagster."""

from tempkb.benchmarks.dynamic_templama.benchmark import DYNAMIC_TEMPLAMA
from tempkb.benchmarks.fact_queries.design import DYNAMIC, TEMPLAMA, make_design
from tempkb.benchmarks.methods import build_step
from tempkb.benchmarks.register import create, keep
from tempkb.benchmarks.templama import benchmark as templama
from tempkb_tests.benchmarks.building import build_release
from tempkb_tests.wiki.wikidata.items import item, said

BENCHMARKS = {DYNAMIC: DYNAMIC_TEMPLAMA, TEMPLAMA: templama.TEMPLAMA}
DAY = "2021-01-01"
DUMP = "wikidatawiki-20210101"


def quiet(_line):
    pass


def release(
    store, benchmark=DYNAMIC, windows="2019-01-01..2021-01-01", granularity="quarter", preset="tempkb", **changes
):
    """Build a release and return it; `changes` are parts of the design as people type them."""
    made = _requested(store, benchmark, windows, granularity, preset, changes)
    build_release(store, BENCHMARKS[benchmark], made, quiet)
    return made


def release_without_prompts(
    store, benchmark=DYNAMIC, windows="2019-01-01..2021-01-01", granularity="quarter", preset="tempkb", **changes
):
    """Build all of a release but its prompts, in half of the time, and return it."""
    made = _requested(store, benchmark, windows, granularity, preset, changes)
    methods = BENCHMARKS[benchmark].loaded()
    for step in methods.steps[:-1]:
        build_step(store, methods, step, made, quiet)
    return made


def _requested(store, benchmark, windows, granularity, preset, changes):
    templates = changes.pop("templates", ())
    dump_id = changes.pop("dump_id", DUMP)
    design = make_design(benchmark, preset, dump_id, windows, granularity, templates, changes)
    made = create(store.home, BENCHMARKS[benchmark], preset, design)
    keep(store.home, made)
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


__all__ = [
    "BENCHMARKS",
    "DAY",
    "DUMP",
    "DYNAMIC",
    "TEMPLAMA",
    "answers",
    "players",
    "quiet",
    "release",
    "release_without_prompts",
]
