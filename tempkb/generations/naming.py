"""Whom an answer names where one object took the place of another. Pure."""

from collections.abc import Iterable

from tempkb.generations.measures import normalised

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
