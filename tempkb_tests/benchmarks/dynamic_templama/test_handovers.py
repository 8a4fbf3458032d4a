"""Who took over from whom: stories with rows by hand, a brute force over days, and a check that can fail."""

import random
from datetime import date, timedelta

import pyarrow as pa
import pyarrow.parquet
import pytest

from tempkb.benchmarks.dynamic_templama.methods import UPDATES_ARE_WHOLE
from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_CHANGES
from tempkb.benchmarks.promises import require
from tempkb.core.errors import ContractError
from tempkb.core.windows import window_of
from tempkb.store.drafts import Provenance
from tempkb.store.promises import Subject
from tempkb_tests.benchmarks.dynamic_templama.days import brute_force, days_of
from tempkb_tests.benchmarks.fact_queries.worlds import release_without_prompts
from tempkb_tests.wiki.wikidata.items import item, read_home, said, time

DAY, DUMP = "2023-01-01", "wikidatawiki-20230101"
STUDY = "2020-10-01..2022-01-01"
NAMES = {f"Q1{n}": name for n, name in enumerate("ABCDE", 1)}
NUMBERS = {name: number for number, name in NAMES.items()}
# A minister of old, so that every story has the two objects that a release asks for.
BEYOND = ("E", "2000-01-01", "")


def town(name, *terms):
    """A town and its heads: (head, start, end), or (head, day) for a point in time."""
    heads = [
        said(f"{name}$s{at}", NUMBERS[who], *dates)
        if len(dates) == 2
        else said(f"{name}$s{at}", NUMBERS[who], point=dates[0])
        for at, (who, *dates) in enumerate(terms)
    ]
    return item(name, f"Town {name}", f"Town {name} (town)", P6=heads)


def people():
    return [item(number, name, name) for number, name in NAMES.items()]


@pytest.fixture
def told(tmp_path, monkeypatch):
    """Build a release about one town and return its changes by (window, head), unless unchanged."""

    def tell(*terms, windows=STUDY, **design):
        store = read_home(tmp_path, monkeypatch, {DAY: [*people(), town("Q1", *terms)]})
        made = release_without_prompts(store, windows=windows, dump_id=DUMP, min_objects="1", **design)
        return rows(store, made)

    return tell


def rows(store, made, **equal):
    found = {}
    for row in store.read("dynamic_templama_changes", release=made.name, **equal).to_pylist():
        if row["change"] != "unchanged":
            when = window_of(row["window_start"], made.design.granularity).label
            partner = NAMES.get(row["paired_object_id"])
            said = (row["change"], row["role"], partner) if row["role"] else (row["change"],)
            found[when, NAMES[row["object_id"]]] = said
    return found


ITALY = (("A", "2018-06-01", "2021-02-13"), ("B", "2021-02-13", ""))


def test_italy_under_the_three_rules(tmp_path, monkeypatch):
    store = read_home(tmp_path, monkeypatch, {DAY: [*people(), town("Q1", *ITALY)]})
    made = {
        rule: release_without_prompts(store, windows=STUDY, dump_id=DUMP, changes=rule)
        for rule in ("handover", "sets", "released")
    }
    assert rows(store, made["handover"]) == {
        ("2021-Q1", "B"): ("updated", "arriving", "A"),
        ("2021-Q2", "A"): ("updated", "leaving", "B"),
    }
    assert rows(store, made["sets"]) == {("2021-Q1", "B"): ("new",), ("2021-Q2", "A"): ("deleted",)}
    # The released rule does not see who leaves while another stays.
    assert rows(store, made["released"]) == {("2021-Q1", "B"): ("updated",)}
    (arriving, leaving) = (
        row for row in store.read("dynamic_templama_changes", release=made["handover"].name).to_pylist() if row["role"]
    )
    assert (arriving["previous_object_ids"], leaving["previous_object_ids"]) == (["Q11"], ["Q11", "Q12"])
    assert (arriving["paired_window_start"], leaving["paired_window_start"]) == (date(2021, 4, 1), date(2021, 1, 1))
    assert (arriving["change_detail"], leaving["change_detail"]) == ("extended", "reduced")
    (pair,) = store.read("dynamic_templama_handovers", release=made["handover"].name).to_pylist()
    assert [pair[name] for name in ("arriving_label", "leaving_label", "is_whole")] == ["B", "A", True]


