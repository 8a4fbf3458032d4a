"""Selects the facts of a dump that a release can use, with the days on which each holds, and its subjects.

Subjects are the most popular ones with several objects, with unambiguous names.
"""

from collections.abc import Mapping

import duckdb

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.fact_queries.design import ANY_RELATION, SPLITS, Design
from tempkb.benchmarks.work import make_table
from tempkb.core.errors import DesignError
from tempkb.core.filtering import LeftOut
from tempkb.store.quoting import literal
from tempkb.wiki.wikidata.views import MAX_DAY, MIN_DAY

# Precisions as numbers: a larger one is finer, and 0 means that there is no date.
PRECISIONS = "['century', 'decade', 'year', 'month', 'day']"
FINENESS = f"coalesce(list_position({PRECISIONS}, {{}}), 0)"
_ANY_LANGUAGE = "mul"
NO_STATEMENT = "relation that no dated statement has"
NO_WORDING = "relation without a wording in the language"


def use_templates(connection: duckdb.DuckDBPyConnection, design: Design) -> None:
    """Make the table `templates`: relation, template_no, wording."""
    rows = [(one.relation, number, one.wording) for one, number in design.numbered_templates().items()]
    make_table(connection, "templates", "relation VARCHAR, template_no SMALLINT, wording VARCHAR", rows)


