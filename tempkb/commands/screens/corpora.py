"""The screens of `tempkb corpus`: the corpora of the home, and one by window."""

from tempkb.commands.screens.console import show
from tempkb.core.errors import SettingsError
from tempkb.models.corpora.steps import names
from tempkb.models.corpora.tables import CORPUS_YEARS
from tempkb.platform.api import open_store
from tempkb.store.listings import Listing

_CORPORA = Listing(
    query=f"""
    SELECT corpus, count(*) AS windows, min(window_start) AS first, max(window_start) AS last,
           sum(n_texts)::BIGINT AS texts
    FROM {CORPUS_YEARS.name} GROUP BY corpus ORDER BY corpus
    """,
    needs=(CORPUS_YEARS.name,),
)
_YEARS = Listing(
    title="corpus {corpus}",
    remark="Shares are of all texts, in %: those that name a year, one of the corpus, and that of their own window.",
    query=f"""
    SELECT window_start AS "window", n_texts AS texts, n_train AS train, round(100 * names_a_year, 1) AS "a year",
           round(100 * names_a_year_of_corpus, 1) AS "of the corpus", round(100 * names_its_year, 1) AS "its own"
    FROM {CORPUS_YEARS.name} WHERE corpus = '{{corpus}}' ORDER BY window_start
    """,
    needs=(CORPUS_YEARS.name,),
)


def print_corpora(name: str = "") -> None:
    """Print the corpora of the home; or the texts of one by window, and which share of them names years.

    Raises:
        SettingsError: there is no such corpus.
    """
    store = open_store()
    if name and name not in (known := names(store.lake)):
        raise SettingsError(f"corpus {name!r}: no such corpus; there: {', '.join(known) or 'none'}")
    listing = _YEARS.filled(corpus=name) if name else _CORPORA
    show(listing, listing.rows(store))
