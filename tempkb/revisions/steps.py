"""The steps of the room: all tables of a dump's history are read once, in one pass (`building.py`)."""

from tempkb.engine.steps import Standing
from tempkb.revisions.losses import rests_on_lost
from tempkb.revisions.tables import PAGE_WIKITEXTS, REVISION_LOG, STABLE_SNAPSHOTS

STEPS = (
    Standing((REVISION_LOG, PAGE_WIKITEXTS)),
    Standing((STABLE_SNAPSHOTS,), is_complete=lambda store, snapshot: not rests_on_lost(store, snapshot)),
)
