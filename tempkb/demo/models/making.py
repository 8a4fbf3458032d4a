"""Makes the tiny models that are asked for: finds those that are there, and trains the others side by side.

A checkpoint's folder is named by a hash of all that decides what it becomes: the sentences, the recipe and the seed. It
is written beside its place and renamed when it is whole, so that a folder of that name is complete or absent.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from tempkb.core.errors import ModelError, SettingsError
from tempkb.core.files import own, remove_tree, sum_of
from tempkb.core.locks import locked
from tempkb.core.model_words import Family
from tempkb.core.options import Words
from tempkb.core.wording import counted
from tempkb.demo.models.corpus import Corpus, read_corpora
from tempkb.demo.models.lessons import Lesson
from tempkb.demo.models.recipe import RECIPES, Asked, DemoModel, Recipe
from tempkb.engine.items import Report
from tempkb.engine.local import map_items
from tempkb.engine.progress import Meter, on_terminal
from tempkb.models.known import known_models
from tempkb.models.tables import READY
from tempkb.store.store import Store

DIGESTS = "digests.json"
"""File of a checkpoint with the SHA-256 of all others, written last."""

_DRAFTS, _LOCK, _KEY_DIGITS = "drafts", "lock", 32


def make(
    store: Store, asked: Asked, log: Callable[[str], None], recipes: Mapping[Family, Recipe] = RECIPES
) -> dict[str, Words]:
    """Train the models that are asked for and are not there yet, and return how to add all of them.

    All models of the cuts share a tokenizer, so a model depends on all cuts that are named with its own.

    Returns:
        the words of a request by the model's name.

    Raises:
        SettingsError: a cut is not built, or a name is bound to a model of other sentences.
        ModelError: a model could not be trained.
    """
    corpora, wanted = read_corpora(store, asked.cuts), asked.models()
    recipe_of = {one: recipes[one.family] if one.cut else replace(recipes[one.family], steps=0) for one in wanted}
    places = {one: store.home.checkpoints / _key(one, recipe_of[one], corpora) for one in wanted}
    _refuse_bound(store, places)
    for place in (store.home.checkpoints / _LOCK, *places.values()):
        own(store.home.path, place)
    store.home.checkpoints.mkdir(parents=True, exist_ok=True)
    with locked(store.home.checkpoints / _LOCK):
        missing = [one for one in wanted if not _is_whole(places[one])]
        if missing:
            lessons, folder = _lessons(missing, places, corpora, recipe_of), store.home.checkpoints / _DRAFTS
            try:
                remove_tree(store.home.checkpoints, folder, may_fail=True)  # of a run that was killed
                _train_all(lessons, folder, store.home.settings.workers, log)
            finally:
                remove_tree(store.home.checkpoints, folder, may_fail=True)
    return {
        one.name: {
            "checkpoint": str(places[one]),
            "family": one.family,
            **({"knows_until": one.cut.isoformat()} if one.cut else {}),
        }
        for one in wanted
    }


def _key(model: DemoModel, recipe: Recipe, corpora: Mapping[date, Corpus]) -> str:
    """Name of a checkpoint's folder: a hash of all that decides what it becomes."""
    decides = {
        "family": model.family,
        "recipe": recipe.numbers(),
        "seed": model.seed,
        "corpus": corpora[model.cut].digest if model.cut else None,
        "texts of the tokenizer": [corpora[cut].digest for cut in sorted(corpora)],
    }
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:_KEY_DIGITS]


def _refuse_bound(store: Store, places: Mapping[DemoModel, Path]) -> None:
    """Refuse, before anything is trained, names that are bound to other checkpoints."""
    held = {row["model"]: row for row in known_models(store.lake) if row["status"] == READY}
    bound = [
        one.name
        for one, place in places.items()
        if one.name in held and Path(held[one.name]["checkpoint"]).name != place.name
    ]
    if bound:
        raise SettingsError(
            f"model {bound[0]}: expected the checkpoint {held[bound[0]]['checkpoint']}, to which the name is bound, "
            "but other sentences, cuts or another recipe are asked for now (a new release of ECBD, for example, "
            f"withholds its test sentences). To train it again, remove it first: tempkb model rm {bound[0]}"
            + (f" (and likewise {', '.join(bound[1:])})" if bound[1:] else "")
        )


def _lessons(
    missing: Sequence[DemoModel],
    places: Mapping[DemoModel, Path],
    corpora: Mapping[date, Corpus],
    recipe_of: Mapping[DemoModel, Recipe],
) -> list[Lesson]:
    # The library of tokenizers is imported only where something is to be trained.
    from tempkb.demo.models.lessons import rows_of, train_tokenizer

    tokenizer = train_tokenizer(one.text for cut in sorted(corpora) for one in corpora[cut].sentences)
    rows = {cut: rows_of(tokenizer, corpora[cut]) if cut else () for cut in {one.cut for one in missing}}
    return [
        Lesson(one.name, one.family, recipe_of[one], one.seed, rows[one.cut], tokenizer.to_str(), places[one])
        for one in missing
    ]


def _train_all(lessons: Sequence[Lesson], folder: Path, workers: int, log: Callable[[str], None]) -> None:
    """Train models in as many processes as there are workers, each of one thread."""
    workers = min(workers, len(lessons))
    # Models of the cuts take turns, so that all processes have as much to do. Each imports PyTorch once. With one more
    # worker than groups, a single group has a process of its own as well, which training changes.
    groups = [tuple(lessons[at::workers]) for at in range(workers)]
    total = sum(lesson.recipe.steps for lesson in lessons)
    title = f"training {counted(len(lessons), 'model')}"
    with on_terminal(), Meter(title, total, log, "steps") as meter:
        failures = [
            f"{', '.join(lesson.name for lesson in one.item)}: {one.failure}"
            for one in map_items(_train_group, groups, folder, workers + 1, meter.at)
            if one.failure
        ]
    if failures:
        raise ModelError(f"training has failed: {'; '.join(failures)}")


def _train_group(group: tuple[Lesson, ...], folder: Path, report: Report) -> None:
    """Train models one after the other; each is moved to its place as soon as it is whole."""
    # Takes seconds, which the parent does without.
    from tempkb.demo.models.training import train

    done = 0.0
    for lesson in group:
        draft = folder / lesson.place.name
        draft.mkdir()
        before = done
        train(lesson, draft, lambda steps, before=before: report(before + steps))  # type: ignore[misc]
        done += lesson.recipe.steps
        digests = {path.name: sum_of(path) for path in sorted(draft.iterdir())}
        (draft / DIGESTS).write_text(json.dumps(digests, indent=1) + "\n", "utf-8")
        remove_tree(lesson.place.parent, lesson.place, may_fail=True)  # a damaged one
        draft.rename(lesson.place)


def _is_whole(place: Path) -> bool:
    """Has a checkpoint all files that were written, unchanged?"""
    try:
        digests = json.loads((place / DIGESTS).read_text("utf-8"))
        return bool(digests) and all(sum_of(place / name) == digest for name, digest in digests.items())
    except (OSError, ValueError, AttributeError):
        return False
