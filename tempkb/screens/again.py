"""The command that builds a damaged partition again, for the screens that name damage."""

from tempkb.benchmarks.register import to_build_again
from tempkb.linking.mending import command_without_row
from tempkb.linking.tables import LINKERS
from tempkb.store.store import Store


def command_for(store: Store, table: str, partition: str) -> str:
    """Return the command that builds a damaged partition of a table again."""
    if table == LINKERS.name:
        return command_without_row(store.home.linkers, partition)
    return to_build_again(store.tables[table], partition)
