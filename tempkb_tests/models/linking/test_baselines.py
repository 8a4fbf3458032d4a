"""Words in every script, BM25 beside its formula, and how similar candidates are."""

import math
from collections import Counter

import numpy as np
import pytest

from tempkb.core.errors import SettingsError
from tempkb.models.linking.baselines import Bm25, mean_similarity, words_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("... — !?", []),
        ("AC/DC's 1st_album, re-issued", ["ac", "dc", "s", "1st", "album", "re", "issued"]),
        ("ÅNGSTRÖM naïve Éire", ["ångström", "naïve", "éire"]),
        ("Ελλάδα; Россия.", ["ελλάδα", "россия"]),
        ("東京は、雨。", ["東", "京", "は", "雨"]),
        # Marks are parts of letters: two words and not seven.
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ],
)
def test_words_of_a_text(text, expected):
    assert words_of(text) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], None),
        ([(1, 2)], None),
        ([(1, 2), ()], None),
        ([(1, 2), (2, 1)], 1.0),
        ([(1, 2, 3, 4), (5, 6, 1, 2)], 2 / 6),
        # Cut to two words: {1, 2}, {1}, {3, 1}.
        ([(1, 2, 9), (1, 1), (3, 1, 2)], (1 / 2 + 1 / 2) / 2),
    ],
)
def test_mean_similarity(texts, expected):
    assert mean_similarity(texts) == expected


def by_formula(query, documents, k1=1.5, b=0.75):
    """Lucene's variant of BM25, as Kamphuis et al. (2020) give it, without the constant factor k1 + 1."""
    counts = [Counter(words_of(text)) for text in documents]
    lengths = [sum(one.values()) for one in counts]
    mean, n = sum(lengths) / len(lengths), len(documents)
    scores = []
    for count, length in zip(counts, lengths, strict=True):
        score = 0.0
        for word in words_of(query):
            df = sum(word in one for one in counts)
            if df:
                tf = count[word]
                score += math.log(1 + (n - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / mean))
        scores.append(round(score, 9))
    return scores


@pytest.mark.parametrize("seed", range(8))
def test_bm25_is_its_formula(seed):
    numbers = np.random.default_rng(seed)
    words = [f"w{number}" for number in range(12)]
    n = int(numbers.integers(1, 60))
    documents = [" ".join(numbers.choice(words, numbers.integers(0, 9))) for _ in range(n)]
    pages = numbers.permutation(1000)[:n]
    queries = [" ".join(numbers.choice([*words, "other"], numbers.integers(0, 6))) for _ in range(20)]
    index, k = Bm25(pages, documents), 5
    for query, (found, scores, ties) in zip(queries, index.rank(queries, k), strict=True):
        expected = by_formula(query, documents)
        places = [at for at in np.lexsort((pages, [-score for score in expected])) if expected[at] > 0][:k]
        assert found.tolist() == [pages[at] for at in places]
        assert scores.tolist() == pytest.approx([expected[at] for at in places], abs=2e-9)
        assert ties.tolist() == [expected.count(expected[at]) - 1 for at in places]


def test_bm25_does_not_answer_with_the_page_of_the_query():
    index = Bm25(np.array([7, 8, 9]), ["old port", "old port", "old"])
    found = dict(zip((8, 5), index.rank(["old port"] * 2, 2, (8, 5)), strict=True))
    assert [found[own][0].tolist() for own in (8, 5)] == [[7, 9], [7, 8]]
    # Its own page ties with none: not the first, which two documents share otherwise.
    assert [found[own][2].tolist() for own in (8, 5)] == [[0, 0], [1, 1]]


def test_bm25_of_documents_without_words():
    assert [one[0].tolist() for one in Bm25(np.array([1]), ["!"]).rank(["a", ""], 3)] == [[], []]
    assert [one[0].tolist() for one in Bm25(np.array([], np.int64), []).rank(["a"], 3)] == [[]]


def test_bm25_needs_its_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "bm25s", None)
    with pytest.raises(SettingsError, match=r'install the extra linking: pip install "tempkb\[linking\]"$'):
        Bm25(np.array([1]), ["a"])
