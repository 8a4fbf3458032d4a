"""The text about changes in the dataset card of a DynamicTempLAMA release."""

from tempkb.benchmarks.card import texts_beside
from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_CHANGES
from tempkb.benchmarks.fact_queries.releases import Release
from tempkb.benchmarks.register import release_files
from tempkb.store.memory import asking, view_files
from tempkb.store.store import Store


def changes_in_words(store: Store, release: Release) -> str:
    """Return the card's text about changes; empty if a release has none."""
    files = release_files(store, DYNAMIC_TEMPLAMA_CHANGES, release.name)
    if not files:
        return ""
    with asking() as connection:
        view_files(connection, "changes", files)
        counted = connection.execute(
            "SELECT change, coalesce(role, ''), count(*) FROM changes GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    counts = "\n".join(f"| {change} | {role} | {n:,} |" for change, role, n in counted)
    texts, rule = texts_beside(__file__), release.design.changes
    return str(texts["changes"].format(rule=rule, explanation=texts["rules"][rule], counts=counts))
