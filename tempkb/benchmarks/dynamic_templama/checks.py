"""Is it so? Checks of DynamicTempLAMA's queries against the facts, and of its changes against its queries."""

from tempkb.benchmarks.checks import check_of
from tempkb.benchmarks.dynamic_templama.checking import DISAGREEING, HALF_PAIRS, NOT_NEAREST
from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_CHANGES, DYNAMIC_TEMPLAMA_QUERIES
from tempkb.benchmarks.fact_queries.checking import promises_of_queries
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS
from tempkb.benchmarks.promises import Promise
from tempkb.benchmarks.samples import stretch_of_windows, subjects_of

OF_QUERIES = promises_of_queries(DYNAMIC_TEMPLAMA_QUERIES)
OF_CHANGES = (
    Promise(
        "changes_follow_from_the_answers",
        "What changed is what the answers of two adjacent windows say, recomputed from these alone.",
        DYNAMIC_TEMPLAMA_CHANGES,
        DISAGREEING,
        {"changes": DYNAMIC_TEMPLAMA_CHANGES, "queries": DYNAMIC_TEMPLAMA_QUERIES, "releases": FACT_RELEASES},
        sample=stretch_of_windows,
    ),
    Promise(
        "updates_are_found_from_either_side",
        "An update by the rule `handover` has one row of the arriving and one of the leaving object, if in the study.",
        DYNAMIC_TEMPLAMA_CHANGES,
        HALF_PAIRS,
        {"changes": DYNAMIC_TEMPLAMA_CHANGES, "releases": FACT_RELEASES},
    ),
    Promise(
        "handovers_are_the_nearest",
        "Objects are paired with the nearest that they can be, recomputed from the spells alone.",
        DYNAMIC_TEMPLAMA_CHANGES,
        NOT_NEAREST,
        {"changes": DYNAMIC_TEMPLAMA_CHANGES, "spells": FACT_SPELLS, "releases": FACT_RELEASES},
        sample=subjects_of("changes", "spells"),
    ),
)

CHECKS = [check_of(promise) for promise in (*OF_QUERIES, *OF_CHANGES)]
