"""The text about changes in the dataset card of a DynamicTempLAMA release."""

from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_CHANGES
from tempkb.benchmarks.fact_queries.releases import Release
from tempkb.benchmarks.register import partitions_of_release
from tempkb.store.memory import asking, view_files
from tempkb.store.store import Store

_CHANGES = """
`parquet/dynamic_templama_changes/` has the change of each answer from one window to the next, by the rule `{rule}`.
{explanation}

| change | role | rows |
| --- | --- | ---: |
{counts}
"""
_RULES = {
    "handover": """\
An update has two rows: one of the arriving object, in the first window with it, and one of the leaving object that it
replaces, in the first window without it. Each row names the other object and its window. If that window is the first of
the study or outside it, the other object has no row. Count updates by the rows of arriving objects.""",
    "sets": """\
If objects arrive and others leave in a window, the arriving ones are updated. Objects are new if they only arrive, and
deleted if they only leave.""",
    "released": """\
It compares texts and names, as the released code does, and does not notice an object that leaves while others stay.""",
}


def changes_in_words(store: Store, release: Release) -> str:
    """Return the card's text about changes; empty if a release has none."""
    partitions = partitions_of_release(store.lake, DYNAMIC_TEMPLAMA_CHANGES, release.name)
    if not partitions:
        return ""
    with asking() as connection:
        view_files(connection, "changes", store.lake.files(DYNAMIC_TEMPLAMA_CHANGES.name, partitions))
        counted = connection.execute(
            "SELECT change, coalesce(role, ''), count(*) FROM changes GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    counts = "\n".join(f"| {change} | {role} | {n:,} |" for change, role, n in counted)
    rule = release.design.changes
    return _CHANGES.format(rule=rule, explanation=_RULES[rule], counts=counts)
