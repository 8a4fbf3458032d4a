"""Joins facts of one subject, relation and object that overlap or touch to spells; gaps are kept."""

import duckdb

from tempkb.benchmarks.fact_queries.selection import PRECISIONS
from tempkb.wikidata.membership import MAX_DAY, MIN_DAY


def join_spells(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the table `spells` from the table `usable`.

    Facts that overlap or touch become one spell, from the earliest first day to the
    latest last day. Between two spells of an object there is at least one day
    without it. Of starts on the same day the finest date is used, and likewise of
    ends. Unlike in the released rule, gaps are not bridged and spells do not shrink.
    """
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE spells AS
        WITH begun AS (
            SELECT *, possible_from > max(possible_to) OVER earlier AS is_apart
            FROM usable
            WINDOW earlier AS (PARTITION BY subject_number, relation, object_number
                               ORDER BY possible_from, possible_to, fact_id, interval_no
                               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        ), numbered AS (
            SELECT *, 1 + count(*) FILTER (WHERE is_apart) OVER (
                PARTITION BY subject_number, relation, object_number
                ORDER BY possible_from, possible_to, fact_id, interval_no) AS spell_no
            FROM begun
        )
        SELECT any_value(wiki) AS wiki, any_value(dump_id) AS dump_id, any_value(subject_id) AS subject_id, relation,
               any_value(object_id) AS object_id, spell_no, subject_number, object_number,
               any_value(object_label) AS object_label, any_value(object_aliases) AS object_aliases,
               min(possible_from) AS possible_from, max(possible_to) AS possible_to,
               nullif(min(possible_from), {MIN_DAY}) AS valid_from, nullif(max(possible_to), {MAX_DAY}) AS valid_to,
               {PRECISIONS}[arg_min(start_fineness, (possible_from, -start_fineness))] AS start_precision,
               {PRECISIONS}[arg_max(end_fineness, (possible_to, end_fineness))] AS end_precision,
               arg_min(start_kind, (possible_from, -start_fineness, start_kind)) AS start_kind,
               arg_max(final_end_kind, (possible_to, end_fineness, final_end_kind)) AS end_kind,
               list({{
                   'fact_id': fact_id, 'interval_no': interval_no,
                   'certain_from': CASE WHEN start_kind = 'novalue' THEN DATE '0001-01-01' ELSE certain_from END,
                   'certain_to': certain_to
               }} ORDER BY possible_from, possible_to, fact_id, interval_no) AS members
        FROM numbered GROUP BY subject_number, relation, object_number, spell_no
        """
    )
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE spells AS
        SELECT *, row_number() OVER (
            PARTITION BY subject_number, relation ORDER BY possible_from, possible_to, object_number, spell_no
        ) AS answer_order
        FROM spells
        """
    )
