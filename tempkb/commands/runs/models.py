"""Adds, trains and asks language models, one after the other; one that fails stops no other."""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.commands.runs.jobs import Summary, past_damage, run_each
from tempkb.commands.runs.results import bring_results
from tempkb.core.errors import SettingsError
from tempkb.core.options import Words
from tempkb.demo.models.making import make
from tempkb.demo.models.recipe import Asked
from tempkb.models.devices import usable_device
from tempkb.models.families import TRAITS
from tempkb.models.known import known_model, known_models, said_of, unusable_models
from tempkb.models.requests import lines_of, request_of, requested
from tempkb.models.scores.kinds import Kind
from tempkb.models.scores.selecting import wanted
from tempkb.models.scores.steps import due_models
from tempkb.models.tables import ELSEWHERE, MODELS, READY
from tempkb.models.training.requests import train_request
from tempkb.models.training.tables import MIXTURES
from tempkb.platform.api import open_store
from tempkb.results.tables import KNOWS
from tempkb.store.store import Store

_ALIKE = 0.85  # of words that one may have been meant for the other


def add(wanted: Mapping[str, Words]) -> Summary:
    """Add models; results follow where one that was asked has another training cutoff now."""

    def work() -> Summary:
        summary = run_each([MODELS], wanted)
        return bring_results(summary, MODELS) if open_store().lake.partitions(KNOWS.name) else summary

    return past_damage(work)


def train(name: str, words: Words) -> tuple[str, Summary]:
    """Train a language model, and add it; return its name, by default one of what was asked for, and what happened.

    Raises:
        SettingsError: the name or a word is not allowed, or there is no such device.
    """
    request = train_request(name, words)
    usable_device(request.command, request.device or "cpu")
    return request.name, past_damage(lambda: run_each([MIXTURES, MODELS], {request.name: words}))


def add_demo_models(asked: Asked, log: Callable[[str], None]) -> Summary:
    """Train the tiny models that are asked for unless they are there, and add those that are not added yet.

    Raises:
        SettingsError: a cut is not built, or a name is bound to a model of other sentences.
        ModelError: a model could not be trained.
    """

    def work() -> Summary:
        store = open_store()
        made = make(store, asked, log)
        return run_each([MODELS], {name: words for name, words in made.items() if not _is_added(store, name, words)})

    return past_damage(work)


def _is_added(store: Store, name: str, words: Words) -> bool:
    """Does the table of models say of a model what is asked for?"""
    row, request = known_model(store.lake, name), request_of(name, words)
    return (
        row is not None
        and row["status"] == READY
        and row["checkpoint"] == request.checkpoint
        and row["knows_certainly_until"] == request.knows_certainly_until
    )


def ask(kind: Kind, asked: Sequence[str], words: Words, said: Words, *, is_all: bool) -> tuple[list[str], Summary]:
    """Ask models about the prompts of releases, each that has not answered all of them in a run of its own.

    Then the tables of results that follow from their answers are brought up to date.

    Args:
        kind: of the answers.
        asked: names of models; or folders and ids of the hub, which are added first.
        words: which prompts, and how; see the request of the kind.
        said: of the one model that is asked for, with which it is added, also if it was added before.
        is_all: all models of the home that are ready.

    Returns:
        the names of the models that were asked for, as far as they can be used; and what happened, without runs if
        there was nothing left to ask.

    Raises:
        SettingsError: no model is asked for, or two by one name; there is no such release, variant or template; or
            nothing to ask.
    """
    store = open_store()
    known = known_models(store.lake)
    families = {row["model"]: row["family"] for row in known if row["status"] == READY}
    unusable = unusable_models(store.lake)
    for row in known:
        if row["status"] == ELSEWHERE and row["model"] in asked:
            raise SettingsError(f"model {row['model']!r}: cannot be asked here: {row['reason']}")
    if bool(asked) == is_all:
        every = "all of the home: --all (in Python all=True)"
        raise SettingsError(f"{kind.request.command}: expected names of models, or {every}")
    usable_device(kind.request.command, words.get("device") or "cpu")
    if is_all and not families:
        raise SettingsError(
            f"{kind.request.command}: the home has no model that is ready; add one: tempkb model add NAME CHECKPOINT"
        )
    _require_prompts(kind, store, [families[name] for name in (asked or families) if name in families], words)
    there = [*families, *(name for name in lines_of(store.home) if name not in families)]
    names = {one: one if one in there else _name_of(one, there) for one in asked or families if one not in unusable}
    words_of = {
        name: said if one in there else {"checkpoint": one, **said}
        for one, name in _new(kind, names, () if said else families)
    }
    new = {name: requested(store.home, name, own, said_of(store, name))[name] for name, own in words_of.items()}
    added = Summary()
    if new:
        added = add(new)
    ready = {row["model"]: row for row in known_models(store.lake) if row["status"] == READY}
    # A name may be bound to other files than those that were to be added under it.
    usable = [
        name
        for name in dict.fromkeys(names.values())
        if name in ready and (name not in new or ready[name]["checkpoint"] == request_of(name, new[name]).checkpoint)
    ]

    def work() -> Summary:
        due = due_models(kind, store, BENCHMARKS, [ready[name] for name in usable], kind.request.of(words))
        return bring_results(run_each([kind.table], dict.fromkeys(due, words)), kind.table, MODELS)

    summary = past_damage(work) if usable else Summary()
    left_out = [line for name, line in unusable.items() if is_all or name in asked]
    # Who names a model expects its answers; of all models, some may have been known to be of no use.
    summary.failures[:0] = [*([] if is_all else left_out), *added.failures]
    summary.notes[:0] = [*(left_out if is_all else []), *added.notes]
    return usable, summary