# Terms of a town, and its rows by (window, head), unless unchanged.
STORIES = {
    # Last day and first day in adjacent windows, on adjacent days.
    "next_day": (
        [("A", "2018-01-01", "2021-03-31"), ("B", "2021-04-01", "")],
        {("2021-Q2", "B"): ("updated", "arriving", "A"), ("2021-Q2", "A"): ("updated", "leaving", "B")},
    ),
    # The same with nobody for five months: still adjacent windows.
    "gap_in_adjacent_windows": (
        [("A", "2018-01-01", "2021-01-05"), ("B", "2021-06-25", ""), BEYOND],
        {("2021-Q2", "B"): ("updated", "arriving", "A"), ("2021-Q2", "A"): ("updated", "leaving", "B")},
    ),
    # A whole window without either: nobody took over.
    "gap_of_a_window": (
        [("A", "2018-01-01", "2021-03-31"), ("B", "2021-07-01", ""), BEYOND],
        {("2021-Q2", "A"): ("deleted",), ("2021-Q3", "B"): ("new",)},
    ),
    # Both for a while, into the window after.
    "overlap": (
        [("A", "2018-01-01", "2021-05-20"), ("B", "2021-02-10", "")],
        {("2021-Q1", "B"): ("updated", "arriving", "A"), ("2021-Q3", "A"): ("updated", "leaving", "B")},
    ),
    # Both for so long that the windows of arrival and of the last day are not adjacent.
    "long_overlap": (
        [("A", "2018-01-01", "2021-07-10"), ("B", "2021-01-10", "")],
        {("2021-Q1", "B"): ("new",), ("2021-Q4", "A"): ("deleted",)},
    ),
    # There and back: either side of both handovers.
    "there_and_back": (
        [("A", "2018-01-01", "2021-02-10"), ("B", "2021-02-10", "2021-08-05"), ("A", "2021-08-05", "")],
        {
            ("2021-Q1", "B"): ("updated", "arriving", "A"),
            ("2021-Q2", "A"): ("updated", "leaving", "B"),
            ("2021-Q3", "A"): ("updated", "arriving", "B"),
            ("2021-Q4", "B"): ("updated", "leaving", "A"),
        },
    ),
    # Back within the window: A was an answer in all windows, so it neither left nor came.
    "back_at_once": (
        [("A", "2018-01-01", "2021-02-01"), ("B", "2021-02-01", "2021-03-10"), ("A", "2021-03-10", "")],
        {("2021-Q1", "B"): ("new",), ("2021-Q2", "B"): ("deleted",)},
    ),
    # Two spells of A, of which the second ends in time.
    "two_spells": (
        [("A", "2018-01-01", "2019-03-01"), ("A", "2020-05-01", "2021-02-01"), ("B", "2021-02-02", "")],
        {("2021-Q1", "B"): ("updated", "arriving", "A"), ("2021-Q2", "A"): ("updated", "leaving", "B")},
    ),
    # B came and went while A stayed, and took over from nobody.
    "nested": (
        [("A", "2018-01-01", "2021-04-20"), ("B", "2021-02-01", "2021-03-01"), BEYOND],
        {("2021-Q1", "B"): ("new",), ("2021-Q2", "B"): ("deleted",), ("2021-Q3", "A"): ("deleted",)},
    ),
    # B was there before A came and after A went.
    "nesting": (
        [("A", "2021-02-01", "2021-03-01"), ("B", "2021-01-05", "")],
        {("2021-Q1", "A"): ("new",), ("2021-Q1", "B"): ("new",), ("2021-Q2", "A"): ("deleted",)},
    ),
    # B for a fortnight between A and C: a link of a chain, with both its rows.
    "chain": (
        [("A", "2018-01-01", "2021-02-01"), ("B", "2021-02-01", "2021-02-14"), ("C", "2021-02-15", "")],
        {
            ("2021-Q1", "B"): ("updated", "arriving", "A"),
            ("2021-Q1", "C"): ("updated", "arriving", "B"),
            ("2021-Q2", "A"): ("updated", "leaving", "B"),
            ("2021-Q2", "B"): ("updated", "leaving", "C"),
        },
    ),
    # The nearer of two that come; the other is new.
    "two_come": (
        [("A", "2018-01-01", "2021-02-13"), ("B", "2021-02-20", ""), ("C", "2021-02-14", "")],
        {
            ("2021-Q1", "B"): ("new",),
            ("2021-Q1", "C"): ("updated", "arriving", "A"),
            ("2021-Q2", "A"): ("updated", "leaving", "C"),
        },
    ),
    # Of two that come on one day, the smaller number.
    "two_come_at_once": (
        [("A", "2018-01-01", "2021-02-13"), ("C", "2021-02-14", ""), ("B", "2021-02-14", "")],
        {
            ("2021-Q1", "B"): ("updated", "arriving", "A"),
            ("2021-Q1", "C"): ("new",),
            ("2021-Q2", "A"): ("updated", "leaving", "B"),
        },
    ),
    # The nearer of two that go; the other is deleted.
    "two_go": (
        [("A", "2018-01-01", "2021-02-10"), ("B", "2018-01-01", "2021-02-12"), ("C", "2021-02-13", "")],
        {
            ("2021-Q1", "C"): ("updated", "arriving", "B"),
            ("2021-Q2", "A"): ("deleted",),
            ("2021-Q2", "B"): ("updated", "leaving", "C"),
        },
    ),
    # Of two that go on one day, the smaller number.
    "two_go_at_once": (
        [("B", "2018-01-01", "2021-02-12"), ("A", "2018-01-01", "2021-02-12"), ("C", "2021-02-13", "")],
        {
            ("2021-Q1", "C"): ("updated", "arriving", "A"),
            ("2021-Q2", "A"): ("updated", "leaving", "C"),
            ("2021-Q2", "B"): ("deleted",),
        },
    ),
    # Two and two: D on B's last day goes first, so that C, a day from either, is left with A.
    "two_and_two": (
        [
            ("A", "2018-01-01", "2021-02-10"),
            ("B", "2018-01-01", "2021-02-12"),
            ("C", "2021-02-11", ""),
            ("D", "2021-02-12", ""),
        ],
        {
            ("2021-Q1", "C"): ("updated", "arriving", "A"),
            ("2021-Q1", "D"): ("updated", "arriving", "B"),
            ("2021-Q2", "A"): ("updated", "leaving", "C"),
            ("2021-Q2", "B"): ("updated", "leaving", "D"),
        },
    ),
    # Who stays takes no part.
    "unchanged_beside": (
        [*ITALY, ("D", "2019-01-01", "")],
        {("2021-Q1", "B"): ("updated", "arriving", "A"), ("2021-Q2", "A"): ("updated", "leaving", "B")},
    ),
    # A's last quarter is not known, so that it is in no pair.
    "year_of_end": (
        [("A", "2018-01-01", "2021"), ("B", "2021-02-13", ""), BEYOND],
        {("2021-Q1", "B"): ("new",), ("2022-Q1", "A"): ("undatable",)},
    ),
    "year_of_start": (
        [("A", "2018-01-01", "2020-11-30"), ("B", "2021", ""), BEYOND],
        {("2021-Q1", "A"): ("deleted",), ("2021-Q1", "B"): ("undatable",)},
    ),
    # Months: from any day of February to any, which may be the same, is nearer than five days.
    "months": (
        [("A", "2018-01-01", "2021-02"), ("B", "2021-03-05", ""), ("C", "2021-02", "")],
        {
            ("2021-Q1", "B"): ("new",),
            ("2021-Q1", "C"): ("updated", "arriving", "A"),
            ("2021-Q2", "A"): ("updated", "leaving", "C"),
        },
    ),
    # Nobody knows since when A was; that it was before B is known well enough.
    "open_start": (
        [("A", "", "2021-02-13"), ("B", "2021-02-13", "2021-06-01"), BEYOND],
        {
            ("2021-Q1", "B"): ("updated", "arriving", "A"),
            ("2021-Q2", "A"): ("updated", "leaving", "B"),
            ("2021-Q3", "B"): ("deleted",),
        },
    ),
    # Neither an open end nor one that nobody knows is a leaving.
    "open_ends": (
        [("A", "2018-01-01", ""), ("C", "2018-01-01", "somevalue"), ("B", "2021-02-13", "")],
        {("2021-Q1", "B"): ("new",)},
    ),
}


