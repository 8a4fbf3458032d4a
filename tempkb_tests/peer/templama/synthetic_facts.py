"""Made-up facts with times that press on every rule by which TempLAMA and DynamicTempLAMA choose them.

    python -m tempkb_tests.peer.templama.synthetic_facts DIRECTORY

writes `facts.csv` and `entities.csv`. CASES has one line per rule; each case becomes a subject of one
relation, and plain subjects of random spells, many of them equally popular, fill the rest up, so that
the border of the most popular subjects cuts through a tie. Subjects come in an order that is not
that of their numbers. The same seed gives the same bytes.
"""

import argparse
import csv
import random
from pathlib import Path

SEED = 20
TEMPLATED = ["P54", "P39", "P6", "P102"]
PLAIN_SUBJECTS = {"P54": 20, "P39": 16, "P6": 11, "P102": 0}  # P102 stays below the border
OBJECTS = "ABCDEFGHI"  # letters stand for objects drawn anew for every case; the others, below, are fixed
FIXED = {
    "U": ("Unlinked Rovers", 9, False),
    "V": ("", 8, False),  # no label either
    "L": ("Harbour Union", 21, True),
    "M": ("Harbour Union", 22, True),  # another object of that name
    "P": ("Small Union", 3, True),
    "Q": ("Great Union", 70, True),
    "R": ("Grand Union", 70, True),  # as popular as Q
    "O": ("Fußballclub O'Möre", 30, True),
}
CASES = {  # spells as "object start end"; "-" is a missing date
    "start missing": "A - 2015, B 2015 -",
    "end missing": "A 2012-03-01 -, B 2018 -",
    "both missing": "A - -, B 2011 2019-05, C 2019-05 -",
    "precision of the start": "A 2018 2019, B 2019 2019-05, C 2019 2019-08-15, D 2019-02 2020, E 2019-11 2020-04",
    "precision of the end": "A 2020-04 2020-09-30, B 2019-03-31 2021, C 2020-12-05 2021-02, D 2021-02-10 2021-07-20",
    "ends in mid-year": "A 2017 2020, B 2020 2022, C 2019-06-15 2019-08-15, D 2020-10 2020",
    "month without a 31st": "A 2018 2019-06, B 2019-06-30 2019-09, C 2019-09-30 2020-02, D 2020-02-29 -",
    "old start, no end": "A 2003 -, B 2012 2014, C 2015 -",
    "old start, old end": "A 2001 2009-12-31, B 2009 2010, C 2010-01-01 -",
    "old start, new end": "A 2004-05-01 2013, B 2013 2030",
    "old end, start missing": "A - 2009, B - 2010, C 2011 -",
    "future ends": "A 2014 2023, B 2019-06-15 2030-01-01, C 2022-03 2022-08",
    "future starts": "A 2018 -, B 2021-07 -, C 2022-05-20 -, D 2022-08-01 -, E 2023-02 2024",
    "nothing in the years, all later": "A 2021 2022, B 2022 -",
    "nothing in the quarters, all earlier": "A 2010 2012, B 2012 2015-06",
    "start after end": "A 2016 2013, B 2014 2018, C 2018 2019-11",
    "start after end in a quarter": "A 2019-05-20 2019-05-10, B 2019-11 2019-02, C 2020 2020, D 2020-02 2020-08",
    "only starts after ends": "A 2017 2015, B 2020 2018",
    "one day": "A 2019-05-07 2019-05-07, A 2019-05-07 2021, B 2021 -",
    "two rows of one object and day": "A 2019-05-07 2019-05-07, A 2019-05-07 2019-05-07",
    "two rows of one object and year": "A 2015 2015, A 2020 2020, A 2019 2019",
    "equal ends of other precision": "A 2019 2019-01, A 2019-01 2019-01-01, B 2019-03 -",
    "nested": "A 2010 2020, A 2012 2014, B 2019 -",
    "nested in quarters": "A 2019-02 2021-11-30, A 2019-06 2019-08, B 2021-01 -",
    "gap bridged": "A 2019-01 2019-03, A 2021-01 2021-06, B 2022-01 -",
    "gap kept by a day": "A 2011 2012, A 2014-07-01 2014-07-01, A 2019 2020",
    "there and back": "A 2011 2014, B 2014 2019-08, A 2019-08 -",
    "there and back at once": "A 2018 2021, B 2018 2021, A 2018 2021",
    "adjacent": "A 2012 2014-12-31, A 2015-01-01 2019-02, B 2019-02 2020-03-31, B 2020-04-01 -",
    "twice the same": "A 2015 2020-02, A 2015 2020-02, B 2020 -, B 2020 -",
    "merged into no dates": "A - 2012, A 2013 -, A 2014 2015, B 2016 2020",
    "rows not in time's order": "C 2019 -, A 2011 2013, B 2013-06 2019, D - 2011",
    "handover on a day": "A 2015 2019-10-01, B 2019-10-01 2020-01-01, C 2020-01-01 -",
    "objects of one name": "L 2014 2020-08, M 2018-03 2021-09, L 2022 -",
    "umlaut and apostrophe": "O 2016 2019-09, A 2019-09 -",
    "object not linked": "U 2011 2013, A 2013 2019, V 2016 2020, B 2019 -",
    "one object left": "U 2011 2013, A 2013 2019",
    "one object": "A 2012 -",
    "one object after merging": "A 2012 2016, A 2017 2019, A 2020 -",
    "year 2100 and later": "A 2016 -, B 2016 2100, C 2016 2101, D 2150 2019-09, E 2150 2199",
    "edges of years": "A 2005 2010-01-01, B 2010-12-31 2011-01-01, C 2020-12-31 -",
    "edges of quarters": "A 2018-06-01 2019-03-31, B 2019-03-31 2019-04-01, C 2019-04-01 2019-06-30, D 2019-06-30 2019-07-01, E 2019-07-01 2022-07-01",
    "popular answers": "P 2010 2021, Q 2012 2013, R 2013 2019-04, P 2019 -",
    "popular answers tie": "R 2011 2019, Q 2011 2019, P 2015 2020, Q 2018 2021",
    "earlier ends go first": "Q 2011 2015, R 2011 2013, Q 2016 2019-11, R 2016 2019, P 2020 -",
    "coarser starts go first": "Q 2012-02 2014, R 2012 2014, Q 2019-03-01 2020-06, R 2019-03 2020-06",
    "frequent answers tie": "A 2010 2012, B 2013 2015, Q 2018 2019, C 2019 2022",
    "many answers": "A 2018 2020, B 2019 -, C 2019-02 2021, D 2019-03 2020-01, E 2017 2021-05, F 2020 -, G 2018-08-08 2022, H 2019 2019-12, I 2020-01 -",
}
PLAIN_STATEMENTS = [12, 12, 12, 12, 12, 12, 12, 30, 7]
FIRST = ["Ada", "Bo", "Cleo", "Dag", "Edda", "Finn", "Gail", "Hugo", "Ilse", "Jon", "Kaja", "Liv"]
LAST = ["Alder", "Brook", "Crane", "Dale", "Elm", "Fenn", "Gorse", "Heath", "Isle", "Jay", "Knoll", "Lund"]
PLACE = [
    "Arvik",
    "Bergo",
    "Calder",
    "Dunmor",
    "Eskby",
    "Farro",
    "Gilden",
    "Hollin",
    "Istra",
    "Jorvik",
    "Kelso",
    "Lorne",
]
KIND = {"P54": "{} FC", "P39": "Mayor of {}", "P6": "{} Ayre", "P102": "{} Party"}

