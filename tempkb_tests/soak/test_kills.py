"""Nine jobs, each killed where it is nastiest and typed again: every table ends as in a home that was left in peace."""

import pytest

from tempkb_tests.conftest import run_module
from tempkb_tests.soak.jobs import TESTED


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_job_that_is_killed_and_typed_again_ends_as_if_nothing_had_been(tmp_path):
    done = run_module("tempkb_tests.soak", "--edges", "--folder", str(tmp_path))
    table = done.stdout.split("\n\n")[-1].splitlines()
    assert table[0].split() == ["job", "kills", "half", "lost", "unequal", "failed", "seconds"]
    rows = {line[:26].strip(): line[26:].split()[:5] for line in table[1:]}
    # One kill each, which found the process at work, and nothing half, lost, unequal or failed behind it.
    assert rows == dict.fromkeys(TESTED, ["1", "0", "0", "0", "0"])
