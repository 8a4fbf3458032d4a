"""Wikidata: reading entities beside `json.loads`, and how releases of facts grow with the facts."""

import bz2
import gzip
import json
import random
import statistics
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa

from tempkb.wiki.wikidata.tables import FACTS, WIKIDATA_ENTITIES
from tempkb_tests.bench.measuring import Side, measure, ratios, row, speed, spread

_LANGUAGES = [f"{a}{b}" for a in "abcdefghij" for b in "klmnopqr"]
_ENTITIES = 5_000


def measure_all(folder: Path) -> None:
    """Measure all of it."""
    _reading(folder)
    _releases(folder)


def write_entities(path: Path, n: int, share_linked: float = 0.08, seed: int = 3) -> None:
    """Write a list of items of about 13 kB each, of which a share has a page in the English Wikipedia."""
    chance = random.Random(seed)
    with path.open("w", encoding="utf-8") as out:
        out.write("[\n")
        for number in range(1, n + 1):
            out.write(
                json.dumps(_entity(number, chance, is_linked=chance.random() < share_linked), separators=(",", ":"))
            )
            out.write(",\n" if number < n else "\n]\n")


def _entity(number: int, chance: random.Random, *, is_linked: bool) -> dict:
    name = f"Entity {number} of the world"
    languages = ["en", *chance.sample(_LANGUAGES, 24)]
    sites = [f"{one}wiki" for one in chance.sample(_LANGUAGES, 6)] + (["enwiki"] if is_linked else [])
    claims: dict[str, list] = {}
    for at in range(17):
        relation = chance.choice(["P54", "P39", "P108", "P17", "P131", "P569", "P856", "P345"])
        claims.setdefault(relation, []).append(_statement(number, at, relation, chance))
    return {
        "type": "item",
        "id": f"Q{number}",
        "labels": {one: {"language": one, "value": name} for one in languages},
        "descriptions": {one: {"language": one, "value": f"{name}, as it is described in {one}"} for one in languages},
        "aliases": {"en": [{"language": "en", "value": f"E{number}"}]},
        "claims": claims,
        "sitelinks": {one: {"site": one, "title": name, "badges": []} for one in sites},
        "lastrevid": number,
    }


def _statement(number: int, at: int, relation: str, chance: random.Random) -> dict:
    def time(year: int) -> dict:
        value = {
            "time": f"+{year}-00-00T00:00:00Z",
            "timezone": 0,
            "before": 0,
            "after": 0,
            "precision": 9,
            "calendarmodel": "http://www.wikidata.org/entity/Q1985727",
        }
        return {
            "snaktype": "value",
            "property": "P580",
            "hash": "0" * 40,
            "datatype": "time",
            "datavalue": {"value": value, "type": "time"},
        }

    item = chance.randint(1, _ENTITIES)
    value = {"entity-type": "item", "numeric-id": item, "id": f"Q{item}"}
    main = {
        "snaktype": "value",
        "property": relation,
        "datatype": "wikibase-item",
        "datavalue": {"value": value, "type": "wikibase-entityid"},
    }
    year = chance.randint(1990, 2020)
    return {
        "mainsnak": main,
        "type": "statement",
        "id": f"Q{number}$0000{at:04}-0000-4000-8000-000000000000",
        "rank": "normal",
        "qualifiers": {"P580": [time(year)], "P582": [time(year + 2)]} if at % 3 == 0 else [],
        "references": [{"hash": "1" * 40, "snaks": {"P248": [main]}, "snaks-order": ["P248"]}],
    }


def _reading(folder: Path) -> None:
    plain = folder / "entities.json"
    write_entities(plain, _ENTITIES)
    megabytes = plain.stat().st_size / 1e6
    packed = {"plain": plain, ".gz": folder / "entities.json.gz", ".bz2": folder / "entities.json.bz2"}
    packed[".gz"].write_bytes(gzip.compress(plain.read_bytes(), 6))
    packed[".bz2"].write_bytes(bz2.compress(plain.read_bytes()))
    row(
        f"{_ENTITIES} entities, {megabytes:.0f} MB, 8 % with a page",
        "CPU s",
        "MB/s per core",
        "CPU of json.loads / ours",
        "peak MB",
    )
    row("---", "---", "---", "---", "---")
    for kind, path in packed.items():
        sides = [Side(name, ["entities", name, str(path)]) for name in ("nothing", "prefiltered", "all", "json.loads")]
        measure(*sides)
        base = statistics.median(sides[0].cpu)
        loop = sides[-1]
        for side in sides[1:]:
            side.cpu = [cpu - base for cpu in side.cpu]
        for side in sides[1:]:
            beside = "" if side is loop else spread(ratios(loop, side), "{:.1f}")
            row(f"{kind}, {side.name}", spread(side.cpu), speed(side, megabytes), beside, f"{side.peak_mb:.0f}")
    whole = Side("read_dump", ["wikidata", str(folder / "wd"), str(plain)], prepare=folder / "wd")
    measure(whole)
    row("plain, all tables of a dump written", spread(whole.cpu), speed(whole, megabytes), "", f"{whole.peak_mb:.0f}")
    print()


