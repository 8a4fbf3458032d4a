"""`tempkb.open().read`: rows, and clear errors where what was asked for was never made."""

import pytest

import tempkb
from tempkb.core.errors import SettingsError
from tempkb.platform.api import open_store
from tempkb.store.drafts import Provenance
from tempkb_tests.wiki.wikidata.items import item, read_home, said


@pytest.fixture
def store(tmp_path, monkeypatch):
    ada = item("Q1", "Ada", "Ada", P54=[said("Q1$1", "Q2", "2019")])
    return read_home(tmp_path, monkeypatch, {"2020-01-01": [ada]})


@pytest.mark.parametrize("name", ["facts", "fact_versions", "exclusions", "rebuild_changes"])
def test_an_absent_home_is_no_empty_one(home_folder, name):
    said = f"home {home_folder}: no such folder; expected a home; build one: TEMPKB_HOME={home_folder} tempkb build"
    with pytest.raises(SettingsError, match=f"^{said} --dump FILE$"):
        tempkb.open().read(name)
    assert not home_folder.exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("stable_snapshots", "stable_snapshots: nothing of it is built yet; build it: TEMPKB_HOME=.* tempkb build$"),
        (
            "tempel_mentions",
            "tempel_mentions: nothing of it is built yet; build it: TEMPKB_HOME=.* tempkb release tempel --help$",
        ),
        ("answer_tokens", "answer_tokens: nothing of it is built yet; build it: .* tempkb release tokens --help$"),
        ("generations", "generations: nothing of it is built yet; build it: TEMPKB_HOME=.* tempkb model --help$"),
        ("knows", "knows: nothing of it is built yet; build it: TEMPKB_HOME=.* tempkb results$"),
        ("red_links", "page_links: nothing of it is built yet"),
        ("date_results", "prompt_scores: nothing of it is built yet"),
    ],
)
def test_a_table_of_which_nothing_is_built_says_what_to_type(store, name, message):
    with pytest.raises(SettingsError, match=message):
        tempkb.open().read(name)


def test_what_is_built_may_have_no_rows(store):
    assert tempkb.open().read("facts").num_rows == tempkb.open().read("fact_versions").num_rows == 1
    assert tempkb.open().read("facts", subject_id="Q9").num_rows == 0
    assert tempkb.open().read("undated_statements").num_rows == 0
    assert tempkb.open().read("undated_statements", dump_id="wikidatawiki-20200101").num_rows == 0
    assert tempkb.open().read("rebuild_changes").num_rows == 0, "no window was ever rebuilt"


def test_a_dump_release_or_window_of_which_there_is_nothing_names_those_that_are_there(store):
    with pytest.raises(SettingsError, match="dump_id x-20210101: facts has nothing of it; .*: wikidatawiki-20200101$"):
        tempkb.open().read("facts", dump_id="x-20210101")
    empty = store.tables["templama_queries"].schema.empty_table()
    for window in ("2018-01-01", "2019-01-01"):
        store.write(store.tables["templama_queries"], f"mine.{window}", [empty], Provenance())
    assert tempkb.open().read("templama_queries", release="mine", window_start="2018-01-01").num_rows == 0
    for wrong in ({"release": "min"}, {"release": "mine.2018"}, {"window_start": "2020-01-01"}):
        with pytest.raises(SettingsError, match=f"{next(iter(wrong))} .*: templama_queries has nothing of it"):
            tempkb.open().read("templama_queries", **wrong)
    assert open_store().read("templama_queries", release="min").num_rows == 0, (
        "steps of a build read what may be absent"
    )
