"""Makes answers of language models to the prompts of releases, one model a run. No Dagster here."""

from collections.abc import Callable, Sequence

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.engine.tasks import Done, Order, Picture, Rows, Shown
from tempkb.scores.checking import ASKED
from tempkb.scores.kinds import SCORES, Kind
from tempkb.scores.running import Answered, ask_model
from tempkb.scores.showing import picture, sample, to_show
from tempkb.scores.tables import partition_of
from tempkb.store.store import Store


def prompt_scores(order: Order) -> Done:
    """Score what has no score yet."""
    return answers(SCORES, order, _shown)


def answers(kind: Kind, order: Order, shown: Callable[[Store, str, Sequence[Answered]], dict[str, Shown]]) -> Done:
    """Ask a model what it has not answered yet.

    Args:
        shown: returns what the UI shows of what was asked, by title.
    """
    store, (name,) = order.store, order.keys
    answered = ask_model(kind, store, BENCHMARKS, name, kind.request.of(order.said), order.log)
    facts: dict[str, Shown] = {ASKED: dict(order.said)}
    for one in answered:
        numbers = {"prompts": one.n_prompts, "new": one.n_new, **one.by_status}
        facts |= {f"{one.name}/{what}": n for what, n in numbers.items()}
    done = Done(facts={kind.table.name: facts}, shows=lambda: {kind.table.name: shown(store, name, answered)})
    done.add(*store.lake.versions(kind.table.name, [partition_of(name, one.name) for one in answered]))
    if not answered:
        done.notes = [f"model {name}: no release has prompts for it yet, so there was nothing to ask"]
    return done


def _shown(store: Store, name: str, done: Sequence[Answered]) -> dict[str, Shown]:
    """A sample and a picture of a few releases, and how many others there are."""
    sources, n_others = to_show(store, done)
    shown: dict[str, Shown] = {"releases not shown": n_others} if n_others else {}
    for scorer, source in sources:
        partition = partition_of(name, scorer)
        shown[f"{source.release}/sample"] = Rows(sample(store, partition, source), cell=200)
        shown[f"{source.release}/scores by window and role"] = Picture(picture(store, partition, source))
    return shown
