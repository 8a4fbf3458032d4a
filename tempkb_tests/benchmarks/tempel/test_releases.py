"""Releases over the demo world: filters, categories, equality, extension with a death, checks that can fail."""

import json
from collections import Counter
from datetime import date
from itertools import combinations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tempkb.benchmarks.promises import broken
from tempkb.benchmarks.register import create, load, mark_built, partition_of
from tempkb.benchmarks.sources import files_of
from tempkb.benchmarks.tempel import building
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb.benchmarks.tempel.design import balanced, extended, make_design
from tempkb.benchmarks.tempel.methods import PROMISES
from tempkb.benchmarks.tempel.tables import TEMPEL_MENTIONS
from tempkb.benchmarks.work import working
from tempkb.core.errors import ContractError, DesignError
from tempkb.demo.linking import CONTINUAL, KINDS, NEWCOMERS, THRESHOLDS
from tempkb.store.drafts import Provenance
from tempkb.wiki.mentions.tables import PAGE_TEXTS
from tempkb_tests.benchmarks.building import build_release
from tempkb_tests.benchmarks.tempel.releases_for_tests import CUTS, LATER, counts, extend, make_release
from tempkb_tests.conftest import run_tempkb


def breaks(store, name="r"):
    """Names of the promises that a release breaks."""
    return {promise.name for promise in PROMISES if broken(store, promise, [name])}


def newcomers(year):
    """The new inns and bridges of a year, counted from 0."""
    return {f"{name} {KINDS[at % 2].noun}" for at, name in enumerate(NEWCOMERS[year].split())}


def titles_of(store, release, **equal):
    rows = store.read("tempel_mentions", release=release, **equal).to_pylist()
    return {row["target_title"] for row in rows}


def test_every_split_and_category_stands_at_every_cut_with_equal_numbers(released):
    store, release = released
    found = counts(store, "r")
    assert set(found) == {
        (cut, c, s) for cut in CUTS for c in ("continual", "new") for s in ("train", "validation", "test")
    }
    for category in ("continual", "new"):
        for subset in ("train", "validation", "test"):
            assert found[CUTS[0], category, subset] == found[CUTS[1], category, subset]
    assert breaks(store) == set()
    (row,) = store.read("tempel_releases", release="r").to_pylist()
    assert (row["is_equal"], row["shortfall"], row["n_base_cuts"]) == (True, 0.0, 2)
    assert row["dump_ids"] == ["demowiki-20240101"]


def test_categories_are_what_the_world_says(released, world):
    store, _ = released
    pool = store.read("tempel_entities", release="r").to_pylist()
    assert not any(row["is_disambiguation"] or row["is_list"] for row in pool)
    assert titles_of(store, "r", category="continual") >= set(CONTINUAL)
    new = {cut: titles_of(store, "r", category="new", cut=cut) for cut in CUTS}
    assert {"2021 Varland Rowing Cup", "Pier 2021 of Grand Harbour"} <= new[CUTS[0]]
    assert newcomers(0) <= new[CUTS[0]]
    # Of this year more are offered than of the year before, so not all are taken.
    assert len(newcomers(1) & new[CUTS[1]]) >= 8
    assert new[CUTS[1]] - newcomers(1) <= {
        "2022 Varland Rowing Cup",
        "Pier 2022 of Grand Harbour",
        "Vorrel fever",
        "Zhimmavac",
        "Vorrel fever in Twin Mills",
        "Salt Museum",
        "Peat Railway",
    }
    rows = store.read("tempel_mentions", release="r", category="new", cut=CUTS[1]).to_pylist()
    assert all(0 <= row["age_at_cut_days"] < 365 for row in rows)
    cup = next(
        row for row in store.read("tempel_mentions", release="r", target_title="2021 Varland Rowing Cup").to_pylist()
    )
    assert cup["age_at_cut_days"] == (date(2022, 1, 1) - date(2021, 2, 10)).days


