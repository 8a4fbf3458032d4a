"""Exact search: equal to the same in NumPy, ties included, whatever FAISS computes and however candidates are split."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tempkb.core.errors import ModelError
from tempkb.models.linking import searching
from tempkb.models.linking.searching import rank, top


def by_numpy(queries, candidates, page_ids, k):
    """What `rank` promises, over all candidates: page_ids, scores and ties of the best k."""
    found = []
    for query in queries.astype(np.float64):
        scores = np.round((query * candidates.astype(np.float64)).sum(axis=1), 9) + 0.0
        order = np.lexsort((page_ids, -scores))[:k]
        ties = [int((scores == scores[at]).sum()) - 1 for at in order]
        found.append((page_ids[order].tolist(), scores[order].tolist(), ties))
    return found


def by_us(queries, candidates, page_ids, k):
    ranked = rank(queries, candidates, page_ids, k, lambda line: None, "cpu")
    return list(zip(ranked.page_ids.tolist(), ranked.scores.tolist(), ranked.n_tied.tolist(), strict=True))


def test_ranks_of_vectors_made_by_hand():
    candidates = np.array([[1, 0], [0, 1], [1, 0], [0.5, 0.5], [0, 0]], np.float16)
    pages = np.array([50, 20, 30, 40, 10])
    ranked = rank(np.array([[2, 0], [0, 0], [-1, 1]], np.float32), candidates, pages, 3, lambda line: None)
    # 50 and 30 have the same vector; of a query of zeros all scores are equal; the score of 40 is 0, as that of 10.
    assert ranked.page_ids.tolist() == [[30, 50, 40], [10, 20, 30], [20, 10, 40]]
    assert ranked.scores.tolist() == [[2, 2, 1], [0, 0, 0], [1, 0, 0]]
    assert ranked.n_tied.tolist() == [[1, 1, 0], [4, 4, 4], [0, 1, 1]]


def test_differences_that_float32_does_not_see_decide():
    """In float32 all candidates have the same score: 2^-24 is lost beside 1. The page with the largest number wins."""
    query = np.array([[1.0, 2.0**-14]], np.float32)
    small = np.arange(300) * 2.0**-10
    candidates = np.stack([np.ones(300), small], axis=1).astype(np.float16)
    ((pages, scores, _),) = by_us(query, candidates, np.arange(300), 2)
    assert pages == [299, 298]
    assert scores == [round(1 + 299 * 2.0**-24, 9), round(1 + 298 * 2.0**-24, 9)]
    in_float32 = candidates.astype(np.float32) @ query[0]
    assert len(np.unique(in_float32)) < 300


def test_differences_below_nine_decimals_are_ties():
    query = np.array([[2.0**-20]], np.float32)
    candidates = np.array([[1.0], [1.0 + 2.0**-10], [1.0 + 2.0**-9]], np.float16)  # 9.5e-7 times 1, 1.001 and 1.002
    ((pages, scores, ties),) = by_us(query, candidates, np.array([3, 2, 1]), 3)
    assert (pages, ties) == ([1, 2, 3], [0, 0, 0])
    ((pages, scores, ties),) = by_us(query / 16, candidates, np.array([3, 2, 1]), 3)
    # 5.96e-8 times 1.001 is 5.966e-8: 60 billionths as well.
    assert (pages, scores, ties) == ([1, 2, 3], [6e-08] * 3, [2, 2, 2])


@pytest.fixture
def small_parts(monkeypatch):
    """All limits so small that the demo's numbers of candidates exceed them."""
    monkeypatch.setattr(searching, "_INDEX_BYTES", {"CPU": 256})
    monkeypatch.setattr(searching, "_SCORED_BYTES", 512)
    monkeypatch.setattr(searching, "_CONVERTED", 7)
    monkeypatch.setattr(searching, "_QUERIES", 3)
    # Less than the candidates, so that a shortlist is widened, and all are taken at last.
    monkeypatch.setattr(searching, "_MORE", 1)
    monkeypatch.setattr(searching, "_WIDEST", 12)


@st.composite
def worlds(draw):
    """Queries and candidates with many equal vectors, zero vectors and ties over the edge of k."""
    d, n, m = draw(st.integers(1, 9)), draw(st.integers(1, 60)), draw(st.integers(1, 7))
    seed, kind = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from(["normal", "few values", "equal", "tiny"]))
    numbers = np.random.default_rng(seed)
    if kind == "normal":
        candidates = numbers.normal(size=(n, d))
    elif kind == "few values":
        candidates = numbers.integers(-1, 2, size=(n, d)).astype(float)
    elif kind == "equal":
        candidates = np.repeat(numbers.normal(size=(1, d)), n, axis=0)
    else:
        candidates = 1 + numbers.integers(0, 3, size=(n, d)) * 2.0**-10
    candidates[numbers.random(n) < 0.2] = 0
    queries = numbers.integers(-2, 3, size=(m, d)) if kind == "few values" else numbers.normal(size=(m, d))
    pages = numbers.permutation(10 * n)[:n].astype(np.int64)
    return queries.astype(np.float32), candidates.astype(np.float16), pages, draw(st.integers(1, 70))


