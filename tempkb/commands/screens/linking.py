"""The screens of `tempkb linking` and `tempkb linker`: linkers through time, the linkers of a home, what was linked."""

import json
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tempkb.benchmarks.linkable.declaration import OWN_POOL
from tempkb.commands.screens.console import FIELDS, print_next, say, show, write_file
from tempkb.core.options import Words
from tempkb.core.wording import in_points, rounded, rounded_p_value
from tempkb.models.linking.known import known_linkers, require_linker
from tempkb.models.linking.requests import LinkRequest
from tempkb.models.linking.tables import LINKERS, LINKING_SCORES, N_TOP, NIL_THRESHOLDS
from tempkb.models.linking.training.recipe import PRESETS, other_numbers
from tempkb.platform.api import open_store
from tempkb.results.linking_reading import EVERY, FIGURES, LIMITS, TABLES, linked
from tempkb.results.linking_sql import OWN_SETUPS
from tempkb.results.papers.items import listings, papers, rows_of
from tempkb.results.steps import are_due
from tempkb.results.tables import LINKING_EFFECTS, LINKING_SUMS
from tempkb.store.lake import Lake
from tempkb.store.listings import Listing, as_csv, estimate, named
from tempkb.store.memory import asking, declared_rows, view_files
from tempkb.store.quoting import literals

_EFFECTS = Listing(
    named(
        *("release", "setup", "contrast", "k", "expected"),
        points=partial(estimate, columns=("estimate", "low", "high"), show=in_points),
        entities="n_clusters",
        seeds="n_seeds",
        p=lambda row: rounded_p_value(row["p_value"]),
        verdict="verdict",
    ),
    "what linkers show of time (each contrast by itself: p is not corrected)",
    lacking=lambda row: (row["contrast"], row["note"] or "") if row["estimate"] is None else None,
)


def print_linking(releases: Sequence[str], pool: str, k: int, csv_file: Path | None) -> None:
    """Print the results of linkers, and write them to the file that is asked for.

    Raises:
        SettingsError: there is no such release, pool or k, or there are no results.
    """
    store = open_store()
    words = linked(store, releases, pool, k)
    paper, name = papers()["tempel"], TABLES[k]
    for listing, rows in listings(paper, name, rows_of(store, paper.items[name], releases, pool=pool)):
        show(listing, rows)
    figures, limits = FIGURES.filled(**words), LIMITS.filled(**words)
    if found := figures.rows(store):
        show(figures, found)
    for row in limits.rows(store):
        say(row["line"])
    effects = store.read(LINKING_EFFECTS.name).to_pylist() if pool == OWN_POOL else []
    if effects := [row for row in effects if row["release"] in (releases or (row["release"],))]:
        print_effects(effects)
    say(are_due(store, (LINKING_SUMS.name, LINKING_EFFECTS.name)))
    if pool != OWN_POOL:
        say(f"Verdicts ({LINKING_EFFECTS.name}) are of the pool {OWN_POOL} only: tempkb linking")
    say("tempkb docs linking explains each figure.")
    if csv_file:
        write_file(csv_file, as_csv(EVERY.filled(**words).rows(store)))
    of = "" if pool == OWN_POOL else f" --pool {pool}"
    print_next(f"paper tempel {name}{of} --latex {name}.tex", f"paper tempel figure-5{of} --picture figure-5.png")


def print_effects(rows: Sequence[dict[str, Any]]) -> None:
    """Print rows of `linking_effects`, and their notes."""
    show(_EFFECTS, rows)
    compared, _ = _EFFECTS.compared(rows)
    for note in dict.fromkeys(row["note"] for row in compared if row["note"]):
        contrasts = dict.fromkeys(row["contrast"] for row in compared if row["note"] == note)
        say(f"{', '.join(contrasts)}: {note}")


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
    pool = next(iter(request.pools))
    print_next(
        "linking" if pool == OWN_POOL else f"linking --pool {pool}",
        f'sql "FROM {LINKING_SCORES.name} LIMIT 5"',
    )


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
