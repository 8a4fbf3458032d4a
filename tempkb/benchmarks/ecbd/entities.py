"""Chooses the entities of a release: items with a date of origin and an article at the cut, and popular articles."""

from datetime import date

import duckdb

from tempkb.benchmarks.ecbd.categories import MISC, categorise, class_labels
from tempkb.benchmarks.ecbd.design import Design
from tempkb.benchmarks.ecbd.popular import RANKED
from tempkb.benchmarks.work import make_table
from tempkb.core.errors import DesignError
from tempkb.core.filtering import LeftOut
from tempkb.core.windows import Granularity, window_of
from tempkb.wiki.wikitext.page_kinds import list_title_pattern

# From finest to coarsest. Weeks do not fit into months, but each window is computed from the origin itself.
_LADDER = (Granularity.WEEK, Granularity.MONTH, Granularity.QUARTER, Granularity.YEAR)


def origin_window(origin_from: date, origin_to: date, finest: Granularity) -> tuple[str, Granularity] | None:
    """Return the finest window, of length `finest` or longer, that contains an origin; None if no year contains it.

    An origin of 2021 without a month is in no quarter.

    >>> origin_window(date(2021, 5, 4), date(2021, 5, 5), Granularity.QUARTER)
    ('2021-Q2', <Granularity.QUARTER: 'quarter'>)
    >>> origin_window(date(2021, 1, 1), date(2022, 1, 1), Granularity.QUARTER)
    ('2021', <Granularity.YEAR: 'year'>)
    """
    for granularity in _LADDER[_LADDER.index(finest) :]:
        window = window_of(origin_from, granularity)
        if origin_to <= window.end:
            return window.label, granularity
    return None


def choose_entities(connection: duckdb.DuckDBPyConnection, design: Design, language: str) -> LeftOut:
    """Make the table `chosen`, with one row per entity, and return the counts of what is left out.

    Needs the views `snapshot`, `texts` and `popularity` of the cut, and, if the design
    has a dump, its `entities`, `origins`, `classes` and `subclass_edges`.

    Raises:
        DesignError: the design has a dump, and no article has an item.
    """
    _make_articles(connection, language)
    if design.dump_id:
        _refuse_no_items(connection, design)
        categorise(connection)
    else:
        _know_nothing(connection)
    _name_classes(connection)
    _judge_origins(connection, design)
    left_out = _left_out(connection)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE chosen AS {_CHOSEN}", {"misc": MISC})
    left_out.merge(_choose_popular(connection, design))
    return left_out


def _make_articles(connection: duckdb.DuckDBPyConnection, language: str) -> None:
    """The articles of the snapshot that have a text."""
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE articles AS
        SELECT s.wiki, s.dump_id, s.page_id, s.revision_id, s.title, s.entity_id, s.page_created_at,
               s.is_disambiguation, regexp_matches(s.title, $lists) AS is_list, t.n_words,
               coalesce(p.n_inlinks, 0) AS n_inlinks, s.n_contributors
        FROM snapshot AS s JOIN texts AS t USING (page_id, revision_id) LEFT JOIN popularity AS p USING (page_id)
        WHERE s.namespace = 0 AND s.redirect_title IS NULL AND NOT s.is_blank
        """,
        {"lists": list_title_pattern(language)},
    )


def _refuse_no_items(connection: duckdb.DuckDBPyConnection, design: Design) -> None:
    """Refuse a home in which no article has an item, because only popular entities would be left."""
    n, linked = connection.execute("SELECT count(*), count(entity_id) FROM articles").fetchall()[0]
    if n and not linked:
        raise DesignError(
            f"cut {design.cut}: none of the {n:,} articles has a Wikidata item, so no entity can be joined with its "
            f"origin in {design.dump_id}. There was no page_props table when the window was built, and no site link "
            "of a Wikidata dump names one of its pages. Add <wiki>-<date>-page_props.sql.gz to the dump, or read a "
            "Wikidata dump with site links to this wiki, then: tempkb build. For popular entities only: "
            "--dump-id none --popular N"
        )


def _know_nothing(connection: duckdb.DuckDBPyConnection) -> None:
    """Without a dump no item has an origin, a class or a name."""
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE item_category (entity_id VARCHAR, category VARCHAR, category_class VARCHAR);
        CREATE OR REPLACE TEMP TABLE not_entities (entity_id VARCHAR, reason VARCHAR);
        CREATE OR REPLACE TEMP TABLE classes (entity_id VARCHAR, class_id VARCHAR, depth SMALLINT);
        CREATE OR REPLACE TEMP TABLE entities (entity_id VARCHAR, label VARCHAR, aliases VARCHAR[]);
        CREATE OR REPLACE TEMP TABLE origins (
            entity_id VARCHAR, origin_from DATE, origin_to DATE, origin_precision VARCHAR, origin_property VARCHAR,
            extended_from DATE, extended_to DATE, extended_precision VARCHAR, extended_property VARCHAR
        )
        """
    )


