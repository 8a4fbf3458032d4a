"""Links inside a home, at each level of its lake: nothing behind them is deleted, moved or written, and they are named."""

import contextlib
import shutil

import pytest

from tempkb.core import files as owned
from tempkb.core.errors import TempkbError
from tempkb.core.files import LinkError, links_in, own, own_tree, real_folders, remove_tree
from tempkb.store.drafts import Provenance
from tempkb_tests.store.ageing import let_a_day_go_by
from tempkb_tests.store.tables_for_tests import TOWNS, towns

# Folders and files that have names of tempkb's own wherever one of them may be looked for.
NAMES = ("CURRENT", ".alive", "notes.jsonl", "version.json", "part-00000.parquet")


def contents(folder):
    """All that lies in a folder: the bytes of files, None for folders."""
    return {path.relative_to(folder): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def elsewhere(tmp_path):
    """A folder of somebody else, with what may look like tempkb's own."""
    folder = tmp_path / "elsewhere"
    for place in ("", "north", "towns/north", "held/towns", "0123456789abcdef", "north/0123456789abcdef", "try-0000/a"):
        (folder / place).mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            (folder / place / name).write_text(f"{place} {name}")
    return folder


def write(store, region="north", people=1):
    return store.write(TOWNS, region, [towns(region, 3, people)], Provenance({"x": "1"}))


def put_link(place, target):
    """Put a link in a place; what was there lies beside it."""
    if place.exists():
        place.rename(place.with_name("before"))
        shutil.move(place.with_name("before"), target.parent / "before")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


def test_a_link_on_the_way_is_refused_and_the_root_may_be_one(tmp_path):
    (tmp_path / "disk" / "a").mkdir(parents=True)
    root = tmp_path / "root"
    root.symlink_to(tmp_path / "disk")
    assert own(root, root / "a" / "new" / "file") == root / "a" / "new" / "file"
    (root / "link").symlink_to(tmp_path)
    (root / "file").symlink_to("nowhere")
    for path in ("link", "link/a", "link/a/b", "file"):
        with pytest.raises(LinkError, match=f"{root}/(link|file): found a link to ({tmp_path}|nowhere); expected"):
            own(root, root / path)
    assert links_in(root) == [root / "file", root / "link"]
    assert real_folders(root) == [root / "a"]
    (root / "a" / "deep").symlink_to("/")
    assert own(root, root / "a") == root / "a"
    with pytest.raises(LinkError, match=f"rm {root}/a/deep$"):
        own_tree(root, root / "a")


def test_a_tree_goes_without_what_its_links_lead_to(tmp_path, elsewhere):
    before = contents(elsewhere)
    tree = tmp_path / "tree"
    (tree / "a").mkdir(parents=True)
    for name in ("link", "a/link"):
        (tree / name).symlink_to(elsewhere)
    (tree / "a" / "file").symlink_to(elsewhere / "CURRENT")
    remove_tree(tmp_path, tree, ".alive")
    assert not tree.exists()
    remove_tree(tmp_path, tree)
    tree.symlink_to(elsewhere)
    for may_fail in (False, True):
        with pytest.raises(LinkError):
            remove_tree(tmp_path, tree, may_fail=may_fail)
    with pytest.raises(LinkError):
        remove_tree(tmp_path, tree / "north")
    assert contents(elsewhere) == before


def test_a_kill_leaves_the_file_that_tells_whose_a_tree_is(tmp_path, monkeypatch):
    for name in (".alive", "a/x", "b", "z/y"):
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).touch()
    real, left = shutil.rmtree, []

    def killed_at_the_end(path, *arguments):
        if path == tmp_path / "tree":
            left.extend(path.iterdir())
            raise KeyboardInterrupt
        real(path, *arguments)

    monkeypatch.setattr(owned.shutil, "rmtree", killed_at_the_end)
    with pytest.raises(KeyboardInterrupt):
        remove_tree(tmp_path, tmp_path / "tree", ".alive")
    assert left == [tmp_path / "tree" / ".alive"]


PLACES = ("towns", "towns/north", "towns/VERSION", "towns/OLD", "towns/west", "_staging", "_staging/x", "facts")