@pytest.mark.slow
def test_filters_part_what_stands_on_both_sides_of_each_threshold(home):
    store, _, _ = make_release("tempkb", min_men_prior_rank="1", max_men_prior="1.0")
    entities = titles_of(store, "r")
    stays, goes = set(THRESHOLDS) - {"Nine Bells House", "Two Names Inn"}, {"Nine Bells House", "Two Names Inn"}
    assert stays <= entities
    assert not goes & entities
    surfaces = {}
    for row in store.read("tempel_plans", release="r").to_pylist():
        surfaces.setdefault(row["page_id"], set()).update(row["surfaces"])
    pages = {
        row["target_title"]: row["target_page_id"] for row in store.read("tempel_mentions", release="r").to_pylist()
    }
    # Three letters of sixteen are too near, one of five is just far enough.
    assert surfaces[pages["Candlemaker Lane"]] == {"wax alley", "the tallow street", "home of wicks"}
    assert surfaces[pages["Stile"]] == {"stole", "over the fence", "a walker's friend", "two steps and a rail"}
    figures = store.read("tempel_statistics", figure="figure_6", cut=CUTS[0], label="mentions").to_pylist()
    dropped = {row["series"]: row["value"] for row in figures}
    assert dropped["all, offered"] == dropped["all, kept"] + sum(
        n for name, n in dropped.items() if name.endswith("in_order")
    )


@pytest.mark.slow
def test_of_an_ambiguous_surface_only_the_less_likely_entity_stays(home):
    # With rank 2 alone nothing else is ambiguous enough for three surfaces, so one is enough here.
    changes = {"min_men_prior_rank": "2", "min_nr_inlinks": "3", "min_nr_distinct_mentions_per_entity": "1"}
    with pytest.raises(DesignError, match="leave no entity"):
        make_release("tempkb", **changes)
    from tempkb.platform.api import open_store

    store = open_store()
    release = create(store.home, TEMPEL, "tempkb", make_design("tempkb", CUTS, changes), "r")
    with working(store, release) as work:
        builder = building._Builder(work)
        builder._find_redirects([])
        builder._judge(CUTS[0])
        builder._over_kept([CUTS[0]])
        kept = work.connection.execute("SELECT surface, title, men_prior, rank_in_surface FROM kept").fetchall()
    assert ("the beacon", "South Beacon", 0.375, 2) in kept
    assert ("the old port", "Silk Road Inn", 0.25, 2) in kept
    assert not [row for row in kept if row[1] in ("North Beacon", "Grand Harbour")]


def test_a_release_outlives_a_later_cleaner(released):
    """Its base snapshots are frozen: texts that are cleaned anew after them make no fault of theirs."""
    store, release = released
    for quarter in store.lake.partitions("page_texts"):
        table = pa.concat_tables(pq.read_table(path) for path in store.lake.current("page_texts", quarter).paths())
        moved = pc.binary_join_element_wise("Anew. ", table["text"], "")
        table = table.set_column(table.schema.get_field_index("text"), "text", moved)
        store.write(PAGE_TEXTS, quarter, [table], Provenance())
    before = store.lake.current(TEMPEL_MENTIONS.name, partition_of("r", CUTS[0])).version
    build_release(store, TEMPEL, release, print)
    assert store.lake.current(TEMPEL_MENTIONS.name, partition_of("r", CUTS[0])).version == before


@pytest.mark.slow
def test_holes_in_mention_and_contexts_are_counted(home, world):
    """With a hole before each word, a mention has as many as its contexts and itself begin words."""
    # With one snapshot all mentions are taken, since none have to be as many as those of another.
    store, _, _ = make_release(cuts=CUTS[:1])
    # One page of the demo world has markup that nobody can read, twice.
    holed = store.read("tempel_mentions", release="r", n_holes=2)["anchor_page_id"].to_pylist()
    assert set(holed) == {world.story("markup").page_id}
    assert set(store.read("tempel_mentions", release="r")["n_holes"].to_pylist()) == {0, 2}
    for quarter in store.lake.partitions("page_texts"):
        rows = store.lake.current("page_texts", quarter)
        table = pa.concat_tables(pq.read_table(path) for path in rows.paths())
        holed = [
            [{"offset_char": at + 1, "kind": "template", "name": "odd"} for at, sign in enumerate(text) if sign == " "]
            for text in table["text"].to_pylist()
        ]
        column = table.schema.get_field_index("holes")
        table = table.set_column(column, "holes", pa.array(holed, PAGE_TEXTS.schema.field("holes").type))
        store.write(PAGE_TEXTS, quarter, [table], Provenance())
    again, _, _ = make_release(name="again", cuts=CUTS[:1])
    rows = again.read("tempel_mentions", release="again").to_pylist()
    counted = [
        (row["n_holes"], (row["context_left"] + row["mention"] + row["context_right"]).count(" ")) for row in rows
    ]
    # A context begins with a word; a hole stands before it, too, when a blank does.
    assert all(n in (blanks, blanks + 1) for n, blanks in counted)
    assert max(n for n, _ in counted) > 50


