"""The steps of the room: each table of results is made from what is there of all models or linkers at once.

What is imported here is little: commands that ask what is current compute nothing.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.engine.steps import Look, Source, Step
from tempkb.engine.tasks import Task
from tempkb.models.generations.tables import GENERATIONS
from tempkb.models.linking.known import rows_of
from tempkb.models.linking.tables import LINKERS, LINKING_SCORES, NIL_THRESHOLDS
from tempkb.models.scores.tables import PROMPT_SCORES, model_of
from tempkb.models.tables import MODELS
from tempkb.platform.rooms import TABLES, VIEWS, steps
from tempkb.results import tables
from tempkb.results.judged_tables import ASKED, JUDGED_ANSWERS, JUDGED_CHANGES
from tempkb.results.tables import ALL, KNOWLEDGE, KNOWS
from tempkb.store.store import Store
from tempkb.store.tables import Table, by_name
from tempkb.wiki.wikidata.tables import FACTS, WIKIDATA_ENTITIES

_TABLES, _VIEWS = by_name(TABLES), by_name(VIEWS)
_COMPARED = [one.reading.aggregate for one in BENCHMARKS if one.reading and one.reading.aggregate]
_SCORED = (MODELS.name, PROMPT_SCORES.name, *(name for one in _COMPARED for name in one.needs))


def look(store: Store) -> Look:
    """Return what tells which tables of results are of the present scores."""
    return Look(store, steps())


def asked_of(store: Store, names: Collection[str]) -> list[str]:
    """Return the tables of results that are among some names, or that views among them show."""
    shown = {need for name in names if name in store.views for need in store.views[name].needs}
    return [table.name for table in tables.TABLES if table.name in {*names, *shown}]


def are_due(store: Store, names: Collection[str]) -> str:
    """Return which tables of results, of those `asked_of`, are out of date, and what to type; or ""."""
    seen = look(store)
    due = [name for name in asked_of(store, names) if not seen.is_current(name, ALL)]
    if not due:
        return ""
    are, them = ("is", "it") if len(due) == 1 else ("are", "them")
    named = " and ".join(filter(None, (", ".join(due[:-1]), due[-1])))
    why = "since scores, answers, models or releases have changed"
    return f"{named} {are} out of date, {why}; compute {them} again: tempkb results"


def _every(*names: str) -> tuple[Source, ...]:
    """All partitions of tables, and of those that views among the names show; of models those that were asked."""
    below = dict.fromkeys(_below(names))
    asked = [name for name in (PROMPT_SCORES.name, GENERATIONS.name) if name in below]
    keys = {MODELS.name: partial(_asked_models, asked)}
    return tuple(Source(_TABLES[name], keys.get(name, lambda _store, _key: None), command=_command) for name in below)


def _asked_models(tables: Sequence[str], store: Store, _key: str) -> list[str]:
    """The models that have scores or answers: of others there is nothing to say."""
    asked = {model_of(key) for table in tables for key in store.lake.keys(table)}
    return [name for name in store.lake.keys(MODELS.name) if name in asked]


def _below(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        view = _VIEWS.get(name)
        yield from _below((*view.needs, *view.optional)) if view else (name,)


def _command(store: Store, table: Table, key: str) -> str:
    from tempkb.models.again import command_for

    return command_for(store, table.name, key)


def _scores_of_tokens(store: Store, _key: str) -> list[str]:
    """The scores that have right names in tokens, as masked models write them."""
    return [key for key in store.lake.keys(PROMPT_SCORES.name) if "--masked.answer_l2r-" in key]


STEPS = (
    Step(
        (KNOWLEDGE, KNOWS), _every(*_SCORED, *(one.table for one in _COMPARED)), make_all="results.tabling.write_known"
    ),
    Step((tables.ESTIMATED_CUTOFFS,), _every("scored_changes"), "results.tabling.estimated_cutoffs"),
    Step(
        (tables.LINKING_EFFECTS,),
        _every(LINKERS.name, LINKING_SCORES.name, *rows_of("mentions").needs, *rows_of("types").needs),
        "results.linking_effects.linking_effects",
    ),
    Step(
        (tables.LINKING_SUMS,),
        _every(LINKERS.name, LINKING_SCORES.name, *rows_of("types").needs),
        "results.linking_sums.linking_sums",
    ),
    Step(
        (tables.NIL_RESULTS,),
        _every(LINKING_SCORES.name, NIL_THRESHOLDS.name),
        "results.nil.nil_results",
    ),
    Step(
        (tables.FACT_DELAYS,),
        _every(FACTS.name, WIKIDATA_ENTITIES.name),
        "results.delays.fact_delays",
        lambda _store: {"seed": tables.DELAYS_SEED, "years": tables.DELAYS_YEARS},
    ),
    Step(
        (JUDGED_ANSWERS,),
        (*_every(GENERATIONS.name, *ASKED), Source(PROMPT_SCORES, _scores_of_tokens, command=_command)),
        "results.judging.judged",
    ),
    Step((JUDGED_CHANGES,), _every(GENERATIONS.name, MODELS.name, *ASKED), "results.judging.judged"),
)
_SHOWN = {
    KNOWLEDGE: "knowledge",
    tables.LINKING_EFFECTS: "contrasts",
    tables.FACT_DELAYS: "delays",
    JUDGED_CHANGES: "judged",
}
TASKS = tuple(
    Task(
        step.makes[0].name,
        (step,),
        keys=lambda _store: (ALL,),
        shown=f"results.showing.{_SHOWN[step.makes[0]]}" if step.makes[0] in _SHOWN else "",
    )
    for step in STEPS
)
