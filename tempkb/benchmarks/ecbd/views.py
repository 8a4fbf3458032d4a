"""Declares the views: the paper's Tables 1 and 2 for any release, the balance of items, and scores."""

from tempkb.benchmarks.ecbd.categories import category_names
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_ENTITIES, ECBD_PROMPTS, ECBD_RELEASES
from tempkb.benchmarks.prompting import scores_view
from tempkb.store.quoting import literals
from tempkb.store.tables import View

# Rows of a run that was killed are left out: their release has no row in `ecbd_releases`.
_FINISHED = f"SEMI JOIN {ECBD_RELEASES.name} USING (release)"
_ORDER = literals(category_names())

ORIGIN_YEARS = View(
    name="ecbd_origin_years",
    meaning="The upper part of the paper's Table 1: entities that have items, by year of origin (0: all years) and "
    "split.",
    query=f"""
    SELECT release, CASE WHEN grouping(year) = 1 THEN 0 ELSE year END AS origin_year,
           count(*) FILTER (WHERE split = 'dev') AS n_dev, count(*) FILTER (WHERE split = 'test') AS n_test,
           count(*) AS n_entities
    FROM (
        SELECT release, year(origin_from)::INTEGER AS year, split FROM {ECBD_ENTITIES.name} {_FINISHED}
        WHERE subset = 'odie' AND n_np_spans + n_random_spans > 0
    )
    GROUP BY GROUPING SETS ((release, year), (release))
    """,
    needs=(ECBD_ENTITIES.name, ECBD_RELEASES.name),
)

CATEGORIES = View(
    name="ecbd_categories",
    meaning="The lower part of the paper's Table 1: the percentage of each category among the entities of a year (0: "
    "all years).",
    query=f"""
    WITH entities AS (
        SELECT release, year(origin_from)::INTEGER AS year, category FROM {ECBD_ENTITIES.name} {_FINISHED}
        WHERE subset = 'odie' AND n_np_spans + n_random_spans > 0
    ), counted AS (
        SELECT release, CASE WHEN grouping(year) = 1 THEN 0 ELSE year END AS origin_year, category, count(*) AS n
        FROM entities GROUP BY GROUPING SETS ((release, year, category), (release, category))
    )
    SELECT release, origin_year, list_position([{_ORDER}], category) AS place, category, n AS n_entities,
           100 * n / sum(n) OVER (PARTITION BY release, origin_year) AS per_cent
    FROM counted
    """,
    needs=(ECBD_ENTITIES.name, ECBD_RELEASES.name),
)

DATA_STATISTICS = View(
    name="ecbd_data_statistics",
    meaning="The paper's Table 2: items (the paper's # Sent.), entities, mean number of words in a span, and distinct "
    "words in spans.",
    query=f"""
    WITH words AS (
        SELECT release, subset, count(DISTINCT word) AS n FROM (
            SELECT release, subset, unnest(string_split_regex(answer, '\\s+')) AS word
            FROM {ECBD_CLOZE.name} {_FINISHED}
        ) GROUP BY release, subset
    )
    SELECT release, subset, count(*) AS n_items, count(DISTINCT page_id) AS n_entities,
           count(DISTINCT (page_id, sentence_start_char)) AS n_sentences,
           avg(len(string_split_regex(answer, '\\s+'))) AS mean_span_words, any_value(words.n) AS span_vocabulary,
           count(*) FILTER (WHERE np_type = 'PROPER') / count(*) FILTER (WHERE span_kind = 'np') AS proper_share
    FROM {ECBD_CLOZE.name} JOIN words USING (release, subset) GROUP BY release, subset
    """,
    needs=(ECBD_CLOZE.name, ECBD_RELEASES.name),
)

BALANCE = View(
    name="ecbd_balance",
    meaning="Numbers of items and entities by origin window, split and kind of span.",
    query=f"""
    SELECT release, coalesce(origin_window, 'popular') AS origin_window, split, span_kind, count(*) AS n_items,
           count(DISTINCT page_id) AS n_entities
    FROM {ECBD_CLOZE.name} {_FINISHED} GROUP BY ALL
    """,
    needs=(ECBD_CLOZE.name, ECBD_RELEASES.name),
)

SCORES = scores_view("ecbd_scores", "ECBD", ECBD_PROMPTS.name)

VIEWS = (ORIGIN_YEARS, CATEGORIES, DATA_STATISTICS, BALANCE, SCORES)
