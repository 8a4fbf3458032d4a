"""The items of TempEL over rows that were written by hand."""

import json
from datetime import date

import pytest

from tempkb.benchmarks.tempel.tables import TEMPEL_MENTIONS
from tempkb.store.listings import BETTER, WORSE
from tempkb_tests.results.papers.laid_out import sheets, tables
from tempkb_tests.results.worlds import Linked, World

Y1, Y2, Y3 = (date(year, 1, 1) for year in (2021, 2022, 2023))


def one_table(world, name):
    ((_, heads, lines),) = tables(world, "tempel", name)
    return heads, lines


@pytest.fixture
def linked():
    """Two linkers of two years at three tests, and the prior.

    At Y1 that of Y1 links both mentions of the continual entity and that of Y2 one, at Y2 the other way round, at Y3 none.
    Of the new entities only the one of the test's year is linked, by its own linker, and at Y3 none.
    """
    world = Linked()
    for name, cut in (("a", Y1), ("b", Y2), ("prior", None)):
        world.linker(name, cut)
    for name, ranks in {"a": ((1, 1), (1, 5), (None, None)), "b": ((1, 5), (1, 1), (None, None))}.items():
        for cut, own in zip((Y1, Y2, Y3), ranks, strict=True):
            for at, rank in enumerate(own):
                world.link(name, cut, 1, rank, anchor=at)
    for cut, linker, kind in ((Y1, "a", "covid"), (Y2, "b", "recurrent"), (Y3, None, "other")):
        for name in ("a", "b"):
            world.link(name, cut, cut.year, 1 if name == linker else None, "new", anchor=9)
        world.add("tempel_new_entities", release="t", cut=cut, page_id=cut.year, paper_type=kind)
    world.link("prior", Y1, 1, 64, anchor=0)
    return world


def test_accuracy_by_training_and_test_with_colours(linked):
    continual, new = tables(linked, "tempel", "table-7")
    assert continual[1] == new[1] == ["linker", "trained on", "2021-01-01", "2022-01-01", "2023-01-01"]
    assert (continual[0], new[0]) == ("release t, category continual", "release t, category new")
    assert continual[2] == [
        ["demo", "2021-01-01", "100.0", "50.0", "0.0"],
        ["demo", "2022-01-01", "50.0", "100.0", "0.0"],
        ["prior", "not trained", "0.0", "", ""],
    ]
    assert new[2] == [["demo", "2021-01-01", "100.0", "0.0", "0.0"], ["demo", "2022-01-01", "0.0", "100.0", "0.0"]]
    # By the difference to the snapshot of training, which has no colour itself.
    lines = sheets(linked, "tempel", "table-7")[0].lines
    assert [[cell.mark for cell in line[2:]] for line in lines[:2]] == [["", WORSE, WORSE], [WORSE, "", WORSE]]
    assert BETTER not in {cell.mark for line in lines[:2] for cell in line[2:]}


def test_tables_differ_in_the_number_of_candidates_alone(linked):
    at_8 = tables(linked, "tempel", "table-10")[0]
    assert at_8[2] == [
        ["demo", "2021-01-01", "100.0", "100.0", "0.0"],
        ["demo", "2022-01-01", "100.0", "100.0", "0.0"],
        ["prior", "not trained", "0.0", "", ""],
    ]
    assert tables(linked, "tempel", "table-13") == tables(linked, "tempel", "table-2")
    assert tables(linked, "tempel", "table-2")[0][2][2] == ["prior", "not trained", "100.0", "", ""]


def test_accuracy_in_and_out_of_snapshot_by_test(linked):
    linked.add(
        "tempel_statistics", release="t", figure="figure_4c", cut=Y1, series="candidates", label="entities", value=7
    )
    for row in linked.rows["linking_scores"]:
        if (row["cut"], row["category"]) == (Y1, "continual"):
            row["top_similarity"] = {"a": 0.25, "b": 0.75}.get(row["linker"])
    found = {of: (heads, lines) for of, heads, lines in tables(linked, "tempel", "figure-4")}
    assert list(found) == [
        f"release t, panel {one}"
        for one in ("a: similarity of the first 64 candidates", "b: accuracy@64", "c: number of candidates")
    ]
    assert found["release t, panel a: similarity of the first 64 candidates"][1] == [["demo", "continual", "0.50"]]
    assert found["release t, panel b: accuracy@64"] == (
        ["linker", "series", "2021-01-01", "2022-01-01", "2023-01-01"],
        [
            ["demo", "continual, in-snapshot", "1.00", "1.00", ""],
            ["demo", "continual, out-of-snapshot", "1.00", "1.00", "0.00"],
            ["demo", "new, in-snapshot", "1.00", "1.00", ""],
            ["demo", "new, out-of-snapshot", "0.00", "0.00", "0.00"],
            ["prior", "continual, mean-of-models", "1.00", "", ""],
        ],
    )
    assert found["release t, panel c: number of candidates"][1] == [["any", "entities", "7.00"]]


