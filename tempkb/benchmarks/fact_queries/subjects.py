"""Chooses the subjects of a release: the most popular ones with several objects, with unambiguous names."""

import duckdb

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.fact_queries.design import SPLITS, Design
from tempkb.benchmarks.temp_tables import make_table
from tempkb.filtering import LeftOut

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
    return LeftOut.of(_left_out(connection), _noted(connection))


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


def _left_out(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, int, str]]:
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


def _noted(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, int, str | None]]:
    return connection.execute(
        """
        SELECT 'kept: asked for by its page''s title, since another has its name', count(*),
               min(label || ' is asked for as ' || asked_as) FROM subjects WHERE asked_as <> label
        """
    ).fetchall()
