"""Runs that compute results: one job over the scores of all models."""

from tempkb.api import open_store
from tempkb.planning.jobs import RESULTS_JOB
from tempkb.results.reading import passed_over
from tempkb.results.steps import STEPS, look
from tempkb.results.tables import ALL
from tempkb.runs.jobs import Summary, Task, past_damage


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
    return Task(RESULTS_JOB, tables=tuple(table.name for step in due for table in step.makes)).run({"": {}})
