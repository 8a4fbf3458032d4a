"""Runs that compute results: one job over the scores of all models."""

from tempkb.api import open_store
from tempkb.planning.jobs import RESULTS_JOB
from tempkb.results.reading import passed_over
from tempkb.runs.jobs import Summary, Task, past_damage


def compare() -> Summary:
    """Compute the tables of results from the scores that are there."""
    summary = past_damage(lambda: Task(RESULTS_JOB).run({"": {}}))
    summary.notes += passed_over(open_store())
    return summary