@pytest.fixture(scope="module")
def told_of_towns(tmp_path_factory):
    """The changes of a release about a town for each story, by the town's name."""
    towns = {f"Q{number}": terms for number, (terms, _) in enumerate(STORIES.values(), 1_000)}
    with pytest.MonkeyPatch.context() as patch:
        entities = [*people(), *(town(name, *terms) for name, terms in towns.items())]
        store = read_home(tmp_path_factory.mktemp("stories"), patch, {DAY: entities})
        made = release_without_prompts(store, windows="2020-10-01..2022-04-01", dump_id=DUMP, min_objects="1")
        return [rows(store, made, subject_id=name) for name in towns]


@pytest.mark.parametrize("number", range(len(STORIES)), ids=list(STORIES))
def test_who_took_over_from_whom(told_of_towns, number):
    _, expected = list(STORIES.values())[number]
    assert told_of_towns[number] == expected


def test_years_of_a_chain(told):
    """By years all three dates are 2019, and who was between is known from who was there before and after."""
    terms = [("A", "2016", "2019"), ("B", "2019", "2019"), ("C", "2019", "")]
    assert told(*terms, windows="2018-01-01..2021-01-01", granularity="year") == {
        ("2019", "B"): ("updated", "arriving", "A"),
        ("2019", "C"): ("updated", "arriving", "B"),
        ("2020", "A"): ("updated", "leaving", "B"),
        ("2020", "B"): ("updated", "leaving", "C"),
    }


