"""A build that is killed goes on from its finished items, and ends with the bytes of one that was not."""

from datetime import date

import pytest

from tempkb.core.windows import windows_until
from tempkb.platform.api import open_store
from tempkb.platform.planning.declaration import Request
from tempkb.platform.planning.requests import windows_to_read
from tempkb.wiki.revisions import building
from tempkb.wiki.revisions.building import ALL
from tempkb.wiki.revisions.reading import read_item
from tempkb_tests.wiki.revisions.builds import build_files, export, page, revision


def parts(folder, n=4, text="It strikes."):
    """A history in several parts, each an item of its own: forty quarters, a page edited in every one of them."""
    folder.mkdir(exist_ok=True)
    paths = []
    for number in range(1, n + 1):
        times = [f"{year}-{month:02}-10T00:00:00Z" for year in range(2014, 2024) for month in (1, 4, 7, 10)]
        edits = [revision(1000 * number + at, moment, f"{text} {at}") for at, moment in enumerate(times)]
        path = folder / f"testwiki-20240101-pages-meta-history{number}.xml-p{number}p{number}"
        path.write_bytes(export(page(number, *edits)))
        paths.append(path)
    return paths


@pytest.fixture(autouse=True)
def forty_windows(home_folder, monkeypatch):
    """The home's windows are those of the history."""
    monkeypatch.setenv("TEMPKB_FIRST_WINDOW", "2014-01-01")


@pytest.fixture
def calls(monkeypatch):
    """Names of the items that are read; reading one whose name holds `stop` ends the run, as a kill would."""
    seen = []

    def counted(item, folder, report):
        if seen_stop and seen_stop[0] in item.name:
            raise KeyboardInterrupt
        seen.append(item.name)
        return read_item(item, folder, report)

    seen_stop: list[str] = []
    monkeypatch.setattr(building, "read_item", counted)
    return seen, seen_stop


def interrupted(paths, calls, at):
    """Build, and end when an item is to be read; what is read later is told anew."""
    seen, stop = calls
    stop.append(at)
    with pytest.raises(KeyboardInterrupt):
        build_files(*paths)
    read = names_of(seen)
    seen.clear()
    stop.clear()
    return read


def names_of(seen):
    return [name.split(".")[0][-8:] for name in seen]


def bytes_of_another(home, folder, monkeypatch, paths):
    """What a build leaves that nothing disturbs, in a home with the same salt."""
    folder.mkdir()
    (folder / "home.toml").write_text((home / "home.toml").read_text())
    monkeypatch.setenv("TEMPKB_HOME", str(folder))
    return bytes_of(build_files(*paths)[0])


def bytes_of(store):
    """Every data file of the lake, by table, partition and name."""
    return {
        (name, version.partition, file.name): (version.folder / file.name).read_bytes()
        for name in store.tables
        for version in store.lake.versions(name)
        for file in version.files
    }


@pytest.mark.slow
def test_a_run_that_was_interrupted_goes_on_from_its_finished_items(home_folder, tmp_path, monkeypatch, calls):
    paths = parts(tmp_path / "dump")
    assert interrupted(paths, calls, "history3") == ["history1", "history2"]
    store, report, windows = build_files(*paths)
    assert names_of(calls[0]) == ["history3", "history4"]
    assert report.bad == {}
    assert len(windows) == 40
    assert store.lake.unfinished() == []
    assert bytes_of_another(home_folder, tmp_path / "other", monkeypatch, paths) == bytes_of(store)


@pytest.mark.slow
def test_an_item_that_fails_does_not_cost_the_others(home_folder, tmp_path, calls):
    paths = parts(tmp_path / "dump")
    seen, _ = calls
    good = paths[2].read_bytes()
    # The one page is whole, and then the file is cut.
    paths[2].write_bytes(good[: good.rindex(b"</page>") + len(b"</page>")])
    store, report, windows = build_files(*paths, strict=True)
    assert len(report.bad) == len(windows)
    assert "history3" in next(iter(report.bad.values()))
    seen.clear()
    paths[2].write_bytes(good)
    assert len(store.lake.unfinished()) == 1
    store, report, _ = build_files(*paths, strict=True)
    assert report.bad == {}
    assert names_of(seen) == ["history3"], "the one that was fetched anew"
    assert store.lake.unfinished() == []


