"""The steps of the room: all tables of a dump's history are read once, in one pass (`building.py`)."""

from tempkb.dumps.tables import DUMP_FILES, PAGES
from tempkb.engine.steps import Source, Standing
from tempkb.engine.tasks import Task
from tempkb.options import Option
from tempkb.revisions.losses import rests_on_lost
from tempkb.revisions.tables import PAGE_WIKITEXTS, REBUILD_CHANGES, REVISION_LOG, STABLE_SNAPSHOTS

_LOG, _SNAPSHOTS = Source(REVISION_LOG), Source(STABLE_SNAPSHOTS)
STEPS = (
    Standing((REVISION_LOG,), (Source(DUMP_FILES),)),
    Standing(
        (STABLE_SNAPSHOTS,),
        (_LOG, Source(PAGES)),
        is_complete=lambda store, snapshot: not rests_on_lost(store, snapshot),
    ),
    Standing((PAGE_WIKITEXTS,), (_SNAPSHOTS,)),
    Standing((REBUILD_CHANGES,), (_LOG, _SNAPSHOTS)),
)
ACCOUNTED = (REVISION_LOG.name, "every_revision_element_is_accounted_for")
TASKS = (
    Task(
        "revisions",
        STEPS,
        "revisions.making.revisions",
        shown="revisions.making.over_windows",
        options=(
            Option("dump_id", "Build the windows from this dump; empty: from the earliest that reaches them."),
            Option("rebuild", "Also build windows that were built from another dump, and report what changed.", False),
            Option(
                "only_listed",
                "Use no dump in the folder without its publisher's list; set in runs that automation starts.",
                False,
            ),
            Option(
                "only_items",
                "Read no dump; update the Wikidata items of the built snapshots from `pages` and the Wikidata dumps "
                "that have been read.",
                False,
            ),
        ),
        is_skippable=True,
        is_divisible=True,
        promises="revisions.checking",
        checks={ACCOUNTED: "Rows, exclusions and losses add up to the <revision> tags counted in the bytes."},
    ),
)
