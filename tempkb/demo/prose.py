"""Articles of the demo world: invented places, people and works, in the wikitext of a typical wiki."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_SOUNDS = "b br c d dr f fl g gr h j k l m n p r s st t tr v w"
_ONSETS = _SOUNDS.split()
_VOWELS = ["a", "e", "i", "o", "u", "ae", "ei", "ia"]
_CODAS = ["", "n", "r", "l", "s", "th", "nd", "rk", "m"]
_TRADES = ["glass", "salt", "wool", "tiles", "clocks", "cheese", "boats", "paper", "copper wire", "ceramics"]
_LANDSCAPES = [
    "a wide valley",
    "the northern coast",
    "a chain of low hills",
    "the edge of a peat bog",
    "two small lakes",
]
_GENRES = ["mystery", "comedy", "road film", "period drama", "documentary"]
_JOBS = ["painter", "engineer", "botanist", "sailor", "composer", "historian", "rower"]
_KINDS = ("town", "river", "person", "company", "film", "festival")


@dataclass
class Subject:
    """What an article is about.

    Attributes:
        kind: town, river, person, company, film or festival.
        name: its title.
        facts: numbers and words that edits may change.
    """

    kind: str
    name: str
    facts: dict[str, str] = field(default_factory=dict)


def invent(chance: random.Random, taken: set[str]) -> Subject:
    """Make up a subject with a name that is not in `taken`, and add the name."""
    kind = chance.choice(_KINDS)
    while True:
        name = _name(chance, kind)
        if name not in taken:
            taken.add(name)
            break
    facts = {
        "year": str(chance.randint(1780, 2018)),
        "number": f"{chance.randint(2, 900) * 10:,}",
        "trade": chance.choice(_TRADES),
        "landscape": chance.choice(_LANDSCAPES),
        "genre": chance.choice(_GENRES),
        "job": chance.choice(_JOBS),
        "length": str(chance.randint(12, 480)),
        "month": chance.choice(["March", "May", "June", "September", "October"]),
    }
    return Subject(kind, name, facts)


def article(subject: Subject, others: Sequence[str], chance: random.Random, sentences: int) -> str:
    """Write an article of about `sentences` sentences that links to some of `others`."""
    facts = subject.facts
    lead = _LEADS[subject.kind](subject.name, facts, chance.choice(others))
    body = [_sentence(subject, chance.choice(others), chance) for _ in range(sentences)]
    half = len(body) // 2
    parts = [
        _infobox(subject),
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
        f"[[Category:{subject.kind.capitalize()}s of Varland]]",
    ]
    return "\n".join(parts)


def vandalism(text: str, chance: random.Random) -> str:
    """Return a vandalised form of a text."""
    return chance.choice(["", "HELLO HELLO " * 8, text[: len(text) // 3] + " and my cat was here!!!", "nothing to see"])


def _name(chance: random.Random, kind: str) -> str:
    word = "".join(_syllable(chance) for _ in range(chance.choice([2, 2, 3]))).capitalize()
    other = (_syllable(chance) + _syllable(chance)).capitalize()
    return {
        "town": word,
        "river": f"River {word}",
        "person": f"{other} {word}",
        "company": f"{word} {chance.choice(['Works', 'Brothers', '& Sons'])}",
        "film": f"The {chance.choice(['Lamp', 'Ferry', 'Orchard', 'Letter', 'Bridge'])} of {word}",
        "festival": f"{word} {chance.choice(['Fair', 'Regatta', 'Festival'])}",
    }[kind]


def _syllable(chance: random.Random) -> str:
    return chance.choice(_ONSETS) + chance.choice(_VOWELS) + chance.choice(_CODAS)


_Lead = Callable[[str, dict[str, str], str], str]
_LEADS: dict[str, _Lead] = {
    "town": lambda name, f, other: (
        f"'''{name}''' is a town in Varland, close to [[{other}]]. It lies on {f['landscape']}."
    ),
    "river": lambda name, f, other: (
        f"The '''{name}''' is a river in Varland. It is {f['length']} km long and passes [[{other}]]."
    ),
    "person": lambda name, f, other: f"'''{name}''' (born {f['year']}) is a {f['job']} from [[{other}]] in Varland.",
    "company": lambda name, f, other: (
        f"'''{name}''' is a maker of {f['trade']} in [[{other}]]. It was founded in {f['year']}."
    ),
    "film": lambda name, f, other: f"'''''{name}''''' is a {f['genre']} that was shot near [[{other}]] in {f['year']}.",
    "festival": lambda name, f, other: (
        f"The '''{name}''' is held each {f['month']} in [[{other}]]. It began in {f['year']}."
    ),
}


def _sentence(subject: Subject, other: str, chance: random.Random) -> str:
    facts, name = subject.facts, subject.name
    forms = [
        f"In {chance.randint(1850, 2020)} a fire destroyed the old hall, which [[{other}]] helped to rebuild.",
        f"About {facts['number']} people visit every year, most of them on foot.",
        f'The writer of a guide to [[{other}]] called {name} "the quietest corner of the land".',
        f"Its archive keeps {chance.randint(2, 90)} maps{{{{citation needed|date=May 2021}}}} of the district.",
        f"Since the new line to [[{other}|the north]] opened, trade in {facts['trade']} has grown.",
        f"A bridge of {{{{convert|{chance.randint(20, 400)}|m|ft|abbr=on}}}} was built in {chance.randint(1900, 2019)}."
        f"<ref>{{{{cite book |title=Bridges of Varland |year={chance.randint(1990, 2020)}}}}}</ref>",
        f"Old people still tell the story of the {facts['job']} who swam there from [[{other}]].",
        f"The name is first written down in a letter of {chance.randint(1500, 1800)}.",
        f"Schools of the area teach the local dialect, as do those of [[{other}]].",
        f"Together with [[{other}]] it takes part in a programme for clean water.",
    ]
    return chance.choice(forms)


def _infobox(subject: Subject) -> str:
    facts = subject.facts
    rows = {
        "town": f"| population = {facts['number']}\n| landscape = {facts['landscape']}",
        "river": f"| length_km = {facts['length']}\n| mouth = [[Grey Sea]]",
        "person": f"| born = {facts['year']}\n| occupation = {facts['job']}",
        "company": f"| founded = {facts['year']}\n| products = {facts['trade']}",
        "film": f"| released = {facts['year']}\n| genre = {facts['genre']}",
        "festival": f"| begun = {facts['year']}\n| month = {facts['month']}",
    }[subject.kind]
    return f"{{{{Infobox {subject.kind}\n| name = {subject.name}\n{rows}\n}}}}"
