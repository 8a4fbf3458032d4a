"""What a release holds, on one screen; the benchmark says what is worth showing."""

from tempkb.api import open_store
from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.releases import load
from tempkb.screens.console import print_next, print_sheet, say
from tempkb.store.quoting import literal


def print_release(benchmark: Benchmark, name: str) -> None:
    """Print what a release that is built holds, and what to type next."""
    store = open_store()
    closing = benchmark.loaded().closing(store, load(store.home, benchmark, name))
    say(f"release {name}: {closing.headline}")
    for sheet in closing.grids:
        print_sheet(sheet)
    query = f"SELECT {closing.columns} FROM {closing.table} WHERE release = {literal(name)} LIMIT 5"
    print_next(f"release export {name} exports", f'sql "{query}"')
