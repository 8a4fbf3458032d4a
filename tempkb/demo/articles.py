"""Articles of the demo world: invented places, people and works, in the wikitext of a typical wiki."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tempkb.demo.words import words_of

_WORDS = words_of("articles")


@dataclass
class Subject:
    """What an article is about.

    Attributes:
        kind: town, river, person, company, film or festival.
        facts: numbers and words that edits may change.
    """

    kind: str
    name: str
    facts: dict[str, str] = field(default_factory=dict)


def invent(chance: random.Random, taken: set[str]) -> Subject:
    """Make up a subject with a name that is not in `taken`, and add the name."""
    kind = chance.choice(_WORDS["kinds"])
    while True:
        name = _name(chance, kind)
        if name not in taken:
            taken.add(name)
            break
    facts = {
        "year": str(chance.randint(1780, 2018)),
        "number": f"{chance.randint(2, 900) * 10:,}",
        **{fact: chance.choice(_WORDS["facts"][fact]) for fact in ("trade", "landscape", "genre", "job")},
        "length": str(chance.randint(12, 480)),
        "month": chance.choice(_WORDS["facts"]["month"]),
    }
    return Subject(kind, name, facts)


def article(subject: Subject, others: Sequence[str], chance: random.Random, sentences: int) -> str:
    """Write an article of about `sentences` sentences that links to some of `others`."""
    kind, name, facts = subject.kind, subject.name, subject.facts
    lead = _WORDS["leads"][kind].format(name=name, other=chance.choice(others), **facts)
    body = [_sentence(subject, chance.choice(others), chance) for _ in range(sentences)]
    half = len(body) // 2
    parts = [
        f"{{{{Infobox {kind}\n| name = {name}\n{_WORDS['infoboxes'][kind].format(**facts)}\n}}}}",
        lead,
        "",
        "== History ==",
        " ".join(body[:half]),
        "",
        "== Today ==",
        " ".join(body[half:]),
        "",
        "== References ==",
        "{{reflist}}",
        f"[[Category:{kind.capitalize()}s of Varland]]",
    ]
    return "\n".join(parts)


def vandalism(text: str, chance: random.Random) -> str:
    """Return a vandalised form of a text."""
    return chance.choice(["", "HELLO HELLO " * 8, text[: len(text) // 3] + " and my cat was here!!!", "nothing to see"])


def _name(chance: random.Random, kind: str) -> str:
    word = "".join(_syllable(chance) for _ in range(chance.choice([2, 2, 3]))).capitalize()
    other = (_syllable(chance) + _syllable(chance)).capitalize()
    parts = {part: chance.choice(words) for part, words in _WORDS["parts"].items()}
    return str(_WORDS["names"][kind].format(word=word, other=other, **parts))


def _syllable(chance: random.Random) -> str:
    onsets, vowels, codas = (_WORDS[part].split() for part in ("onsets", "vowels", "codas"))
    return str(chance.choice(onsets) + chance.choice(vowels) + chance.choice(["", *codas]))


def _sentence(subject: Subject, other: str, chance: random.Random) -> str:
    numbers = {what: chance.randint(first, last) for what, (first, last) in _WORDS["numbers"].items()}
    form = chance.choice(_WORDS["sentences"])
    return str(form.format(name=subject.name, other=other, **numbers, **subject.facts))