def test_what_training_on_the_snapshot_of_the_test_is_worth(linked):
    by_k, by_offset, by_type = tables(linked, "tempel", "figure-5")
    ks = ["1", "2", "4", "8", "16", "32", "64"]
    assert by_k[1] == by_type[1] == ["linker", "series", *ks]
    assert by_k[2] == [
        ["demo", "continual", "0.50", "0.50", "0.50", *["0.00"] * 4],
        ["demo", "new", *["1.00"] * 7],
    ]
    assert by_offset[1:] == (
        ["linker", "series", "-1", "0", "1"],
        [["demo", "continual", "0.00", "0.00", "0.00"], ["demo", "new", "-1.00", "0.00", "-1.00"]],
    )
    # Of the tests at which linkers of other snapshots link no new entity the first.
    assert by_type[0] == "release t, panel c: new entities of 2021-01-01, by K"
    assert by_type[2] == [
        ["demo", "covid, in-snapshot", *["1.00"] * 7],
        ["demo", "covid, out-of-snapshot", *["0.00"] * 7],
    ]


def test_accuracy_by_type_over_all_tests(linked):
    assert one_table(linked, "figure-8")[1] == [
        ["demo", "continual", "in-snapshot", *["100.0"] * 7],
        ["demo", "continual", "out-of-snapshot", *["50.0"] * 3, *["100.0"] * 4],
        ["demo", "new, covid", "in-snapshot", *["100.0"] * 7],
        ["demo", "new, covid", "out-of-snapshot", *["0.0"] * 7],
        ["demo", "new, recurrent", "in-snapshot", *["100.0"] * 7],
        ["demo", "new, recurrent", "out-of-snapshot", *["0.0"] * 7],
    ]


def _statistics(*rows):
    world = World()
    for figure, cut, series, label, value in rows:
        world.add("tempel_statistics", release="t", figure=figure, cut=cut, series=series, label=label, value=value)
    return world


def test_numbers_that_differ_between_snapshots_are_a_range():
    world = _statistics(
        ("table_1", Y1, "continual train", "entities", 1000.0),
        ("table_1", Y2, "continual train", "entities", 1000.0),
        ("table_1", Y1, "continual train", "mentions", 2000.0),
        ("table_1", Y2, "continual train", "mentions", 1990.0),
        ("table_1", Y1, "new test", "entities", 7.0),
    )
    assert one_table(world, "table-1") == (
        ["statistic", "train", "test"],
        [
            ["all snapshots", "2", "1"],
            ["continual entities", "1,000", ""],
            ["continual mentions", "1,990 to 2,000", ""],
            ["new entities", "", "7"],
        ],
    )


def test_drift_and_cumulated_mentions():
    world = _statistics(
        ("figure_3a", Y1, "continual", "mean Jaccard overlap with the first snapshot", 1.0),
        ("figure_3a", Y2, "continual", "mean Jaccard overlap with the first snapshot", 0.75),
        ("figure_7", Y1, "new test", "at most 0001 mentions", 4.0),
        ("figure_7", Y1, "new test", "at most 0004 mentions", 9.0),
        ("figure_7", Y1, "new test", "at most 0030 mentions", 10.0),
    )
    heads, lines = one_table(world, "figure-3")
    assert (heads[1:], lines[0][1:]) == (["2021-01-01", "2022-01-01"], ["1.00", "0.75"])
    heads, lines = one_table(world, "figure-7")
    assert heads == ["subset", "snapshot", "1", "2", "3", "5", "10", "20", "50", "100", "200", "500"]
    assert lines == [["test", "2021-01-01", "4", "4", "4", "9", "9", "9", "10", "10", "10", "10"]]


def test_shares_of_mentions_that_filters_drop():
    world = World()
    for name, how, n in (
        ("all", "offered", 200),
        ("all", "kept", 90),
        ("lists", "alone", 10),
        ("min_nr_inlinks", "alone", 100),
        ("lists", "only", 5),
    ):
        world.add("tempel_filters", release="t", cut=Y1, filter=name, applied=how, n_surfaces=1, n_mentions=n)
    assert tables(world, "tempel", "figure-6") == [
        ("release t, applied alone", ["filter", "2021-01-01"], [["min_nr_inlinks", "50.0"], ["lists", "5.0"]]),
        ("release t, applied only", ["filter", "2021-01-01"], [["lists", "2.5"]]),
    ]


def test_hyperparameters_of_the_paper_and_of_the_release():
    world = World()
    design = json.dumps({"min_nr_inlinks": 3, "max_mens_per_ent": [50, 5, 5], "seed": 13})
    world.add("tempel_releases", release="t", design=design)
    lines = one_table(world, "table-3")[1]
    assert len(lines) == 15
    found = {name: (paper, here) for name, _, paper, here in lines}
    assert (found["min_nr_inlinks"], found["max_mens_per_ent"]) == (("10", "3"), ("500/10/10", "[50,5,5]"))


def test_a_mention_with_its_attributes():
    """The 26 attributes that the paper lists are columns; the mention is of the last snapshot, and in the training set."""
    world = World()
    for cut, subset, category, mention in (
        (Y1, "train", "continual", "earlier"),
        (Y2, "test", "continual", "of the test"),
        (Y2, "train", "continual", "the old port"),
        (Y2, "train", "new", "the bridge"),
    ):
        world.add(
            "tempel_mentions", release="t", cut=cut, subset=subset, category=category, mention=mention, target="x" * 99
        )
    heads, lines = one_table(world, "table-5")
    assert heads == ["attribute", "value"]
    assert [name for name, _ in lines][:4] == ["subset", "target_page_id", "target_qid", "snapshot"]
    assert len(lines) == 26
    found = dict(lines)
    assert set(found) <= {column.name for column in TEMPEL_MENTIONS.columns}
    assert (found["mention"], found["category"], found["men_prior"]) == ("the old port", "continual", "")
    assert found["target"] == "x" * 80
    assert dict(one_table(world, "table-6")[1])["mention"] == "the bridge"
