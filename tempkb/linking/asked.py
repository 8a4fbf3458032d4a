"""The benchmarks whose mentions linkers link. Each brings its tables, and no other module of linking knows its name."""

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.linkable.declaration import Linkable
from tempkb.benchmarks.reading import Part, united
from tempkb.benchmarks.register import entry_if_any
from tempkb.settings import Home

LINKED: dict[str, tuple[Benchmark, Linkable]] = {
    one.name: (one, one.linkable) for one in BENCHMARKS if one.linkable is not None
}
"""The benchmarks that have mentions, by name, with what they bring."""
FIRST, DEFAULT = next(iter(LINKED.values()))
"""The first of them: the candidates of a day without a release are those of its default design."""


def linkable_of(home: Home, release: str) -> Linkable:
    """Return what the benchmark of a release brings; of a name that no release has, what the first one does."""
    name = entry_if_any(home, release).asked.get("benchmark", FIRST.name)
    return LINKED.get(name, (FIRST, DEFAULT))[1]


def rows_of(name: str) -> Part:
    """Return the rows of one of the tables that these benchmarks bring, such as `mentions`, of all of them."""
    tables = [getattr(linkable, name).name for _, linkable in LINKED.values()]
    return united([Part(f"FROM {table}", (table,)) for table in tables])
