"""The table of mixtures: what language models that were trained here have read.

Declares the room of language models.
"""

from tempkb.engine.room import Room
from tempkb.models.corpora.tables import SPAN
from tempkb.models.tables import MODELS
from tempkb.store.columns import columns, rules
from tempkb.store.lake import RESUMABLE
from tempkb.store.tables import Family, Table

TEXT, QUERY = SOURCES = ("text", "query")
"""Where a row of a mixture comes from: a corpus, or a release."""

MIXTURES = Table(
    name="mixtures",
    meaning="What language models that were trained here have read: texts of a corpus, and queries of a release with "
    "their answers, each once a window; the training may have read it several times.",
    columns=columns.with_types(SPAN=SPAN)(f"""
        model
        window_start DATE: first day of the window in which the text is first seen, or which the query is about
        source VARCHAR: {TEXT} (of the corpus) or {QUERY} (of the release)
        name VARCHAR: name of that corpus or release
        text_id VARCHAR: text_id of a text in dated_texts, prompt_id of a query
        item_id VARCHAR: item of the release that a query is of; null for a text
        text VARCHAR (bulk): the text, or the query with its answer
        spans SPAN[] (bulk): what may be asked for in it, of a query its answer
    """),
    key=("window_start", "source", "text_id"),
    family=Family.MODEL,
    partitioned_by="model",
    partition_columns=("model",),
    persist="view",
    row_group_rows=8_192,
    rules=rules(f"""
        known_source: the source has a known value
            source NOT IN {SOURCES}
        query_has_an_answer: a query has one span, its answer, and an item
            source = '{QUERY}' AND (len(spans) <> 1 OR item_id IS NULL)
    """),
)


def drafts_of(model: str) -> str:
    """Return the name of the folder of drafts of the run that trains a model."""
    return f"{RESUMABLE}training-{model}"


ROOM = Room("models", (MIXTURES, MODELS), (), "tempkb.models.training.steps")
