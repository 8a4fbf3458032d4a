"""Articles about entities that came into being: long enough for a benchmark, with many sentences that name it once.

Everything is invented. A sentence that names the entity does so early and continues
with plain words, so that there is something to mask after the name.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import NamedTuple

N_TOLD = 10


@dataclass(frozen=True)
class Kind:
    """A class of entities, and the words of their articles.

    Attributes:
        class_id: item of the class.
        category: one of the benchmark's nine.
        noun: what they are, with its article.
        clauses: what they do, for the definition.
        title: pattern of their names, into which an invented word goes.
        short: pattern of the short form.
        is_typical: do the sentences of its category fit it?
    """

    class_id: str
    category: str
    noun: str
    clauses: tuple[str, ...]
    title: str = ""
    short: str = ""
    is_typical: bool = True


@dataclass(frozen=True)
class Line:
    """A sentence of an article.

    Attributes:
        wikitext: as it is written.
        mention: the name with which it mentions the entity; empty if there is none, or it is not to be kept.
        kept: empty if it is to be kept, else why not.
    """

    wikitext: str
    mention: str = ""
    kept: str = ""

    @property
    def text(self) -> str:
        """The sentence as a reader sees it."""
        return re.sub(r"\[\[(?:[^]|]*\|)?([^]]*)\]\]", r"\1", self.wikitext)


KINDS = (
    Kind(
        "Q27020041",
        "Sports",
        "a rowing season",
        ("joins nine clubs from both shores", "ends with a race at night"),
        "{} Cup Season",
        "{} Season",
    ),
    Kind(
        "Q476028",
        "Sports",
        "a football club",
        ("trains on a field behind the brewery", "wears grey and yellow"),
        "{} Dock Wanderers",
        "{} Wanderers",
    ),
    Kind(
        "Q5398426",
        "Media",
        "a television series",
        ("tells of a family of glaziers", "is set in a sunken mine"),
        "Houses of {}",
        "{} Houses",
    ),
    Kind(
        "Q7889",
        "Media",
        "a video game",
        ("sends its player through a maze of canals", "is about lost letters"),
        "{} Night Quest",
        "{} Quest",
    ),
    Kind(
        "Q12280",
        "Infrastructure",
        "a bridge",
        ("crosses the river below the weir", "stands on four iron legs"),
        "{} Iron Bridge",
        "{} Bridge",
    ),
    Kind(
        "Q55488",
        "Infrastructure",
        "a railway station",
        ("lies on the upper line", "has two platforms and a kiosk"),
        "{} Junction Station",
        "{} Station",
    ),
    Kind(
        "Q169950",
        "Natural Risks",
        "a wildfire",
        ("burned on the heath for a week", "began in a dry ditch"),
        "{} Heath Fire",
        "{} Fire",
    ),
    Kind(
        "Q3157041",
        "Natural Risks",
        "a tropical storm",
        ("came ashore after midnight", "turned back to the sea"),
        "Tropical Storm {}",
        "Storm {}",
    ),
    Kind(
        "Q620615",
        "Products",
        "a mobile app",
        ("finds the next ferry", "tells birds by their calls"),
        "{} Pocket Guide",
        "{} Guide",
    ),
    Kind(
        "Q1420",
        "Products",
        "a motor car",
        ("has three wheels and a canvas roof", "seats four people and a dog"),
        "{} Model Four",
        "{} Four",
    ),
    Kind(
        "Q4830453",
        "Businesses",
        "a company",
        ("deals in planks and doors", "lets boats by the hour"),
        "{} Timber Company",
        "{} Timber",
    ),
    Kind(
        "Q46970",
        "Businesses",
        "an airline",
        ("flies to eleven islands", "keeps six small seaplanes"),
        "{} Coast Airways",
        "{} Airways",
    ),
    Kind(
        "Q7278",
        "Organizations",
        "a political party",
        ("asks for lower tolls", "began among teachers"),
        "{} Reform League",
        "{} League",
    ),
    Kind(
        "Q163740",
        "Organizations",
        "a charity",
        ("lends books to lighthouses", "mends old boats for children"),
        "{} Reading Trust",
        "{} Trust",
    ),
    Kind(
        "Q175331",
        "Other Events",
        "a demonstration",
        ("called for cheaper bread", "went from the mint to the port"),
        "{} Bread March",
        "{} March",
    ),
    Kind(
        "Q132241",
        "Other Events",
        "a festival",
        ("fills a meadow with kites", "honours the first herring"),
        "{} Kite Festival",
        "{} Festival",
    ),
    Kind(
        "Q990001",
        "Misc.",
        "a riddle",
        ("nobody has solved without help", "asks for the name of a wind"),
        "{} Door Riddle",
        "{} Riddle",
    ),
)
_STEMS = """
    Aldra Bremmel Corvane Dunmoss Eskvale Farrowby Gillmark Hestrand Ivenholt Jorrick Kelmarsh Lindqvar Morvane Nettlow
    Orvale Pellam Quillby Rastholm Sennick Thornmere Ulvane Vessing Wrenfold Yarrowick Zellan Arnsvig Birkholm Cinderly
    Draymoor Elverby Fogmere Gorsewick Hollin Isenby Juttle Kestmoor Lorrimer Marram Norvold Ostley Pinnock Rookhay
    Sallowby Tindrel Umberly Varnish Withern Yoxley Zennick Ashmarch
