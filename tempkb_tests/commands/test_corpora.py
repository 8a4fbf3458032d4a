"""Corpora as people type them, and as the UI makes them."""

import json
import re

import pytest
from click.testing import CliRunner

from tempkb.commands.cli import main
from tempkb.models.corpora.tables import DATED_TEXTS
from tempkb.platform.api import open_store
from tempkb_tests.conftest import run_script
from tempkb_tests.models.corpora.small_wiki import Q1, Q2, Q3, small_wiki

IN_THE_UI = """
import json, sys
from tempkb.platform.automation import CORPORA_JOB
from tempkb.platform.definitions import defs
from tempkb.core.failures import innermost
from tempkb.platform.instance import dagster_at
from tempkb.core.settings import load_home
told = []
with dagster_at(load_home()) as instance:
    for name, config in json.loads(sys.argv[1]):
        instance.add_dynamic_partitions("corpora", [name])
        done = defs.resolve_job_def(CORPORA_JOB).execute_in_process(
            instance=instance, partition_key=name, run_config={"ops": {"dated_texts": {"config": config}}},
            raise_on_error=False)
        errors = [innermost(one.step_failure_data.error) for one in done.all_events if one.is_step_failure]
        told.append([done.success, errors, instance.get_dynamic_partitions("corpora")])
print(json.dumps(told))
"""


def typed(*words, code=0):
    done = CliRunner().invoke(main, list(words))
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def store(home_folder, tmp_path, monkeypatch):
    return small_wiki(tmp_path, monkeypatch)


@pytest.fixture
def news(tmp_path):
    path = tmp_path / "news.jsonl"
    path.write_text(json.dumps({"text": "It rained in 2019.", "date": "2019-05-05"}) + "\n", "utf-8")
    return str(path)


@pytest.mark.slow
def test_corpora_are_made_added_listed_shown_and_removed(store, news):
    assert "2020-04-01" in typed("corpus", "make", "--chunker", "none")
    assert "2019-04-01" in typed("corpus", "add", "news", news, "--chunker", "none")
    listed = [line.split("│")[1:6] for line in typed("corpus", "list").splitlines() if "│" in line]
    assert [[cell.strip() for cell in line] for line in listed] == [
        ["home", "3", Q1, Q3, "9"],
        ["news", "1", "2019-04-01", "2019-04-01", "1"],
    ]
    (row,) = (line for line in typed("corpus", "show", "news").splitlines() if "2019-04-01 │" in line)
    assert [cell.strip() for cell in row.split("│")[1:-1]] == ["2019-04-01", "1", "1", "100.0", "100.0", "100.0"]
    assert "dated_texts (" not in typed("status")
    assert "made from stable_snapshots, page_texts, page_links" in typed("tables", "dated_texts")
    typed("corpus", "rm", "news", "--yes")
    for command in ("show", "rm"):
        assert "no such corpus; there: home" in typed("corpus", command, "news", code=1)
    # A window goes with what was made of it.
    typed("rm", "--window", Q2, "--yes")
    assert store.lake.partitions(DATED_TEXTS.name) == [f"home.{Q1}", f"home.{Q3}"]
    assert re.search(r"dated_texts \(1 partition\); renew: .*tempkb corpus make\n", typed("status"))
    typed("rm", "--corpus", "home", "--yes")
    assert store.lake.partitions(DATED_TEXTS.name) == []


@pytest.mark.slow
def test_a_damaged_corpus_is_named_and_made_again(store, news):
    typed("corpus", "make", "--chunker", "none")
    typed("corpus", "add", "news", news, "--chunker", "none")
    before = {one.partition: one.version for one in store.lake.versions(DATED_TEXTS.name)}
    for key in (f"home.{Q2}", "news.2019-04-01"):
        (path,) = store.lake.current(DATED_TEXTS.name, key).paths()
        path.write_bytes(path.read_bytes()[:-1])
    said = typed("verify", code=1)
    assert "tempkb corpus make" in said
    assert "tempkb corpus add news FILE..." in said
    typed("corpus", "make")
    typed("corpus", "add", "news", news, "--chunker", "none")
    assert {one.partition: one.version for one in open_store().lake.versions(DATED_TEXTS.name)} == before


@pytest.mark.slow
def test_names_that_do_not_fit_are_refused_before_anything_is_written(home_folder, news):
    for name in ("home", "../x"):
        assert "expected none for home" in typed("corpus", "add", name, news, code=1)
    assert not home_folder.exists()


@pytest.mark.slow
def test_a_run_in_the_ui_makes_what_a_command_makes(store, news):
    runs = [
        ("home", {"chunker": "none"}),
        ("news", {"files": [news], "chunker": "none"}),
        ("odd", {"files": ["/no/file"]}),
    ]
    home, own, odd = json.loads(run_script(IN_THE_UI, json.dumps(runs)).stdout.splitlines()[-1])
    assert home == [True, [], ["home"]]
    assert own == [True, [], ["home", "news"]]
    assert odd[0] is False
    assert odd[2] == ["home", "news"]
    assert "/no/file" in odd[1][0]
    assert store.lake.partitions(DATED_TEXTS.name) == [f"home.{Q1}", f"home.{Q2}", f"home.{Q3}", "news.2019-04-01"]