@settings(max_examples=150)
@given(worlds())
def test_is_what_numpy_says(world):
    assert by_us(*world) == by_numpy(*world)


def few_values(seed):
    """Eight queries and up to eighty candidates with so few numbers that many scores tie."""
    numbers = np.random.default_rng(seed)
    n, d, k = int(numbers.integers(1, 80)), int(numbers.integers(1, 6)), int(numbers.integers(1, 9))
    values = [-1.0, 0.0, 1.0] if seed % 2 else numbers.normal(size=12)
    candidates = numbers.choice(values, size=(n, d)).astype(np.float16)
    queries = numbers.choice(values, size=(8, d)).astype(np.float32)
    return queries, candidates, numbers.permutation(n).astype(np.int64), k


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("seed", range(40))
def test_is_what_numpy_says_in_small_parts_and_with_every_widening(seed):
    world = few_values(seed)
    assert by_us(*world) == by_numpy(*world)


def test_a_device_that_computes_in_less_than_float32_changes_nothing(monkeypatch):
    """As some GPUs do with products of matrices: numbers of float16 instead."""
    numbers = np.random.default_rng(5)
    candidates, queries = numbers.normal(size=(500, 8)).astype(np.float16), numbers.normal(size=(9, 8)).astype("f4")
    shortlist = searching._Search._shortlist

    def coarse(self, queries, wanted):
        rough = (queries.astype(np.float16) @ candidates.T).astype(np.float32)
        rough = np.round(rough, 0)
        places = np.argsort(-rough, axis=1, kind="stable")[:, :wanted]
        return np.take_along_axis(rough, places, axis=1), places

    expected = by_numpy(queries, candidates, np.arange(500), 5)
    with monkeypatch.context() as patched:
        patched.setattr(searching._Search, "_shortlist", coarse)
        assert by_us(queries, candidates, np.arange(500), 5) == expected
    assert searching._Search._shortlist is shortlist
    assert by_us(queries, candidates, np.arange(500), 5) == expected


def test_fewer_candidates_than_are_wanted_and_none_at_all():
    queries, none = np.ones((2, 3), np.float32), np.empty((0, 3), np.float16)
    pages, scores = top(queries, none, np.empty(0, np.int64), 64, lambda line: None)
    assert (pages.shape, scores.shape) == ((2, 0), (2, 0))
    pages, scores = top(queries, np.ones((2, 3), np.float16), np.array([8, 7]), 64, lambda line: None)
    assert pages.tolist() == [[7, 8], [7, 8]]
    pages, _ = top(queries[:0], np.ones((2, 3), np.float16), np.array([8, 7]), 64, lambda line: None)
    assert pages.shape == (0, 2)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e30])
def test_a_query_that_overflows_is_refused(number):
    queries = np.array([[0.0], [number]], np.float32)
    with pytest.raises(ModelError, match="the vector of query 1 of 2 has numbers that are not finite or beyond 1e"):
        rank(queries, np.ones((2, 1), np.float16), np.arange(2), 1, lambda line: None)


def test_the_log_says_where_the_search_runs():
    lines = []
    top(np.ones((1, 2), np.float32), np.ones((3, 2), np.float16), np.arange(3), 1, lines.append, "cpu")
    assert lines == ["searching 3 candidates for 1 query: FAISS, exact, on the CPU"]


def test_what_faiss_says_of_a_gpu_is_one_message(monkeypatch):
    class Full:
        def __init__(self, *_):
            raise RuntimeError("Error in allocMemory: 'err == cudaSuccess' failed: alloc fail (out of memory [2])\n")

    def search():
        rank(np.ones((1, 2), np.float32), np.ones((3, 2), np.float16), np.arange(3), 1, lambda line: None, "cuda:1")

    monkeypatch.setattr(searching, "_Search", Full)
    with monkeypatch.context() as patched:
        patched.setattr(searching, "_where", lambda device: "GPU")
        with pytest.raises(ModelError) as met:
            search()
    assert str(met.value) == (
        "search: FAISS could not search 3 candidates for 1 query on the GPU (alloc fail (out of memory [2])); expected "
        "enough free memory there. End what else uses the GPU, or search on the CPU with --device cpu"
    )
    # On a CPU it is a defect, whose trace is wanted.
    with pytest.raises(RuntimeError):
        search()


def test_faiss_and_torch_compute_in_one_process():
    """Each brings its own OpenMP; a clash would end the process or hang it."""
    import torch

    numbers = np.random.default_rng(1)
    candidates, queries = numbers.normal(size=(3000, 16)).astype(np.float16), numbers.normal(size=(5, 16)).astype("f4")
    expected = by_numpy(queries, candidates, np.arange(3000), 3)
    before = torch.ones(300, 300) @ torch.ones(300, 300)
    assert by_us(queries, candidates, np.arange(3000), 3) == expected
    assert torch.equal(before, torch.full((300, 300), 300.0))
    assert torch.equal(torch.ones(300, 300) @ torch.ones(300, 300), before)
