"""A lock that leaves no file behind is held by one process at a time all the same."""

import threading

import pytest

from tempkb.core import locks
from tempkb.core.locks import LockTimeoutError, at_work, is_at_work, nobody_at_work, passing_lock


def test_a_passing_lock_is_refused_while_it_is_held_and_leaves_no_file(tmp_path):
    lock = tmp_path / "made" / ".lock"
    with passing_lock(lock, "in use"), pytest.raises(LockTimeoutError, match="^in use$"), passing_lock(lock, "in use"):
        pass
    assert list(lock.parent.iterdir()) == []
    with pytest.raises(KeyError), passing_lock(lock, "in use"):
        raise KeyError
    assert list(lock.parent.iterdir()) == []


def test_a_lock_on_a_file_that_its_last_holder_has_removed_is_not_taken_for_the_lock(tmp_path, monkeypatch):
    lock = tmp_path / ".lock"
    real = locks.try_lock

    def remove_first(descriptor):
        """The last holder ends between the opening of the file and the lock on it."""
        monkeypatch.setattr(locks, "try_lock", real)
        lock.unlink()
        return real(descriptor)

    monkeypatch.setattr(locks, "try_lock", remove_first)
    with passing_lock(lock, "in use"):
        assert lock.exists()
        with pytest.raises(LockTimeoutError), passing_lock(lock, "in use"):
            pass
    assert not lock.exists()


def test_several_may_work_on_a_thing_that_nobody_then_removes_and_who_only_looks_is_in_nobodys_way(tmp_path):
    assert not is_at_work(tmp_path, "model a")
    with at_work(tmp_path, ["model a", "model b"]), at_work(tmp_path, ["model a"]):
        assert [is_at_work(tmp_path, name) for name in ("model a", "model b", "model c")] == [True, True, False]
        with pytest.raises(LockTimeoutError, match="'model a' is in use"), nobody_at_work(tmp_path, ["model a"]):
            pass
    with nobody_at_work(tmp_path, ["model a"]):
        with pytest.raises(LockTimeoutError, match="'model a' is in use"), at_work(tmp_path, ["model a"]):
            pass
        with at_work(tmp_path, ["model b"]):
            pass
    is_over, begun = threading.Event(), []

    def look():
        while not is_over.is_set():
            is_at_work(tmp_path, "model a")

    looking = threading.Thread(target=look)
    looking.start()
    for _ in range(200):
        with at_work(tmp_path, ["model a"]):
            begun.append(True)
    is_over.set()
    looking.join()
    assert len(begun) == 200
