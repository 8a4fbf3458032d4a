"""What a benchmark declares beside its room. No Dagster here, no click."""

from dataclasses import dataclass

from tempkb.room import Room
from tempkb.store.tables import Table


@dataclass(frozen=True)
class Benchmark:
    """A benchmark.

    Attributes:
        name: in the register of releases, and of its command with hyphens.
        title: as people write it.
        room: its tables, views, assets and checks.
        shared: a room whose tables it shares with another benchmark; its releases have rows there as well.
        apart: tables of its room that the job which builds a release leaves to a job of their own.
    """

    name: str
    title: str
    room: Room
    shared: Room | None = None
    apart: tuple[Table, ...] = ()

    @property
    def job(self) -> str:
        """Name of the job that builds a release."""
        return f"build_{self.name}"

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that a release is built into, in the order of the data."""
        own = [table for table in self.room.tables if table not in self.apart]
        return (*(self.shared.tables if self.shared else ()), *own)