def test_a_mention_has_all_attributes_of_table_4(released, world):
    store, _ = released
    rows = store.read("tempel_mentions", release="r", cut=CUTS[0], mention="the caravan's end").to_pylist()
    row = rows[0]
    text = next(one["text"] for one in store.read("page_texts", revision_id=row["anchor_revision_id"]).to_pylist())
    assert text[row["start_char"] : row["end_char"]] == row["mention"]
    assert text[: row["start_char"]].endswith(row["context_left"])
    assert text[row["end_char"] :].startswith(row["context_right"])
    assert len(row["context_left"].split()) <= 64
    inn = world.story("entity Silk Road Inn")
    assert (row["target_page_id"], row["target_qid"], row["target_title"]) == (
        inn.page_id,
        inn.entity_id,
        "Silk Road Inn",
    )
    assert f"{row['snapshot']:%Y-%m-%dT%H:%M:%SZ}" == "2022-01-01T00:00:00Z"
    assert row["target"].startswith("Silk Road Inn is a well-known part of Varland")
    assert (row["target_len"], row["target_len_chars"]) == (len(row["target"].split()), len(row["target"]))
    assert (row["men_prior"], row["men_prior_rank"], row["rank_in_surface"]) == (1.0, 1, 1)
    # Three surfaces of prior 1 and one of 1/4.
    assert row["avg_men_prior"] == pytest.approx(3.25 / 4, abs=1e-12)
    assert (row["nr_inlinks"], row["nr_dist_mens"], row["nr_mens_per_ent"], row["nr_mens_extracted"]) == (7, 4, 2, 2)
    assert row["ed_men_title"] == row["ed_men_bare_title"] == pytest.approx(13 / 17)
    assert row["overlap_type"] == "LOW_OVERLAP"
    assert row["target_creation_date"] == row["target_article_since"] == inn.edits[0].time
    assert row["anchor_title"].startswith("Songs of Varland, book")


def edits(left, right):
    """The least number of letters to insert, delete or replace; by the table of Wagner and Fischer."""
    row = list(range(len(right) + 1))
    for at, one in enumerate(left, 1):
        last, row[0] = row[0], at
        for to, other in enumerate(right, 1):
            last, row[to] = row[to], min(row[to] + 1, row[to - 1] + 1, last + (one != other))
    return row[-1]


@pytest.mark.slow
def test_every_mention_stands_in_its_text_and_no_surface_is_near_one_of_another_subset(extension):
    """Of an entity, whatever the cut."""
    store, _ = extension
    texts = {(row["page_id"], row["revision_id"]): row["text"] for row in store.read("page_texts").to_pylist()}
    surfaces = {}
    for row in store.read("tempel_mentions", release="r").to_pylist():
        text = texts[row["anchor_page_id"], row["anchor_revision_id"]]
        assert text[row["start_char"] : row["end_char"]] == row["mention"]
        assert text[: row["start_char"]].endswith(row["context_left"])
        assert text[row["end_char"] :].startswith(row["context_right"])
        surfaces.setdefault(row["target_page_id"], set()).add((row["subset"], row["mention"].lower()))
    (release,) = store.read("tempel_releases", release="r").to_pylist()
    threshold = json.loads(release["design"])["ed_men_subsets"]
    assert threshold > 0
    for known in surfaces.values():
        for (subset, one), (other, another) in combinations(sorted(known), 2):
            assert subset == other or edits(one, another) >= threshold * max(len(one), len(another))


@pytest.mark.slow
def test_mentions_whose_text_is_gone_are_replaced_by_others_of_the_same_entity(released):
    store, _ = released
    harbour = store.read("tempel_mentions", release="r", cut=CUTS[0], target_title="Grand Harbour", subset="train")
    (lost,) = {row["anchor_revision_id"] for row in harbour.slice(0, 1).to_pylist()}
    for quarter in store.lake.partitions("page_texts"):
        store.forget(PAGE_TEXTS, quarter, "revision_id", pa.array([lost]), Provenance())
    again, _, _ = make_release(name="again")
    rows = again.read("tempel_mentions", release="again").to_pylist()
    assert lost not in {row["anchor_revision_id"] for row in rows}
    found = counts(again, "again")
    assert {key[1:]: value for key, value in found.items() if key[0] == CUTS[0]} == {
        key[1:]: value for key, value in found.items() if key[0] == CUTS[1]
    }
    (row,) = again.read("tempel_releases", release="again").to_pylist()
    assert row["is_equal"]
    assert breaks(again, "again") == set()


