"""The facts of the demo world: what was heard late and what was corrected, with rows by hand."""

from datetime import date

import pytest

from tempkb.demo.export import write_entities
from tempkb.platform.api import open_store
from tempkb.store.plain import plain_rows
from tempkb.wiki.dumps.catalogue import find_dumps
from tempkb.wiki.wikidata.building import read_dump


@pytest.fixture(scope="module")
def store(tmp_path_factory, world):
    """Both Wikidata dumps of the demo world."""
    home = tmp_path_factory.mktemp("facts") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEMPKB_HOME", str(home))
        patch.setenv("TEMPKB_WIKI", "demowiki")
        patch.setenv("TEMPKB_FIRST_WINDOW", "2021-01-01")
        for day in world.dump_days:
            write_entities(world, day, home / "dumps")
        for dump in find_dumps(home / "dumps"):
            read_dump(open_store(), dump, print)
        yield open_store()


def test_23_what_was_heard_late_and_what_was_corrected(store, world):
    rows = plain_rows(store.read("fact_versions"))
    times = ("known_from", "start_known_from", "known_to")
    known = {(row["fact_id"], str(row["valid_from"])): tuple(row[name] for name in times) for row in rows}
    second = date(2024, 4, 1)
    late = next(one for one in world.facts.statements if one.story == "late" and one.entered)
    wrong, right = [one for one in world.facts.statements if one.story == "corrected"][1:]
    assert wrong.guid == right.guid
    assert known[late.guid, "2023-07-12"] == (second, second, None)
    assert known[wrong.guid, "2021-10-07"] == (None, None, second)
    # That she holds the office was known before; of her first day it was heard late.
    assert known[right.guid, "2022-01-07"] == (None, second, None)
    edits = {
        str(row["window_start"]): row
        for row in store.read("late_edits", dump_id="wikidatawiki-20240401", relation="all").to_pylist()
    }
    # Lateham's new head came two quarters late (that its old one lost the better rank is none of the window's facts);
    # Wrongton's is no longer one in the last quarter of 2021.
    assert [edits["2023-07-01"][name] for name in ("n_added", "n_removed", "n_changed")] == [1, 0, 0]
    assert [edits["2021-10-01"][name] for name in ("n_added", "n_removed", "n_changed")] == [0, 1, 0]
    assert [edits["2021-01-01"][name] for name in ("n_added", "n_removed", "n_changed")] == [0, 0, 0]
