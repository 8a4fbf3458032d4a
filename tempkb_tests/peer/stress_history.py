"""A history that presses on the choice of a stable revision: most edits lie close to the yearly cuts.

    python stress_history.py OUT.xml --pages 80 --seed 5

Versions last ten days, a second more or less, or exactly as long as their
neighbours; edits fall on the cut and on the border of the window before it.
Texts are blanked and reverted, clocks go backwards or stand still, pages move
back and forth, and some are born inside the window or after the last cut.
The same seed gives the same bytes.
"""

import argparse
import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import escape

from tempkb_tests.bench.history import HEAD

HOUR, DAY = 3600, 86400
CUTS = [int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in range(2013, 2023)]
ABOUT_TEN_DAYS = [855_360, 864_000 - 1, 864_000, 864_000 + 1, 872_640]  # 9.9 days, ten and a second around, 10.1 days
BORDERS = [-45 * DAY, -732 * HOUR, -20 * DAY, 60 * DAY] + [
    d * DAY + s for d in (-31, -30, -10, 0, 10) for s in (-1, 0, 1)
]
NAMES = ["Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse", "Hazel"]
NAMES += ["Iris", "Juniper", "Kauri", "Larch", "Maple", "Nettle", "Oak", "Poplar"]
KINDS = ["{}", "{} (river)", "{} (town)", "{}, Norland", "Lake {}"]


@dataclass
class Edit:
    """A revision before it has a number."""

    time: int
    text: str
    comment: str = ""


def write_stress(out: TextIO, pages: int, seed: int) -> None:
    """Write an export of `pages` articles with some fifty revisions each."""
    titles = [page_title(at) for at in range(pages)]
    out.write(HEAD)
    number = 5000
    for at in range(pages):
        chance = random.Random(f"{seed} {at}")  # a string is hashed the same way in every run
        title, edits = make_page(chance, at, titles)
        out.write(f"  <page>\n    <title>{escape(title)}</title>\n    <ns>0</ns>\n    <id>{at + 1}</id>\n")
        for edit in edits:
            number += 1
            out.write(revision_element(number, edit))
        out.write("  </page>\n")
    out.write("</mediawiki>\n")


