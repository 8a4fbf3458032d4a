"""An export is whole at every moment, also while it is replaced."""

import shutil
from pathlib import Path
from unittest import mock

import pytest

from tempkb.benchmarks.export_folder import SUMS, export_folder, verified_files


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
