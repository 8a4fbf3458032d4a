"""The work of a step: what it reads is refused or recorded, what it writes says so, and what stands is not made again."""

from datetime import date

import pyarrow as pa
import pytest

from tempkb.benchmarks.register import alone, mark_built, write_entry
from tempkb.benchmarks.work import make_table, working
from tempkb.core.errors import ContractError
from tempkb.core.filtering import LeftOut
from tempkb.core.settings import load_home
from tempkb.store.drafts import Provenance
from tempkb.store.memory import in_memory
from tempkb.store.store import Store
from tempkb.wiki.mentions.tables import PAGE_TEXTS
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb_tests.benchmarks.test_methods import COUNTED, ROWS, TOLD, own_row, release_of, rows_of
from tempkb_tests.damage import cut_off

CUT = "2022-01-01"


@pytest.fixture
def store(home_folder):
    return Store(load_home(), (TOLD, COUNTED, ROWS, STABLE_SNAPSHOTS, PAGE_TEXTS))


@pytest.fixture
def work(store):
    write_entry(store.home, "toy", "mine", {})
    with alone(store.home, "mine"), working(store, release_of("mine", y2022=(1, 2)), print) as work:
        yield work


def exclusions(version):
    return [(row["reason"], row["n"], row["example"]) for row in version.side_rows("exclusions")]


def test_what_is_read_is_a_view_and_recorded_with_what_is_written(work):
    rows = work.write(ROWS, f"mine.{CUT}", rows_of("mine", 1, 2))
    assert (rows.inputs, rows.settings) == ({}, {CUT: [1, 2]})
    (read,) = work.read(ROWS, f"mine.{CUT}", "numbers")
    assert read == rows
    assert [one for batch in work.rows("SELECT n FROM numbers ORDER BY n") for one in batch["n"].to_pylist()] == [1, 2]
    work.settings["rule"] = "strict"
    told = work.write(TOLD, "mine", [{"wiki": "w", "release": "mine", "n": 2}])
    assert told.inputs == {f"rows mine.{CUT}": rows.version}
    assert told.settings == {CUT: [1, 2], "rule": "strict"}


def test_a_branch_records_its_own_sources(work):
    work.write(ROWS, f"mine.{CUT}", rows_of("mine", 1))
    work.write(ROWS, "mine.2023-01-01", rows_of("mine", 2, cut="2023-01-01"))
    work.read(ROWS, f"mine.{CUT}")
    branch = work.branch()
    branch.read(ROWS, ["mine.2023-01-01"])
    branch.settings["rule"] = "of the branch"
    assert branch.write(COUNTED, "mine", own_row("mine", 1)).inputs.keys() == {
        f"rows mine.{CUT}",
        "rows mine.2023-01-01",
    }
    told = work.write(TOLD, "mine", own_row("mine", 1))
    assert told.inputs.keys() == {f"rows mine.{CUT}"}
    assert told.settings == {CUT: [1, 2]}


def test_files_of_what_a_release_is_made_from_are_those_of_its_source(work, store):
    """A balanced release outlives the dumps of the other's snapshots."""
    files = {"wiki-20220101/history.xml": "0" * 64}
    store.write(ROWS, f"other.{CUT}", [rows_of("other", 7)], Provenance(files))
    (other,) = work.read(ROWS, f"other.{CUT}", of="other")
    assert work.write(TOLD, "mine", own_row("mine", 1)).inputs == {f"rows other.{CUT}": other.version} | files


def test_what_is_absent_or_lost_is_refused_in_one_form_with_its_command(work, store):
    form = "release 'mine': {} is not built, was lost to damage, or is older than its sources; {}"
    cut_off(work.write(ROWS, f"mine.{CUT}", rows_of("mine", 1)).places()[0])
    for table, keys, what, how in (
        (ROWS, f"mine.{CUT}", f"rows of mine.{CUT}", "build it first: tempkb release finish mine"),
        (TOLD, "mine", "told of mine", "build it first: tempkb release finish mine"),
        (PAGE_TEXTS, ["2022-01-01"], "page_texts of 2022-01-01", "build it first: tempkb build"),
        (
            STABLE_SNAPSHOTS,
            "2000-10-01",
            "stable_snapshots of 2000-10-01",
            f"the home's windows begin on {store.home.settings.first_window} (first_window), so only later snapshots can "
            "be built",
        ),
    ):
        with pytest.raises(ContractError) as refused:
            work.read(table, keys)
        assert str(refused.value) == form.format(what, how)


def test_what_is_not_current_is_refused_only_where_that_is_asked(work, store):
    row = dict.fromkeys(PAGE_TEXTS.column_names()) | {"page_id": 1, "revision_id": 2, "quarter": date(2022, 1, 1)}
    store.write(PAGE_TEXTS, "2022-01-01", [pa.Table.from_pylist([row], PAGE_TEXTS.schema)], Provenance())
    assert len(work.read(PAGE_TEXTS, "2022-01-01")) == 1
    with pytest.raises(ContractError, match="page_texts of 2022-01-01 is not built, .* older than its sources"):
        work.read(PAGE_TEXTS, "2022-01-01", current=True)


def test_what_stands_follows_tables_of_the_release_and_no_others(work, store):
    store.write(ROWS, f"other.{CUT}", [rows_of("other", 7)], Provenance())
    work.write(ROWS, f"mine.{CUT}", rows_of("mine", 1))
    work.read(ROWS, f"mine.{CUT}")
    work.read(ROWS, f"other.{CUT}", of="other")
    assert not work.stands(TOLD, "mine")
    work.write(TOLD, "mine", own_row("mine", 1))
    assert work.stands(TOLD, "mine")
    store.write(ROWS, f"other.{CUT}", [rows_of("other", 8)], Provenance())
    assert work.stands(TOLD, "mine"), "it is frozen"
    work.write(ROWS, f"mine.{CUT}", rows_of("mine", 2))
    assert not work.stands(TOLD, "mine")
    work.write(ROWS, f"mine.{CUT}", rows_of("mine", 1))
    assert work.stands(TOLD, "mine"), "equal rows are the same version"
    store.lake.remove("rows", f"mine.{CUT}")
    assert not work.stands(TOLD, "mine")


def test_what_was_left_out_is_read_after_the_rows_with_which_it_is_counted(work):
    left_out = LeftOut.of([("odd", 2, "1"), ("never", 0, "x")], [("no example", 1, None)])

    def rows():
        yield rows_of("mine", 2)
        left_out.add("odd", "3")

    version = work.write(ROWS, f"mine.{CUT}", rows(), left_out)
    assert exclusions(version) == [("no example", 1, ""), ("odd", 3, "1")]


def test_who_reads_a_built_release_takes_what_it_lists(store):
    write_entry(store.home, "toy", "mine", {})
    listed = store.write(TOLD, "mine", [own_row("mine", 1)], Provenance())
    mark_built(store, "mine")
    store.write(TOLD, "mine", [own_row("mine", 2)], Provenance())
    with working(store, release_of("mine", y2022=(1,))) as work:
        assert work.read(TOLD, "mine") == [listed]


def test_tables_of_rows_have_the_types_that_they_are_given():
    with in_memory() as connection:
        make_table(
            connection, "made", "day DATE, n SMALLINT, name VARCHAR", [(date(2022, 1, 1), 1, None), (None, 2, None)]
        )
        assert connection.sql("FROM made ORDER BY n").fetchall() == [(date(2022, 1, 1), 1, None), (None, 2, None)]
        make_table(connection, "made", "n SMALLINT", [])
        assert connection.sql("FROM made").fetchall() == []
        assert connection.sql("FROM made").types == ["SMALLINT"]
