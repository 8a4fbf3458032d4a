"""An export is whole at every moment, also while it is replaced."""

import py_compile
import shutil
from pathlib import Path
from unittest import mock

import pytest

from tempkb.benchmarks.export_folder import SUMS, export_folder
from tempkb.core.errors import SettingsError
from tempkb.core.files import LinkError
from tempkb.core.locks import LockTimeoutError
from tempkb_tests.benchmarks.exports import verified_files
from tempkb_tests.killed import KilledError


def one_row(target):
    """A kind of folder of which each has rows, and some have code."""
    return export_folder(target, "an export", ("rows.txt",))


def export(target, text):
    with one_row(target) as folder:
        folder.write_text("rows.txt", text)


def test_an_export_that_is_killed_while_it_replaces_another_can_be_typed_again(tmp_path):
    target = tmp_path / "exports"
    export(target, "old")
    remove = shutil.rmtree

    def die_half_way(path, **how):
        if (Path(path) / SUMS).exists():
            (Path(path) / SUMS).unlink()
            raise KilledError
        remove(path, **how)

    with mock.patch.object(shutil, "rmtree", die_half_way), pytest.raises(KilledError):
        export(target, "new")
    assert verified_files(target) == ["rows.txt"]
    export(target, "newest")
    assert (target / "rows.txt").read_text() == "newest"
    assert [path.name for path in tmp_path.iterdir()] == ["exports"]


def test_an_export_that_fails_at_its_last_step_leaves_the_former_one(tmp_path):
    target = tmp_path / "exports"
    export(target, "old")
    move = Path.replace

    def fail_to_come(self, other):
        if self.name.endswith(".draft"):
            raise OSError("no room")
        return move(self, other)

    with mock.patch.object(Path, "replace", fail_to_come), pytest.raises(OSError, match="no room"):
        export(target, "new")
    assert (target / "rows.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["exports"]


def test_a_folder_is_written_by_one_export_at_a_time(tmp_path):
    target = tmp_path / "exports"
    with one_row(target) as folder:
        folder.write_text("rows.txt", "first")
        with pytest.raises(LockTimeoutError, match="exports: another export writes this folder; wait for it"):
            export(target, "second")
        export(tmp_path / "others", "beside it")
    assert (target / "rows.txt").read_text() == "first"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["exports", "others"]


def test_what_a_killed_export_left_is_cleaned_by_the_next(tmp_path):
    target = tmp_path / "exports"
    export(target, "old")
    # Killed after the old folder was moved away, and before the new one came.
    target.rename(tmp_path / ".exports.former")
    (tmp_path / ".exports.draft").mkdir()
    (tmp_path / ".exports.draft" / "rows.txt").write_text("ne")
    (tmp_path / ".exports.lock").touch()
    with pytest.raises(OSError, match="no room"), one_row(target):
        raise OSError("no room")
    assert verified_files(target) == ["rows.txt"]
    assert (target / "rows.txt").read_text() == "old"
    (tmp_path / ".exports.lock").touch()
    export(target, "new")
    assert (target / "rows.txt").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["exports"]


def test_a_folder_of_somebody_with_checksums_is_no_export(tmp_path):
    target = tmp_path / "exports"
    target.mkdir()
    (target / "thesis.txt").write_text("mine")
    for sums in (f"{'0' * 64}  thesis.txt\n".encode(), b"", b"\xff\xfe"):
        (target / SUMS).write_bytes(sums)
        with pytest.raises(SettingsError, match="exports: exists and is not an export, so it is not replaced; choose"):
            export(target, "new")
    assert sorted(path.name for path in target.iterdir()) == [SUMS, "thesis.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["exports"]


@pytest.mark.parametrize("name", ["notes.txt", "more/notes.txt", "more", "code/__pycache__/mine.pyc"])
def test_a_file_that_somebody_put_into_an_export_is_not_deleted(tmp_path, name):
    target = tmp_path / "exports"
    export(target, "old")
    (target / name).parent.mkdir(parents=True, exist_ok=True)
    if name == "more":
        (target / name).symlink_to(tmp_path)
    else:
        (target / name).write_text("mine")
    expected = (
        f"exports: holds {name}, which tempkb did not write, so the folder is not replaced; move it elsewhere, then "
        "type the same again, or choose another folder"
    )
    with pytest.raises(SettingsError, match=expected):
        export(target, "new")
    assert (target / name).exists()
    assert (target / "rows.txt").read_text() == "old"


def test_a_link_in_an_export_is_nobodys_file_whatever_its_name(tmp_path):
    target, mine = tmp_path / "exports", tmp_path / "mine"
    export(target, "old")
    (target / "rows.txt").unlink()
    mine.write_text("mine")
    (target / "rows.txt").symlink_to(mine)
    with pytest.raises(SettingsError, match=r"exports: holds rows.txt, which tempkb did not write"):
        export(target, "new")
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("what", ["draft", "former", "lock"])
def test_an_export_is_not_prepared_behind_a_link(tmp_path, what):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    (tmp_path / f".exports.{what}").symlink_to(tmp_path / "mine")
    with pytest.raises(LinkError):
        export(tmp_path / "exports", "new")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_a_file_that_comes_while_the_next_export_is_written_is_not_deleted(tmp_path):
    target = tmp_path / "exports"
    export(target, "old")
    with pytest.raises(SettingsError, match=r"exports: holds notes.txt"), one_row(target):
        (target / "notes.txt").write_text("mine")
    assert sorted(path.name for path in target.iterdir()) == [SUMS, "notes.txt", "rows.txt"]
    assert (target / "rows.txt").read_text() == "old"


def test_what_python_keeps_of_code_that_was_used_is_nobodys_file(tmp_path):
    target = tmp_path / "exports"
    with one_row(target) as folder:
        folder.write_text("rows.txt", "old")
        folder.write_text("code/task.py", "N = 1")
    py_compile.compile(str(target / "code/task.py"))
    assert [path.name for path in (target / "code").iterdir() if path.is_dir()] == ["__pycache__"]
    export(target, "new")
    assert (target / "rows.txt").read_text() == "new"


@pytest.mark.parametrize("below", [".", "exports", "more/exports"])
def test_an_export_to_a_file_or_below_it_names_the_file(tmp_path, below):
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    with pytest.raises(SettingsError, match=f"^{file}: is a file; choose a folder$"):
        export(file / below, "new")
    assert file.read_text() == "mine"


@pytest.mark.parametrize("below", [".", "exports"])
def test_an_export_to_a_link_that_leads_nowhere_names_the_link(tmp_path, below):
    link = tmp_path / "link"
    link.symlink_to("gone")
    expected = f"^{link}: is a link to gone, which does not exist; remove the link, or choose another folder$"
    with pytest.raises(SettingsError, match=expected):
        export(link / below, "new")
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_an_export_to_a_link_replaces_the_folder_to_which_it_leads(tmp_path):
    export(tmp_path / "disk" / "exports", "old")
    link = tmp_path / "link"
    link.symlink_to("disk/exports")
    for text in ("new", "newest"):
        export(link, text)
        assert (tmp_path / "disk" / "exports" / "rows.txt").read_text() == text
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "link"]
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["exports"]


def test_an_export_replaces_the_folder_in_which_it_is_asked_for(tmp_path, monkeypatch):
    export(tmp_path / "exports", "old")
    monkeypatch.chdir(tmp_path / "exports")
    export(Path(), "new")
    assert (tmp_path / "exports" / "rows.txt").read_text() == "new"
