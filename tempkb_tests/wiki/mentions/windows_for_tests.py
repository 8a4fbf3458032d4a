"""Building a window's mentions without Dagster: what tests share."""

from tempkb.core.errors import ContractError
from tempkb.engine.steps import bring
from tempkb.wiki.mentions.steps import BY_WINDOW, CLEAN, STEPS, look
from tempkb.wiki.revisions.steps import STEPS as REVISIONS_STEPS


def clean(store):
    """Clean what is new in all quarters of texts."""
    return bring(store, STEPS, CLEAN, store.lake.partitions("page_wikitexts"), lambda line: None).made


def stale_quarters(store):
    """The quarters whose texts or links do not follow from the present wikitexts."""
    seen, quarters = look(store), store.lake.partitions("page_wikitexts")
    return [one for one in quarters if not all(seen.is_current(table.name, one) for table in CLEAN.makes)]


def write_window(store, window, steps=BY_WINDOW):
    """Write all tables of a window, or those of some steps."""
    for step in steps:
        brought = bring(store, (*REVISIONS_STEPS, *STEPS), step, [window.key], lambda line: None)
        for why in brought.bad.values():
            raise ContractError(why)
