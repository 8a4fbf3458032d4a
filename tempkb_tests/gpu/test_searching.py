"""Search on a GPU is exact: equal to NumPy, ties included. It gives its memory back, and says if there is too little."""

import numpy as np
import pytest

from tempkb.core.errors import ModelError
from tempkb.models.linking import searching
from tempkb.models.linking.searching import rank
from tempkb_tests.models.linking.test_searching import by_numpy, few_values

pytestmark = pytest.mark.gpu


def by_us(queries, candidates, page_ids, k, device="", lines=None):
    ranked = rank(queries, candidates, page_ids, k, (lines if lines is not None else []).append, device)
    return list(zip(ranked.page_ids.tolist(), ranked.scores.tolist(), ranked.n_tied.tolist(), strict=True))


@pytest.fixture
def never_all(monkeypatch):
    """Shortlists must be enough: FAISS computes in float32, and not with the fewer digits of tensor cores."""

    def fail(*_):
        raise AssertionError("a shortlist of the GPU proved nothing")

    monkeypatch.setattr(searching._Search, "_take_all", fail)


@pytest.mark.usefixtures("never_all")
@pytest.mark.parametrize("dim", [8, 256, 1_024])
def test_is_what_numpy_says(dim):
    numbers = np.random.default_rng(dim)
    candidates = numbers.normal(size=(20_000, dim)).astype(np.float16)
    candidates[5_000:5_200] = candidates[7]
    queries = numbers.normal(size=(40, dim)).astype(np.float32)
    queries[3] = candidates[7]
    pages = numbers.permutation(20_000).astype(np.int64)
    lines = []
    assert by_us(queries, candidates, pages, 64, "cuda:0", lines) == by_numpy(queries, candidates, pages, 64)
    assert lines == ["searching 20,000 candidates for 40 queries: FAISS, exact, on the GPU"]


@pytest.mark.parametrize("seed", range(30))
def test_is_what_numpy_says_in_small_parts_and_with_many_ties(seed, monkeypatch):
    for name, value in (("_SCORED_BYTES", 512), ("_CONVERTED", 7), ("_QUERIES", 3), ("_MORE", 1), ("_WIDEST", 12)):
        monkeypatch.setattr(searching, name, value)
    monkeypatch.setattr(searching, "_INDEX_BYTES", {"GPU": 256})
    world = few_values(seed)
    assert by_us(*world) == by_numpy(*world)


def test_memory_is_free_again_behind_a_search():
    import torch

    candidates, queries = np.ones((50_000, 64), np.float16), np.ones((9, 64), np.float32)
    rank(queries, candidates, np.arange(50_000), 3, print)
    before, _ = torch.cuda.mem_get_info()
    for _ in range(20):
        rank(queries, candidates, np.arange(50_000), 3, print)
    after, _ = torch.cuda.mem_get_info()
    assert before - after < 1e8


def test_too_little_memory_is_one_message():
    import torch

    candidates, queries = np.ones((200_000, 256), np.float16), np.ones((9, 256), np.float32)
    free, _ = torch.cuda.mem_get_info()
    taken = torch.empty(free - 150_000_000, dtype=torch.uint8, device="cuda")
    try:
        with pytest.raises(
            ModelError, match=r"200,000 candidates for 9 queries on the GPU \(.*out of memory.* --device cpu"
        ):
            rank(queries, candidates, np.arange(200_000), 3, print)
    finally:
        del taken
        torch.cuda.empty_cache()
    assert rank(queries, candidates, np.arange(200_000), 3, print).page_ids.tolist() == [[0, 1, 2]] * 9
