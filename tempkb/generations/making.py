"""Makes what language models say, one model a run. No Dagster here."""

from tempkb.engine.tasks import Done, Order, Rows
from tempkb.generations.kind import SAID
from tempkb.generations.showing import samples
from tempkb.scores.making import answers


def generations(order: Order) -> Done:
    """Ask what has no answer yet."""
    return answers(
        SAID,
        order,
        lambda store, name, done: {title: Rows(rows, cell=200) for title, rows in samples(store, name, done).items()},
    )
