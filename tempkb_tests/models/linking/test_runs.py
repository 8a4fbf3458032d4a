"""Runs of a linker as the UI starts them: all steps of the job, with a configuration or without one."""

import json

import pytest
from click.testing import CliRunner

from tempkb.commands.cli import main
from tempkb.models.linking.linkers import add_linker
from tempkb.models.linking.requests import linker_request
from tempkb.models.linking.tables import LINKING_SCORES
from tempkb_tests.conftest import run_script
from tempkb_tests.models.linking.small_home import small_home
from tempkb_tests.models.linking.tiny import save_encoder

IN_THE_UI = """
import json, sys
from tempkb.platform.automation import LINKERS_JOB
from tempkb.platform.definitions import defs
from tempkb.core.failures import innermost
from tempkb.platform.instance import dagster_at
from tempkb.core.settings import load_home
told = []
with dagster_at(load_home()) as instance:
    for name, ops in json.loads(sys.argv[1]):
        instance.add_dynamic_partitions("linkers", [name])
        given = {"ops": {op: {"config": config} for op, config in ops.items()}}
        done = defs.resolve_job_def(LINKERS_JOB).execute_in_process(
            instance=instance, partition_key=name, run_config=given, raise_on_error=False)
        errors = [innermost(one.step_failure_data.error) for one in done.all_events if one.is_step_failure]
        made = [one.asset_key.to_user_string() for one in done.get_asset_materialization_events()]
        told.append([done.success, errors, made])
print(json.dumps(told))
"""


@pytest.mark.slow
def test_a_run_scores_baselines_and_linkers_that_are_there(tmp_path, monkeypatch):
    store = small_home(tmp_path / "home", monkeypatch)
    save_encoder(tmp_path / "encoder", "bert", markers=False, max_tokens=32)
    add_linker(store, linker_request("own", {"checkpoint": str(tmp_path / "encoder")}), lambda _: None)
    runs = [("prior", {}), ("own", {"link": {"cuts": "2022-01-01"}}), ("own", {"link": {"pools": "odd"}}), ("new", {})]
    done = run_script(IN_THE_UI, json.dumps(runs))
    prior, own, odd, new = json.loads(done.stdout.splitlines()[-1])
    assert prior == [True, [], ["linkers", "linking_scores"]]
    assert own == [True, [], ["linkers", "entity_vectors", "linking_scores"]]
    assert odd[0] is new[0] is False
    assert "pool: found 'odd'" in odd[1][0]
    assert "found neither a checkpoint nor a release" in new[1][0]
    assert store.lake.partitions(LINKING_SCORES.name) == [
        "own--r--2022-01-01--own",
        "prior--r--2022-01-01--own",
        "prior--r--2023-01-01--own",
    ]


def test_without_a_release_nothing_is_scored_and_no_home_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", str(tmp_path / "home"))
    for typed in (["--all"], ["bm25"]):
        done = CliRunner().invoke(main, ["linker", "score", *typed])
        assert done.exit_code == 1
        assert f"linker score: found no release of TempEL that is built in {tmp_path / 'home'};" in done.output
        assert "make one, such as: " in done.output
    assert not (tmp_path / "home").exists()
