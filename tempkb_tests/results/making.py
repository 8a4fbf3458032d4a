"""Makes a table of results as a run does, without Dagster."""

from tempkb.engine.steps import bring
from tempkb.results.steps import STEPS
from tempkb.results.tables import ALL


def make(store, table):
    """Bring a table of results, with those that are made in one pass with it; return its version."""
    brought = brought_by(store, table)
    assert not brought.bad
    return brought.versions[table.name, ALL]


def brought_by(store, table):
    """Bring a table of results, and return what `bring` did; tables of other rooms are current if they are whole."""
    (step,) = (one for one in STEPS if table in one.makes)
    return bring(store, STEPS, step, [ALL], lambda line: None)