def name_entities(connection: duckdb.DuckDBPyConnection, design: Design) -> None:
    """Make the table `named` from the view `entities`: items with their names in the release's language.

    Raises:
        DesignError: the home has no names in that language.
    """
    known = "SELECT DISTINCT one.language FROM entities, unnest(labels) AS u(one)"
    languages = {row[0] for row in connection.execute(known).fetchall()}
    if languages and design.language not in languages:
        wanted = ",".join([*sorted(languages - {_ANY_LANGUAGE}), design.language])
        raise DesignError(
            f"language {design.language!r}: the home has names in {', '.join(sorted(languages))} only; read Wikidata "
            f"with that language as well, into a new home: TEMPKB_HOME=data/... TEMPKB_LANGUAGES={wanted} tempkb build"
        )
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE named AS
        SELECT entity_id, substring(entity_id, 2)::BIGINT AS number, site_title, n_statements, n_site_links,
               ended_from, ended_to, {FINENESS.format("ended_precision")} AS ended_fineness,
               coalesce(own.label, shared.label) AS label,
               list_concat(coalesce(own.aliases, []), coalesce(shared.aliases, [])) AS aliases
        FROM (
            SELECT *, list_filter(labels, lambda one: one.language = $language)[1] AS own,
                   list_filter(labels, lambda one: one.language = '{_ANY_LANGUAGE}')[1] AS shared
            FROM entities
        )
        """,
        {"language": design.language},
    )


def relations_without(connection: duckdb.DuckDBPyConnection, design: Design) -> LeftOut:
    """Count the relations that a release leaves out: without a dated statement, or without a template in its language.

    Raises:
        DesignError: no relation has a dated statement.
    """
    rows = connection.execute("SELECT DISTINCT relation FROM templates ANTI JOIN facts USING (relation)").fetchall()
    lacking = sorted((row[0] for row in rows), key=lambda name: int(name[1:]))
    if len(lacking) == len({one.relation for one in design.numbered_templates()}):
        raise DesignError(
            f"templates: no statement of {', '.join(lacking)} in {design.dump_id} has a date and an item as value, so "
            "there are no queries; name other relations with --templates, or take another dump"
        )
    unworded = design.unworded()
    return LeftOut.of(
        [(NO_STATEMENT, len(lacking), ", ".join(lacking)), (NO_WORDING, len(unworded), ", ".join(unworded))]
    )


def select_facts(connection: duckdb.DuckDBPyConnection, design: Design) -> LeftOut:
    """Make the table `usable` from the views `facts` and `undated` and the tables `named` and `templates`.

    Its rows hold from `possible_from` to `possible_to`, which is the largest date if
    the end is not known. What explicitly has no end is certain up to the dump's day,
    or, if its subject's end closes it, up to and with the first day of that end.

    Returns:
        Counts of what is left out, and of what is noted, by reason.
    """
    best = "s.best_rank IS NULL OR f.rank = s.best_rank" if design.ranks == "best" else "true"
    ranked = "true" if design.ranks == "all" else f"f.rank <> 'deprecated' AND ({best})"
    points = "true" if design.points_in_time else "NOT f.is_point"
    linked = "o.site_title IS NOT NULL" if design.linked_objects else "true"
    closes = "f.end_kind <> 'value' AND n.ended_to IS NOT NULL" if design.close_at_death else "false"
    # The released rules read the dates later, and ignore the dump's day and the order of start and end.
    is_ours = design.rules == "tempkb"
    open_to = _open_to(design.open_years()) if is_ours else "NULL"
    undated = "f.valid_from IS NULL AND f.valid_to IS NULL AND f.end_kind <> 'novalue'" if is_ours else "false"
    later = "f.valid_from >= f.dump_date" if is_ours else "false"
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE judged AS
        WITH best AS (
            SELECT subject_id, relation, 'preferred' AS best_rank
            FROM (SELECT subject_id, relation, rank FROM facts UNION ALL SELECT subject_id, relation, rank FROM undated)
            GROUP BY ALL HAVING bool_or(rank = 'preferred')
        )
        SELECT f.* REPLACE (CASE WHEN f.end_kind <> 'novalue' THEN f.certain_to
                                 WHEN {closes} THEN least(n.ended_from + 1, f.dump_date)
                                 ELSE f.dump_date END AS certain_to),
               n.number AS subject_number, n.label AS subject_label, n.site_title, n.n_statements, n.n_site_links,
               o.number AS object_number, o.label AS object_label, o.aliases AS object_aliases,
               coalesce(f.valid_from, {MIN_DAY}) AS possible_from,
               CASE WHEN {closes} THEN least(coalesce(f.valid_to, n.ended_to), n.ended_to)
                    ELSE coalesce(f.valid_to, {MAX_DAY}) END AS possible_to,
               {open_to} AS open_to,
               {FINENESS.format("f.start_precision")} AS start_fineness,
               CASE WHEN {closes} THEN n.ended_fineness ELSE {FINENESS.format("f.end_precision")} END AS end_fineness,
               CASE WHEN {closes} THEN 'subject_ended' ELSE f.end_kind END AS final_end_kind,
               CASE
                   WHEN NOT ({ranked}) THEN 'rank does not count'
                   WHEN NOT ({points}) THEN 'told by a point in time only'
                   WHEN n.site_title IS NULL THEN 'subject has no page in the wiki'
                   WHEN n.label IS NULL THEN 'subject has no name in the language'
                   WHEN NOT ({linked}) THEN 'object has no page in the wiki'
                   WHEN o.label IS NULL THEN 'object has no name in the language'
                   WHEN {undated} THEN 'has no date that can be read'
                   WHEN {later} THEN 'begins after the dump'
               END AS reason
        FROM facts AS f SEMI JOIN templates USING (relation)
        LEFT JOIN named AS n ON n.entity_id = f.subject_id
        LEFT JOIN named AS o ON o.entity_id = f.object_id
        LEFT JOIN best AS s ON s.subject_id = f.subject_id AND s.relation = f.relation
        """
    )
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE limited AS
        SELECT * EXCLUDE (open_to, is_open_too_long) REPLACE (
            CASE WHEN is_open_too_long THEN open_to ELSE possible_to END AS possible_to,
            CASE WHEN is_open_too_long THEN 0 ELSE end_fineness END AS end_fineness,
            CASE WHEN is_open_too_long THEN 'open_too_long' ELSE final_end_kind END AS final_end_kind,
            CASE WHEN reason IS NULL AND is_open_too_long AND open_to <= $first
                 THEN 'open for more than max_open_years before the study' ELSE reason END AS reason
        ) FROM (SELECT *, coalesce(open_to < least(possible_to, $end), false) AS is_open_too_long FROM judged)
        """,
        {"first": design.first, "end": design.end},
    )
    if is_ours:
        connection.execute(_BACKWARD)
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE usable AS SELECT * EXCLUDE (reason) FROM limited WHERE reason IS NULL"
    )
    return LeftOut.of(_left_out(connection), _noted(connection))


# DuckDB cannot add years to dates beyond these, so such facts get another limit below.
_CALENDAR = "f.valid_from BETWEEN DATE '9999-01-01 (BC)' AND DATE '9999-12-31'"


def _open_to(years: Mapping[str, int]) -> str:
    """SQL for the first day on which a fact without a known end no longer is an answer; null if there is no limit."""
    if not years:
        return "NULL::DATE"
    of_relation = " ".join(
        f"WHEN {literal(name)} THEN {n}" for name, n in sorted(years.items()) if name != ANY_RELATION
    )
    limit = (
        f"CASE f.relation {of_relation} ELSE {years.get(ANY_RELATION, 'NULL')} END"
        if of_relation
        else str(years[ANY_RELATION])
    )
    # One day is added, because a window that begins exactly after this number of years still counts.
    return f"""CASE WHEN f.valid_to IS NULL AND f.end_kind <> 'novalue' AND {_CALENDAR}
                    THEN CAST(f.valid_from + to_years({limit}) AS DATE) + 1
                    WHEN f.valid_to IS NULL AND f.end_kind <> 'novalue' AND {limit} IS NOT NULL THEN f.valid_from + 1
               END"""


_BACKWARD = """
    UPDATE limited SET reason = CASE WHEN final_end_kind = 'subject_ended' THEN 'begins after its subject ended'
                                  ELSE 'ends before it begins' END
    WHERE reason IS NULL AND possible_from >= possible_to
