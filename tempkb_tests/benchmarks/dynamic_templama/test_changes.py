"""What changed between windows by the sets of answers: stories with rows by hand; the released rule; checks that can fail.

Changes by handover are in `test_handovers.py`.
"""

import pyarrow as pa
import pyarrow.parquet
import pytest

from tempkb.benchmarks.dynamic_templama.benchmark import DYNAMIC_TEMPLAMA
from tempkb.benchmarks.dynamic_templama.changes import Query, released_changes
from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_QUERIES
from tempkb.benchmarks.fact_queries.life import EVERY_STATEMENT_EXISTS, no_subject_in_two_splits
from tempkb.benchmarks.templama.benchmark import TEMPLAMA
from tempkb.platform.definitions import benchmark_checks
from tempkb.store.drafts import Provenance
from tempkb.store.promises import Subject
from tempkb_tests.benchmarks.fact_queries.worlds import DAY, answers, players, release_without_prompts
from tempkb_tests.wiki.wikidata.items import read_home

CLUBS = {"Q101": "Reed", "Q102": "Salt", "Q103": "Moss"}


@pytest.fixture
def home(tmp_path, monkeypatch):
    return lambda entities: read_home(tmp_path, monkeypatch, {DAY: entities})


def changes(store, **equal):
    """By window: object's name -> (change, detail, names before), the unchanged ones left out."""
    found: dict[str, dict] = {}
    for row in store.read("dynamic_templama_changes", **equal).to_pylist():
        if row["change"] != "unchanged":
            before = [CLUBS[one] for one in row["previous_object_ids"]]
            found.setdefault(str(row["window_start"]), {})[CLUBS[row["object_id"]]] = (
                row["change"],
                row["change_detail"],
                before,
            )
    return found


@pytest.mark.slow
def test_one_of_two_leaves_which_the_released_rule_does_not_see(home):
    store = home(
        players(Ada=[("Q101", "2018-01-01", ""), ("Q102", "2019-02-01", "2019-08-15"), ("Q103", "2019-11-01", "")])
    )
    ours = release_without_prompts(store, windows="2019-01-01..2020-01-01", changes="sets")
    assert changes(store, release=ours.name) == {
        "2019-10-01": {"Moss": ("updated", "replaced", ["Reed", "Salt"])},
    }
    by_month = release_without_prompts(store, windows="2019-08-01..2020-01-01", granularity="month", changes="sets")
    assert changes(store, release=by_month.name) == {
        "2019-09-01": {"Salt": ("deleted", "reduced", ["Reed", "Salt"])},
        "2019-11-01": {"Moss": ("new", "extended", ["Reed"])},
    }
    # The released rule, by quarter: what is there is unchanged, what came is updated, who left is told nowhere.
    quarters = {when: Query("Ada", found) for (_, when), found in answers(store, release=ours.name).items()}
    told = [
        (change, asked.answers[at])
        for change, asked, at in released_changes([quarters["2019-Q3"]], [quarters["2019-Q4"]])
    ]
    assert told == [("unchanged", "Reed"), ("updated", "Moss")]


@pytest.mark.slow
def test_all_ways_to_come_and_to_go(home):
    store = home(
        players(
            Came=[("Q101", "2019-04-10", "2019-06-20"), ("Q102", "2019-07-05", "2019-08-01")],
            Back=[
                ("Q101", "2018-01-01", "2019-03-31"),
                ("Q102", "2019-04-01", "2019-09-30"),
                ("Q101", "2019-10-01", ""),
            ],
        )
    )
    release_without_prompts(store, windows="2019-01-01..2020-01-01", changes="sets")
    of = {row: [] for row in ("Q1", "Q2")}
    for row in store.read("dynamic_templama_changes").to_pylist():
        of[row["subject_id"]].append(
            (str(row["window_start"]), CLUBS[row["object_id"]], row["change"], row["change_detail"])
        )
    assert of["Q1"] == [
        ("2019-04-01", "Reed", "new", "appeared"),
        ("2019-07-01", "Salt", "updated", "replaced"),
        ("2019-10-01", "Salt", "deleted", "vanished"),
    ]
    assert of["Q2"] == [
        ("2019-04-01", "Salt", "updated", "replaced"),
        ("2019-07-01", "Salt", "unchanged", None),
        ("2019-10-01", "Reed", "updated", "returning"),
    ]


