"""Articles about entities that came into being: long enough for a benchmark, with many sentences that name it once.

Everything is invented. A sentence that names the entity does so early and continues
with plain words, so that there is something to mask after the name.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

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
_WORDS = {
    "many": ("forty", "ninety", "three hundred", "two thousand", "eleven thousand", "sixty"),
    "season": ("spring", "summer", "autumn", "winter"),
    "place": ("the northern villages", "the salt coast", "the upper valley", "the mill towns", "the outer islands"),
    "group": ("fishermen", "teachers", "bakers", "rope makers", "ferry pilots", "carpenters"),
}
# For any entity; each continues with eight words or more behind the name.
_ANY = (
    "In the {season} {name} drew {many} visitors to {place} before dawn.",
    "For most {group} {name} brought work and a warm room in the {season}.",
    "A year later {name} lent its colours to the flags of {place}.",
    "On market days {name} filled the front page of the harbour paper.",
    "Many {group} praised {name} for its patient helpers and its low prices.",
    "Since the flood {name} has kept a small office above the corn market.",
    "Slowly {name} changed the habits of {many} families in {place}.",
    "Every {season} {name} sends a printed letter to the schools of {place}.",
    "According to two {group} {name} deserves a quiet corner in the town museum.",
    "Some say {name} owes its fame to a clever clerk from {place}.",
    "At first {name} met with doubt among the older {group} of {place}.",
    "By midsummer {name} had found {many} friends along the old coast road.",
)
_OWN: dict[str, tuple[str, ...]] = {
    "Sports": (
        "Under floodlights {name} opened with {many} tickets sold and a brass band.",
        "In heavy rain {name} ended a long wait for a silver cup.",
        "During the {season} {name} relied on young runners from the fishing schools.",
        "Against all advice {name} hired a former sailor as its first trainer.",
    ),
    "Media": (
        "On long evenings {name} follows two sisters through the tunnels of an empty town.",
        "From the start {name} used slow music and the voices of real {group}.",
        "Some critics compared {name} with the painted screens of the older theatres.",
        "In its second part {name} sends a tired detective to a frozen lake.",
    ),
    "Infrastructure": (
        "In the {season} {name} carried {many} riders between the harbour and the hills.",
        "Beneath a clock {name} hides a narrow staircase of red stone and iron.",
        "After two storms {name} received new railings and a brighter row of lamps.",
        "Each morning {name} links the wool market with the offices of {place}.",
    ),
    "Natural Risks": (
        "Soon {name} destroyed {many} barns and two mills along the western road.",
        "At its height {name} darkened the sky above the orchards for nine hours.",
        "Near the coast {name} forced {many} families into the halls of the schools.",
        "Later {name} left the insurers with a heavy bill and angry letters.",
    ),
    "Products": (
        "On its first day {name} reached {many} buyers through a single shop window.",
        "For little money {name} combined a cheap battery with a bright round screen.",
        "In a later version {name} gained a larger lamp and a voice for the blind.",
        "Among young travellers {name} became a cheap answer to the crowded morning trams.",
    ),
    "Businesses": (
        "At once {name} leased {many} warehouses and a quiet yard by the canal.",
        "From a small office {name} sold blankets and tickets to the mountain towns.",
        "Despite high rents {name} raised the wages of its {many} clerks twice.",
        "With borrowed money {name} ordered a new fleet of vans from abroad.",
    ),
    "Organizations": (
        "Early on {name} elected a retired teacher as treasurer for two years.",
        "In the {season} {name} collected {many} signatures against the closing of the library.",
        "Unlike its rivals {name} publishes all letters from members in a weekly sheet.",
        "Through patient talks {name} won a fair rent for the gardens of {place}.",
    ),
    "Other Events": (
        "On the second evening {name} filled the streets with drums and paper birds.",
        "Along the river {name} gathered {many} guests around a ring of wooden stages.",
        "Before sunset {name} ended with a silent walk to the gates of the palace.",
        "For the police {name} meant long nights and a row of empty streets.",
    ),
    "Misc.": (
        "In most taverns {name} begins with a blind horse and a locked garden.",
        "Among children {name} has {many} answers and a short rhyme for the winter.",
        "Around the table {name} sets old {group} against their clever daughters every {season}.",
        "By tradition {name} ends with a clap of hands and a wrong answer.",
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


def body(names: Sequence[str], kind: Kind, chance: random.Random, links: Sequence[str] = ()) -> list[Line]:
    """Write the sentences of an article: ten that name the entity, some that link to `links`, and some others.

    Args:
        names: title and aliases; the title is used most.
        kind: what the entity is.
        chance: reproducible random numbers.
        links: titles of other pages.
    """
    own = _OWN[kind.category] if kind.is_typical else ()
    forms = [*own, *chance.sample(_ANY, N_TOLD - len(own))]
    # So that the same name does not always occur with the same form.
    chance.shuffle(forms)
    lines = [fill(form, name, chance) for form, name in zip(forms, _in_turn(names), strict=False)]
    lines += [aside(chance, title) for title in links]
    lines += [Line(form, kept="none") for form in chance.sample(_ASIDES, max(1, 3 - len(links)))]
    chance.shuffle(lines)
    return lines


def fill(form: str, name: str, chance: random.Random) -> Line:
    """Fill a form with a name and with random words."""
    return Line(form.format(name=name, **{slot: chance.choice(words) for slot, words in _WORDS.items()}), name)


def in_paragraphs(lines: Sequence[Line]) -> list[list[Line]]:
    """Split sentences into paragraphs of two to four."""
    parts = max(1, round(len(lines) / 3))
    edges = [len(lines) * at // parts for at in range(parts + 1)]
    return [list(lines[begin:end]) for begin, end in zip(edges, edges[1:], strict=False)]


def definition(title: str, kind: Kind, chance: random.Random) -> str:
    """Return the first paragraph: what it is, and where people talk of it."""
    known_in, clause = chance.choice(_WORDS["place"]), chance.choice(kind.clauses)
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
