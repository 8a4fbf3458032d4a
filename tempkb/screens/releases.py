"""What a release holds, on one screen; the benchmark says what is worth showing."""

from tempkb.api import open_store
from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.releases import load
from tempkb.screens.console import console, grid, print_next
from tempkb.store.quoting import literal


def print_release(benchmark: Benchmark, name: str) -> None:
    """Print what a release that is built holds, and what to type next."""
    store = open_store()
    closing = benchmark.loaded().closing(store, load(store.home, benchmark, name))
    screen = console()
    screen.print(f"release {name}: {closing.headline}")
    for one in closing.grids:
        screen.print(grid(one.titles, one.rows))
    query = f"SELECT {closing.columns} FROM {closing.table} WHERE release = {literal(name)} LIMIT 5"
    print_next(f"release export {name} exports", f'sql "{query}"')