def tries(store, version):
    """What a home does with its lake, each as a function."""
    yield "gc", store.collect_garbage
    yield "verify", lambda: [store.lake.verify("towns", key) for key in store.lake.keys("towns")]
    yield "refuse", lambda: version.note_damage()
    yield "miss", lambda: [store.lake.miss("towns", key, version.version) for key in ("north", "west")]
    yield "write", lambda: write(store, people=5)
    yield "write another", lambda: write(store, "west")
    yield "add", lambda: store.add(TOWNS, "north", iter([towns("north", 9)]), Provenance({}))
    yield "restore", lambda: store.lake.restore(version)
    yield "write the same", lambda: write(store, people=2)
    yield "remove", lambda: store.lake.remove("towns", "north")
    yield "draft", lambda: contextlib.ExitStack().enter_context(store.lake.staging())
    yield "resume", lambda: contextlib.ExitStack().enter_context(store.lake.resumable("x"))
    yield "publish", lambda: store.publish()
    yield "gc again", store.collect_garbage


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("is_damaged", [False, True])
def test_nothing_goes_through_a_link_in_the_lake(store, elsewhere, place, is_damaged):
    old, version = write(store, people=1), write(store, people=2)
    place = place.replace("VERSION", f"north/{version.version}").replace("OLD", f"north/{old.version}")
    before = contents(elsewhere)
    link = store.lake.root / place
    put_link(link, elsewhere)
    if is_damaged and (part := version.folder / "part-00000.parquet").exists() and not link.samefile(version.folder):
        part.write_bytes(b"")
    before = contents(elsewhere)
    for name, work in tries(store, version):
        # Where it is refused, by whatever it meets behind the link, nothing was touched either.
        with contextlib.suppress(TempkbError, OSError):
            work()
        assert contents(elsewhere) == before, name
        assert link.readlink() == elsewhere, name
        assert link in store.lake.strangers(), name


def test_a_link_among_drafts_that_a_run_would_take_up_is_refused(store, elsewhere):
    before = contents(elsewhere)
    with store.lake.resumable("resumable-x") as drafts:
        (drafts.folder / "try-0000").symlink_to(elsewhere)
    with pytest.raises(LinkError, match="try-0000: found a link to"), store.lake.resumable("resumable-x"):
        pass
    assert store.lake.collect_garbage(set()) == ([drafts.folder], 0), (
        "the link goes with the drafts, and not what it names"
    )
    assert contents(elsewhere) == before


def test_only_what_is_our_own_by_name_and_content_is_collected(store):
    old, version = write(store, people=1), write(store, people=2)
    root = store.lake.root
    foreign = [root / "_staging/mine/a.txt", root / "towns/north/backup/part-00000.parquet"]
    foreign += [root / "towns/north/0123456789abcdef/report.txt", root / "towns/north/fedcba9876543210/deeper/x"]
    foreign.append(version.folder / "my notes.jsonl")
    for path in foreign:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    (root / "Backup of mine" / "x").mkdir(parents=True)
    (old.folder / "part-00000.parquet").rename(root / "moved")
    (old.folder / "part-00000.parquet").symlink_to(root / "moved")
    let_a_day_go_by(store.lake.root)
    assert store.collect_garbage() == ([], 0)
    assert all(path.read_text() == "mine" for path in foreign)
    left = {*(path.parent for path in foreign[:3]), root / "towns/north/fedcba9876543210", version.folder}
    assert set(store.lake.strangers()) == left | {old.folder, old.folder / "part-00000.parquet"}
    (root / "moved").replace(old.folder / "part-00000.parquet")
    let_a_day_go_by(store.lake.root)
    assert store.collect_garbage() == ([old.folder], 0)


def test_a_lake_that_is_a_link_to_another_disk_is_as_good_as_a_folder(store, tmp_path):
    write(store, people=1)
    store.lake.root.rename(tmp_path / "disk")
    store.lake.root.symlink_to(tmp_path / "disk")
    old = store.lake.current("towns", "north")
    write(store, people=2)
    let_a_day_go_by(store.lake.root)
    assert store.collect_garbage() == ([old.folder], 0)
    assert store.lake.strangers() == []
    assert store.read("towns")["n_people"].to_pylist() == [2] * 3


def test_a_killed_deletion_of_a_version_is_ended_by_the_next(store, monkeypatch):
    old, _ = write(store, people=1), write(store, people=2)
    with monkeypatch.context() as patch:
        patch.setattr("tempkb.store.lake.remove_tree", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        let_a_day_go_by(store.lake.root)
        with pytest.raises(KeyboardInterrupt):
            store.collect_garbage()
    gone = old.folder.with_name(f"{old.version}.gone")
    (gone / "part-00000.parquet").unlink()
    assert not old.folder.exists()
    write(store, people=1)
    write(store, people=2)
    assert old.folder.exists()
    let_a_day_go_by(store.lake.root)
    assert store.collect_garbage() == ([old.folder, gone], 0)
    assert store.lake.strangers() == [path for path in (old.folder, gone) if path.exists()] == []