def _name_classes(connection: duckdb.DuckDBPyConnection) -> None:
    """The classes of each item, with their labels from Wikidata or from `categories.toml`."""
    make_table(connection, "class_labels", "class_id VARCHAR, label VARCHAR", list(class_labels().items()))
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE named_classes AS
        SELECT c.entity_id,
               list({class_id: c.class_id, label: coalesce(e.label, l.label)} ORDER BY c.class_id) AS classes
        FROM classes AS c LEFT JOIN entities AS e ON e.entity_id = c.class_id
        LEFT JOIN class_labels AS l ON l.class_id = c.class_id
        WHERE c.depth = 0 GROUP BY c.entity_id
        """
    )


def _judge_origins(connection: duckdb.DuckDBPyConnection, design: Design) -> None:
    """Make `judged`: every item with an origin, the window that contains it, and why it is left out, or null.

    An item with several articles is asked about by the first that is not left out for another reason.
    """
    prefix = "origin" if design.origins == "ecbd" else "extended"
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE dated AS
        SELECT entity_id, {prefix}_from AS origin_from, {prefix}_to AS origin_to,
               {prefix}_precision AS origin_precision, {prefix}_property AS origin_property
        FROM origins WHERE {prefix}_from IS NOT NULL
        """
    )
    _make_windows(connection, design)
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE judged_alone AS
        SELECT d.*, w.origin_window, w.origin_granularity, a.page_id,
               d.origin_from >= $first AND d.origin_to <= $end AS is_inside,
               -- Dates far from the study may be too large for an instant.
               CASE WHEN NOT is_inside THEN false
                    ELSE a.page_created_at < CAST(d.origin_from - to_years($suspect_years) AS TIMESTAMPTZ)
               END AS suspect_old_entity,
               CASE WHEN a.page_id IS NULL THEN 'no article at the cut'
                    WHEN n.reason IS NOT NULL THEN n.reason
                    WHEN a.is_list THEN 'list'
                    WHEN a.is_disambiguation THEN 'disambiguation'
                    WHEN d.origin_to <= $first OR d.origin_from >= $end THEN 'origin outside the study'
                    WHEN NOT is_inside THEN 'origin on an edge of the study'
                    WHEN w.origin_window IS NULL THEN 'origin in no one year'
                    WHEN suspect_old_entity AND $drop_suspects THEN 'page much older than its origin'
                    WHEN a.n_words < $min_words THEN 'fewer words than min_words' END AS reason
        FROM dated AS d LEFT JOIN articles AS a USING (entity_id) LEFT JOIN not_entities AS n USING (entity_id)
        LEFT JOIN origin_windows AS w USING (origin_from, origin_to)
        """,
        {
            "first": design.first,
            "end": design.end,
            "suspect_years": design.suspect_years,
            "drop_suspects": design.suspects == "drop",
            "min_words": design.min_words,
        },
    )
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE judged AS
        SELECT * REPLACE (
            CASE WHEN reason IS NULL
                  AND row_number() OVER (PARTITION BY entity_id, reason IS NULL ORDER BY page_id) > 1
                 THEN 'second article about the item' ELSE reason END AS reason
        )
        FROM judged_alone
        """
    )


def _make_windows(connection: duckdb.DuckDBPyConnection, design: Design) -> None:
    """The windows of all origins in the study. Others need none, and Python cannot represent some of their dates."""
    spans = connection.execute(
        "SELECT DISTINCT origin_from, origin_to FROM dated WHERE origin_from >= $first AND origin_to <= $end",
        {"first": design.first, "end": design.end},
    ).fetchall()
    windows = ((*span, origin_window(span[0], span[1], design.origin_granularity)) for span in spans)
    rows = [(first, end, window[0], str(window[1])) for first, end, window in windows if window]
    columns = "origin_from DATE, origin_to DATE, origin_window VARCHAR, origin_granularity VARCHAR"
    make_table(connection, "origin_windows", columns, rows)


