"""The table of mixtures: what language models that were trained here have read.

Declares the room of language models.
"""

from tempkb.core.estimates_sql import end_of_window
from tempkb.engine.room import Room
from tempkb.models.corpora.tables import SPAN
from tempkb.models.tables import MODELS
from tempkb.models.training.requests import REGIMES
from tempkb.store.columns import columns, rules
from tempkb.store.quoting import literals
from tempkb.store.tables import Family, Table, View

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
        regime VARCHAR: how the model is told the time: {", ".join(REGIMES)}
        period VARCHAR: length of the periods of its training: year, quarter, month or week
        base VARCHAR: last part of the folder, or of the id, of the checkpoint with which its training began
        steps INTEGER: how many steps of the optimiser that takes, of each expert
        newest_share DOUBLE: share of the texts that are of the last period; null: as many of each
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
        known_regime: the regime has a known value
            regime NOT IN ({literals(REGIMES)})
    """),
    code_version="2",
)

_PERIOD = "CAST(date_trunc(period, window_start) AS DATE)"
MODEL_TRAININGS = View(
    name="model_trainings",
    meaning="How the language models that were trained here were trained: regime, base (the name of its model, if the "
    "home has one), corpus (null: queries alone), release (null: no queries), the first period and the day after the "
    "last one of what they have read, steps of the optimiser, newest_share (share of the last period; null: as much "
    "as the others), and numbers of periods, texts and queries. n_parameters is that of one expert.",
    query=f"""
    SELECT r.* EXCLUDE (last_period)
           REPLACE (coalesce(
               (SELECT min(model) FROM {MODELS.name} WHERE parse_filename(checkpoint) = base), base) AS base),
           {end_of_window("last_period", "period")} AS until,
           m.n_parameters // CASE regime WHEN 'yearly' THEN n_periods ELSE 1 END AS n_parameters
    FROM (
        SELECT model, regime, base, period, steps, newest_share, any_value(name) FILTER (source = '{TEXT}') AS corpus,
               any_value(name) FILTER (source = '{QUERY}') AS release, min({_PERIOD}) AS first_period,
               max({_PERIOD}) AS last_period, count(DISTINCT {_PERIOD}) AS n_periods,
               count(*) FILTER (source = '{TEXT}') AS n_texts, count(*) FILTER (source = '{QUERY}') AS n_queries
        FROM {MIXTURES.name} GROUP BY ALL
    ) AS r JOIN {MODELS.name} AS m USING (model)
    """,
    needs=(MIXTURES.name, MODELS.name),
)


ROOM = Room("models", (MIXTURES, MODELS), (MODEL_TRAININGS,), "tempkb.models.training.steps")