"""


def _left_out(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, int, str]]:
    return connection.execute(
        "SELECT reason, count(*), min(fact_id || ' ' || relation) FROM limited WHERE reason IS NOT NULL "
        "GROUP BY reason ORDER BY reason"
    ).fetchall()


def _noted(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, int, str | None]]:
    """Counts of facts that are kept, but with a change that readers should know."""
    return connection.execute(
        """
        SELECT 'kept: its open end is closed by its subject''s own end', count(*), min(fact_id) FROM usable
        WHERE final_end_kind = 'subject_ended'
        UNION ALL
        SELECT 'no answer any more: was open for max_open_years', count(*), min(fact_id) FROM usable
        WHERE final_end_kind = 'open_too_long'
        UNION ALL
        SELECT 'no fact: has no date, and contradicts one that has', count(*), min(u.fact_id) FROM undated AS u
        SEMI JOIN usable AS f ON f.subject_id = u.subject_id AND f.relation = u.relation WHERE u.contradicts
        """
    ).fetchall()


_POPULARITY = {"statements": "n_statements", "site_links": "n_site_links", "inlinks": "coalesce(n_inlinks, 0)"}
_WHOLE = 1 << 64
# SQL conditions that a spell holds in the study, by the design's kind of answers.
_HELD = {
    "possible": "possible_from < $end AND possible_to > $first",
    "certain": "len(list_filter(members, lambda one: one.certain_from < $end AND one.certain_to > $first)) > 0",
}


def choose_subjects(connection: duckdb.DuckDBPyConnection, design: Design) -> LeftOut:
    """Make the table `subjects` from the tables `spells` and `named`, and, with popularity `inlinks`, from `inlinks`.

    Names are compared among all subjects that have facts of the relation in the
    study, chosen or not, because a reader of a query does not know which are chosen.
    """
    joined = "LEFT JOIN inlinks USING (entity_id)" if design.popularity == "inlinks" else ""
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE candidates AS
        WITH asked_about AS (
            SELECT relation, subject_id, count(DISTINCT object_id) AS n_objects FROM spells
            WHERE {_HELD[design.answers]} GROUP BY relation, subject_id
        ), known AS (
            SELECT a.*, n.number, n.label, n.site_title, {_POPULARITY[design.popularity]} AS popularity,
                   count(*) OVER (PARTITION BY relation, label) > 1 AS is_ambiguous
            FROM asked_about AS a JOIN named AS n ON n.entity_id = a.subject_id {joined}
        ), qualified AS (
            SELECT *, CASE WHEN is_ambiguous AND $ambiguous = 'qualify' THEN site_title ELSE label END AS asked_as
            FROM known
        )
        SELECT *, count(*) OVER (PARTITION BY relation, asked_as) > 1 AS is_still_ambiguous FROM qualified
        """,
        {"first": design.first, "end": design.end, "ambiguous": design.ambiguous},
    )
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE judged AS
        SELECT *,
               CASE WHEN contains(asked_as, '_X_') THEN 'its name holds what stands for the answer'
                    WHEN is_still_ambiguous AND $ambiguous <> 'keep' THEN 'shares its name with another subject'
                    WHEN n_objects < $least THEN 'has fewer objects in the study than asked for' END AS reason
        FROM candidates
        """,
        {"ambiguous": design.ambiguous, "least": design.min_objects},
    )
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE ranked AS
        SELECT *, row_number() OVER (PARTITION BY relation ORDER BY popularity DESC, number) AS popularity_rank
        FROM judged WHERE reason IS NULL
        """
    )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE chosen AS FROM ranked WHERE popularity_rank <= ?", [design.max_subjects]
    )
    split_subjects(connection, design)
    return LeftOut.of(_subjects_left_out(connection), _noted_subjects(connection))


def split_subjects(connection: duckdb.DuckDBPyConnection, design: Design) -> None:
    """Make the table `subjects` from `chosen`, with the split of each, which depends only on seed and subject."""
    found = connection.execute("SELECT DISTINCT subject_id FROM chosen ORDER BY subject_id").fetchall()
    rows = [(subject, split_of(design, subject)) for (subject,) in found]
    make_table(connection, "splits", "subject_id VARCHAR, split VARCHAR", rows)
    connection.execute("CREATE OR REPLACE TEMP TABLE subjects AS FROM chosen JOIN splits USING (subject_id)")


def split_of(design: Design, subject_id: str) -> str:
    """Return the split of a subject, which is the same in every relation, window and release with one seed."""
    at = draw(design.seed, "split", subject_id) / _WHOLE
    train, validation = design.shares
    return SPLITS[0] if at < train else SPLITS[1] if at < train + validation else SPLITS[2]


def _subjects_left_out(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, int, str]]:
    return connection.execute(
        """
        SELECT reason, count(*), min(subject_id || ' ' || relation || ' ' || label)
        FROM (SELECT reason, subject_id, relation, label FROM judged WHERE reason IS NOT NULL
              UNION ALL
              SELECT 'is not among the most popular', subject_id, relation, label
              FROM ranked ANTI JOIN chosen USING (relation, subject_id))
        GROUP BY reason ORDER BY reason
        """
    ).fetchall()


def _noted_subjects(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, int, str | None]]:
    return connection.execute(
        """
        SELECT 'kept: asked for by its page''s title, since another has its name', count(*),
               min(label || ' is asked for as ' || asked_as) FROM subjects WHERE asked_as <> label
        """
    ).fetchall()
