"""Makes the demo world from a seed, and writes its dumps into a home."""

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

from tempkb.benchmarks.ecbd.reading import PROMPTING as ECBD
from tempkb.benchmarks.fact_queries.prompts import date_in_words, template_set
from tempkb.core.errors import SettingsError
from tempkb.core.files import replace_whole
from tempkb.core.model_words import FAMILIES, Family
from tempkb.core.settings import load_home
from tempkb.core.windows import Granularity
from tempkb.demo.articles import Subject, article, invent, vandalism, write_facts
from tempkb.demo.births import write_births
from tempkb.demo.careers import write_districts
from tempkb.demo.export import write_dump, write_entities
from tempkb.demo.facts import WORDS
from tempkb.demo.linking import write_links, write_newcomers
from tempkb.demo.pages import CUTS, DAY, USERS, Clock, Name, Page, Pages, World, quarters, write_stories
from tempkb.demo.words import chance_of

_FIRST_STORY = 11
_USERS = (*USERS, None)
_MIN_PAGES, _MIN_QUARTERS = 250, 8
# New entities of a year, and by how many pages a world must be larger for one of them in each year.
_MOST_NEWCOMERS, _PAGES_A_NEWCOMER = 10, 20
# In worlds of so many pages nothing else grows any more but ordinary articles; a district has about so many pages.
_PAGES_WITHOUT_DISTRICTS, _PAGES_A_DISTRICT = 1_200, 40


