"""What an answer is worth, measured against names that are right, and whom it names where objects changed. Pure.

Each measure compares one answer with one name; where several names are right, `best` takes the largest value over all
of them, as the evaluation of SQuAD does over its answers.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache, wraps
from typing import Any, TypeVar

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_REMEMBERED = 1 << 17
_NAME_LETTERS = 200  # results of longer texts, which are no names, would fill the memory

N_RECALLED = 10
"""Number of answers among which recall@10 looks for a right one."""

_Answer = TypeVar("_Answer")


def _remembering(measure: Callable[..., Any]) -> Callable[..., Any]:
    """Remember a function of texts: many results of names, and the last few of longer texts."""
    of_names, of_others = lru_cache(_REMEMBERED)(measure), lru_cache(16)(measure)
    return wraps(measure)(lambda *texts: (of_names if max(map(len, texts)) <= _NAME_LETTERS else of_others)(*texts))


@_remembering
def normalised(text: str) -> str:
    """Return a text as SQuAD's evaluation compares it: lower case, no ASCII punctuation, no articles, single blanks.

    Source: `normalize_answer` of SQuAD's evaluation (Rajpurkar et al. 2016).

    >>> normalised("The  F.C. Barcelona")
    'fc barcelona'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, name: str) -> float:
    """Return 1 if both are the same once normalised, else 0 (SQuAD's exact match)."""
    return float(normalised(answer) == normalised(name))


def token_f1(answer: str, name: str) -> float:
    """Return the harmonic mean of precision and recall of words, each counted as often as it occurs (SQuAD's F1).

    As in the evaluation of SQuAD 2.0, of two texts without a word (such as "The") the value is 1 if neither has one.
    """
    said, right = normalised(answer).split(), normalised(name).split()
    if not said or not right:
        return float(said == right)
    shared = sum((Counter(said) & Counter(right)).values())
    return 2 * shared / (len(said) + len(right))


@_remembering
def rouge1(answer: str, name: str) -> float:
    """Return ROUGE-1's F of stemmed words, by `rouge-score`, as Hugging Face's `evaluate` computes it.

    DynamicTempLAMA's code measures the answers of masked models with it.
    """
    return float(_rouge().score(name, answer)["rouge1"].fmeasure)


@cache
def _rouge() -> Any:
    from rouge_score.rouge_scorer import RougeScorer
    from rouge_score.tokenizers import DefaultTokenizer

    class Remembering(DefaultTokenizer):  # type: ignore[misc]
        """Stems each text once, which takes nearly all of the time."""

        def __init__(self) -> None:
            super().__init__(use_stemmer=True)
            self.tokenize = _remembering(super().tokenize)

    return RougeScorer(["rouge1"], tokenizer=Remembering())


def released_f1_macro(said: Sequence[int], right: Sequence[int]) -> float:
    """Return the "F1-macro" of DynamicTempLAMA's released code: no overlap of words, but of tokens in their places.

    The tokens of the name are taken as classes of a classification, one for each place, and those of the answer as
    what was predicted there: the mean over all classes that occur of the F1 of each, as scikit-learn's
    `f1_score(average="macro")`. It is zero where the numbers of tokens differ, also if all words are right.

    Args:
        said: token ids of the answer.
        right: token ids of the name.
    """
    if len(said) != len(right) or not right:
        return 0.0
    hits = Counter(one for one, other in zip(said, right, strict=True) if one == other)
    occurs = Counter(said) + Counter(right)
    return sum(2 * hits[one] / n for one, n in occurs.items()) / len(occurs)


def is_recalled(answers: Iterable[str], names: Iterable[str]) -> bool:
    """Return whether one of the first ten answers is a right one, to the letter: an item's part of recall@10.

    As in ECBD's released code, nothing is normalised. Its micro recall is the mean over items, its macro recall the
    mean over entities of the means over their items.

    Args:
        answers: different ones, in the order of their ranks.
        names: that are right.
    """
    return not set(list(answers)[:N_RECALLED]).isdisjoint(names)


def best(measure: Callable[[_Answer, _Answer], float], answers: Iterable[_Answer], names: Sequence[_Answer]) -> float:
    """Return the largest value over answers and names; zero without either.

    Args:
        measure: of an answer and a name.
        answers: of a model.
        names: all that are right, with their aliases.
    """
    return max((measure(one, name) for one in answers for name in names), default=0.0)


NEW, OLD, OTHER_OBJECT, OTHER_NAME, NONE, AMBIGUOUS = "new", "old", "other_object", "other_name", "none", "ambiguous"
NAMES = {
    NEW: "the object that came",
    OLD: "the one that left, so that the answer is stale",
    OTHER_OBJECT: "another object that the subject has at another time",
    OTHER_NAME: "anything else",
    NONE: "the model was asked and gave no answer",
    AMBIGUOUS: "a name that the new and the old object share, so that they cannot be told apart",
}
"""What an answer names, with its meaning."""


def named(
    answer: str | None, new: Iterable[str], old: Iterable[str], others: Iterable[str] = (), *, runs_on: bool = False
) -> str:
    """Return what an answer names: one of `NAMES`. Names are equal if they are once normalised (`normalised`).

    Args:
        answer: what a model said; None if it gave no answer.
        new: label and aliases of the object that came.
        old: likewise of the one that left.
        others: likewise of other objects of the subject.
        runs_on: whether the model continues a text and may say more than a name, so that it is enough that the answer
            begins with one; of several the longest counts.

    >>> named("Reed Town and its hall", ["Reed", "Salt"], ["Reed Town"], runs_on=True)
    'old'
    """
    if answer is None:
        return NONE
    said = _comparable(answer)
    found = {
        kind: [name for name in map(_comparable, names) if said == name or (runs_on and said.startswith(f"{name} "))]
        for kind, names in ((NEW, new), (OLD, old), (OTHER_OBJECT, others))
    }
    longest = max((name for names in found.values() for name in names), key=len, default="")
    kinds = [kind for kind, names in found.items() if longest in names]
    if NEW in kinds and OLD in kinds:
        return AMBIGUOUS
    return kinds[0] if kinds else OTHER_NAME


def beginning(answer: str, names: Iterable[str]) -> str:
    """Return what counts of an answer that runs on: the shortest name with which it begins, or else its first line."""
    begun = [name for name in names if named(answer, [name], [], runs_on=True) == NEW]
    return min(begun, key=len, default=answer.partition("\n")[0])


def _comparable(name: str) -> str:
    """A name as it is compared: normalised, but for one that consists of what is left out, such as "The The".

    >>> _comparable("The Reeds"), _comparable("The The")
    ('reeds', 'the the')
    """
    return normalised(name) or name.strip().lower()
