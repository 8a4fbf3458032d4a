"""Choosing mentions by a plan: what the filters kept at this cut, and only that, shares an entity's quota."""

from datetime import date

import duckdb
import pytest

from tempkb.benchmarks.tempel.candidates import choose_mentions
from tempkb.benchmarks.tempel.design import make_design

CUT = date(2022, 1, 1)
# Entity 1 is mentioned as "reed" by pages 11 and 12, and as "rush" by pages 21 to 25.
MENTIONS = [(page, "reed") for page in (11, 12)] + [(page, "rush") for page in range(21, 26)]
SNAPSHOT = """
    CREATE TABLE snapshot AS
    SELECT page_id, page_id * 10 AS revision_id, 'Page ' || page_id AS title, NULL::VARCHAR AS entity_id,
           TIMESTAMPTZ '2020-01-01' AS page_created_at, TIMESTAMPTZ '2020-01-01' AS article_since,
           TIMESTAMPTZ '2021-12-01' AS revision_timestamp
    FROM (SELECT unnest([1, 11, 12, 21, 22, 23, 24, 25]) AS page_id)
"""
TEXTS = """
    CREATE TABLE texts AS
    SELECT page_id, revision_id, 'one two reed rush three' AS text, 5 AS n_words, 23 AS n_chars,
           [{'offset_char': 9, 'kind': 'template', 'name': 'odd'}] AS holes
    FROM snapshot
"""
KEPT = """
    CREATE TABLE kept AS
    SELECT 1 AS page_id, unnest($surfaces::VARCHAR[]) AS surface, 0.4 AS men_prior, 1 AS rank_in_entity,
           2 AS rank_in_surface, 0.4 AS avg_men_prior, 0.1 AS ent_prior, 7 AS nr_inlinks, 2 AS n_links
"""


def chosen(kept, quota):
    """(article, surface) of the mentions that are chosen for an entity whose plan knows both surfaces."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(SNAPSHOT)
        connection.execute(TEXTS)
        connection.execute(KEPT, {"surfaces": kept})
        connection.execute(
            "CREATE TABLE usable (wiki VARCHAR, dump_id VARCHAR, cut DATE, source_page_id BIGINT,"
            " source_revision_id BIGINT, start_char INTEGER, end_char INTEGER, surface VARCHAR, target_page_id BIGINT,"
            " via_redirect VARCHAR, key VARCHAR)"
        )
        rows = [("w", "d", CUT, page, page * 10, 8, 12, surface, 1, "no", surface) for page, surface in MENTIONS]
        connection.executemany(f"INSERT INTO usable VALUES ({', '.join('?' * 11)})", rows)
        connection.execute(
            "CREATE TABLE assigned AS SELECT 1 AS page_id, unnest(['reed', 'rush']) AS surface, 'train' AS subset,"
            f" 'continual' AS category, {quota} AS quota"
        )
        design = make_design("small", [CUT])
        tables = list(choose_mentions(connection, design, "r", CUT))
    return [
        (row["anchor_page_id"], row["mention"], row["nr_dist_mens"]) for table in tables for row in table.to_pylist()
    ]


@pytest.mark.parametrize("quota", [1, 2])
def test_a_surface_that_is_filtered_at_this_cut_takes_nothing_of_the_quota(quota):
    """`rush` passes the filters at another cut, so the plan has it; here the filters kept `reed` alone."""
    found = chosen(["reed"], quota)
    assert len(found) == quota
    assert {(surface, n) for _, surface, n in found} == {("reed", 1)}


def test_kept_surfaces_share_the_quota_evenly():
    assert sorted(surface for _, surface, _ in chosen(["reed", "rush"], 4)) == ["reed", "reed", "rush", "rush"]