def make_world(seed: int = 7, pages: int = 627, n_quarters: int = 12) -> World:
    """Return the world of a seed: trap pages first, then ordinary articles and their talk pages.

    Args:
        seed: any number; the same number gives the same world, byte for byte.
        pages: number of pages, at least 250.
        n_quarters: number of quarters before the first dump, at least 8; the
            second dump is one quarter later.

    Raises:
        SettingsError: the world would be too small for its trap pages.
    """
    if pages < _MIN_PAGES or n_quarters < _MIN_QUARTERS:
        raise SettingsError(
            f"demo: found {pages} pages and {n_quarters} quarters; "
            f"at least {_MIN_PAGES} pages and {_MIN_QUARTERS} quarters are needed"
        )
    clock = Clock(quarters(n_quarters + 1))
    stories = Pages(clock, _FIRST_STORY)
    write_stories(stories)
    linked = _titles(stories.made)
    write_links(stories)
    n_traps = len(stories.made)
    write_newcomers(stories, min(_MOST_NEWCOMERS, (pages - _MIN_PAGES) // _PAGES_A_NEWCOMER))
    write_districts(stories, max(0, pages - _PAGES_WITHOUT_DISTRICTS) // _PAGES_A_DISTRICT, seed)
    facts = write_facts(stories, seed, pages)
    births = write_births(stories, facts, seed)
    # New entities, districts, items of facts, and items of births are numbered last, so that their number can change.
    traps, of_items = stories.made[:n_traps], stories.made[n_traps:]
    # Pages whose links are counted must not be linked from ordinary pages, nor must the others'.
    unlinked = _titles(stories.made) - linked
    taken = linked | unlinked
    subjects = [invent(chance_of(f"{seed}/{number}"), taken) for number in range(pages - len(stories.made))]
    titles = sorted(taken - unlinked)
    ordinary = [
        _ordinary_page(_FIRST_STORY + n_traps + number, number, subject, titles, seed, clock)
        for number, subject in enumerate(subjects)
    ]
    made = [*traps, *ordinary, *of_items]
    for page_id, page in enumerate(made, _FIRST_STORY):
        page.page_id = page_id
    _number_revisions(made)
    return World(seed, clock, made, facts, births)


def write_demo(seed: int, pages: int, n_quarters: int, *, second: bool = False) -> list[Path]:
    """Write the first dump of the demo world into the home or, with `second`, the second one, a quarter later.

    If the home has no `tempkb.toml`, one is written that lets its windows begin with the world.

    Returns:
        the files written.
    """
    home = load_home()
    world = make_world(seed, pages, n_quarters)
    settings = home.path / "tempkb.toml"
    if not settings.exists():
        home.path.mkdir(parents=True, exist_ok=True)
        # Written in one step: an empty file would stay, and the home would begin with Wikipedia's first year.
        replace_whole(settings, f"first_window = {world.clock.windows[0].start}\n".encode())
    day = world.dump_days[1 if second else 0]
    return [*write_dump(world, day, home.dumps), *write_entities(world, day, home.dumps)]


def news(world: World, n_texts: int = 4) -> Iterator[dict[str, Any]]:
    """Yield what newspapers write of careers and owners: some sentences in each quarter on each statement that holds.

    Articles say it once, when it begins; newspapers say it again as long as it holds.

    Args:
        n_texts: of each statement in each quarter.

    Returns:
        as `tempkb corpus add` reads them: text, date (a day) and spans, which is the place of the object alone.
    """
    chance, facts = chance_of(f"{world.seed}/news"), world.facts
    for window in world.clock.windows[:-1]:
        day = window.start + _TOLD_AFTER * DAY
        for one in sorted(facts.told_on(day), key=lambda one: (one.subject, one.relation, one.object)):
            subject, name = facts.items[one.subject].label, facts.items[one.object].label
            wordings = WORDS["wordings"][one.relation] if subject and one.relation in _IN_NEWS else ()
            for wording in chance.sample(wordings, n_texts if wordings else 0):
                text = wording.format(s=subject, o=name)
                start = len(wording.partition("{o}")[0].format(s=subject))
                yield {"text": text, "date": f"{day}", "spans": [[start, start + len(name)]]}


def write_time(world: World, folder: Path) -> list[Path]:
    """Write for models that are told the time: the world's news, queries about it, and checkpoints to begin with.

    Returns:
        what was written.
    """
    from tempkb.demo.models.training import write_bases

    told = list(news(world))
    folder.mkdir(parents=True, exist_ok=True)
    replace_whole(folder / "news.jsonl", "".join(json.dumps(one) + "\n" for one in told).encode())
    queries = [f"{one.relation},{one.language},{one.wording}" for one in template_set("templama")]
    queries = [one for one in queries if one.partition(",")[0] in _IN_NEWS]
    replace_whole(folder / "queries.csv", "\n".join(["relation,language,wording", *queries, ""]).encode())
    write_bases((f"{date_in_words(Granularity.YEAR, one['date'][:4])}{one['text']}" for one in told), folder)
    return [folder / "news.jsonl", folder / "queries.csv", *(folder / family for family in TIME_STEPS)]


def _titles(pages: Iterable[Page]) -> set[str]:
    return {name.title for page in pages for name in page.names}


def _ordinary_page(page_id: int, number: int, subject: Subject, titles: Sequence[str], seed: int, clock: Clock) -> Page:
    """Return an ordinary article, or one of nine talk pages, with its edits."""
    chance = chance_of(f"{seed}/{subject.name}")
    born = clock.start(0) + timedelta(days=_birthday(chance, len(clock.windows) - 1))
    is_talk = number % 9 == 8
    name = Name(born, 1 if is_talk else 0, subject.name)
    page = Page(page_id, [name], entity_id=None if is_talk else f"Q{100 + page_id}")
    _write_history(page, lambda n: article(subject, titles, chance, n), born, clock, chance)
    return page


def _birthday(chance: random.Random, n_quarters: int) -> float:
    """Return the time of creation: most pages are older than the first window, some are created in each quarter."""
    return chance.uniform(-700, 30) if chance.random() < 0.55 else chance.uniform(0, n_quarters * 91)


def _write_history(
    page: Page, write: Callable[[int], str], born: datetime, clock: Clock, chance: random.Random
) -> None:
    """Give a page its edits: most pages are seldom edited, a few often, some are vandalised and restored."""
    end = clock.cut(len(clock.windows) - 1)
    n = 1 + int(chance.paretovariate(0.9)) if chance.random() < 0.6 else 1
    days = (end - born).total_seconds() / 86_400
    times = sorted(born + timedelta(seconds=round(chance.uniform(0, days) * 86_400)) for _ in range(min(n, 60)))
    sentences = chance.randint(3, 8)
    text = write(sentences)
    page.edit(born, text, "new page", user=chance.choice(_USERS))
    for time in times:
        if time <= page.edits[-1].time:
            continue
        if chance.random() < 0.12:
            page.edit(time, vandalism(text, chance), "", user=None)
            page.edit(time + timedelta(seconds=chance.randint(30, 90_000)), text, "rv", user=chance.choice(_USERS))
            continue
        sentences += chance.choice([0, 0, 1])
        text = write(sentences)
        comment, user = chance.choice(["", "more", "sources", "see talk"]), chance.choice(_USERS)
        page.edit(time, text, comment, user=user, is_minor=chance.random() < 0.3)


def _number_revisions(pages: list[Page]) -> None:
    """Number all revisions in the order in which they were saved in the wiki."""
    order = sorted((edit.came, page.page_id, at) for page in pages for at, edit in enumerate(page.edits))
    by_id = {page.page_id: page for page in pages}
    for number, (_, page_id, at) in enumerate(order, 1001):
        by_id[page_id].edits[at].revision_id = number


_STUDY = "2021-01-01..2024-01-01"
_ASKED = ("undated", "dated", "dates")
# Of these alone queries do not begin with the answer, which a causal model could not know.
_IN_NEWS = ("P54", "P102", "P108", "P127")
_TOLD_AFTER = 45  # days from the beginning of a quarter to its news
# In which entities that came later are not there yet.
_EARLIER = "--pool 2022-01-01 --pool 2023-01-01"

Command = Sequence[str]
QUARTERS = "demo-quarters"
"""The release of DynamicTempLAMA."""

_N = len(CUTS) * len(FAMILIES)  # models
_TYPED = {
    "building the tables of twelve quarters": "build",
    "a release of TempEL": "release tempel 2022-01-01..2024-01-01/yearly --preset small --name demo",
    "a release of TempLAMA": f"release templama {_STUDY} --name demo-years",
    "a release of DynamicTempLAMA": f"release dynamic-templama {_STUDY} --name {QUARTERS}",
    "a release of ECBD": f"release ecbd {_STUDY} --preset small --popular 3 --name demo-cloze",
    f"training {_N} tiny language models": "model demo",
    f"scoring {_N} models on ECBD": "score --all --benchmark ecbd --variant original",
    f"scoring {_N} models on DynamicTempLAMA": "score --all --benchmark dynamic-templama",
    f"answers of {_N} models to DynamicTempLAMA": "generate --all --benchmark dynamic-templama --decoder greedy",
    f"answers of {len(CUTS) * len(ECBD.answered)} models to ECBD": "generate --all --benchmark ecbd --limit 100",
    "training two linkers": "linker train demo --cut 2022-01-01 --cut 2023-01-01 --preset demo",
    "linking mentions with four linkers": "linker score --all --release demo",
    "the same of validation, earlier entities": f"linker score --all --release demo {_EARLIER} --subset validation",
    "the same among earlier entities": f"linker score --all --release demo {_EARLIER}",
    # At the end, or what it computes would be out of date from the beginning.
    "computing results": "results",
}
STEPS: Mapping[str, Command] = {title: typed.split() for title, typed in _TYPED.items()}
"""The arguments of each command, by what it does, in order; for the world of the default seed and size."""

TIME_WORLD = (12, 467, 12)
"""Seed, pages and quarters of the world of `demo --time`, in which, and in that of seed 11, its steps were chosen."""
TIME_STEPS: Mapping[Family, int] = {"causal": 750, "seq2seq": 600}
"""Of a model that is told the time, or of all experts of one together."""
REGIMES = ("uniform", "temporal", "yearly")
_RATES = {"causal": 0.004, "seq2seq": 0.002}
_N_YEARS = 3


def training(family: Family, regime: str, folder: Path, steps: int, name: str, *further: str) -> Command:
    """Return the command that trains a model which is told the time.

    Args:
        folder: with what `write_time` wrote.
        steps: of the model, or of all its experts together.
        further: options.
    """
    own = steps // _N_YEARS if regime == "yearly" else steps
    numbers = {"steps": own, "learning_rate": _RATES[family], "random_weights": "true", "asked": "spans"}
    told = [word for number, value in numbers.items() for word in ("--set", f"{number}={value}")]
    read = ("--corpus", "news", "--window", _STUDY, "--base", f"{folder / family}", "--preset", "small")
    return ("train", regime, "--name", name, *read, *told, *further)


def time_steps(folder: Path) -> Iterator[Sequence[Mapping[str, Command]]]:
    """Yield the commands of `demo --time`, by what they do: rows, of which those of a group run beside one another.

    Args:
        folder: with what `write_time` wrote.
    """
    stamp = f"{quarters(TIME_WORLD[2])[-1].end:%Y%m%d}"
    facts = folder.parent / "dumps" / "wikidatawiki" / "entities" / stamp / f"wikidata-{stamp}-all.json.gz"
    queries = ("--templates", f"{folder / 'queries.csv'}", "--set", "min_objects=1")
    variants = [word for one in _ASKED for word in ("--variant", one)]
    yield [
        {
            "reading the facts": ("build", "--dump", f"{facts}"),
            "a release of TempLAMA": ("release", "templama", _STUDY, *queries, "--name", "years"),
            "reading the news": ("corpus", "add", "news", f"{folder / 'news.jsonl'}", "--chunker", "none"),
        }
    ]
    rows: list[dict[str, Command]] = [{}, {}]
    for place, (family, regime) in enumerate(product(TIME_STEPS, REGIMES)):
        name = f"{family}-{regime}"
        # Models of T5 take longer.
        rows[place > len(REGIMES)][f"training {name}"] = training(family, regime, folder, TIME_STEPS[family], name)
    yield rows
    yield [
        {
            "scoring six models": ("score", "--all", "--scorer", "span", *variants),
            "answers of six models": ("generate", "--all"),
            "computing results": ("results",),
            "drawing what they know": ("paper", "templama", "regimes", "--picture", f"{folder / 'regimes.png'}"),
        }
    ]
