"""What commands did is written down however they end, and read once."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tempkb.core.journal import journaled, read_journal
from tempkb.core.settings import load_home

# Says that it has begun inside the block, and waits there.
WAITING = """
from tempkb.core.journal import journaled
from tempkb.core.settings import load_home
with journaled(load_home(), "tempkb build", "mentions", ["2021", "2022"], []):
    print("begun", flush=True)
    input()
"""


@pytest.fixture
def home(home_folder):
    return load_home()


def read(home, start=0):
    return [entry for entry, _ in read_journal(home, start)]


def test_an_entry_has_what_was_typed_its_keys_its_time_and_its_own_failures(home):
    failures = ["of before"]
    with journaled(home, "tempkb score x", "prompt_scores", ("x",), failures):
        failures.append("x: no such model")
    with journaled(home, "tempkb results", "knowledge", (), failures):
        pass
    first, second = read(home)
    assert (first.command, first.table, first.keys) == ("tempkb score x", "prompt_scores", ["x"])
    assert first.failures == ["x: no such model"]
    assert (second.keys, second.failures) == ([], [])
    assert first.began <= first.ended <= second.began <= second.ended
    assert first.run_id != second.run_id
    assert [path.name for path in home.working.iterdir()] == ["journal.jsonl"]


@pytest.mark.parametrize(
    ("error", "said"),
    [(KeyboardInterrupt(), "interrupted"), (ValueError("7"), "ValueError('7')"), (MemoryError(), "memory ran out")],
)
def test_what_is_thrown_is_a_failure_and_goes_on(home, error, said):
    with pytest.raises(type(error)), journaled(home, "tempkb build", "mentions", ["2021"], []):
        raise error
    (entry,) = read(home)
    assert [one.partition(";")[0] for one in entry.failures] == [said]


def test_a_command_that_is_killed_has_failed_and_one_that_works_has_not_ended(home):
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ, text=True
    )
    try:
        assert process.stdout.readline() == "begun\n"
        assert read(home) == []
        process.send_signal(signal.SIGKILL)
    finally:
        process.communicate()
    (entry,) = read(home)
    assert (entry.table, entry.keys) == ("mentions", ["2021", "2022"])
    assert [one.partition(",")[0] for one in entry.failures] == ["The command was killed"]
    assert read(home) == [entry]


def test_each_entry_is_read_once_and_a_line_that_was_cut_says_nothing(home):
    for name in ("a", "b"):
        with journaled(home, f"tempkb {name}", "models", [name], []):
            pass
    (one, after_one), (two, after_two) = read_journal(home, 0)
    assert (one.command, two.command) == ("tempkb a", "tempkb b")
    assert read(home, after_one) == [two]
    assert read(home, after_two) == []
    journal = home.working / "journal.jsonl"
    with journal.open("a") as file:
        file.write('{"run_id": "cut of\n{}\n[]\n')
        file.write(json.dumps({**json.loads(journal.read_text().splitlines()[0]), "command": "tempkb c"}) + "\n")
    assert [entry.command for entry in read(home, after_two)] == ["tempkb c"]
    journal.write_bytes(journal.read_bytes()[:after_one])
    assert read(home, after_two) == [one]