@pytest.mark.slow
def test_changed_bytes_are_read_again(home_folder, tmp_path, calls):
    paths = parts(tmp_path / "dump", n=3)
    interrupted(paths, calls, "history3")
    paths[0].write_bytes(paths[0].read_bytes().replace(b"strikes", b"sounded"))
    store, _, _ = build_files(*paths)
    assert names_of(calls[0]) == ["history1", "history3"]
    texts = store.read("page_wikitexts", page_id=1)["wikitext"].to_pylist()
    assert set(texts) == {f"It sounded. {at}" for at in range(40)}


def test_drafts_of_a_run_that_is_given_up_are_garbage(home_folder, tmp_path, calls):
    paths = parts(tmp_path / "dump", n=2)
    interrupted(paths, calls, "history2")
    store = open_store()
    assert len(store.lake.unfinished()) == 1
    assert len(store.collect_garbage()[0]) == 1
    assert store.lake.unfinished() == []


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["cut", "flipped"])
def test_a_damaged_file_of_rows_is_no_receipt(home_folder, tmp_path, calls, harm):
    """The machine lost power, or a bit flipped: a file of rows is not as it was when its receipt was written."""
    paths = parts(tmp_path / "dump", n=3)
    interrupted(paths, calls, "history3")
    run = sorted((home_folder / "lake/_staging").rglob("*.arrow"))[0]
    data = run.read_bytes()
    run.write_bytes(data[:100] if harm == "cut" else data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
    _, report, _ = build_files(*paths)
    assert report.bad == {}
    assert names_of(calls[0]) == ["history1", "history3"]


@pytest.mark.slow
def test_what_a_pass_saw_of_the_files_is_written_down_before_the_windows(home_folder, tmp_path, monkeypatch, calls):
    """Of a run that is killed when the last window is written no later run reads the dump again."""
    paths = parts(tmp_path / "dump", n=1)
    store, *_ = build_files(*paths)
    whole = [store.read(table).to_pylist() for table in ("dump_files", "exclusions")]
    assert whole[0][0]["n_revision_elements"] == 40
    for table in ("revision_log", "stable_snapshots", "dump_files"):
        for partition in store.lake.partitions(table):
            store.lake.remove(table, partition)
    write, written = building._Build._write_snapshot, []

    def die_behind_the_last(self, receipts, window, *told):
        write(self, receipts, window, *told)
        written.append(window)
        if len(written) == 40:
            raise KeyboardInterrupt

    monkeypatch.setattr(building._Build, "_write_snapshot", die_behind_the_last)
    with pytest.raises(KeyboardInterrupt):
        build_files(*paths)
    assert [store.read(table).to_pylist() for table in ("dump_files", "exclusions")] == whole


@pytest.mark.slow
def test_a_build_of_what_is_missing_goes_on_with_one_that_ended_while_it_wrote(
    home_folder, tmp_path, monkeypatch, calls
):
    """`tempkb build` asks for what is not built; with three of forty windows written, that is not what was begun."""
    write, written = building._Build._write_snapshot, []

    def die_behind_the_third(self, receipts, window, *told):
        write(self, receipts, window, *told)
        written.append(window)
        if len(written) == 3:
            raise KeyboardInterrupt

    paths = parts(tmp_path / "dump", n=2)
    with monkeypatch.context() as patch:
        patch.setattr(building._Build, "_write_snapshot", die_behind_the_third)
        with pytest.raises(KeyboardInterrupt):
            build_files(*paths)
    store = open_store()
    every = windows_until(date(2014, 1, 1), date(2024, 1, 1), "quarter")
    assert windows_to_read(store, Request(), every[3:], set(ALL)) == every
    # What nobody began is read by itself.
    assert store.collect_garbage()[0]
    assert windows_to_read(store, Request(), every[3:], set(ALL)) == every[3:]
