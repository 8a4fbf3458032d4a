"""Declares the view of items that a model cannot have read: all that they rest on is later than its knowledge."""

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.reading import united
from tempkb.models.tables import MODELS
from tempkb.store.tables import View

_ITEMS = united([one.reading.items for one in BENCHMARKS if one.reading and one.reading.items])

LEAK_FREE_ITEMS = View(
    name="leak_free_items",
    meaning="Items that a model cannot have read: all days on which they rest, as far as known, are on or after the "
    "day from which on the model knows nothing. days_after is the smallest number of days between; ask for more than "
    "0 for a buffer, since what is dated in the future may be announced. Models without that day, and items without a "
    "day of origin, are left out. origin_day: for ECBD the first day on which the entity may have begun; for facts "
    "that of the object's first spell, also if it came back later. evidence_day: for ECBD the first day of the first "
    "window whose snapshot has the sentence, but not before the page, and the page's day if that is the home's first "
    "window; null for facts, whose prompts quote no text. statement_day: for ECBD the day of the page's first "
    "revision; for facts the day of the last dump that describes the subject without the object, if that is on or "
    "after the model's day. A fact that a dump of the model's day or before has is left out. If no dump tells which "
    "of the two is true, the fact is in, and statement_is_known is false. target_id is the new object of "
    "scored_changes.",
    query=f"""
    WITH items AS ({_ITEMS.query}), compared AS (
        SELECT m.model, i.benchmark, i.release, i.item_id, i.target_id, i.window_start, i.origin_day, i.evidence_day,
               coalesce(i.statement_day, CASE WHEN i.lacking_day >= m.knows_possibly_until THEN i.lacking_day END)
                   AS statement_day,
               m.knows_possibly_until AS known_until
        FROM items AS i JOIN {MODELS.name} AS m ON i.origin_day >= m.knows_possibly_until
        WHERE i.having_day IS NULL OR i.having_day > m.knows_possibly_until
    )
    SELECT * EXCLUDE (known_until), statement_day IS NOT NULL AS statement_is_known,
           date_diff('day', known_until, least(origin_day, evidence_day, statement_day)) AS days_after
    FROM compared WHERE days_after >= 0
    """,
    needs=(MODELS.name,),
    optional=_ITEMS.needs,
)

VIEWS = (LEAK_FREE_ITEMS,)