_CHOSEN = """
    SELECT a.wiki, a.dump_id, a.page_id, a.revision_id, a.entity_id, a.title, 'odie' AS subset, j.origin_window,
           j.origin_granularity, j.origin_from, j.origin_to, j.origin_precision, j.origin_property, a.page_created_at,
           j.suspect_old_entity, coalesce(c.category, $misc) AS category, c.category_class,
           coalesce(k.classes, []) AS classes, a.n_words, a.n_inlinks, a.n_contributors, e.label,
           coalesce(e.aliases, []) AS aliases
    FROM judged AS j JOIN articles AS a USING (page_id)
    LEFT JOIN item_category AS c ON c.entity_id = a.entity_id
    LEFT JOIN entities AS e ON e.entity_id = a.entity_id
    LEFT JOIN named_classes AS k ON k.entity_id = a.entity_id
    WHERE j.reason IS NULL
"""

_POPULAR = f"""
    SELECT a.wiki, a.dump_id, a.page_id, a.revision_id, a.entity_id, a.title, 'popular' AS subset,
           NULL::VARCHAR AS origin_window, NULL::VARCHAR AS origin_granularity, d.origin_from, d.origin_to,
           d.origin_precision, d.origin_property, a.page_created_at, false AS suspect_old_entity,
           coalesce(c.category, $misc) AS category, c.category_class, coalesce(k.classes, []) AS classes, a.n_words,
           a.n_inlinks, a.n_contributors, e.label, coalesce(e.aliases, []) AS aliases
    FROM articles AS a JOIN ({RANKED}) AS r USING (page_id)
    LEFT JOIN not_entities AS n ON n.entity_id = a.entity_id AND n.reason <> 'human'
    LEFT JOIN dated AS d ON d.entity_id = a.entity_id
    LEFT JOIN item_category AS c ON c.entity_id = a.entity_id
    LEFT JOIN entities AS e ON e.entity_id = a.entity_id
    LEFT JOIN named_classes AS k ON k.entity_id = a.entity_id
    ANTI JOIN chosen ON chosen.page_id = a.page_id
    ANTI JOIN chosen AS same_item ON same_item.entity_id = a.entity_id
    WHERE a.n_words >= $min_words AND NOT a.is_disambiguation AND NOT a.is_list AND n.reason IS NULL
"""


def _choose_popular(connection: duckdb.DuckDBPyConnection, design: Design) -> LeftOut:
    """Add popular articles, also about people, that are not chosen by their origin."""
    values = {"misc": MISC, "min_words": design.min_words}
    if design.popular:
        chosen = f"{_POPULAR} ORDER BY r.both, a.page_id LIMIT $popular"
        connection.execute(f"INSERT INTO chosen {chosen}", {**values, "popular": design.popular})
    if not design.popular_pages:
        return LeftOut()
    wanted = {"pages": list(design.popular_pages)}
    connection.execute(f"INSERT INTO chosen {_POPULAR} AND a.page_id IN (SELECT unnest($pages))", {**values, **wanted})
    rows = connection.execute(
        """
        SELECT CASE WHEN a.page_id IS NULL THEN 'listed page that is no article at the cut'
                    WHEN c.subset = 'odie' THEN 'listed page that is asked about by its origin'
                    ELSE 'listed page with too few words, or no entity' END AS reason,
               count(*), min(w.page_id)
        FROM (SELECT unnest($pages) AS page_id) AS w LEFT JOIN articles AS a USING (page_id)
        LEFT JOIN chosen AS c USING (page_id) WHERE c.subset IS DISTINCT FROM 'popular' GROUP BY reason ORDER BY reason
        """,
        wanted,
    ).fetchall()
    return LeftOut.of((reason, n, f"page {page}") for reason, n, page in rows)


def n_too_short(connection: duckdb.DuckDBPyConnection) -> int:
    """Return how many articles might be popular if they had enough words, where no entity is chosen."""
    return len(connection.execute(_POPULAR, {"misc": MISC, "min_words": 0}).fetchall())


def _left_out(connection: duckdb.DuckDBPyConnection) -> LeftOut:
    rows = connection.execute(
        "SELECT reason, count(*), min(entity_id) FROM judged WHERE reason IS NOT NULL GROUP BY reason ORDER BY reason"
    ).fetchall()
    (undated,) = connection.execute(
        "SELECT count(*), concat('page ', min(page_id)) FROM articles ANTI JOIN dated USING (entity_id)"
    ).fetchall()
    (mute,) = connection.execute(
        """
        SELECT count(*), concat('page ', min(page_id)) FROM snapshot ANTI JOIN texts USING (page_id, revision_id)
        WHERE namespace = 0 AND redirect_title IS NULL AND NOT is_blank
        """
    ).fetchall()
    return LeftOut.of(rows, [("article without a date of origin", *undated), ("article whose text is missing", *mute)])
