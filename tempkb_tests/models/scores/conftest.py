"""A home with three people, a team and a release of their facts; and tiny models of random weights."""

import shutil

import pytest

from tempkb.models.adding import add_model
from tempkb.models.requests import request_of
from tempkb.platform.api import open_store
from tempkb_tests.benchmarks.fact_queries.worlds import DAY, players, quiet, release
from tempkb_tests.models.conftest import saved  # noqa: F401 - a fixture of this package, too
from tempkb_tests.wiki.wikidata.items import item, read_home, said


@pytest.fixture
def add(saved):  # noqa: F811
    """Adds a model of a kind to a home; its name is that of the kind."""

    def add_to(store, kind):
        name = kind.replace("_", "-")
        add_model(store, request_of(name, {"checkpoint": str(saved(kind))}), quiet)
        return name

    return add_to


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The home of `store`, built once."""
    people = players(
        Ada=[("Q101", "2018-01-01", "2019-06-30"), ("Q102", "2019-07-01", "")],
        Ben=[("Q102", "2018-01-01", "2019-06-30"), ("Q103", "2019-07-01", "")],
        Cem=[("Q101", "2018-01-01", "2019-09-30"), ("Q103", "2019-10-01", "")],
    )
    coaches = [said("Q201$0", "Q1", "2018-01-01", "2019-06-30"), said("Q201$1", "Q2", "2019-07-01", "")]
    team = item("Q201", "Reed Town", "Reed Town", P286=coaches)
    with pytest.MonkeyPatch.context() as patched:
        store = read_home(tmp_path_factory.mktemp("built"), patched, {DAY: [*people, team]})
        release(store, windows="2019-01-01..2020-01-01")
    return store.home.path


@pytest.fixture
def store(built, tmp_path, monkeypatch):
    """Ada leaves Reed for Salt, Ben Salt for Moss, Cem Reed for Moss; the coach of Reed Town changes as well."""
    read_home(tmp_path, monkeypatch, {})
    shutil.copytree(built, tmp_path / "home", dirs_exist_ok=True)
    return open_store()
