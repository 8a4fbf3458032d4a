import pytest

from tempkb.revisions import texts
from tempkb.revisions.texts import TextStore


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store that spills after every kilobyte."""
    monkeypatch.setattr(texts, "BLOCK_BYTES", 1000)
    return TextStore(tmp_path)


def test_gives_back_what_was_kept_in_rising_order(store):
    kept = [bytes([65 + n % 26]) * (n * 37 % 700) for n in range(60)]
    numbers = [store.add(text) for text in kept]
    assert numbers == list(range(60))
    asked = [59, 3, 17, 3, 0, 42]
    assert list(store.get(asked)) == [(n, kept[n]) for n in (0, 3, 17, 42, 59)]


def test_leaves_no_file_behind(store, tmp_path):
    for _ in range(10):
        store.add(b"x" * 400)
    assert list(tmp_path.iterdir()) == []


def test_begins_anew_for_the_next_page(store):
    for _ in range(10):
        store.add(b"x" * 400)
    store.clear()
    assert store.add(b"y") == 0
    assert list(store.get([0])) == [(0, b"y")]