def test_years_that_do_not_say_who_was_first(told):
    terms = [("A", "2019", "2019"), ("B", "2019", "2019"), BEYOND]
    assert told(*terms, windows="2018-01-01..2021-01-01", granularity="year") == {
        ("2019", "A"): ("new",),
        ("2019", "B"): ("new",),
        ("2020", "A"): ("deleted",),
        ("2020", "B"): ("deleted",),
    }


def test_points_in_time(told):
    terms = [("B", "2021-02-05"), ("A", "2021-01-05"), ("C", "2021-05-05"), ("D", "2021-05-05"), BEYOND]
    assert told(*terms, points_in_time="true") == {
        ("2021-Q1", "A"): ("new",),
        ("2021-Q1", "B"): ("updated", "arriving", "A"),
        ("2021-Q2", "A"): ("updated", "leaving", "B"),
        # Of C and D, who are as near to B, the smaller number; of these two neither was first.
        ("2021-Q2", "B"): ("updated", "leaving", "C"),
        ("2021-Q2", "C"): ("updated", "arriving", "B"),
        ("2021-Q2", "D"): ("new",),
        ("2021-Q3", "C"): ("deleted",),
        ("2021-Q3", "D"): ("deleted",),
    }


@pytest.mark.slow
def test_certain_answers(told):
    terms = [
        ("A", "2018-06-01", "2021-02-13"),
        ("B", "2021-02-13", "2021-07-20"),
        ("C", "2021-07-20", ""),
        ("E", "2000-01-01", "novalue"),
    ]
    # C may have left on any day, so that it is no certain answer and takes over from nobody.
    assert told(*terms, answers="certain") == {
        ("2021-Q1", "B"): ("updated", "arriving", "A"),
        ("2021-Q2", "A"): ("updated", "leaving", "B"),
        ("2021-Q4", "B"): ("deleted",),
    }


@pytest.mark.slow
def test_certain_again_in_the_middle_of_a_spell_is_no_arrival(told):
    # Two statements of A that touch: the first ends in some month of 2020, the second begins in a month that is known.
    terms = [
        ("A", "2018-01-01", "2020"),
        ("A", "2020-11-05", "2021-08-03"),
        ("B", "2019-01-01", "2020-09-30"),
        ("E", "2000-01-01", "novalue"),
    ]
    assert told(*terms, answers="certain", windows="2019-07-01..2022-01-01") == {
        # Last certain in the first quarter of 2020, again in the last: neither by a date that anybody knows.
        ("2020-Q2", "A"): ("undatable",),
        ("2020-Q4", "A"): ("undatable",),
        ("2020-Q4", "B"): ("deleted",),
        ("2021-Q4", "A"): ("deleted",),
    }


