"""Runs of all four benchmarks as the UI starts them, with or without a fault in the code that writes the rows.

    python -m tempkb_tests.benchmarks.faults good|faulty

Prints, as JSON, for each release whether its run succeeded, and the words of its error.
"""

import json
import sys
from unittest import mock

from tempkb.failures import innermost
from tempkb.instance import dagster_at
from tempkb.settings import load_home

YEARS = "2021-01-01..2024-01-01"
WIKIDATA = "wikidatawiki-20240101"
RUNS = {
    "tempel": ("build_tempel", "tempel", {"preset": "small", "snapshots": "2022-01-01,2023-01-01"}),
    "ecbd": ("build_ecbd", "ecbd", {"preset": "small", "windows": YEARS, "cut": "2024-01-01", "dump_id": WIKIDATA}),
    "templama": (
        "build_templama",
        "templama_spells",
        {"windows": YEARS, "granularity": "year", "dump_id": WIKIDATA},
    ),
    "dynamic_templama": (
        "build_dynamic_templama",
        "dynamic_templama_spells",
        {"windows": YEARS, "granularity": "year", "dump_id": WIKIDATA},
    ),
}


def faults():
    """What each benchmark writes, with a row lost or changed on the way."""
    from tempkb.benchmarks.dynamic_templama import building as dynamic
    from tempkb.benchmarks.ecbd import building as ecbd
    from tempkb.benchmarks.tempel import building as tempel
    from tempkb.benchmarks.templama import methods as templama

    choose, make, future = tempel.choose_mentions, dynamic.make_changes, templama.future_relation_rows

    def without_first(rows):
        for batch in rows:
            yield batch.slice(1)

    return (
        mock.patch.object(tempel, "choose_mentions", lambda *told: without_first(choose(*told))),
        mock.patch.object(
            ecbd, "_CLOZE", ecbd._CLOZE.replace("substring(s.sentence, i.span_end_char + 1)", "'another end'")
        ),
        mock.patch.object(templama, "future_relation_rows", lambda *told: future(*told)[1:]),
        mock.patch.object(dynamic, "make_changes", lambda *told: make(*told).slice(1)),
    )


def main(kind):
    for fault in faults() if kind == "faulty" else ():
        fault.start()
    told = {}
    with dagster_at(load_home()) as instance:
        from tempkb.definitions import defs

        for benchmark, (job, step, config) in RUNS.items():
            name = f"{kind}-{benchmark}".replace("_", "-")
            instance.add_dynamic_partitions(f"{benchmark}_releases", [name])
            quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
            done = defs.resolve_job_def(job).execute_in_process(
                instance=instance,
                partition_key=name,
                raise_on_error=False,
                run_config={"ops": {step: {"config": config}}, **quiet},
            )
            errors = [innermost(one.step_failure_data.error) for one in done.all_events if one.is_step_failure]
            checks = {one.check_name: one.passed for one in done.get_asset_check_evaluations()}
            told[name] = {"success": done.success, "error": "; ".join(errors), "checks": checks}
        told["partitions"] = sorted(key for one in RUNS for key in instance.get_dynamic_partitions(f"{one}_releases"))
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1])
