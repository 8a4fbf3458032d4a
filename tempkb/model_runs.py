"""Runs that add language models, one after the other; a model that cannot be added does not stop the others."""

from collections.abc import Mapping
from typing import Any

from tempkb.api import open_store
from tempkb.automation import MODELS_JOB
from tempkb.instance import dagster_at
from tempkb.jobs import Summary, forget_partition, past_damage, run_job
from tempkb.models.requests import Words
from tempkb.models.tables import MODELS


def add(wanted: Mapping[str, Words]) -> Summary:
    """Add models, each in a run of its own.

    Args:
        wanted: words of a request by the model's name.
    """

    def work() -> Summary:
        summary = Summary()
        with dagster_at(open_store().home) as instance:
            for name, words in wanted.items():
                _add(instance, name, words, summary)
        return summary

    return past_damage(work)


def _add(instance: Any, name: str, words: Words, summary: Summary) -> None:
    config = {"ops": {MODELS.name: {"config": dict(words)}}}
    try:
        run_job(instance, MODELS_JOB, [name], config, [], summary)
    finally:
        # Also if the run is interrupted: Dagster knows no model that the home does not know.
        if name not in open_store().lake.partitions(MODELS.name):
            forget_partition(instance, MODELS_JOB, name)
