"""Priors, ranks and distances under `paper`, equal to numbers that TempEL's own alias-table step gave.

`tempkb_tests/peer/README.md` says how they were made, on a generated history.
Two things of the peer's are not ours, so their surfaces and entities are left
out of the comparison: links of a page to itself, which it counts, and titles of
pages whose move it does not see.
"""

import csv
from datetime import date
from pathlib import Path

import pytest

from tempkb.benchmarks.tempel.candidates import judge, mark_lists, use_mentions
from tempkb.benchmarks.tempel.design import make_design
from tempkb.benchmarks.tempel.similarity import overlap_type
from tempkb.store.memory import in_memory
from tempkb.wiki.dumps.catalogue import name_dump
from tempkb.wiki.dumps.pages import write_namespaces
from tempkb_tests.peer.stress_history import write_stress
from tempkb_tests.wiki.mentions.windows_for_tests import clean, write_window
from tempkb_tests.wiki.revisions.builds import build_files

PRIORS = Path(__file__).parents[2] / "peer" / "priors.csv"
# Pages 22, 31 and 37 of the history: a move on a blank text, or after the last cut.
UNSEEN_MOVES = {22, 31, 37}


@pytest.mark.slow
def test_equal_what_the_peers_alias_table_gives(home_folder, tmp_path):
    file = tmp_path / "stress.xml"
    with file.open("w", encoding="utf-8") as out:
        write_stress(out, 80, 5)
    store, report, windows = build_files(
        file, until=date(2022, 1, 1), granularity="year", first_window=date(2012, 1, 1), stability_rule="tempel"
    )
    assert not report.bad
    write_namespaces(store, name_dump([file], None))
    clean(store)
    with PRIORS.open(encoding="utf-8") as lines:
        theirs = list(csv.DictReader(lines))
    compared = 0
    for window in windows[-3:]:
        write_window(store, window)
        own = [row for row in theirs if row["cut"].startswith(str(window.cut))]
        compared += compare(store, window, own)
    assert compared > 280


def compare(store, window, theirs):
    """Compare a cut; return how many rows were."""
    at_cut = {row["page_id"]: row for row in store.read("stable_snapshots", cut=window.cut).to_pylist()}
    titles = {page: row["title"] for page, row in at_cut.items()}
    self_links = {
        (row["surface"].lower(), row["page_id"])
        for row in store.read("page_links").to_pylist()
        if row["page_id"] in at_cut
        and row["revision_id"] == at_cut[row["page_id"]]["revision_id"]
        and row["target_title"] == titles[row["page_id"]]
    }
    ours = {(row["surface"], row["page_id"]): row for row in judged(store, window)}
    there = {(row["mention"], int(row["target_page_id"])): row for row in theirs}
    odd_entities = UNSEEN_MOVES | {page for _, page in self_links}
    odd_surfaces = {surface for surface, page in (*ours, *there) if page in odd_entities} | {
        one for one, _ in self_links
    }
    assert {key for key in ours if key[0] not in odd_surfaces} == {key for key in there if key[0] not in odd_surfaces}
    touched = {page for surface, page in (*ours, *there) if surface in odd_surfaces} | odd_entities
    compared = 0
    for key, row in there.items():
        if key[0] in odd_surfaces:
            continue
        mine = ours[key]
        assert mine["n_links"] == int(row["nr_links"])
        assert mine["men_prior"] == pytest.approx(float(row["prior"]), abs=1e-12)
        assert mine["rank_in_surface"] == int(row["prior_rank_men"])
        assert mine["title_distance"] == pytest.approx(float(row["ratio_edit_distance_mention_title_ent"]), abs=1e-12)
        assert overlap_type(key[0], titles[key[1]]) == row["overlap_type"]
        compared += 1
        if key[1] not in touched:
            assert mine["rank_in_entity"] == int(row["prior_rank"])
            assert mine["avg_men_prior"] == pytest.approx(float(row["avg_prior"]), abs=1e-12)
            assert mine["nr_inlinks"] == int(row["nr_inlinks"])
    return compared


def judged(store, window):
    """What the filters see of a cut under the paper's rules."""
    design = make_design("paper", [window.cut])
    with in_memory() as connection:
        for name, table in (
            ("mentions", "mentions"),
            ("mention_priors", "mention_priors"),
            ("snapshot", "stable_snapshots"),
        ):
            files = [str(path) for path in store.lake.files(table, [window.key])]
            connection.execute(f"CREATE VIEW {name} AS FROM read_parquet({files})")
        connection.execute(
            f"CREATE VIEW texts AS FROM read_parquet({[str(path) for path in store.lake.files('page_texts')]})"
        )
        mark_lists(connection, design, "en")
        use_mentions(connection, design)
        connection.execute("CREATE TEMP TABLE redirect_pages (page_id BIGINT)")
        judge(connection, design)
        return connection.sql("FROM judged").to_arrow_table().to_pylist()
