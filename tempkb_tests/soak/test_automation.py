"""The platform killed under a run, in part and whole: with no further hand it ends as if nothing had been."""

import pytest

from tempkb_tests.soak.automation import PLACES, Platform, make_homes


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_what_is_killed_goes_on_by_itself_once_the_ui_is_open(tmp_path):
    """The process that registers a dump, between its files and its pages; then all at once, while windows are built."""
    ends = make_homes(tmp_path, with_wikidata=False)
    platform = Platform(ends.dropped, tmp_path / "platform")
    for job in ("register_dump", "build_windows"):
        platform.stop_before(PLACES[job])
    try:
        platform.open()
        platform.kill("worker", platform.stopped(PLACES["register_dump"]))
        platform.kill("all", platform.stopped(PLACES["build_windows"]))
        assert platform.wait_until_equal(ends.in_the_end["build_windows"]) == []
        assert platform.runs() == [
            ("register_dump", "FAILURE"),
            ("register_dump", "SUCCESS"),
            ("build_windows", "FAILURE"),
            ("build_windows", "SUCCESS"),
        ]
    finally:
        platform.close()
