"""What `make audit` says of pip-audit's answers."""

import json

from tempkb_tests.audit import verdict


def answer(*packages):
    return json.dumps({"dependencies": list(packages), "fixes": []})


GOOD = {"name": "click", "version": "8.1.0", "vulns": []}
BAD = {
    "name": "requests",
    "version": "2.19.0",
    "vulns": [{"id": "PYSEC-2018-28", "fix_versions": ["2.20.0"], "aliases": []}],
}
UNKNOWN = {"name": "torch", "skip_reason": "Dependency not found on PyPI"}


def test_a_vulnerable_version_is_named_with_the_one_that_mends_it():
    said, is_bad = verdict(answer(GOOD, BAD, UNKNOWN), "")
    assert is_bad
    assert said.splitlines() == [
        "requests 2.19.0: PYSEC-2018-28, mended in 2.20.0",
        "not audited: torch: Dependency not found on PyPI",
        "2 of 3 pinned versions audited, 1 vulnerabilities known.",
    ]
    assert verdict(answer(GOOD), "") == ("1 of 1 pinned versions audited, 0 vulnerabilities known.", False)


def test_where_nothing_can_be_asked_one_line_says_why():
    said, is_bad = verdict("", "Traceback\nrequests.ConnectionError: no route to host\n")
    assert (said, is_bad) == (
        "Not audited: pip-audit gave no answer (requests.ConnectionError: no route to host). It needs a network.",
        False,
    )
    assert verdict(answer(UNKNOWN), "")[0].startswith("Not audited: PyPI told nothing of any of 1 versions (torch: ")
