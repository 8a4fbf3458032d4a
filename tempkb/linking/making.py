"""Makes linkers, vectors of entities, and where linkers rank the entities of mentions; one linker a run."""

from collections.abc import Sequence

from tempkb.engine.tasks import Done, Order, Picture, Rows, Shown
from tempkb.linking.checking import ASKED
from tempkb.linking.linkers import add_linker, train_linker
from tempkb.linking.requests import AddRequest, LinkRequest, linker_request
from tempkb.linking.scoring import Linked, link_mentions
from tempkb.linking.showing import curves, sample
from tempkb.linking.steps import vectors_of_linker
from tempkb.linking.tables import BASELINES, LINKERS, LINKING_SCORES, NIL_THRESHOLDS


def linkers(order: Order) -> Done:
    """Train a linker, or write down what an encoder is."""
    store, (name,), done = order.store, order.keys, Done()
    held = store.lake.current(LINKERS.name, name)
    # What needs nothing to be done is done as well: the scores follow it.
    if name in BASELINES or (held is not None and not order.said):
        order.log(f"{name} needs no training, or is there already")
        done.add(*([held] if held is not None else []))
    elif isinstance(request := linker_request(name, order.said), AddRequest):
        done.add(add_linker(store, request, order.log))
    else:
        trained = train_linker(store, request, order.log)
        done.add(trained.version)
        done.shows = lambda: {LINKERS.name: {what: Picture(one) for what, one in curves(trained.course).items()}}
    return done


def link(order: Order) -> Done:
    """Encode entities, and link mentions."""
    store, (name,) = order.store, order.keys
    linked = link_mentions(store, name, LinkRequest.of(order.said), order.log)
    done = Done(facts={LINKING_SCORES.name: {ASKED: dict(order.said), **_found(linked)}})
    done.add(*vectors_of_linker(store.lake, name))
    done.add(*store.lake.versions(LINKING_SCORES.name, [one.partition for one in linked]))
    done.add(*store.lake.versions(NIL_THRESHOLDS.name, [name]))
    if linked:
        done.shows = lambda: {LINKING_SCORES.name: {"sample": Rows(sample(store, linked[0].partition), cell=200)}}
    else:
        done.notes = [f"linker {name}: no release of TempEL is built yet, so there was nothing to link"]
    return done


def _found(linked: Sequence[Linked]) -> dict[str, Shown]:
    return {
        f"{one.release}/{one.cut}/{one.pool_name}/accuracy at {k}": round(n / one.n_mentions, 4)
        for one in linked
        for k, n in one.n_found.items()
        if one.n_mentions
    }