def _releases(folder: Path) -> None:
    sides = [_release(folder, n) for n in (100_000, 1_000_000)]
    measure(*sides, pairs=3)
    row("spells, queries and changes of 40 quarters", "CPU s", "CPU / that of a tenth", "peak MB")
    row("---", "---", "---", "---")
    row(f"{sides[0].name} facts", spread(sides[0].cpu), "", f"{sides[0].peak_mb:.0f}")
    row(
        f"{sides[1].name} facts",
        spread(sides[1].cpu),
        spread(ratios(sides[1], sides[0]), "{:.1f}"),
        f"{sides[1].peak_mb:.0f}",
    )
    print()
    _prompts(folder)


def _prompts(folder: Path) -> None:
    without, small, large = (
        _release(folder, 50_000),
        _release(folder, 5_000, "prompts"),
        _release(folder, 50_000, "prompts"),
    )
    measure(without, small, large, pairs=3)
    row("spells to prompts of 40 quarters", "CPU s", "CPU / that of a tenth", "CPU / that without prompts", "peak MB")
    row("---", "---", "---", "---", "---")
    row(f"{small.name} facts", spread(small.cpu), "", "", f"{small.peak_mb:.0f}")
    tenfold, beside = (spread(ratios(large, other), "{:.1f}") for other in (small, without))
    row(f"{large.name} facts", spread(large.cpu), tenfold, beside, f"{large.peak_mb:.0f}")
    print()


def _release(folder: Path, n: int, *last: str) -> Side:
    """A release of so many facts, which are made once."""
    base, home = folder / f"facts-{n}", folder / "facts"
    if not base.exists():
        Side("make", ["make-facts", str(base), str(n)]).run()
    return Side(f"{n:,}", ["release-facts", str(home), str(n), *last], prepare=home, template=base)


def facts_table(n: int, wiki: str, dump_id: str, day: date) -> tuple[pa.Table, pa.Table]:
    """Synthetic rows of `wikidata_entities` and `facts`, in key order: five facts a subject, dates of all precisions."""
    chance = random.Random(11)
    n_subjects, n_objects = n // 5, 2_000
    entities = [
        {
            "entity_id": f"Q{number}",
            "label": f"Entity {number}",
            "aliases": [],
            "labels": [{"language": "en", "label": f"Entity {number}", "aliases": []}],
            "site_title": f"Entity {number}",
            "n_site_links": 1,
            "n_statements": chance.randint(1, 200),
            "ended_from": None,
            "ended_to": None,
            "ended_precision": None,
            "ended_property": None,
        }
        for number in range(1, n_subjects + n_objects + 1)
    ]
    relations = ["P54", "P39", "P108", "P102", "P286", "P69", "P488", "P6", "P127"]
    shapes = {"day": timedelta(1), "month": timedelta(30), "year": timedelta(365)}
    facts = []
    for number in range(n):
        subject = n_objects + 1 + number // 5
        start = date(2008, 1, 1) + timedelta(days=chance.randrange(4_000))
        end = start + timedelta(days=chance.randrange(1, 1_500))
        start_shape, end_shape = chance.choice(list(shapes)), chance.choice(list(shapes))
        is_open = chance.random() < 0.3
        facts.append(
            {
                "fact_id": f"Q{subject}${number:09}",
                "interval_no": 1,
                "subject_id": f"Q{subject}",
                "relation": relations[subject % len(relations)],
                "object_id": f"Q{chance.randint(1, n_objects)}",
                "valid_from": start,
                "valid_to": None if is_open else end + shapes[end_shape],
                "certain_from": start + shapes[start_shape] - timedelta(1),
                "certain_to": None if is_open else end + timedelta(1),
                "start_precision": start_shape,
                "end_precision": None if is_open else end_shape,
                "start_kind": "value",
                "end_kind": "absent" if is_open else "value",
                "is_point": False,
                "rank": "normal",
            }
        )
    shared = {"wiki": wiki, "dump_id": dump_id, "dump_date": day}
    return (
        pa.Table.from_pylist(
            sorted(({**shared, **one} for one in entities), key=lambda one: one["entity_id"]), WIKIDATA_ENTITIES.schema
        ),
        pa.Table.from_pylist(
            sorted(({**shared, **one} for one in facts), key=lambda one: one["fact_id"]), FACTS.schema
        ),
    )
