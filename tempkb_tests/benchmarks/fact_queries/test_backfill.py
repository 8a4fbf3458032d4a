"""Through Dagster: several releases of one benchmark, and several dumps, each in one run."""

import json
from pathlib import Path

import pytest

from tempkb_tests.benchmarks.fact_queries.worlds import players
from tempkb_tests.conftest import run_script
from tempkb_tests.wiki.wikidata.items import write_lines

RUN = """
import json, sys
from pathlib import Path
from datetime import date
from tempkb.benchmarks.dynamic_templama.benchmark import DYNAMIC_TEMPLAMA
from tempkb.benchmarks.fact_queries.design import make_design
from tempkb.benchmarks.register import release_names
from tempkb.benchmarks.register import create, keep
from tempkb.wiki.dumps.catalogue import remember
from tempkb.wiki.dumps.entities import name_entities
from tempkb.core.errors import ContractError
from tempkb.core.failures import innermost
from tempkb.platform.instance import dagster_at
from tempkb.core.settings import load_home
home, told = load_home(), {}
dumps = [name_entities([Path(path)]) for path in sys.argv[1:]]
for dump in dumps:
    remember(home.dumps, dump)
for name, granularity in (("quarters", "quarter"), ("years", "year"), ("bad", "year"), ("other", "year")):
    design = make_design("dynamic_templama", "tempkb", dumps[0].dump_id, "2019-01-01..2021-01-01", granularity)
    keep(home, create(home, DYNAMIC_TEMPLAMA, "tempkb", design, name))
with dagster_at(home) as instance:
    from tempkb.platform.definitions import defs
    for job, family, keys in (
        ("read_wikidata", "dumps", [dump.dump_id for dump in dumps]),
        ("build_dynamic_templama", "dynamic_templama_releases", ["quarters", "years"]),
    ):
        instance.add_dynamic_partitions(family, keys)
        tags = {"dagster/asset_partition_range_start": keys[0], "dagster/asset_partition_range_end": keys[-1]}
        done = defs.resolve_job_def(job).execute_in_process(instance=instance, tags=tags)
        told[job] = sorted({(event.asset_key.to_user_string(), event.partition)
                            for event in done.all_events if event.is_step_materialization})
    from tempkb.benchmarks.dynamic_templama import building
    make = building.make_changes
    def fail(study, release, *windows):
        if release.name == "bad":
            raise ContractError("a fault of one")
        return make(study, release, *windows)
    building.make_changes = fail
    instance.add_dynamic_partitions("dynamic_templama_releases", ["bad", "other"])
    tags = {"dagster/asset_partition_range_start": "bad", "dagster/asset_partition_range_end": "other"}
    done = defs.resolve_job_def("build_dynamic_templama").execute_in_process(
        instance=instance, tags=tags, raise_on_error=False)
    told["error"] = [innermost(one.step_failure_data.error) for one in done.all_events if one.is_step_failure]
    told["partitions"] = sorted(instance.get_dynamic_partitions("dynamic_templama_releases"))
told["register"] = release_names(home)
told["lake"] = sorted({path.parent.name for path in home.lake.glob("*/*/CURRENT")
                       if not path.read_bytes().startswith(b"- ")})
print(json.dumps(told))
"""


@pytest.mark.slow
def test_one_run_makes_several_partitions_or_of_new_releases_none(home_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("TEMPKB_WIKI", "xwiki")
    monkeypatch.setenv("TEMPKB_FIRST_WINDOW", "2019-01-01")
    world = players(Ada=[("Q101", "2018-01-01", "2019-06-30"), ("Q102", "2019-07-01", "")])
    paths = [write_lines(tmp_path / f"wikidata-{day}-all.json", world) for day in ("20210101", "20210401")]
    done = run_script(RUN, *map(str, paths))
    told = json.loads(done.stdout.splitlines()[-1])
    assert {key for name, key in told["read_wikidata"] if name == "facts"} == {
        "wikidatawiki-20210101",
        "wikidatawiki-20210401",
    }
    assert {key for name, key in told["build_dynamic_templama"] if name == "dynamic_templama_changes"} == {
        "quarters",
        "years",
    }
    assert Path(home_folder / "lake/dynamic_templama_changes/quarters.2020-10-01/CURRENT").exists()
    # Of the second run one release has failed, and the other was half built by then.
    assert told["error"] == [
        "a fault of one. Nothing was kept of release 'bad'. Not built either, since the run ended here: other"
    ]
    assert told["partitions"] == told["register"] == ["quarters", "years"]
    assert not [key for key in told["lake"] if key.startswith(("bad", "other"))]
