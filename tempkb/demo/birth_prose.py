"""Articles about entities that came into being: long enough for a benchmark, with many sentences that name it once."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import NamedTuple

from tempkb.demo.words import words_of

WORDS = words_of("births")
N_TOLD = 10


@dataclass(frozen=True)
class Kind:
    """A class of entities, and the words of their articles.

    Attributes:
        class_id: item of the class.
        category: one of the benchmark's nine.
        noun: what they are, with its article.
        clauses: what they do, for the definition.
        title: pattern of their names, into which an invented word goes; empty if there are no ordinary ones.
        short: pattern of the short form.
        is_typical: do the sentences of its category fit it?
    """

    class_id: str
    category: str
    noun: str
    clauses: Sequence[str]
    title: str = ""
    short: str = ""
    is_typical: bool = True


@dataclass(frozen=True)
class Sentence:
    """A sentence of an article, and what is true of it.

    Attributes:
        mention: the name with which it mentions the entity; empty if there is none, or it is not to be kept.
        kept: empty if it is to be kept, else why not: `in quotes`, `twice`, `none`, `short`, `other name`.
        since: number of the quarter, from 0, whose snapshot first has it.
    """

    wikitext: str
    mention: str = ""
    kept: str = ""
    since: int = 0

    @property
    def text(self) -> str:
        """The sentence as a reader sees it."""
        return re.sub(r"\[\[(?:[^]|]*\|)?([^]]*)\]\]", r"\1", self.wikitext)


KINDS = {kind.noun: kind for kind in (Kind(**one) for one in WORDS["kinds"])}


class Traits(NamedTuple):
    """What only one entity has: its article tells each of them in several sentences, and no other article does.

    Attributes:
        colour: such as pale ochre.
        material: such as smoked larch.
        emblem: an animal, such as blind otter.
    """

    colour: str
    material: str
    founder: str
    number: str
    village: str
    emblem: str


def all_traits(chance: random.Random) -> Iterator[Traits]:
    """Yield the traits of 120 entities; none has a trait of another."""
    surnames, villages = _pairs("surname", "", chance), _pairs("village", "", chance)
    first_names = cycle(WORDS["first_names"].split())
    founders = [f"{first} {last}" for first, last in zip(first_names, surnames, strict=False)]
    # Ordinary pages have smaller numbers, and larger ones that end with a zero.
    numbers = map(str, chance.sample([number for number in range(481, 990) if number % 10], len(surnames)))
    colours, materials, emblems = (_pairs(name, " ", chance) for name in ("colour", "material", "emblem"))
    return map(Traits, colours, materials, founders, numbers, villages, emblems)


def _pairs(name: str, between: str, chance: random.Random) -> list[str]:
    """Return all pairs of a first and a second word, in any order."""
    heads, tails = WORDS["traits"][name]
    made = [f"{head}{between}{tail}" for head in heads.split() for tail in tails.split()]
    return chance.sample(made, len(made))


def aside(chance: random.Random, title: str = "") -> Sentence:
    """Return a sentence that does not name the entity; with a title, one that links to that page."""
    form = chance.choice(WORDS["links"]).format(title) if title else chance.choice(WORDS["asides"])
    return Sentence(form, kept="none")


def body(
    names: Sequence[str], kind: Kind, traits: Traits, chance: random.Random, links: Sequence[str] = ()
) -> list[Sentence]:
    """Write the sentences of an article: ten that name the entity, some that link to `links`, and some others.

    Args:
        names: title and aliases; the title is used most.
    """
    own = WORDS["own"][kind.category] if kind.is_typical else ()
    # One for each trait, and others where there are none of the category.
    first = [chance.choice(pair) for pair in WORDS["any"]]
    others = [form for pair in WORDS["any"] for form in pair if form not in first]
    forms = [*own, *first, *chance.sample(others, N_TOLD - len(own) - len(first))]
    # So that the same name does not always occur with the same form.
    chance.shuffle(forms)
    told = [
        Sentence(form.format(name=name, **traits._asdict()), name)
        for form, name in zip(forms, _in_turn(names), strict=False)
    ]
    lines = [*told, *(aside(chance, title) for title in links)]
    lines += [Sentence(form, kept="none") for form in chance.sample(WORDS["asides"], max(1, 3 - len(links)))]
    chance.shuffle(lines)
    return lines


def in_paragraphs(lines: Sequence[Sentence]) -> list[list[Sentence]]:
    """Split sentences into paragraphs of two to four."""
    parts = max(1, round(len(lines) / 3))
    edges = [len(lines) * at // parts for at in range(parts + 1)]
    return [list(lines[begin:end]) for begin, end in zip(edges, edges[1:], strict=False)]


def definition(title: str, kind: Kind, chance: random.Random) -> str:
    """Return the first paragraph: what it is, and where people talk of it."""
    known_in, clause = chance.choice(WORDS["places"]), chance.choice(kind.clauses)
    return f"'''{title}''' is {kind.noun} in Varland that {clause}. Everybody in {known_in} knows the story."


def article(title: str, kind: Kind, lead: str, paragraphs: Sequence[Sequence[Sentence]], state: int = 0) -> str:
    """Put a page together.

    Args:
        paragraphs: all others, in at most three sections.
        state: a number in the box, which small edits change.
    """
    noun = kind.noun.split(" ", 1)[1]
    parts = [f"{{{{Infobox {noun}\n| name = {title}\n| pictures = {state}\n}}}}\n{lead}"]
    in_section = max(2, -(-len(paragraphs) // len(WORDS["sections"])))
    for at, lines in enumerate(paragraphs):
        if at % in_section == 0:
            parts.append(f"== {WORDS['sections'][at // in_section]} ==")
        parts.append(" ".join(line.wikitext for line in lines))
    return "\n\n".join([*parts, "[[Category:Newcomers of Varland]]"])


def initials(title: str) -> str:
    """Return the capitals of a name: those of Moss Iron Bridge are MIB."""
    return "".join(word[0].upper() for word in re.findall(r"\w+", title))


def _in_turn(names: Sequence[str]) -> Iterator[str]:
    """Yield the title for every other sentence, and the aliases in turn for the others."""
    others = cycle(names[1:] or names)
    for at in range(N_TOLD):
        yield names[0] if at % 2 == 0 else next(islice(others, 1))
