"""The screens of `tempkb linker`: the linkers of a home, one of them, and what was linked."""

import json
from collections.abc import Collection, Sequence
from typing import Any

from tempkb.api import open_store
from tempkb.benchmarks.linkable.pool_names import OWN_POOL
from tempkb.linking.known import known_linkers, require_linker
from tempkb.linking.requests import LinkRequest
from tempkb.linking.tables import LINKERS, LINKING_SCORES, N_TOP, NIL_THRESHOLDS
from tempkb.linking.training.recipe import PRESETS, other_numbers
from tempkb.listings import Listing, named
from tempkb.options import Words
from tempkb.results.linking_sql import OWN_SETUPS
from tempkb.results.steps import are_due
from tempkb.results.tables import LINKING_EFFECTS, LINKING_SUMS, NIL_RESULTS
from tempkb.screens.console import FIELDS, print_next, say, show
from tempkb.store.lake import Lake
from tempkb.store.memory import asking, declared_rows, view_files
from tempkb.store.quoting import literals
from tempkb.wording import rounded

_LINKERS = Listing(
    named("linker", "kind")
    | {"made from": lambda row: f"{row['release']}, {row['cut']}" if row["cut"] else row["checkpoint"]}
    | named("seed", "setup", towers="n_towers", parameters="n_parameters", dimension="dim")
)
_THRESHOLDS = Listing(
    named("measure", "n_present", "n_absent")
    | {name: lambda row, name=name: rounded(row[name], 3) for name in ("auc", "low", "high", "threshold")}
    | named("pools", "reason"),
    "no such article: chosen on validation mentions",
)
_SCORES = Listing(
    title="accuracy@K in %",
    remark="accuracy@K: the share of the mentions whose entity is among the first K candidates ({subset} set)",
    query=f"""
    SELECT linker, release, pool, cut AS snapshot, category, count(*) AS mentions, max(n_candidates) AS candidates,
           {", ".join(f'round(100 * avg(coalesce((rank <= {k})::INTEGER, 0)), 1) AS "@{k}"' for k in (1, 4, 16, N_TOP))}
    FROM {LINKING_SCORES.name} WHERE {{conditions}} GROUP BY ALL ORDER BY ALL
    """,
    needs=(LINKING_SCORES.name,),
    common=("release", "pool"),
)


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
    setups = _setups(lake)
    show(_LINKERS, [{**row, "setup": setups[row["linker"]] if row["preset"] else None} for row in found])
    if names is not None:
        print_next(f"linker score {' '.join(row['linker'] for row in found)} prior bm25")


def print_linker(name: str) -> None:
    """Print all that is known about a linker.

    Raises:
        SettingsError: there is no such linker.
    """
    lake = open_store().lake
    row = require_linker(lake, name)
    show(FIELDS, list(row.items()))
    if row["preset"]:
        say(f"The tables of tempkb linking call its setup {_setups(lake)[name]}. {_recipe_in_words(row)}.")
    thresholds = declared_rows(lake.files(NIL_THRESHOLDS.name, [name]), NIL_THRESHOLDS)
    if thresholds:
        show(_THRESHOLDS, thresholds)


def print_scores(names: Sequence[str], words: Words) -> None:
    """Print how many of the mentions that were asked for each linker has linked rightly."""
    request, store = LinkRequest.of(words), open_store()
    if not store.lake.partitions(LINKING_SCORES.name):
        return
    asked = {
        "linker": names,
        "subset": [request.subset],
        "pool": request.pools,
        "release": request.releases,
        "cut": request.cuts,
    }
    conditions = " AND ".join(f"{column} IN ({literals(values)})" for column, values in asked.items() if values)
    listing = _SCORES.filled(subset=request.subset, conditions=conditions)
    rows = listing.rows(store)
    if not rows:
        return
    show(listing, rows)
    say(are_due(store, (LINKING_EFFECTS.name, LINKING_SUMS.name, NIL_RESULTS.name)))
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