Row = tuple[str, str, str, str, str]


class World:
    """Collects entities and rows of facts; every entity gets a number of its own by chance."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.numbers = chance.sample(range(100, 9000), 400)
        self.entities: dict[str, tuple[str, int, bool]] = {}

    def entity(self, label: str, n_statements: int, is_linked: bool = True) -> str:
        """Add an entity and return its id."""
        qid = f"Q{self.numbers.pop()}"
        self.entities[qid] = (label, n_statements, is_linked)
        return qid


def build(seed: int) -> tuple[list[Row], World]:
    """Make all facts, subject by subject, and their entities."""
    chance = random.Random(seed)
    world = World(chance)
    names = [f"{first} {last}" for first in FIRST for last in LAST]
    chance.shuffle(names)
    fixed = {letter: world.entity(*entity) for letter, entity in FIXED.items()}
    pools = {
        relation: [world.entity(kind.format(place), chance.choice([5, 9, 9, 40, 41])) for place in PLACE]
        for relation, kind in KIND.items()
    }
    subjects: list[list[Row]] = []
    for at, spells in enumerate(CASES.values()):
        relation = TEMPLATED[at % len(TEMPLATED)]
        qid = world.entity(names.pop(), chance.choice([33, 33, 34, 50, 88]))
        objects = dict(zip(OBJECTS, chance.sample(pools[relation], len(OBJECTS)), strict=True)) | fixed
        rows = [(qid, relation, objects[obj], start, end) for obj, start, end in map(str.split, spells.split(","))]
        subjects.append(dated(rows))
    for relation, count in PLAIN_SUBJECTS.items():
        for _ in range(count):
            qid = world.entity(names.pop(), chance.choice(PLAIN_STATEMENTS))
            subjects.append(plain(chance, qid, relation, pools[relation]))
    subjects += odd_subjects(world, pools, names)
    chance.shuffle(subjects)
    return [row for rows in subjects for row in rows], world


def odd_subjects(world: World, pools: dict[str, list[str]], names: list[str]) -> list[list[Row]]:
    """Make subjects that are special themselves: unlinked, of one name, of many or other relations."""
    teams, offices, parties = pools["P54"], pools["P39"], pools["P102"]
    unlinked, nameless = world.entity(names.pop(), 99, False), world.entity("", 99, False)
    twin, other = names.pop(), names.pop()
    twins = [world.entity(twin, 60), world.entity(twin, 61)]
    both, only_other = world.entity(other, 45), world.entity(names.pop(), 90)
    return [
        [(unlinked, "P54", teams[0], "2011", "2019"), (unlinked, "P54", teams[1], "2019", "")],
        [(nameless, "P39", offices[0], "2011", "2019"), (nameless, "P39", offices[1], "2019", "")],
        [(twins[0], "P54", teams[2], "2014", "2019-09"), (twins[0], "P54", teams[3], "2019-09", "")],
        [(twins[1], "P54", teams[3], "2016", "2020-05"), (twins[1], "P54", teams[4], "2020-05", "")],
        [
            (both, "P31", teams[5], "2012", "2015"),
            (both, "P31", teams[6], "2015", ""),
            (both, "P102", parties[0], "2012", "2019-07"),
            (both, "P54", teams[5], "2013", "2016"),
            (both, "P54", teams[7], "2016", ""),
            (both, "P102", parties[1], "2019-07", ""),
        ],
        [  # P463 has a template in neither project, P27 in one of them only
            (only_other, "P463", parties[2], "2012", "2019"),
            (only_other, "P463", parties[3], "2019", ""),
            (only_other, "P27", teams[8], "2012", "2020"),
            (only_other, "P27", teams[9], "2020-02", ""),
        ],
    ]


def plain(chance: random.Random, qid: str, relation: str, pool: list[str]) -> list[Row]:
    """Make a subject of three to six spells with dates of any precision."""
    rows, year = [], chance.randint(2006, 2014)
    for _ in range(chance.randint(3, 6)):
        begun, year = year, year + chance.randint(0, 4)
        end = "" if chance.random() < 0.2 else a_date(chance, year)
        rows.append((qid, relation, chance.choice(pool), a_date(chance, begun), end))
    return rows


def a_date(chance: random.Random, year: int) -> str:
    """Return a date in that year, of a year's, a month's or a day's precision."""
    full = f"{year}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    return full[: chance.choice([4, 7, 10])]


def dated(rows: list[Row]) -> list[Row]:
    """Write missing dates as empty strings."""
    return [(qid, relation, obj, start.strip("-"), end.strip("-")) for qid, relation, obj, start, end in rows]


def main() -> None:
    """Write both files into a directory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args()
    facts, world = build(asked.seed)
    with (asked.directory / "facts.csv").open("w", encoding="utf-8", newline="") as out:
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(["subject", "relation", "object", "start", "end"])
        lines.writerows(facts)
    with (asked.directory / "entities.csv").open("w", encoding="utf-8", newline="") as out:
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(["entity", "label", "n_statements", "is_linked"])
        lines.writerows((qid, label, n, str(linked).lower()) for qid, (label, n, linked) in world.entities.items())


if __name__ == "__main__":
    main()
