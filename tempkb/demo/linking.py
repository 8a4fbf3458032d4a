"""Pages about links and mentions: redirects, surfaces that mean several things, markup, and what TempEL filters.

Numbers are those of the list of what the demo world must contain (10 to 17 and 31).
Ordinary articles do not link here, so every count is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from tempkb.demo.model import Clock
from tempkb.demo.stories import Pages
from tempkb.demo.verses import BOOKS, Surfaces, book_of, entity, place, verses_of

DAY = timedelta(days=1)

# Of entities that exist from the beginning, in the books of songs. Two entities have most of the surfaces, so that the
# likeliest meaning is often wrong.
CONTINUAL: Surfaces = {
    "Grand Harbour": {"the old port": 3, "a forest of masts": 2, "sailors' rest": 2, "nine stone arches": 2},
    "Silk Road Inn": {"the caravan's end": 2, "forty beds": 2, "an innkeeper's pride": 2, "the old port": 1},
    "Ember Hill": {"the smoking mound": 2, "warm ground": 2, "a hill that never sleeps": 2},
    "Glass Garden": {"the brittle flowers": 2, "seven greenhouses": 2, "where sunlight lives": 2},
    "Widow's Bridge": {"the yellow palace": 3, "nine stone arches": 2, "toll of tears": 2},
    "Amber Court": {"the yellow palace": 2, "judges' hall": 2, "toll of tears": 2},
}
# Entities on both sides of every threshold of the design; all but one of the pairs must be left out.
THRESHOLDS: Surfaces = {
    "Nine Bells House": {"the bell ringers": 2, "that noisy place": 3, "the loud corner": 4},
    "Ten Bells House": {"a tuneful attic": 4, "brass and bronze": 3, "the loud corner": 3},
    "Two Names Inn": {"the tavern of pairs": 5, "double doors": 5},
    "Three Names Inn": {"a triple sign": 4, "third time lucky": 3, "the odd number": 3},
    # Three letters of sixteen differ: 0.1875. One of five: 0.2.
    "Candlemaker Lane": {"Candlemakar Lont": 4, "wax alley": 3, "the tallow street": 3, "home of wicks": 3},
    "Stile": {"Stole": 4, "over the fence": 3, "a walker's friend": 3, "two steps and a rail": 3},
    # Most mentions of "the beacon" mean the northern one.
    "North Beacon": {"the beacon": 5, "the pharos of ice": 3, "first light": 3},
    "South Beacon": {"the beacon": 3, "last light": 4, "a lamp for whalers": 4},
}


@dataclass(frozen=True)
class Kind:
    """A kind of new entities, which have their surfaces in common.

    Attributes:
        noun: the end of their titles.
        line: a sentence of their articles.
        surfaces: by which they are mentioned.
    """

    noun: str
    line: str
    surfaces: tuple[str, ...]


KINDS = (
    Kind(
        "Coaching Inn",
        "Its doors were opened to travellers with a small feast.",
        ("a dozen feather beds", "the smoky taproom", "stables for forty", "that warm kitchen"),
    ),
    Kind(
        "Toll Bridge",
        "Its planks were tried by an ox with a wet cart.",
        ("the windy crossing", "seven damp arches", "a gatekeeper's hut", "one penny a head"),
    ),
)
NEWCOMERS = (
    "Askern Belvoir Corfell Dunlow Elmsett Farleigh Garsdale Hexmoor Ingleby Jarrold",
    "Kelling Lowick Mostyn Narberth Oxley Penhale Quarndon Rusper Silloth Tarleton",
    "Ulgham Veryan Wadhurst Yealand Zeal Ampleby Bickton Castleby Dalston Edwick",
)
"""Names of the new entities of each year."""
LATER = {"Grand Harbour": {"the old port": 4, "sailors' rest": 1}, "Glass Garden": {"seven greenhouses": 3}}


def write_newcomers(pages: Pages, clock: Clock, each: int) -> None:
    """31: up to ten new entities in each of three years, half inns and half bridges; a kind shares its surfaces."""
    for year, names in enumerate(NEWCOMERS if each else ()):
        if 4 * year + 3 >= len(clock.windows) - 1:
            return
        mentioned: dict[str, Mapping[str, int]] = {}
        for at, name in enumerate(names.split()[:each]):
            kind = KINDS[at % len(KINDS)]
            title = f"{name} {kind.noun}"
            saved = clock.start(4 * year + at % 3) + (12 + at) * DAY
            pages.new(f"newcomer {title}", title).edit(saved, entity(title, kind.line), "new page", user="Emil")
            mentioned[title] = {one: 2 + ((at // 2 + n) % 5 == 0) for n, one in enumerate(kind.surfaces)}
        verses = list(verses_of(mentioned))
        for book in range(BOOKS // 2):
            title = f"Travels of {clock.start(4 * year).year}, part {book + 1}"
            text = book_of(title, verses[book :: BOOKS // 2])
            pages.new(f"travels {title}", title).edit(clock.start(4 * year + 3) + 10 * DAY, text, "new page")


def write_links(pages: Pages, clock: Clock) -> None:
    """Add all pages of entries 10 to 17; needs eight quarters, and has more to show in twelve."""
    for story in (
        _crossroads,
        _chains,
        _retargeted,
        _before_and_after_a_move,
        _the_mill,
        _markup,
        _quotations,
        _written_later,
        _entities,
        _books,
        _dies,
        _years,
        _burst,
        _split_off,
    ):
        story(pages, clock)


def _crossroads(pages: Pages, clock: Clock) -> None:
    """10: every way to write a link, on one page."""
    lines = (
        "Roads lead to [[Chain One]], to [[Loop Left]] and to [[Nowhere At All]].",
        "There is [[harbour_Clock]] and its [[Harbour Clock#Bells|bells]], [[#Signs]] and the [[Crossroads]] itself.",
        "Abroad lie [[:fr:Carrefour|the French one]], [[wikt:crossroads|the word]] and [[Category:Places of Varland]].",
        "A [[Harbour Clock|clock]]work ticks, [[Anvil]]s ring, and [[Anvil (village)|]] sleeps.",
        "[[File:Crossroads.jpg|thumb|A sign at [[Twin Mills]] in [[Border Stone|stone]]]]"
        "The sign says [[Long Causeway|a\nlong way]].",
        "The [[Talk:Harbour Clock|talk]] is of [[Harbour%20Clock|chimes]] &amp; [[Long&nbsp;Causeway]].",
    )
    pages.new("crossroads", "Crossroads").edit(clock.start(0), "\n\n".join(lines), "new page")


def _chains(pages: Pages, clock: Clock) -> None:
    """10: redirects of redirects, and two that point at one another."""
    for title, target in (
        ("Chain One", "Chain Two"),
        ("Chain Two", "Chain Three"),
        ("Chain Three", "Twin Mills"),
        ("Loop Left", "Loop Right"),
        ("Loop Right", "Loop Left"),
    ):
        pages.new(f"chain {title}", title).edit(clock.start(0) + DAY, f"#REDIRECT [[{target}]]", "redirect")


def _retargeted(pages: Pages, clock: Clock) -> None:
    """10: a redirect that points to another page from the fifth quarter on, and a page that uses it."""
    redirect = pages.new("retargeted", "Town Hall")
    redirect.edit(clock.start(0), "#REDIRECT [[Twin Mills]]", "redirect")
    redirect.edit(clock.start(4) + DAY, "#REDIRECT [[Long Causeway]]", "moved house", user="Ben")
    pages.new("uses_retargeted", "Mayor's Chain").edit(
        clock.start(0), place("Mayor's Chain", "It hangs in the [[Town Hall|hall]]."), "new page"
    )


def _before_and_after_a_move(pages: Pages, clock: Clock) -> None:
    """10: the title that a page has after its move is a red link before it."""
    page = pages.new("renamed", "Old Bakery")
    page.edit(clock.start(0), place("Old Bakery", "It smells of bread."), "new page")
    page.move(clock.start(4) + 5 * DAY, 0, "New Bakery")
    text = place("Flour Street", "There are the [[Old Bakery|oven]] and the [[New Bakery|chimney]].")
    pages.new("uses_renamed", "Flour Street").edit(clock.start(0), text, "new page")


def _the_mill(pages: Pages, clock: Clock) -> None:
    """11: what most people mean by "the Mill" changes from the sixth quarter on."""
    for title in ("Paper Mill", "Spice Mill"):
        pages.new(f"mill {title}", title).edit(clock.start(0), place(title, "Its wheel turns."), "new page")
    for number, (title, quarter) in enumerate(
        [("Paper Mill", 0)] * 3 + [("Spice Mill", 0)] + [("Spice Mill", 5)] * 4, 1
    ):
        name = f"Miller's Tale {number}"
        text = place(name, f"It is told near [[{title}|the Mill]].")
        pages.new(f"tale {number}", name).edit(clock.start(quarter), text, "new page")


def _markup(pages: Pages, clock: Clock) -> None:
    """12: every kind of markup on one page."""
    text = (Path(__file__).parent / "museum.wikitext").read_text("utf-8")
    pages.new("markup", "Museum of Markup").edit(clock.start(1), text, "new page")


def _quotations(pages: Pages, clock: Clock) -> None:
    """13: an entity in all sorts of quotation marks, in longer names, twice, and in titles with unusual characters."""
    lines = (
        'A guide says that "[[Harbour Clock|Harbour Clock]] is never late" and nobody doubts it.',
        "“The Harbour Clock is tired”, said the “keeper of ‘Harbour Clock’ himself” in an old song.",
        "The Harbour Clock Society meets beside the Harbour Clock on every other Friday in winter.",
        "In the film [[Amber (2020 film)|Amber]] the Harbour Clock strikes twice in Varland for the widow.",
        "Its program was written in [[C++ (Varland)|C++]] by a clerk who had never seen the sea.",
    )
    pages.new("quotations", "Quoted Street").edit(clock.start(1), "\n\n".join(lines), "new page")
    for title in ("Amber (2020 film)", "C++ (Varland)"):
        pages.new(f"odd {title}", title).edit(clock.start(1), place(title, "It has an odd name."), "new page")


def _written_later(pages: Pages, clock: Clock) -> None:
    """14: a sentence about an old entity that was written much later."""
    page = pages.new("written_later", "Slow Gazette")
    page.edit(clock.start(0), place("Slow Gazette", "It prints little."), "new page")
    late = "In its last issue it told at length how the Border Stone was once moved by night."
    page.edit(clock.start(6), place("Slow Gazette", f"It prints little. {late}"), "news", user="Dora")


def _entities(pages: Pages, clock: Clock) -> None:
    """15 and 31: entities that the books of songs mention from the beginning."""
    for title in (*CONTINUAL, *THRESHOLDS):
        line = "People come from far away to see it, and poets have praised it in many verses."
        page = pages.new(f"entity {title}", title)
        page.edit(clock.start(0) - 300 * DAY, entity(title, line), "new page")
        if title in LATER:
            more = "A new wing was built for those who came by rail, and the old one was let to painters."
            page.edit(clock.start(5) + 2 * DAY, entity(title, f"{line} {more}"), "a new wing", user="Dora")


def _books(pages: Pages, clock: Clock) -> None:
    """15: books of songs that mention entities exactly as often as the tables above say."""
    verses = list(verses_of({**CONTINUAL, **THRESHOLDS}))
    later = list(verses_of(LATER))
    for number in range(BOOKS):
        title = f"Songs of Varland, book {number + 1}"
        page = pages.new(f"book {number + 1}", title)
        page.edit(clock.start(0) - 200 * DAY, book_of(title, verses[number::BOOKS]), "new page")
        if later[number::BOOKS]:
            text = book_of(title, verses[number::BOOKS] + later[number::BOOKS])
            page.edit(clock.start(5) + DAY, text, "more songs", user="Fay")


def _dies(pages: Pages, clock: Clock) -> None:
    """16: an entity that exists from the beginning and is merged away in the tenth quarter."""
    if len(clock.windows) > 10:
        page = next(page for page in pages.made if page.story == "entity Ember Hill")
        page.edit(clock.start(9) + 3 * DAY, "#REDIRECT [[Glass Garden]]", "merged", user="Cem")


def _years(pages: Pages, clock: Clock) -> None:
    """17: an event that recurs every year, described in that year's chronicles."""
    for year in range((len(clock.windows) - 1) // 4):
        name = str(clock.start(4 * year).year)
        title = f"{name} Varland Rowing Cup"
        page = pages.new(f"cup {name}", title)
        page.edit(clock.start(4 * year) + 40 * DAY, entity(title, "Eight boats rowed in it until dark."), "new page")
        surfaces = {"the great race": 2, "eight oars": 2, f"that wet day of {name}": 2}
        if year % 2:
            surfaces["rowers' glory"] = 1
        _chronicle(pages, clock, 4 * year + 1, f"Chronicle of {name}", {title: surfaces})


FEVERS: tuple[tuple[int, str, Surfaces], ...] = (
    (
        5,
        "Chronicle of the fever",
        {
            "Vorrel fever": {"the grey cough": 2, "zhimming sickness": 2, "a plague of quarrels": 2},
            "Vorrel fever in Twin Mills": {"the millers' outbreak": 2, "quarantined wheels": 2, "flour and fever": 2},
            "Zhimmavac": {"the blue needle": 2, "first zhimming jab": 2, "a vial of hope": 2},
        },
    ),
    (
        9,
        "Chronicle of the second wave",
        {
            "Quall wave": {"the yellow weeks": 3, "quallish shivers": 2, "a winter of soup": 2},
            "Masks of Varland": {"paper beaks": 3, "everyone's second face": 2, "muffled Sundays": 2},
            "Quallmeter": {"the humming box": 3, "a wand with numbers": 2, "quallish thermometer": 2},
        },
    ),
)


def _burst(pages: Pages, clock: Clock) -> None:
    """17: two quarters with several new entities whose words were never used before."""
    for quarter, chronicle, surfaces in FEVERS:
        if quarter < len(clock.windows) - 1:
            for title in surfaces:
                page = pages.new(f"burst {title}", title)
                line = "It was on every tongue in that spring."
                page.edit(clock.start(quarter) + 20 * DAY, entity(title, line), "new page")
            _chronicle(pages, clock, quarter, chronicle, surfaces)


def _split_off(pages: Pages, clock: Clock) -> None:
    """17: a page whose text was a part of another page until it was split off; and one new page in each year."""
    for year in range((len(clock.windows) - 1) // 4):
        name = str(clock.start(4 * year).year)
        title = f"Pier {name} of Grand Harbour"
        page = pages.new(f"pier {name}", title)
        line = "People come from far away to see it, and poets have praised it in many verses."
        page.edit(clock.start(4 * year + 1), entity(title, line), "split off from [[Grand Harbour]]", user="Emil")
        surfaces = {"the newest planks": 2, f"mooring {int(name) * 7}": 2, "long wooden finger": 2}
        _chronicle(pages, clock, 4 * year + 2, f"Harbour news of {name}", {title: surfaces})


def _chronicle(pages: Pages, clock: Clock, quarter: int, title: str, surfaces: Surfaces) -> None:
    """Two pages that mention entities; saved thirty days into a quarter."""
    verses = list(verses_of(surfaces))
    for half in (0, 1):
        name = f"{title}, part {half + 1}"
        pages.new(f"told in {name}", name).edit(
            clock.start(quarter) + 30 * DAY, book_of(name, verses[half::2]), "new page"
        )