def page_title(at: int) -> str:
    """Name the page at position `at`; one word is shared by pages of different kinds."""
    kind = KINDS[at // len(NAMES) % len(KINDS)]
    again = at // (len(NAMES) * len(KINDS))
    return kind.format(NAMES[at % len(NAMES)]) + (f" {again + 1}" if again else "")


def other_titles(title: str) -> list[str]:
    """Return the titles that a page takes one after the other when it moves; at last it comes home."""
    return [title, f"Greater {title}", f"{title} of old", title]


def make_page(chance: random.Random, at: int, titles: list[str]) -> tuple[str, list[Edit]]:
    """Return the title a page ends with and its edits in the order of the file."""
    edits = [
        Edit(time, page_text(chance, titles, titles[at], 1000 * at + k), "an edit")
        for k, time in enumerate(edit_times(chance, at))
    ]
    blanks = {0, 1} if at % 20 == 4 else set()  # some pages begin with nothing
    for k, edit in enumerate(edits):
        disturb(chance, edits, k)
        if k in blanks:
            edit.text = ""
    if at % 20 in (6, 15):
        edits.insert(0, edits.pop(min(9, len(edits) - 1)))  # as after an import: the file begins in the middle
    title = move_page(chance, at, edits, titles[at])
    return title, edits


def edit_times(chance: random.Random, at: int) -> list[int]:
    """Draw the seconds of the edits of the page at position `at`, ascending."""
    if at % 20 == 2:  # first saved after the last cut
        return sorted(CUTS[-1] + chance.randint(1, 60 * DAY) for _ in range(4))
    first = chance.randrange(len(CUTS)) if at % 4 else 0
    times = [] if at % 4 == 1 else [CUTS[first] - chance.randint(60, 2000) * DAY]
    for cut in CUTS[first:]:
        if at % 5 == 3 and chance.random() < 0.4:
            continue  # a year without edits
        shape = chance.choice(SHAPES)
        times += [cut + offset for offset in shape(chance)]
    if at % 4 == 1:  # born inside the window of its first cut
        floor = CUTS[first] - chance.choice([29 * DAY, 12 * DAY, 8 * DAY, 0])
        times = [time for time in times if time > floor]
        times.append(floor)
    return sorted(times)


def scattered(chance: random.Random) -> list[int]:
    """Anywhere from 45 days before the cut to 60 days after it."""
    return [chance.randint(-45 * DAY, 60 * DAY) for _ in range(chance.randint(1, 8))]


def crowded(chance: random.Random) -> list[int]:
    """Short versions throughout, so that no version from before the window outlasts the rest."""
    now, times = -45 * DAY + chance.randint(0, 10 * DAY), []
    end = chance.choice([-12, -2, 0, 5, 20]) * DAY
    while now < end:
        times.append(now)
        now += chance.choice([chance.randint(HOUR, 2 * DAY), chance.randint(2 * DAY, 9 * DAY)])
    return times


def ten_days(chance: random.Random) -> list[int]:
    """Versions of ten days or very nearly so, one after the other."""
    now, times = -chance.randint(25, 45) * DAY, []
    for _ in range(chance.randint(2, 6)):
        times.append(now)
        now += chance.choice(ABOUT_TEN_DAYS)
    return times


def even(chance: random.Random) -> list[int]:
    """Versions of one length, up to the cut and sometimes beyond: ties everywhere."""
    step = chance.choice([DAY, 3 * DAY, 4 * DAY + 7, 6 * DAY, 9 * DAY, 10 * DAY])
    return [-k * step for k in range(chance.choice([-2, 0, 1, 1]), 36 * DAY // step + 1)]


def at_borders(chance: random.Random) -> list[int]:
    """Some of the seconds at which the rule changes its mind."""
    return chance.sample(BORDERS, k=chance.randint(1, 6))


def before_the_cut(chance: random.Random) -> list[int]:
    """A version that has stood for about ten days, or for a few, when the cut comes."""
    last = -chance.choice([*ABOUT_TEN_DAYS, 5 * DAY, 2 * DAY])
    return [last - chance.choice([*ABOUT_TEN_DAYS, 5 * DAY, 2 * DAY, -last]), last]


def after_the_cut(chance: random.Random) -> list[int]:
    """Nothing before the cut, something soon after it."""
    return [chance.choice([1, DAY, chance.randint(1, 60 * DAY)]) for _ in range(chance.randint(1, 3))]


SHAPES: list[Callable[[random.Random], list[int]]] = [
    scattered,
    crowded,
    crowded,
    ten_days,
    even,
    even,
    at_borders,
    before_the_cut,
    after_the_cut,
]


def page_text(chance: random.Random, titles: list[str], title: str, state: int) -> str:
    """Return a text that no other edit has, with plain links whose words may mean several pages."""
    said = [f"'''{title}''' is in state {state}."]
    for _ in range(chance.randint(2, 7)):
        target = titles[int(len(titles) * chance.random() ** 2)]
        word = next(name for name in NAMES if name in target)
        link = chance.choice(other_titles(target)) if chance.random() < 0.2 else target
        said.append(
            chance.choice(
                [
                    f"It lies by [[{link}]].",
                    f"It lies by [[{link}|{word}]].",
                    f"Some call it [[{link}|{word.lower()}]].",
                    f"There are [[{link}|{word}]]s there.",
                    f"It is named after [[{link}|the old {word}]].",
                    f"See [[{link}|{chance.choice(['the river', 'The Town', 'Norland'])}]].",
                ]
            )
        )
    return "\n".join(said)


def disturb(chance: random.Random, edits: list[Edit], k: int) -> None:
    """Blank an edit, revert to an earlier one, or let its clock stand still or go backwards; mostly do nothing."""
    edit, kind = edits[k], chance.random()
    if kind < 0.06:
        edit.text, edit.comment = chance.choice(["", "", " \n "]), "blanked"
    elif kind < 0.14 and k > 1:
        edit.text, edit.comment = edits[k - 2].text, "Reverted edits by [[Special:Contributions/1|1]]"
    elif kind < 0.20 and k:
        edit.time = edits[k - 1].time
    elif kind < 0.26 and k:
        edit.time -= chance.choice([HOUR, DAY, 11 * DAY, 40 * DAY])


def move_page(chance: random.Random, at: int, edits: list[Edit], title: str) -> str:
    """Write comments of moves into some edits, which then keep the text before them; return the last title."""
    if at % 3 or len(edits) < 4:
        return title
    names = other_titles(title)
    moved_at = sorted(chance.sample(range(1, len(edits)), k=chance.randint(1, 3)))
    for step, k in enumerate(moved_at):
        words = chance.choice(["moved [[{}]] to [[{}]]: per talk", "Someone moved page [[{}]] to [[{}]]"])
        edits[k].comment = words.format(names[step], names[step + 1])
        edits[k].text = edits[k - 1].text
    if at % 9 == 0:
        edits[0].comment = "moved [[Nowhere]] to [[Somewhere]]"  # a first revision is no move
    return names[len(moved_at)]


def revision_element(number: int, edit: Edit) -> str:
    """Return the XML of one revision."""
    data = edit.text.encode()
    size = f'bytes="{len(data)}" sha1="{base36_sha1(data)}"'
    text = f'<text {size} xml:space="preserve">{escape(edit.text)}</text>' if edit.text else f"<text {size} />"
    told = f"      <comment>{escape(edit.comment)}</comment>\n" if edit.comment else ""
    time = datetime.fromtimestamp(edit.time, UTC)
    return (
        f"    <revision>\n      <id>{number}</id>\n      <timestamp>{time:%Y-%m-%dT%H:%M:%SZ}</timestamp>\n"
        f"      <contributor>\n        <username>Editor {number % 7}</username>\n        <id>{number % 7 + 1}</id>\n"
        f"      </contributor>\n{told}      <model>wikitext</model>\n      <format>text/x-wiki</format>\n"
        f"      {text}\n      <sha1>{base36_sha1(data)}</sha1>\n    </revision>\n"
    )


def base36_sha1(data: bytes) -> str:
    """Return SHA-1 as MediaWiki writes it: base 36, 31 characters."""
    number, digits = int.from_bytes(hashlib.sha1(data, usedforsecurity=False).digest(), "big"), ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits.rjust(31, "0")


def main() -> None:
    """Write a history to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pages", type=int, default=80)
    parser.add_argument("--seed", type=int, default=5)
    asked = parser.parse_args()
    with asked.out.open("w", encoding="utf-8") as out:
        write_stress(out, asked.pages, asked.seed)


if __name__ == "__main__":
    main()