@pytest.mark.slow
def test_what_is_known_by_the_year_only_has_no_quarter(home):
    store = home(players(Ada=[("Q101", "2018-01-01", "2019"), ("Q102", "2019", "2020-06-30"), ("Q103", "2020-07", "")]))
    quarters = release_without_prompts(store, changes="sets")
    assert changes(store, release=quarters.name) == {
        # Salt may have come on any day of 2019, Reed have gone: only the year is told.
        "2020-01-01": {"Reed": ("undatable", "reduced", ["Reed", "Salt"])},
        "2020-07-01": {"Moss": ("updated", "replaced", ["Salt"])},
    }
    years = release_without_prompts(store, windows="2018-01-01..2021-01-01", granularity="year", changes="sets")
    assert changes(store, release=years.name) == {
        "2019-01-01": {"Salt": ("new", "extended", ["Reed"])},
        "2020-01-01": {"Moss": ("updated", "replaced", ["Reed", "Salt"])},
    }
    # A month is too coarse for weeks, and fine for months.
    weeks = release_without_prompts(store, windows="2020-06-15..2020-07-20", granularity="week", changes="sets")
    assert changes(store, release=weeks.name) == {
        "2020-06-29": {"Moss": ("undatable", "extended", ["Salt"])},
        "2020-07-06": {"Salt": ("deleted", "reduced", ["Salt", "Moss"])},
    }


@pytest.mark.slow
def test_an_undatable_end_makes_no_update_of_a_start_that_is_known(home):
    store = home(players(Ada=[("Q101", "2018-01-01", "2019"), ("Q102", "2020-01-01", "")]))
    release_without_prompts(store, changes="sets")
    # That Reed was it until the year's end is possible only, so nobody can say that Salt replaced it then.
    assert changes(store) == {
        "2020-01-01": {"Reed": ("undatable", "replaced", ["Reed"]), "Salt": ("new", "replaced", ["Reed"])}
    }


def test_the_released_rule_goes_by_text_and_name():
    before = [Query("Ada", ["Reed"], 1), Query("Ada", ["Salt"], 2), Query("Ben", ["Reed", "Reed"], 3)]
    now = [Query("Ada", ["Salt"], 2), Query("Cem", ["Moss", "Reed"], 4)]
    found = [(change, asked.source, at) for change, asked, at in released_changes(before, now)]
    # The first query of the text Ada counts for both, so Salt, unchanged by number, is updated.
    assert found == [("updated", 2, 0), ("new", 4, 0), ("new", 4, 1), ("deleted", 3, 0), ("deleted", 3, 1)]


@pytest.mark.slow
def test_the_paper_preset_counts_as_released(home):
    store = home(
        players(
            Ada=[("Q101", "2019-01-01", "2019-06-30"), ("Q102", "2019-07-01", "2020-12-31")],
            Aba=[
                ("Q101", "2019-01-01", "2020-12-31"),
                ("Q102", "2019-02-01", "2020-11-30"),
                ("Q101", "2019-03-01", "2020-12-31"),
            ],
        )
    )
    made = release_without_prompts(store, windows="2019-01-01..2020-01-01", preset="paper")
    found = {
        (str(row["window_start"])[5:7], row["subject_id"], row["object_id"]): (row["change"], row["n_times"])
        for row in store.read("dynamic_templama_changes", release=made.name).to_pylist()
    }
    assert found["07", "Q1", "Q102"] == ("updated", 1)
    # Reed, Salt, Reed: the released data lists Reed twice.
    assert found["04", "Q2", "Q101"] == ("unchanged", 2)
    assert answers(store, release=made.name)["Aba plays for _X_.", "2019-Q2"] == ["Reed", "Salt", "Reed"]


# Checks


@pytest.fixture
def built(home):
    store = home(
        players(
            Ada=[("Q101", "2018-01-01", ""), ("Q102", "2019-02-01", "2019-08-15"), ("Q103", "2019-11-01", "")],
            Ben=[("Q101", "2018", "2019"), ("Q102", "2020-01-01", "")],
        )
    )
    release_without_prompts(store, changes="sets")
    return store


def spoil(store, table, column, change):
    """Write a table's last partition again with a column changed in its first row."""
    version = store.lake.versions(table.name)[-1]
    first, *others = pa.concat_tables([pa.parquet.read_table(path) for path in version.paths()]).to_pylist()
    rows = [{**first, column: change(first[column])}, *others]
    store.write(table, version.partition, [pa.Table.from_pylist(rows, table.schema)], Provenance())


@pytest.mark.parametrize(
    ("promise", "column", "change"),
    [
        (no_subject_in_two_splits(DYNAMIC_TEMPLAMA_QUERIES), "split", lambda old: "val" if old == "train" else "train"),
        (EVERY_STATEMENT_EXISTS, "members", lambda old: [{**old[0], "fact_id": "Q9$9"}]),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_a_promise_holds_of_what_was_built_and_can_be_broken(built, promise, column, change):
    assert promise.broken(built, Subject()) == []
    spoil(built, promise.about, column, change)
    assert promise.broken(built, Subject())


def test_checks_are_asset_checks():
    names = {
        key.name
        for benchmark in (TEMPLAMA, DYNAMIC_TEMPLAMA)
        for one in benchmark_checks(benchmark)
        for key in one.check_keys
        if not key.asset_key.path[-1].startswith("fact_")
    }
    assert names == {
        "no_subject_is_in_two_splits",
        "updates_are_found_from_either_side",
        "every_answer_is_asked",
    }