@pytest.mark.slow
def test_a_partner_beyond_the_study(tmp_path, monkeypatch):
    """A handover is one whatever the study; outside of it a partner has no row, and its window says so."""
    terms = [*ITALY[:1], ("B", "2021-02-13", "2021-09-02"), ("C", "2021-09-03", "")]
    store = read_home(tmp_path, monkeypatch, {DAY: [*people(), town("Q1", *terms)]})
    short, long = (
        release_without_prompts(store, windows=windows, dump_id=DUMP)
        for windows in ("2021-01-01..2021-10-01", "2020-01-01..2022-01-01")
    )
    assert rows(store, short) == {
        # B came in the study's first window, of which there are no changes; who left with C's coming does so after it.
        ("2021-Q2", "A"): ("updated", "leaving", "B"),
        ("2021-Q3", "C"): ("updated", "arriving", "B"),
    }
    columns = ["window_start", "object_id", "change", "role", "paired_object_id", "paired_window_start"]
    of_short, of_long = (
        [
            {name: row[name] for name in columns}
            for row in store.read("dynamic_templama_changes", release=one.name).to_pylist()
        ]
        for one in (short, long)
    )
    assert [row["paired_window_start"] for row in of_short if row["role"]] == [date(2021, 1, 1), date(2021, 10, 1)]
    shared = (date(2021, 4, 1), date(2021, 7, 1))
    assert of_short == [row for row in of_long if row["window_start"] in shared]
    assert {row["is_whole"] for row in store.read("dynamic_templama_handovers", release=short.name).to_pylist()} == {
        False
    }
    assert {row["is_whole"] for row in store.read("dynamic_templama_handovers", release=long.name).to_pylist()} == {
        True
    }
    assert half_pairs(store) == []


def test_an_update_is_counted_once(tmp_path, monkeypatch):
    store = read_home(tmp_path, monkeypatch, {DAY: [*people(), town("Q1", *ITALY)]})
    release_without_prompts(store, windows=STUDY, dump_id=DUMP)
    sizes = {
        str(row["window_start"]): (row["n_unchanged"], row["n_updated"], row["n_new"], row["n_deleted"], row["n_total"])
        for row in store.read("dynamic_templama_split_sizes").to_pylist()
    }
    assert sizes == {
        "2021-01-01": (1, 1, 0, 0, 2),
        "2021-04-01": (1, 0, 0, 0, 1),
        "2021-07-01": (1, 0, 0, 0, 1),
        "2021-10-01": (1, 0, 0, 0, 1),
    }


# Towns of chance against a brute force over days.


def written(day, precision):
    return str(day)[: {"day": 10, "month": 7, "year": 4}[precision]]


def some_terms(chance):
    """Two to six terms of up to five heads, in 2018 to 2022; most begin where another ends, or near."""
    terms, day = [], date(2018, 1, 1) + timedelta(days=chance.randrange(500))
    for _ in range(chance.randint(2, 6)):
        start = max(
            date(2018, 1, 1), day + timedelta(days=chance.choice([-200, -40, -3, -1, 0, 0, 1, 1, 2, 15, 60, 200]))
        )
        end = start + timedelta(days=chance.choice([0, 5, 20, 80, 200, 400, 700]))
        fine = [chance.choice(["day", "day", "day", "month", "month", "year"]) for _ in range(2)]
        begun, ended = written(start, fine[0]), written(end, fine[1])
        if end >= date(2022, 12, 1) or chance.random() < 0.15:
            ended = ""
        elif chance.random() < 0.1:
            begun = ""
        terms.append((chance.choice("ABCDE"), begun, ended))
        day = end
    return terms


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """A home with 250 towns of chance, and the terms of each."""
    chance = random.Random(20)
    towns = {f"Q{1000 + n}": some_terms(chance) for n in range(250)}
    with pytest.MonkeyPatch.context() as patch:
        yield (
            read_home(
                tmp_path_factory.mktemp("towns"),
                patch,
                {DAY: [*people(), *(town(name, *terms) for name, terms in towns.items())]},
            ),
            towns,
        )


