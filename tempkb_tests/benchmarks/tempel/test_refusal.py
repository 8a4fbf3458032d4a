"""What is said of a design that cannot be met: counts by hand, and advice that helps."""

from dataclasses import replace
from datetime import date

import pyarrow as pa
import pytest

from tempkb.benchmarks.tempel.candidates import filters_of, left_by_filters
from tempkb.benchmarks.tempel.design import Left, make_design, refusal
from tempkb.core.errors import DesignError
from tempkb.store.memory import in_memory
from tempkb_tests.benchmarks.tempel.releases_for_tests import make_release

CUTS = [date(2021, 1, 1), date(2022, 1, 1)]
STEPS = [
    Left("offered", "what is offered", 1200, 3000, 9000),
    Left("min_nr_inlinks", "min_nr_inlinks 10", 1000, 2500, 8000),
    Left("max_men_prior", "max_men_prior 0.5", 100, 200, 900),
    Left("snapshots", "kept at all 2 snapshots", 50),
    Left("ed_men_subsets", "surfaces for three subsets, ed_men_subsets 0.2", 0),
]


def test_every_step_is_told_and_those_that_left_none_and_took_most_are_named():
    *said, cause, most = refusal(make_design("tempkb", CUTS), "tempkb", "2021-01-01", STEPS).splitlines()
    assert said[0].endswith("Of the mentions at 2021-01-01, the poorest snapshot:")
    assert [line.split("  ")[1] for line in said[1:]] == [
        "left by",
        "what is offered",
        "min_nr_inlinks 10",
        "max_men_prior 0.5",
        "kept at all 2 snapshots",
        "surfaces for three subsets, ed_men_subsets 0.2",
    ]
    assert said[2].split() == ["what", "is", "offered", "9,000", "3,000", "1,200"]
    assert said[5].split()[-2:] == ["snapshots", "50"]
    assert len({len(line) for line in said[1:]}) == 1, "the lines are aligned"
    assert cause == (
        "surfaces for three subsets, ed_men_subsets 0.2 left none of the 50 entities that came so far. Lower it (--set "
        "ed_men_subsets=..., now 0.2)"
    )
    assert most == (
        "Before, max_men_prior 0.5 removed most: 900 of 1,000 entities. Raise it (--set max_men_prior=..., now 0.5), or begin "
        "with --preset small, which has low thresholds"
    )


def test_the_preset_in_use_is_never_advised():
    said = refusal(make_design("small", CUTS), "small", "2021-01-01", STEPS)
    assert "small" not in said
    assert said.endswith("Raise it (--set max_men_prior=..., now 1.0)")


def test_where_snapshots_or_items_are_lacking_the_advice_is_about_these():
    lost = [replace(STEPS[0]), Left("snapshots", "kept at all 2 snapshots", 0)]
    assert "Take fewer than these 2 snapshots" in refusal(make_design("tempkb", CUTS), "tempkb", "2021-01-01", lost)
    lost = [replace(STEPS[0]), Left("min_nr_inlinks", "min_nr_inlinks 10", 0, 0, 0), Left("lists", "lists", 0, 0, 0)]
    said = refusal(make_design("tempkb", CUTS), "tempkb", "2021-01-01", lost).splitlines()
    assert said[-1] == (
        "min_nr_inlinks 10 left none of the 1,200 entities that came so far. Lower it (--set min_nr_inlinks=..., now "
        "10), or begin with --preset small, which has low thresholds"
    )
    lost = [replace(STEPS[0]), Left("no_item", "no_item", 0, 0, 0)]
    assert "page_props" in refusal(make_design("paper", CUTS), "paper", "2021-01-01", lost)
    nothing = [Left("offered", "what is offered", 0, 0, 0), Left("lists", "lists", 0, 0, 0)]
    assert "No mention is offered at all" in refusal(make_design("paper", CUTS), "paper", "2021-01-01", nothing)


def test_what_filters_leave_is_counted_in_their_order():
    """Entity 1 loses one of four surfaces to its links and keeps three; entity 2 is a list; 3 has too few surfaces."""
    design = make_design("small", CUTS)
    names = [one.name for one in filters_of(design)]
    dropped = {(1, "d"): {"min_mens_per_ent", "min_len_target_ent"}, (2, "a"): {"lists", "min_nr_inlinks"}}
    keys = [(1, "a"), (1, "b"), (1, "c"), (1, "d"), (2, "a"), (3, "a")]
    rows = [
        {
            "page_id": page,
            "surface": surface,
            "n_usable": 10 * page,
            **{f"drops_{name}": name in dropped.get((page, surface), ()) for name in names},
        }
        for page, surface in keys
    ]
    table = pa.Table.from_pylist(rows)
    for name in (
        "n_links",
        "men_prior",
        "rank_in_entity",
        "rank_in_surface",
        "nr_inlinks",
        "avg_men_prior",
        "ent_prior",
        "title",
        "entity_id",
        "article_since",
        "page_created_at",
    ):
        table = table.append_column(name, pa.nulls(len(keys)))
    with in_memory() as connection:
        connection.register("judged", table)
        left = {one.step: (one.entities, one.surfaces, one.mentions) for one in left_by_filters(connection, design)}
    assert left["offered"] == (3, 6, 90)
    assert left["lists"] == left["min_nr_inlinks"] == left["ed_men_title"] == (2, 5, 70)
    assert left["min_mens_per_ent"] == left["min_len_target_ent"] == (2, 4, 60)
    assert left["min_nr_distinct_mentions_per_entity"] == (1, 3, 30)


@pytest.mark.slow
def test_an_impossible_design_is_refused_before_anything_is_written(home):
    with pytest.raises(DesignError) as refused:
        make_release("small", min_nr_inlinks="1000")
    said = str(refused.value)
    assert "min_nr_inlinks 1000 left none of the " in said
    assert "preset small" not in said
    assert said.endswith("Nothing was kept of release 'r'")
    assert not (home / "releases" / "r.json").exists()
    assert all(path.read_bytes().startswith(b"- ") for path in home.glob("lake/tempel_*/r*/CURRENT"))
