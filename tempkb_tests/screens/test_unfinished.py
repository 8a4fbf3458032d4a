"""A release whose run was killed: `tempkb status` names it and says what to type, and that finishes it."""

from datetime import date
from unittest import mock

from click.testing import CliRunner

from tempkb import release_runs
from tempkb.benchmarks.register import COMMAND, alone
from tempkb.benchmarks.tempel import releases
from tempkb.benchmarks.tempel.design import make_design
from tempkb.cli import main
from tempkb.run import Summary
from tempkb.screens.status import print_status
from tempkb.settings import load_home


def test_a_release_that_is_not_finished_is_named_with_what_to_type(home_folder, capsys):
    home = load_home()
    asked = releases.create(home, "small", make_design("small", [date(2022, 1, 1)]), "mine")
    releases.keep(home, asked)
    print_status()
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "release mine is not finished, since a run of it was killed; finish it: tempkb release finish mine, "
        "or remove it: tempkb rm --release mine"
    ) in said
    with alone(home, "mine", COMMAND):
        print_status()
    assert "release mine is being built" in capsys.readouterr().out
    refused = CliRunner().invoke(main, ["release", "export", "mine", str(home_folder / "exports")])
    assert refused.exit_code == 1
    assert "release 'mine': is not finished" in refused.output
    with mock.patch.object(release_runs, "_build", return_value=Summary()) as build:
        done = CliRunner().invoke(main, ["release", "finish", "mine"])
    assert (done.exit_code, done.output) == (0, "release mine is built.\n")
    assert build.call_args.args[1:] == ("build_tempel", "mine")