@pytest.mark.slow
@pytest.mark.parametrize("granularity", ["quarter", "year", "month", "week"])
def test_all_rows_of_250_towns_are_those_of_a_brute_force(generated, granularity):
    store, towns = generated
    windows = {"week": "2019-01-07..2021-11-01"}.get(granularity, "2019-01-01..2022-01-01")
    made = release_without_prompts(store, windows=windows, granularity=granularity, dump_id=DUMP, min_objects="1")
    found = {}
    for row in store.read("dynamic_templama_changes", release=made.name).to_pylist():
        found.setdefault(row["subject_id"], {})[row["window_start"], NAMES[row["object_id"]]] = (
            row["change"],
            row["role"],
            NAMES.get(row["paired_object_id"]),
            row["paired_window_start"],
            [NAMES[one] for one in row["previous_object_ids"]],
        )
    within = {window.start for window in made.design.windows()[1:]}
    expected = {}
    for name, terms in towns.items():
        dated = [(who, days_of(start), days_of(end)) for who, start, end in terms]
        expected[name] = brute_force(dated, granularity, lambda who: int(NUMBERS[who][1:]), within)
    differing = {
        name: (towns[name], found.get(name, {}), rows) for name, rows in expected.items() if found.get(name, {}) != rows
    }
    assert differing == {}
    roles = [said[1] for rows in found.values() for said in rows.values()]
    assert min(roles.count("arriving"), roles.count("leaving")) > 30
    assert half_pairs(store) == []


# A check


def half_pairs(store):
    return UPDATES_ARE_WHOLE.broken(store, Subject())


@pytest.fixture
def built(tmp_path, monkeypatch):
    terms = [*ITALY[:1], ("B", "2021-02-14", ""), ("C", "2021-02-20", ""), ("D", "2018-01-01", "2021-02-10")]
    store = read_home(tmp_path, monkeypatch, {DAY: [*people(), town("Q1", *terms)]})
    made = release_without_prompts(store, windows=STUDY, dump_id=DUMP)
    assert rows(store, made) == {
        ("2021-Q1", "B"): ("updated", "arriving", "A"),
        ("2021-Q1", "C"): ("updated", "arriving", "D"),
        ("2021-Q2", "A"): ("updated", "leaving", "B"),
        ("2021-Q2", "D"): ("updated", "leaving", "C"),
    }
    return store, made


def rewrite(store, made, changed):
    """Write changed rows in place of some: (window, object) -> values."""
    for version in store.lake.versions(DYNAMIC_TEMPLAMA_CHANGES.name):
        told = pa.concat_tables([pa.parquet.read_table(path) for path in version.paths()]).to_pylist()
        for row in told:
            when = window_of(row["window_start"], made.design.granularity).label
            row.update(changed.get((when, NAMES[row["object_id"]]), {}))
        store.write(
            DYNAMIC_TEMPLAMA_CHANGES,
            version.partition,
            [pa.Table.from_pylist(told, DYNAMIC_TEMPLAMA_CHANGES.schema)],
            Provenance(),
        )


ALONE = {"role": None, "paired_object_id": None, "paired_window_start": None}


def test_roles_the_wrong_way_round_are_noticed(built):
    rewrite(*built, {("2021-Q1", "B"): {"role": "leaving"}})
    assert half_pairs(built[0])


def test_a_release_with_half_a_pair_fails_its_own_check(built):
    store, made = built
    rewrite(store, made, {("2021-Q2", "D"): {"change": "deleted", **ALONE}})
    with pytest.raises(
        ContractError, match=r"updates_are_found_from_either_side .* 2021-01-01, Q1, P6, Q13, arriving, Q14"
    ):
        require(store, [UPDATES_ARE_WHOLE], made.name)


def test_dates_beyond_the_timestamps_of_duckdb_are_checked_too(tmp_path, monkeypatch):
    place = town("Q1", ("B", "2016", "2019"), ("A", "2019", "400000"))
    place["claims"]["P6"][0]["qualifiers"]["P580"] = [time("-300000-00-00T00:00:00Z", 9)]
    store = read_home(tmp_path, monkeypatch, {DAY: [*people(), place]})
    made = release_without_prompts(store, windows="2018-01-01..2021-01-01", dump_id=DUMP, granularity="year")
    assert rows(store, made) == {
        ("2019", "A"): ("updated", "arriving", "B"),
        ("2020", "B"): ("updated", "leaving", "A"),
    }
    assert half_pairs(store) == []


def test_where_nothing_is_ever_certain_there_is_no_handover(told):
    assert told(("A", "2021", "2021"), answers="certain") == {}