def _new(kind: Kind, names: Mapping[str, str], known: Container[str]) -> list[tuple[str, str]]:
    """What is to be added, with the name that it gets.

    Args:
        kind: of the answers.
        names: name of each model, folder or id that is asked for.
        known: names of models that need not be added.

    Raises:
        SettingsError: two things would have the same name.
    """
    new: dict[str, str] = {}
    for one, name in names.items():
        if one in known:
            continue
        if name in new or (name in names and name != one):
            raise SettingsError(
                f"{kind.request.command}: {new.get(name, name)} and {one} would both have the name {name!r}; add them "
                "under names of their own: tempkb model add NAME CHECKPOINT"
            )
        new[name] = one
    return [(one, name) for name, one in new.items()]


def _require_prompts(kind: Kind, store: Store, families: Sequence[Any], words: Words) -> None:
    """Refuse what would ask nothing, before anything is loaded or fetched.

    Raises:
        SettingsError: no release that is built has such prompts, or none about the windows.
    """
    request, said = kind.request.of(words), list[str]()
    # The family of a checkpoint is known once it is read; until then it may be any that has such a scorer.
    able = [name for name in TRAITS if not request.template or request.template in kind.templates[name]]
    asked = [
        one
        for family in dict.fromkeys(families or able[:1] or TRAITS)
        for one in wanted(kind, store, BENCHMARKS, {"family": family}, request, said.append)
    ]
    if not asked:
        why = f" ({'; '.join(dict.fromkeys(said))})" if said else ""
        raise SettingsError(
            f"{kind.request.command}: found no prompts of that kind in the releases of the home{why}; build a release "
            f"first, such as: tempkb release dynamic-templama 2021-01-01..2024-01-01{kind.otherwise}"
        )
    if request.windows is not None and not any(one.n_lacking() for one in asked):
        first, end = request.windows
        raise SettingsError(
            f"{kind.request.command}: found no prompt about a window that begins on or after {first} and before {end}; "
            "expected windows of a release; tempkb status has the first and last of each table of prompts"
        )


def _name_of(checkpoint: str, there: Sequence[str]) -> str:
    """The name under which a folder or an id of the hub is added.

    Args:
        there: names of models, for one of which it may be a slip.

    Raises:
        SettingsError: it is like one of these names.
    """
    folder = Path(checkpoint).expanduser()
    if not folder.is_dir() and (close := get_close_matches(checkpoint, there, 1, _ALIKE)):
        raise SettingsError(
            f"model {checkpoint!r}: no such model; did you mean {close[0]}? Else add it under a name of its own: "
            f"tempkb model add NAME {checkpoint}"
        )
    last = folder.resolve().name if folder.is_dir() else checkpoint.split("/")[-1]
    return re.sub(r"-+", "-", re.sub(r"[^a-z0-9._-]", "-", last.lower())).strip("-._") or "model"
