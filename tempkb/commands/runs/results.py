"""Computes results, of the scores of all models."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from tempkb.commands.runs.jobs import Summary, past_damage, run_of
from tempkb.engine.steps import Step
from tempkb.platform.api import open_store
from tempkb.results.steps import STEPS, look
from tempkb.results.tables import ALL
from tempkb.store.tables import Family, Table


def compare() -> Summary:
    """Compute those tables of results that are not of the scores that are there."""
    from tempkb.results.reading import passed_over  # takes longer than what follows a score that has nothing to do

    summary = past_damage(lambda: _compute(STEPS))
    summary.notes += passed_over(open_store())
    return summary


_is_later = ContextVar("_is_later", default=False)


@contextmanager
def results_later() -> Iterator[None]:
    """Let no results follow within the block, behind which all are computed."""
    token = _is_later.set(True)
    try:
        yield
    finally:
        _is_later.reset(token)


def bring_results(summary: Summary, *tables: Table) -> Summary:
    """Compute those tables of results that follow from tables, by default all, and are not of what these have now.

    Returns:
        the summary of what was done to the tables; why a result could not be computed is a note, since that is done.
    """
    if _is_later.get():
        return summary
    computed = _compute([step for step in STEPS if not tables or any(one.table in tables for one in step.sources)])
    summary.notes += [*computed.notes, *computed.failures]
    return summary


def _compute(steps: Sequence[Step]) -> Summary:
    seen, summary = look(open_store()), Summary()
    due = [step for step in steps if any(seen.stale(table.name, [ALL]) for table in step.makes)]
    if due:
        run_of(Family.RESULT, (), summary, [table.name for step in due for table in step.makes])
    return summary
