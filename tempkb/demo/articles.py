"""Articles of the demo world: invented places, people and works, in the wikitext of a typical wiki, and facts.

Numbers are those of the list of what the demo world must contain (26 and 27). Each article says in several sentences
what holds now, and nothing of the past.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from tempkb.demo.careers import Cast, balance, write_careers
from tempkb.demo.facts import WORDS, FactMaker, Facts, write_stories_of_facts
from tempkb.demo.pages import DAY, USERS, Pages, midnight
from tempkb.demo.words import chance_of, words_of

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


N_TOLD = 5
"""Sentences of a fact; the same number for all, so that what is equally often true is equally often told."""


def write_facts(pages: Pages, seed: int, n_pages: int) -> Facts:
    """Add the pages of all items that have one, and return the facts; needs eight quarters.

    Args:
        n_pages: number of its pages, on which the number of ordinary facts depends.
    """
    make = FactMaker(pages)
    cast = Cast(make, n_pages)
    write_stories_of_facts(make)
    write_careers(make, cast, seed)
    balance(make, cast)
    for number, one in enumerate(make.facts.statements, 1):
        one.number = number
    for number, entity_id in enumerate(make.facts.pages):
        _write_article(make, number, entity_id, seed)
    return make.facts


def _write_article(make: FactMaker, number: int, entity_id: str, seed: int) -> None:
    """Save an article when the world begins, and anew on the day after each change of what it says."""
    facts, windows = make.facts, make.clock.windows
    first, end = windows[0].start, windows[-1].end
    days = {first}
    for one in facts.of_subject(entity_id):
        days.update(day for begin, last in facts.spans(one) for day in (begin, _after(last)) if first < day < end)
    page, before = facts.pages[entity_id], ""
    for day in sorted(days):
        text = _article(facts, entity_id, day, seed)
        if day == first:
            page.edit(midnight(day) + timedelta(minutes=number), text, "new page")
        elif text != before:
            saved = midnight(day) + timedelta(hours=33, minutes=number % 60)
            page.edit(saved, text, "news", user=USERS[(number + day.toordinal()) % len(USERS)])
        before = text


def _article(facts: Facts, entity_id: str, day: date, seed: int) -> str:
    """Return the article of a day; a fact has the same sentences as long as it holds."""
    item = facts.items[entity_id]
    told = {}
    for one in facts.of_subject(entity_id):
        if facts.is_told_on(one, day):
            chance = chance_of(f"{seed}/{entity_id}/{one.relation}/{one.object}")
            told[one.relation, one.object] = sentences_of(
                one.relation, item.label, facts.items[one.object].label, chance
            )
    in_order = sorted((relation, sentences) for (relation, _), sentences in told.items())
    chance = chance_of(f"{seed}/{entity_id}")
    noun = WORDS["nouns"][item.instance_of[0]]
    parts = [f"'''{item.label or item.title}''' is {noun} in Varland. {chance.choice(WORDS['more'])}"]
    before = ""
    for relation, sentences in in_order:
        if relation != before:
            parts.append(f"== {WORDS['sections'][relation]} ==")
        parts.append(" ".join(sentences))
        before = relation
    return "\n\n".join(parts)


def sentences_of(relation: str, subject: str, object_name: str, chance: random.Random) -> Sequence[str]:
    """Return the sentences of one fact."""
    return [form.format(s=subject, o=object_name) for form in chance.sample(WORDS["wordings"][relation], N_TOLD)]


def _after(day: date) -> date:
    return day if day == date.max else day + DAY
