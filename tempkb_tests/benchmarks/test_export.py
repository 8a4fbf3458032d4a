"""An export is whole at every moment, also while it is replaced."""

import shutil
from pathlib import Path
from unittest import mock

import pytest

from tempkb.benchmarks.export_folder import SUMS, export_folder, verified_files
from tempkb.store.locks import LockTimeoutError


class KilledError(BaseException):
    """Stands for the end of a process."""


def export(target, text):
    with export_folder(target) as folder:
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
    with export_folder(target) as folder:
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
    with pytest.raises(OSError, match="no room"), export_folder(target):
        raise OSError("no room")
    assert verified_files(target) == ["rows.txt"]
    assert (target / "rows.txt").read_text() == "old"
    (tmp_path / ".exports.lock").touch()
    export(target, "new")
    assert (target / "rows.txt").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["exports"]
