"""Computes results, of the scores of all models."""

from tempkb.commands.runs.jobs import Summary, past_damage, run_of
from tempkb.platform.api import open_store
from tempkb.results.reading import passed_over
from tempkb.results.steps import STEPS, look
from tempkb.results.tables import ALL
from tempkb.store.tables import Family


def compare() -> Summary:
    """Compute those tables of results that are not of the scores that are there."""
    summary = past_damage(_compute)
    summary.notes += passed_over(open_store())
    return summary


def _compute() -> Summary:
    seen = look(open_store())
    due = [step for step in STEPS if any(seen.stale(table.name, [ALL]) for table in step.makes)]
    if not due:
        return Summary()
    summary = Summary()
    run_of(Family.RESULT, (), summary, [table.name for step in due for table in step.makes])
    return summary
