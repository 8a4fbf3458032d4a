"""Runs that compute results: one job over the scores of all models."""

from tempkb.api import open_store
from tempkb.automation import RESULTS_JOB
from tempkb.instance import dagster_at
from tempkb.jobs import Summary, past_damage, run_job
from tempkb.results.reading import passed_over


def compare() -> Summary:
    """Compute the tables of results from the scores that are there."""

    def work() -> Summary:
        summary = Summary()
        with dagster_at(open_store().home) as instance:
            run_job(instance, RESULTS_JOB, [], {}, [], summary)
        summary.notes += passed_over(open_store())
        return summary

    return past_damage(work)
