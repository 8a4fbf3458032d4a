"""What the checks of the room find in tables that were spoiled by hand, and what each looks at."""

from datetime import date

import dagster as dg
import pyarrow as pa
import pytest

from tempkb.platform.definitions import assets_of, checks_of
from tempkb.store.drafts import Provenance
from tempkb.store.memory import asking, view_files
from tempkb.store.promises import Subject
from tempkb.wiki.mentions.steps import PROMISES
from tempkb.wiki.mentions.tables import INVERTED_INDEX, MENTION_PRIORS, ROOM
from tempkb_tests.wiki.mentions.test_building import build_all
from tempkb_tests.wiki.revisions.builds import export, page, revision

PRIORS, INDEX, *_ = PROMISES


@pytest.fixture
def built(home_folder, tmp_path):
    """Two quarters: pages 1 and 2 in the first, page 3 in the second; signs of two and four bytes before the links."""
    file = tmp_path / "history.xml"
    file.write_bytes(
        export(
            page(1, revision(11, "2020-01-05T00:00:00Z", "Ünder 𝄞 [[Two|the other]] and [[Two]]."), title="One"),
            page(2, revision(21, "2020-01-06T00:00:00Z", "No link."), title="Two"),
            page(3, revision(31, "2020-05-05T00:00:00Z", "Of [[One]]."), title="Three"),
        )
    )
    store, _ = build_all(file, date(2020, 7, 1))
    return store


def spoil(store, table, partition, column, value):
    """Write a partition again with another value in its last row, as if its step had."""
    version = store.lake.current(table.name, partition)
    rows = pa.parquet.read_table(version.paths()[0])
    at = rows.schema.get_field_index(column)
    values = pa.array([*rows[column].to_pylist()[:-1], value], rows.schema.field(at).type)
    made = Provenance(version.inputs, version.settings, stamp=version.stamp)
    store.write(table, partition, [rows.set_column(at, rows.schema.field(at), values)], made)


def test_what_was_built_breaks_nothing(built):
    assert [one.broken(built, Subject()) for one in PROMISES] == [[]] * len(PROMISES)


def test_priors_and_counts_that_do_not_add_up_are_found(built):
    spoil(built, MENTION_PRIORS, "2020-04-01", "prior", 0.5)
    assert [str(row[0]) for row in PRIORS.broken(built, Subject())] == ["2020-07-01"]
    spoil(built, INVERTED_INDEX, "2020-01-01", "n_mentions", 7)
    assert [(str(row[0]), row[1]) for row in INDEX.broken(built, Subject())] == [("2020-04-01", 6)]


def is_passed(store, name, key, instance):
    """Run a check about a window."""
    (check,) = (one for one in checks_of(ROOM, store.home) for key_of in one.check_keys if key_of.name == name)
    result = dg.materialize(
        [*assets_of(ROOM, store.home), check],
        instance=instance,
        resources={"store": store},
        tags={"dagster/partition": key},
        selection=dg.AssetSelection.checks(check),
    )
    (one,) = result.get_asset_check_evaluations()
    return one.passed


def test_a_run_checks_its_own_windows(built):
    spoil(built, INVERTED_INDEX, "2020-01-01", "n_mentions", 7)
    with dg.DagsterInstance.ephemeral() as instance:
        assert is_passed(built, "the_index_counts_every_mention", "2020-04-01", instance)
        assert not is_passed(built, "the_index_counts_every_mention", "2020-01-01", instance)


def test_questions_do_not_see_one_anothers_views(built):
    files = built.lake.files("page_texts")
    with asking() as one, asking() as other:
        view_files(one, "texts", files)
        view_files(other, "texts", files[:1])
        assert one.execute("SELECT count(*) FROM texts").fetchall() == [(3,)]
        assert other.execute("SELECT count(*) FROM texts").fetchall() == [(2,)]
