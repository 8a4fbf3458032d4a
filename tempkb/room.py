"""What a room of the platform declares: its tables and views, and where its assets and checks are. No Dagster here."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from tempkb.store.tables import Table, View

if TYPE_CHECKING:
    # Brings DuckDB and Arrow, which who only asks for help needs as little.
    from tempkb.engine.tasks import Task
    from tempkb.store.promises import Promise


@dataclass(frozen=True)
class Room:
    """One room. Dagster is imported with its modules, so these are named and not imported: who only reads needs none.

    Attributes:
        name: also the group of its assets in Dagster.
        tables: in the order of the data.
        views: named questions to tables of this room and of those before it.
        promises: dotted names of the modules that declare `PROMISES`, of which its checks are made.
        steps: dotted name of the module that declares `TASKS`, how its tables are made.
    """

    name: str
    tables: tuple[Table, ...]
    views: tuple[View, ...] = ()
    promises: tuple[str, ...] = ()
    steps: str = ""

    def promised(self) -> "list[Promise]":
        """Import what the tables of the room promise to one another."""
        return [promise for name in self.promises for promise in import_module(name).PROMISES]

    def tasks(self) -> "tuple[Task, ...]":
        """Import what makes the tables of the room."""
        found: tuple[Task, ...] = import_module(self.steps).TASKS if self.steps else ()
        return found
