"""Makes the table of models, one model a run. No Dagster here."""

from tempkb.engine.tasks import Done, Order
from tempkb.errors import ModelError
from tempkb.models.adding import add_model
from tempkb.models.known import said_of
from tempkb.models.requests import request_of, requested


def models(order: Order) -> Done:
    """Read a checkpoint and write down its digests; compare the files of a model that is there with them."""
    store, (name,), done = order.store, order.keys, Done()
    try:
        words = requested(store.home, name, order.said, said_of(store, name))[name]
        done.add(add_model(store, request_of(name, words), order.log))
    except ModelError as error:
        raise ModelError(f"model {name!r}: {error}") from None
    return done
