"""What the dataset card of a DynamicTempLAMA release says of its changes."""

from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_CHANGES
from tempkb.benchmarks.fact_queries.releases import Release
from tempkb.benchmarks.register import partitions_of_release
from tempkb.store.memory import in_memory, view_files
from tempkb.store.store import Store

_CHANGES = """
`parquet/dynamic_templama_changes/` says what became of each answer from one window to the next, by the rule `{rule}`.
{told}

| change | role | rows |
| --- | --- | ---: |
{counts}
"""
_RULES = {
    "handover": """\
An update has two rows: one of the object that arrives, in the window in which it does, and one of the object that
leaves for it, in the first window without it. Each names the other and its window; where that is the first window of
the study or lies outside, the other has no row. Count updates by the rows that arrive.""",
    "sets": """\
What came where others went in the same window is updated; what only came is new, what only went is deleted.""",
    "released": """\
It compares texts and names, as the released code does, and does not see who leaves while others stay.""",
}


def changes_in_words(store: Store, release: Release) -> str:
    """Return what a card says of changes; nothing where a release has none."""
    partitions = partitions_of_release(store.lake, DYNAMIC_TEMPLAMA_CHANGES, release.name)
    if not partitions:
        return ""
    with in_memory() as connection:
        view_files(connection, "changes", store.lake.files(DYNAMIC_TEMPLAMA_CHANGES.name, partitions))
        counted = connection.execute(
            "SELECT change, coalesce(role, ''), count(*) FROM changes GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    counts = "\n".join(f"| {change} | {role} | {n:,} |" for change, role, n in counted)
    rule = release.design.changes
    return _CHANGES.format(rule=rule, told=_RULES[rule], counts=counts)
