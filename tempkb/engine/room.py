"""What a room of the platform declares: its tables and views, and where is said how they are made."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from tempkb.store.tables import Table, View

if TYPE_CHECKING:
    # Brings DuckDB and Arrow, which who only asks for help needs as little.
    from tempkb.engine.tasks import Task


@dataclass(frozen=True)
class Room:
    """One room. How its tables are made is named and not imported: who only reads does not need it.

    Attributes:
        name: also the group of its assets in Dagster.
        tables: in the order of the data.
        views: named questions to tables of this room and of those before it.
        steps: dotted name of the module that declares `TASKS`, how its tables are made.
    """

    name: str
    tables: tuple[Table, ...]
    views: tuple[View, ...] = ()
    steps: str = ""

    def tasks(self) -> "tuple[Task, ...]":
        """Import what makes the tables of the room."""
        found: tuple[Task, ...] = import_module(self.steps).TASKS if self.steps else ()
        return found