"""
STEMS = tuple(_STEMS.split())
_PLACES = ("the northern villages", "the salt coast", "the upper valley", "the mill towns", "the outer islands")


class Traits(NamedTuple):
    """What only one entity has: its article tells each of them in several sentences, and no other article does.

    Attributes:
        colour: such as pale ochre.
        material: such as smoked larch.
        founder: a person.
        number: a number, in digits.
        village: a place.
        emblem: an animal, such as blind otter.
    """

    colour: str
    material: str
    founder: str
    number: str
    village: str
    emblem: str


# First and second parts; each first may go with each second.
_COLOURS = (
    "pale dusky dull bright faded deep watery milky rusty dim",
    "ochre saffron indigo crimson teal umber violet copper lilac olive scarlet amber",
)
_MATERIALS = (
    "smoked tarred carved woven polished pressed gilded waxed braided knotted",
    "larch slate horn felt wicker granite bronze canvas cedar marble pewter leather",
)
_EMBLEMS = (
    "blind sleeping three-legged laughing winged drowsy hungry dancing crowned limping",
    "otter badger heron lynx magpie beetle walrus hedgehog stork weasel toad pelican",
)
_SURNAMES = (
    "Venn Quar Tolb Mard Hesk Plim Drox Yeld Garb Wisk",
    "ick aby orne ull edge ander ost imer erby antle yne uggan",
)
_VILLAGES = (
    "Quen Lurg Wyke Brin Obb Sark Tumb Glos Ness Hoth",
    "moor stead thorpe combe garth mere wold shaw ditch haven croft fold",
)
_FIRST_NAMES = "Orla Maud Cleo Tess Ivor Saul Abel Rhea Nell Jude Enid Basil"


def all_traits(chance: random.Random) -> Iterator[Traits]:
    """Yield the traits of 120 entities; none has a trait of another."""
    surnames, villages = _pairs(_SURNAMES, "", chance), _pairs(_VILLAGES, "", chance)
    founders = [f"{first} {last}" for first, last in zip(cycle(_FIRST_NAMES.split()), surnames, strict=False)]
    # Ordinary pages have smaller numbers, and larger ones that end with a zero.
    numbers = map(str, chance.sample([number for number in range(481, 990) if number % 10], len(surnames)))
    colours, materials, emblems = (_pairs(words, " ", chance) for words in (_COLOURS, _MATERIALS, _EMBLEMS))
    return map(Traits, colours, materials, founders, numbers, villages, emblems)


def _pairs(words: tuple[str, str], between: str, chance: random.Random) -> list[str]:
    """Return all pairs of a first and a second word, in any order."""
    made = [f"{head}{between}{tail}" for head in words[0].split() for tail in words[1].split()]
    return chance.sample(made, len(made))


# For any entity, two for each trait; each continues with eight words or more behind the name.
_ANY = (
    (
        "On flags and letters {name} shows its {colour} stripe above the drawing of a {emblem}.",
        "From afar {name} is known by the {colour} that {founder} chose for all its doors.",
    ),
    (
        "To this day {name} keeps the {material} chest in which {founder} carried the first papers.",
        "In a storm {name} lost a gate of {material} and bought it again in {village}.",
    ),
    (
        "In old letters {name} is what {founder} dreamt of on the road to {village}.",
        "According to the registers {name} was begun by {founder} with {number} coins and a ladder.",
    ),
    (
        "In the lists {name} stands with {number} helpers, most of them from {village}.",
        "Each spring {name} sends {number} printed letters sealed in {colour} wax to its friends.",
    ),
    (
        "Year after year {name} brings guests to {village} and fills its only inn for days.",
        "For two winters {name} had its office in {village} under a roof of {material}.",
    ),
    (
        "Since the first day {name} has a {emblem} as its sign and {number} copies of it.",
        "In a well known song {name} is guarded by a {emblem} with a lantern from {village}.",
    ),
)
_OWN: dict[str, tuple[str, ...]] = {
    "Sports": (
        "Under floodlights {name} opened before {number} guests and the {colour} banner of {village}.",
        "In heavy rain {name} won a cup of {material} that {founder} had given.",
        "During the summer {name} relied on young runners who carried a {emblem} on {colour} shirts.",
        "Against all advice {name} made {founder} its first trainer and moved to {village}.",
    ),
    "Media": (
        "On long evenings {name} follows a {emblem} through the tunnels below {village}.",
        "From the start {name} used the slow music of {founder} and drums of {material}.",
        "Some critics praised {name} for its {colour} light and a cast of {number} amateurs.",
        "In its second part {name} sends {founder} to a frozen lake near {village}.",
    ),
    "Infrastructure": (
        "In the autumn {name} carried {number} riders a day between the harbour and {village}.",
        "Beneath a clock {name} hides a narrow staircase of {material} that {founder} drew.",
        "After two storms {name} received {colour} railings and the carving of a {emblem}.",
        "Each morning {name} links the {colour} warehouses with the market of {village}.",
    ),
    "Natural Risks": (
        "Soon {name} destroyed {number} barns and the mill of {founder} on the western road.",
        "At its height {name} made the sky above {village} look {colour} for nine hours.",
        "Near the coast {name} spared only a hut of {material} and a {emblem} in a cage.",
        "Later {name} left {founder} and {number} other farmers with a heavy bill.",
    ),
    "Products": (
        "On its first day {name} reached {number} buyers through a shop window in {village}.",
        "For little money {name} combines a {colour} case with a handle of {material}.",
        "In a later version {name} gained a voice for the blind, spoken by {founder}.",
        "Among young travellers {name} became as dear as the {emblem} on its {colour} label.",
    ),
    "Businesses": (
        "At once {name} leased {number} warehouses and a quiet yard outside {village}.",
        "From a small office {name} sold {colour} blankets and boxes of {material} to strangers.",
        "Despite high rents {name} raised the wages of its {number} clerks when {founder} asked.",
        "With borrowed money {name} ordered vans that carry a {emblem} on a {colour} ground.",
    ),
    "Organizations": (
        "Early on {name} elected {founder} as treasurer and met in a hall of {material}.",
        "In the winter {name} collected {number} signatures against the closing of the {village} library.",
        "Unlike its rivals {name} prints all letters from members on {colour} paper with a {emblem}.",
        "Through patient talks {name} won a fair rent for the {village} gardens of {founder}.",
    ),
    "Other Events": (
        "On the second evening {name} filled {village} with drums and with {colour} paper birds.",
        "Along the river {name} gathered {number} guests around a stage of {material}.",
        "Before sunset {name} ended with a silent walk led by {founder} and a {emblem}.",
        "For the police {name} meant long nights in {village} and a quarrel with {founder}.",
    ),
    "Misc.": (
        "In most taverns {name} begins with a {emblem} and a locked garden of {material}.",
        "Among children {name} has {number} answers and a short rhyme about {village}.",
        "Around the table {name} sets old bakers against {founder} and a box of {colour} cards.",
        "By tradition {name} ends with a clap of hands and the name of {founder}.",
    ),
}
_ASIDES = (
    "The weather that year was mild.",
    "Nobody kept the first drawings.",
    "A long letter tells the story of the first winter.",
    "Local bakers still sell a small round loaf.",
    "The mayor gave a short speech from a balcony.",
    "Two books about it lie in the college.",
    "Prices rose and fell again.",
    "A plan to move the office came to nothing.",
)
_LINKS = (
    "The same week brought news of [[{}]] to the inland towns.",
    "Much the same had been said of [[{}]] by the older papers.",
    "Travellers often rest at [[{}]] on the way home.",
)
_SECTIONS = ("History", "Reception", "Legacy")


def aside(chance: random.Random, title: str = "") -> Line:
    """Return a sentence that does not name the entity; with a title, one that links to that page."""
    form = chance.choice(_LINKS).format(title) if title else chance.choice(_ASIDES)
    return Line(form, kept="none")


def body(
    names: Sequence[str], kind: Kind, traits: Traits, chance: random.Random, links: Sequence[str] = ()
) -> list[Line]:
    """Write the sentences of an article: ten that name the entity, some that link to `links`, and some others.

    Args:
        names: title and aliases; the title is used most.
        kind: what the entity is.
        traits: what only this entity has.
        chance: reproducible random numbers.
        links: titles of other pages.
    """
    own = _OWN[kind.category] if kind.is_typical else ()
    # One for each trait, and others where there are none of the category.
    first = [chance.choice(pair) for pair in _ANY]
    others = [form for pair in _ANY for form in pair if form not in first]
    forms = [*own, *first, *chance.sample(others, N_TOLD - len(own) - len(first))]
    # So that the same name does not always occur with the same form.
    chance.shuffle(forms)
    told = [
        Line(form.format(name=name, **traits._asdict()), name)
        for form, name in zip(forms, _in_turn(names), strict=False)
    ]
    lines = [*told, *(aside(chance, title) for title in links)]
    lines += [Line(form, kept="none") for form in chance.sample(_ASIDES, max(1, 3 - len(links)))]
    chance.shuffle(lines)
    return lines


def in_paragraphs(lines: Sequence[Line]) -> list[list[Line]]:
    """Split sentences into paragraphs of two to four."""
    parts = max(1, round(len(lines) / 3))
    edges = [len(lines) * at // parts for at in range(parts + 1)]
    return [list(lines[begin:end]) for begin, end in zip(edges, edges[1:], strict=False)]


def definition(title: str, kind: Kind, chance: random.Random) -> str:
    """Return the first paragraph: what it is, and where people talk of it."""
    known_in, clause = chance.choice(_PLACES), chance.choice(kind.clauses)
    return f"'''{title}''' is {kind.noun} in Varland that {clause}. Everybody in {known_in} knows the story."


def article(title: str, kind: Kind, lead: str, paragraphs: Sequence[Sequence[Line]], state: int = 0) -> str:
    """Put a page together.

    Args:
        title: of the page.
        kind: what it is about.
        lead: its first paragraph.
        paragraphs: all others, in at most three sections.
        state: a number in the box, which small edits change.
    """
    noun = kind.noun.split(" ", 1)[1]
    parts = [f"{{{{Infobox {noun}\n| name = {title}\n| pictures = {state}\n}}}}\n{lead}"]
    in_section = max(2, -(-len(paragraphs) // len(_SECTIONS)))
    for at, lines in enumerate(paragraphs):
        if at % in_section == 0:
            parts.append(f"== {_SECTIONS[at // in_section]} ==")
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
