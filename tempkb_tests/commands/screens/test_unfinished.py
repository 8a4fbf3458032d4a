"""A release whose run was killed: `tempkb status` names it and says what to type, and that finishes it."""

from datetime import date
from unittest import mock

import pytest
from click.testing import CliRunner

from tempkb.benchmarks.register import create, keep, mark_built
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb.benchmarks.tempel.design import make_design
from tempkb.commands.cli import main
from tempkb.commands.runs import releases as release_runs
from tempkb.commands.runs.jobs import Summary
from tempkb.commands.screens.console import program
from tempkb.commands.screens.status import print_status
from tempkb.commands.screens.verify import print_verification
from tempkb.core.locks import locked
from tempkb.core.settings import load_home
from tempkb.platform.api import open_store
from tempkb.store.drafts import Provenance


def test_a_release_that_is_not_finished_is_named_with_what_to_type(home_folder, capsys):
    home = load_home()
    asked = create(home, TEMPEL, "small", make_design("small", [date(2022, 1, 1)]), "mine")
    keep(home, asked)
    print_status()
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "release mine is not finished, since a run of it was killed; finish it: "
        f"TEMPKB_HOME={home_folder} tempkb release finish mine, or remove it: "
        f"TEMPKB_HOME={home_folder} tempkb rm --release mine"
    ) in said
    with locked(home_folder / "releases" / ".mine.lock"):
        print_status()
    assert "release mine is being built" in capsys.readouterr().out
    refused = CliRunner().invoke(main, ["release", "export", "mine", str(home_folder / "exports")])
    assert refused.exit_code == 1
    assert "release 'mine': is not finished" in refused.output
    with mock.patch.object(release_runs, "build", return_value=Summary()) as build:
        done = CliRunner().invoke(main, ["release", "finish", "mine"])
    assert (done.exit_code, done.output) == (0, "release mine is built.\n")
    assert build.call_args.args == (TEMPEL, asked)


def test_verify_names_a_release_whose_run_was_killed_and_not_each_partition_of_it(home_folder, capsys):
    """A step had written two partitions, which were not published yet; a whole release beside it is compared as ever."""
    home = load_home()
    for name in ("mine", "whole"):
        keep(home, create(home, TEMPEL, "small", make_design("small", [date(2022, 1, 1)]), name))
    store = open_store()
    files = store.tables["dump_files"]
    store.write(files, "testwiki-20220101", [files.schema.empty_table()], Provenance({}, {}))
    store.publish()
    places = [
        (name, f"{release}.2022-01-01") for release in ("mine", "whole") for name in ("tempel_plans", "tempel_filters")
    ]
    for table, key in places:
        store.write(store.tables[table], key, [store.tables[table].schema.empty_table()], Provenance({}, {}))
    mark_built(store, "whole")
    with pytest.raises(SystemExit):
        print_verification([], "")
    said = capsys.readouterr().out.splitlines()
    (line,) = [one for one in said if "mine" in one]
    assert line == (
        "release mine: not finished, since a run of it was killed; expected all of it. "
        f"Finish it: TEMPKB_HOME={home_folder} {program()} release finish mine"
    )
    assert len([line for line in said if "whole.2022-01-01: not shown as the lake has it now" in line]) == 2
    with locked(home_folder / "releases" / ".mine.lock"), pytest.raises(SystemExit):
        print_verification([], "")
    assert "mine" not in capsys.readouterr().out, "nobody knows yet how its run ends"
