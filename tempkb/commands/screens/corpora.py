"""The screens of `tempkb corpus`: the corpora of the home, and one by window."""

from typing import Any

from tempkb.commands.screens.console import print_next, say, show
from tempkb.core.errors import SettingsError
from tempkb.core.wording import counted
from tempkb.engine.steps import Look
from tempkb.models.corpora.steps import command_of, names, versions_of
from tempkb.models.corpora.tables import CORPUS_YEARS, DATED_TEXTS, HOME, parts_of
from tempkb.platform.api import open_store
from tempkb.platform.rooms import steps
from tempkb.store.listings import Listing, named

_CORPORA = Listing(
    named("corpus", "windows", "first", "last", "texts", "bytes", "stale") | {"noun phrases by": "phrases"}
)
_YEARS = Listing(
    title="corpus {corpus}",
    remark="The shares are of texts that name a year, one of the corpus, and their own; in %.",
    query=f"""
    SELECT window_start AS "window", n_texts AS texts, n_train AS train, round(100 * names_a_year, 1) AS "a year",
           round(100 * names_a_year_of_corpus, 1) AS "of the corpus", round(100 * names_its_year, 1) AS "its own"
    FROM {CORPUS_YEARS.name} WHERE corpus = '{{corpus}}' ORDER BY window_start
    """,
    needs=(CORPUS_YEARS.name,),
)


def print_corpora(only: str = "") -> None:
    """Print the corpora of the home, or one of them, if it is there."""
    store = open_store()
    look, rows = Look(store, steps()), list[dict[str, Any]]()
    with store.lake.one_look():
        for name in [only] if only else names(store.lake):
            held = versions_of(store.lake, name)
            n_stale = sum(not look.is_current(one.table, one.partition) for one in held)
            n_lost = sum(parts_of(key)[0] == name for key in store.lake.lost(DATED_TEXTS.name))
            if not held and not n_lost:
                continue
            days = [parts_of(one.partition)[1] for one in held]
            rows.append(
                {
                    "corpus": name,
                    "windows": len(held),
                    "first": min(days, default=""),
                    "last": max(days, default=""),
                    "texts": sum(one.rows for one in held),
                    "bytes": sum(one.n_bytes() for one in held),
                    "stale": n_stale + n_lost,
                    "phrases": ", ".join(sorted({one.settings["phrases"] for one in held})),
                }
            )
    if rows:
        show(_CORPORA, rows)
    for row in (one for one in rows if one["stale"]):
        n = counted(row["stale"], "window")
        say(f"corpus {row['corpus']}: {n} to be made again: {command_of(store.lake, row['corpus'])}")
    if not only and not rows:
        say("The home has no corpus yet.")
    if not only and not rows:
        print_next("corpus make")
    elif only and rows:
        print_next(f"corpus show {only}")


def print_corpus(name: str) -> None:
    """Print the texts of a corpus by window, and which share of them names years.

    Raises:
        SettingsError: there is no such corpus.
    """
    store = open_store()
    if name not in (known := names(store.lake)):
        raise SettingsError(f"corpus {name!r}: no such corpus; there: {', '.join(known) or 'none'}")
    listing = _YEARS.filled(corpus=name)
    show(listing, listing.rows(store))
    if name == HOME:
        say("Sentences of the first window may be much older than it.")
    print_next(f"sql \"SELECT window_start, text, spans FROM {DATED_TEXTS.name} WHERE corpus = '{name}' LIMIT 5\"")
