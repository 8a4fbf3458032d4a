"""Runs that score language models on the prompts of releases; a model that fails does not stop the others."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tempkb.api import open_store
from tempkb.automation import MODELS_JOB
from tempkb.errors import SettingsError
from tempkb.instance import dagster_at
from tempkb.jobs import Summary, past_damage, run_job
from tempkb.model_runs import add
from tempkb.models.known import known_models
from tempkb.models.tables import READY
from tempkb.rooms import BENCHMARKS
from tempkb.scores.requests import Words, request_of
from tempkb.scores.selecting import wanted
from tempkb.scores.tables import PROMPT_SCORES
from tempkb.store.store import Store


def score(asked: Sequence[str], words: Words, *, is_all: bool) -> tuple[list[str], Summary]:
    """Score the prompts of releases with models, each in a run of its own.

    Args:
        asked: names of models; or folders and ids of the hub, which are added first.
        words: which prompts, and how; see `tempkb.scores.requests`.
        is_all: all models of the home that are ready.

    Returns:
        the names of the models that were asked for, as far as they can be used; and what happened.

    Raises:
        SettingsError: no model is asked for; there is no such release, variant or template; or nothing to score.
    """
    store = open_store()
    families = {row["model"]: row["family"] for row in known_models(store.lake) if row["status"] == READY}
    if bool(asked) == is_all:
        raise SettingsError("score: expected names of models, or --all for all models of the home")
    if is_all and not families:
        raise SettingsError("score: the home has no model that is ready; add one: tempkb model add NAME CHECKPOINT")
    _require_prompts(store, [families[name] for name in (asked or families) if name in families], words)
    names = (
        {one: one if one in families else _name_of(one) for one in asked} if asked else {one: one for one in families}
    )
    added = add({name: {"checkpoint": one} for one, name in names.items() if one not in families})
    ready = {row["model"] for row in known_models(store.lake) if row["status"] == READY}
    usable = [name for name in dict.fromkeys(names.values()) if name in ready]

    def work() -> Summary:
        summary = Summary()
        config = {"ops": {PROMPT_SCORES.name: {"config": dict(words)}}}
        with dagster_at(store.home) as instance:
            for name in usable:
                run_job(instance, MODELS_JOB, [name], config, [PROMPT_SCORES.name], summary)
        return summary

    summary = past_damage(work)
    return usable, Summary(failures=[*added.failures, *summary.failures], notes=[*added.notes, *summary.notes])


def _require_prompts(store: Store, families: Sequence[Any], words: Words) -> None:
    """Refuse what would score nothing, before anything is loaded or fetched.

    Raises:
        SettingsError: no release that is built has such prompts, or none about the windows.
    """
    request, said = request_of(words), list[str]()
    for family in dict.fromkeys(families or ["causal"]):
        asked = wanted(store, BENCHMARKS, family, request, said.append)
        if not asked:
            why = f" ({'; '.join(dict.fromkeys(said))})" if said else ""
            raise SettingsError(
                f"score: found no prompts of that kind in the releases of the home{why}; build a release first, such "
                "as: tempkb release dynamic-templama 2021-01-01..2024-01-01"
            )
        if request.windows is not None and all(one.is_empty for one in asked):
            first, end = request.windows
            raise SettingsError(
                f"score: found no prompt about a window that begins on or after {first} and before {end}; expected "
                "windows of a release; tempkb status has the first and last of each table of prompts"
            )


def _name_of(checkpoint: str) -> str:
    """The name under which a folder or an id of the hub is added.

    Raises:
        SettingsError: it is neither.
    """
    if "/" not in checkpoint and not Path(checkpoint).expanduser().is_dir():
        raise SettingsError(
            f"model {checkpoint!r}: no such model; expected a name from tempkb model list, a folder, or an id of the "
            "Hugging Face hub such as google-t5/t5-large"
        )
    last = Path(checkpoint).expanduser().resolve().name if Path(checkpoint).is_dir() else checkpoint.split("/")[-1]
    return re.sub(r"-+", "-", re.sub(r"[^a-z0-9._-]", "-", last.lower())).strip("-._") or "model"
