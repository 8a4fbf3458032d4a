"""Builds releases without tasks."""

from tempkb.benchmarks.methods import build_step


def build_release(store, benchmark, release, log=lambda _line: None):
    """Build what is missing of a release, step by step, and return the warnings."""
    methods = benchmark.loaded()
    return [line for step in methods.steps for line in build_step(store, methods, step, release, log)]