@pytest.mark.slow
def test_an_extension_that_falls_short_is_refused_and_leaves_nothing(released):
    store, _ = released
    with pytest.raises(
        DesignError, match=r"falls short of the frozen plan by 7.7% \(12 of 13 entities in continual train\)"
    ) as refused:
        extend(store)
    assert str(refused.value).endswith(". Release 'r' stays exactly as it was")
    assert store.lake.current("tempel_mentions", partition_of("r", LATER)) is None
    assert load(store.home, TEMPEL, "r").added == ()
    assert "make a release that allows it, with --set max_shortfall=0.08. Release" in str(refused.value)
    make_release(name="allows", max_shortfall="0.08")
    extend(store, "allows")


@pytest.mark.slow
def test_a_release_that_does_not_ask_for_equal_snapshots_takes_what_a_snapshot_has(home):
    store, _, _ = make_release(equal_snapshots="false")
    grown = extend(store)
    found = counts(store, "r")
    # Ember Hill is gone, so there is one entity less; with equal snapshots this is 7.7% short and refused.
    assert [found[cut, "continual", "train"][0] for cut in (CUTS[1], LATER)] == [13, 12]
    (row,) = store.read("tempel_releases", release="r").to_pylist()
    assert (row["cuts"], row["is_equal"], row["shortfall"]) == ([*CUTS, LATER], False, 0.0)
    methods = TEMPEL.loaded()
    assert methods.closing(store, grown).headline == "3 snapshots, not equal"
    assert "each has all that passes the filters" in str(methods.card(store, grown, {}))


@pytest.mark.slow
def test_an_extension_keeps_earlier_bytes_and_names_who_died(extension, world):
    store, before = extension
    tables = {path.relative_to(store.home.lake).parts[0] for path in before}
    assert tables >= {"tempel_plans", "tempel_mentions", "tempel_entities", "entity_texts"}
    assert {path: path.read_bytes() for path in before} == before
    hill = world.story("entity Ember Hill").page_id
    dead = [row for row in store.read("tempel_plans", release="r", cut=LATER).to_pylist() if row["left_out_because"]]
    assert {(row["page_id"], row["left_out_because"], row["n_planned"]) for row in dead} == {
        (hill, "it redirects to Glass Garden", 0)
    }
    (row,) = store.read("tempel_releases", release="r").to_pylist()
    assert (row["is_equal"], row["cuts"], row["n_base_cuts"]) == (False, [*CUTS, LATER], 2)
    assert row["shortfall"] == pytest.approx(1 / 13)
    found = counts(store, "r")
    # As many mentions as ever: what the dead entity lacks goes to the living.
    for subset in ("train", "validation", "test"):
        assert found[LATER, "continual", subset][1] == found[CUTS[0], "continual", subset][1]
        assert found[LATER, "continual", subset][0] == 12
    assert titles_of(store, "r", cut=LATER, category="new") - newcomers(2) <= {
        "2023 Varland Rowing Cup",
        "Pier 2023 of Grand Harbour",
        "Bremmel Reading Trust",
        "Quall wave",
        "Masks of Varland",
        "Quallmeter",
    }
    assert breaks(store) == set()


@pytest.mark.slow
def test_a_balanced_release_has_the_mentions_of_who_lives_at_all_its_snapshots(extension, world):
    store, _ = extension
    view = load(store.home, TEMPEL, "r-balanced-20240101")
    hill = world.story("entity Ember Hill").page_id
    level = counts(store, view.name)
    assert len(level) == 18
    for category in ("continual", "new"):
        for subset in ("train", "validation", "test"):
            assert len({level[cut, category, subset] for cut in (*CUTS, LATER)}) == 1
    assert hill not in store.read("tempel_mentions", release=view.name)["target_page_id"].to_pylist()
    (row,) = store.read("tempel_releases", release=view.name).to_pylist()
    assert (row["made_from"], row["is_equal"]) == ("r", True)
    (of_view,), (of_source,) = (
        store.lake.versions("tempel_mentions", [f"{name}.{LATER}"]) for name in (view.name, "r")
    )
    assert files_of(of_view) == files_of(of_source) != {}
    assert f"tempel_mentions r.{LATER}" in of_view.inputs
    theirs = {
        (row["cut"], row["anchor_page_id"], row["start_char"], row["subset"])
        for row in store.read("tempel_mentions", release="r").to_pylist()
    }
    ours = {
        (row["cut"], row["anchor_page_id"], row["start_char"], row["subset"])
        for row in store.read("tempel_mentions", release=view.name).to_pylist()
    }
    assert ours <= theirs
    assert breaks(store, view.name) == set()


