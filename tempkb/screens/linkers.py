"""The screens of `tempkb linker`: the linkers of a home, one of them, and what was linked."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tempkb.api import open_store
from tempkb.benchmarks.linkable.pool_names import OWN_POOL
from tempkb.linking.known import known_linkers, require_linker
from tempkb.linking.requests import LinkRequest
from tempkb.linking.tables import LINKERS, LINKING_SCORES, N_TOP, NIL_THRESHOLDS
from tempkb.linking.training.recipe import PRESETS, other_numbers
from tempkb.options import Words
from tempkb.results.linking_sql import OWN_SETUPS
from tempkb.results.steps import are_due
from tempkb.results.tables import LINKING_EFFECTS, LINKING_SUMS, NIL_RESULTS
from tempkb.screens.console import console, grid, print_next, say
from tempkb.store.lake import Lake
from tempkb.store.memory import asking, declared_rows, view_files
from tempkb.store.quoting import literal
from tempkb.wording import rounded

_OF_THRESHOLDS = ("measure", "n_present", "n_absent", "auc", "low", "high", "threshold", "pools", "reason")
_KS = (1, 4, 16, N_TOP)


def print_linkers(names: Collection[str] | None = None) -> None:
    """Print the linkers of the home.

    Args:
        names: only these, as far as they are there; None for all, with the baselines.
    """
    lake = open_store().lake
    found = [row for row in known_linkers(lake) if names is None or row["linker"] in names]
    if not found:
        # None of those that were asked for could be made, which the errors say.
        return
    titles = ("linker", "kind", "made from", "seed", "setup", "towers", "parameters", "dimension")
    setups = _setups(lake)
    console().print(grid(titles, [_cells(row, setups) for row in found]))
    if names is not None:
        print_next(f"linker score {' '.join(row['linker'] for row in found)} prior bm25")


def print_linker(name: str) -> None:
    """Print all that is known about a linker.

    Raises:
        SettingsError: there is no such linker.
    """
    lake = open_store().lake
    row = require_linker(lake, name)
    console().print(grid(("column", "value"), list(row.items())))
    if row["preset"]:
        say(f"The tables of tempkb linking call its setup {_setups(lake)[name]}. {_recipe_in_words(row)}.")
    thresholds = declared_rows(lake.files(NIL_THRESHOLDS.name, [name]), NIL_THRESHOLDS)
    if thresholds:
        shown = [
            [rounded(one[of], 3) if isinstance(one[of], float) else one[of] for of in _OF_THRESHOLDS]
            for one in thresholds
        ]
        console().print(grid(_OF_THRESHOLDS, shown, title="no such article: chosen on validation mentions"))


def print_scores(names: Sequence[str], words: Words) -> None:
    """Print how many of the mentions that were asked for each linker has linked rightly."""
    request, store = LinkRequest.of(words), open_store()
    if not store.lake.partitions(LINKING_SCORES.name):
        return
    conditions = [
        f"linker IN ({_listed(names)})",
        f"subset = {literal(request.subset)}",
        f"pool IN ({_listed(request.pools)})",
    ]
    if request.releases:
        conditions.append(f"release IN ({_listed(request.releases)})")
    if request.cuts:
        conditions.append(f"cut IN ({_listed(map(str, request.cuts))})")
    shares = ", ".join(f"round(100 * avg(coalesce((rank <= {k})::INTEGER, 0)), 1) AS at_{k}" for k in _KS)
    rows = store.ask(
        f"""
        SELECT linker, release, pool, cut, category, count(*) AS n, max(n_candidates) AS n_candidates, {shares}
        FROM {LINKING_SCORES.name} WHERE {" AND ".join(conditions)} GROUP BY ALL ORDER BY ALL
        """,
        LINKING_SCORES.name,
    )
    if not rows:
        return
    titles = ("linker", "release", "pool", "snapshot", "category", "mentions", "candidates", *(f"@{k}" for k in _KS))
    # What is the same in all rows is said once, in the title.
    common = [name for name in ("release", "pool") if len({row[name] for row in rows}) == 1]
    places = [place for place, name in enumerate(titles) if name not in common]
    cells = [[list(row.values())[place] for place in places] for row in rows]
    title = ", ".join(["accuracy@K in %", *(f"{name} {rows[0][name]}" for name in common)])
    console().print(grid([titles[place] for place in places], cells, title=title))
    say(f"accuracy@K: the share of the mentions whose entity is among the first K candidates ({request.subset} set)")
    if due := are_due(store, (LINKING_EFFECTS.name, LINKING_SUMS.name, NIL_RESULTS.name)):
        say(due)
    pool = next(iter(request.pools))
    print_next("linking" if pool == OWN_POOL else f"linking --pool {pool}", f'sql "FROM {LINKING_SCORES.name} LIMIT 5"')


def _recipe_in_words(row: dict[str, Any]) -> str:
    """In what the recipe of a linker that was trained differs from its preset."""
    preset, base = row["preset"], row["base"] or ""
    others = other_numbers(preset, base, json.loads(row["recipe"]))
    if base != PRESETS[preset].base:
        others = {"base": (base, PRESETS[preset].base or "random weights"), **others}
    differing = ", ".join(f"{name} {value} (there {usual})" for name, (value, usual) in others.items())
    return f"Its recipe is that of the preset {preset}" + (f", except for {differing}" if differing else "")


def _setups(lake: Lake) -> dict[str, str]:
    """How the tables of `tempkb linking` name each linker, at mentions of the release of its training."""
    files = lake.files(LINKERS.name)
    if not files:
        return {}
    with asking() as memory:
        view_files(memory, LINKERS.name, files)
        return dict(memory.execute(OWN_SETUPS).fetchall())


def _cells(row: dict[str, Any], setups: Mapping[str, str]) -> tuple[Any, ...]:
    source = f"{row['release']}, {row['cut']}" if row["cut"] else row["checkpoint"]
    return (
        row["linker"],
        row["kind"],
        source,
        row["seed"],
        setups[row["linker"]] if row["preset"] else None,
        row["n_towers"],
        row["n_parameters"],
        row["dim"],
    )


def _listed(names: Any) -> str:
    return ", ".join(map(literal, sorted(names)))