@pytest.mark.slow
def test_what_cannot_be_extended_or_balanced_is_refused(released):
    store, _ = released
    with pytest.raises(DesignError, match="2022-07-01 is not later than its last one, 2023-01-01"):
        extended(load(store.home, TEMPEL, "r"), [date(2022, 7, 1)])
    with pytest.raises(DesignError, match="was never extended"):
        balanced(load(store.home, TEMPEL, "r"))
    with pytest.raises(DesignError, match="a name has lower-case letters"):
        make_release(name="../r")
    # Neither could the window be built: no dump reaches the one, and the other is before the first.
    for cut, why in [
        (date(2025, 1, 1), "its cut 2025-01-01 is after the end of demowiki-20240101 .2024-01-01.; add a dump"),
        (
            date(2013, 1, 1),
            "the home's windows begin on 2021-01-01 .first_window., so only later snapshots can be built",
        ),
    ]:
        with pytest.raises(ContractError, match=f"mentions of .* is not built, .*; {why}"):
            make_release(name="other", cuts=tuple(sorted((*CUTS, cut))))
    with pytest.raises(DesignError, match="stable_interval: the design says 86400 seconds"):
        make_release(name="short", stable_interval="86400")


@pytest.mark.parametrize(
    ("spoil", "caught"),
    [
        pytest.param(
            lambda rows: rows.slice(1), {"snapshots_are_equal", "mentions_are_as_planned"}, id="a mention is lost"
        ),
        pytest.param(
            lambda rows: rows.set_column(
                rows.schema.get_field_index("target_page_id"), "target_page_id", pc.add(rows["target_page_id"], 100_000)
            ),
            {"targets_are_candidates", "mentions_are_as_planned", "categories_are_as_defined"},
            id="targets that nobody knows",
        ),
    ],
)
def test_the_checks_can_fail(released, spoil, caught):
    store, _ = released
    rows = store.read("tempel_mentions", release="r", cut=CUTS[1])
    store.write(TEMPEL_MENTIONS, partition_of("r", CUTS[1]), [spoil(rows)], Provenance())
    mark_built(store, "r")
    assert breaks(store) == caught


@pytest.mark.slow
def test_the_papers_rules_keep_what_the_released_code_keeps(home):
    changes = {
        "nr_ct_ents_per_cut": "40",
        "min_nr_inlinks": "3",
        "min_men_prior_rank": "1",
        "max_mens_per_ent": "50,5,5",
    }
    store, _, _ = make_release("paper", **changes)
    rows = store.read("tempel_mentions", release="r").to_pylist()
    # Links through redirects are dropped, and what was ever a redirect is no target.
    assert {row["via_redirect"] for row in rows} == {"no"}
    assert "Ember Hill" in {row["target_title"] for row in rows}  # it redirects only after the last of these cuts
    figures = store.read("tempel_statistics", release="r", figure="figure_6", cut=CUTS[0], label="mentions").to_pylist()
    names = {row["series"].removesuffix(", in_order") for row in figures if row["series"].endswith(", in_order")}
    assert names == {
        "lists",
        "no_item",
        "min_nr_inlinks",
        "min_ent_prior",
        "max_ent_prior",
        "min_men_prior",
        "min_men_prior_rank",
        "max_men_prior",
        "ed_men_title",
        "min_mens_per_ent",
        "min_len_target_ent",
        "redirects",
    }
    pool = store.read("tempel_entities", release="r", cut=CUTS[1]).to_pylist()
    assert any(row["is_disambiguation"] for row in pool)
    assert all(row["entity_id"] for row in pool)


@pytest.mark.slow
def test_chance_depends_on_the_seed_and_on_nothing_else(home, released):
    """Two processes, of which each hashes strings in its own way, one of them with workers."""
    store, _ = released
    arguments = ("2022-01-01,2023-01-01", "--preset", "small", "--name", "b")
    assert (
        "release b: 2 snapshots, equal" in run_tempkb(home, "release", "tempel", *arguments, TEMPKB_WORKERS="2").stdout
    )
    make_release(name="c", seed="14", nr_ct_ents_per_cut="8")

    def rows(name):
        return [{**row, "release": ""} for row in store.read("tempel_mentions", release=name).to_pylist()]

    assert rows("r") == rows("b")
    assert Counter(row["target_title"] for row in rows("r")) != Counter(row["target_title"] for row in rows("c"))
