"""A history for measuring: half a thousand pages, some hundred revisions each, edited step by step.

    python -m tempkb_tests.bench.history OUT.xml --pages 500 --revisions 100 --seed 7

Every revision changes a part of the one before. Vandalism is reverted within
minutes, some pages move, and talk pages, redirects, lists and disambiguation
pages are mixed in. The number of revisions is skewed, as in life.
"""

import argparse
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import escape

from tempkb.wiki.revisions.history import base36_sha1

HEAD = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">\n  <siteinfo>\n'
    "    <sitename>Bench</sitename>\n    <dbname>benchwiki</dbname>\n    <base>https://bench.example.org/wiki/Main</base>\n"
    "    <generator>tempkb bench</generator>\n    <case>first-letter</case>\n    <namespaces>\n"
    '      <namespace key="0" case="first-letter" />\n      <namespace key="1" case="first-letter">Talk</namespace>\n'
    '      <namespace key="14" case="first-letter">Category</namespace>\n    </namespaces>\n  </siteinfo>\n'
)
BEGIN, END = datetime(2003, 1, 1, tzinfo=UTC), datetime(2022, 2, 1, tzinfo=UTC)
COMMON = [
    "the",
    "of",
    "and",
    "in",
    "to",
    "a",
    "was",
    "is",
    "for",
    "as",
    "on",
    "with",
    "by",
    "that",
    "from",
    "at",
    "it",
    "an",
    "were",
    "which",
    "are",
    "be",
    "or",
    "had",
    "has",
    "its",
    "first",
    "also",
    "not",
    "after",
    "but",
    "have",
    "one",
    "new",
    "two",
    "who",
    "been",
    "they",
    "other",
    "when",
    "during",
    "into",
    "there",
    "all",
    "about",
    "more",
    "between",
    "city",
    "state",
    "year",
    "name",
]


class Writer:
    """Invents words, sentences and whole articles from a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        parts = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "in", "or")]
        pick = self.chance.choices
        self.words = ["".join(pick(parts, k=self.chance.randint(2, 4))) for _ in range(9000)]
        self.weights = [1 / (rank + 8) for rank in range(len(self.words))]
        self.pool = pick(self.words, self.weights, k=300_000)
        self.titles = [self.phrase(self.chance.randint(1, 3)).title() for _ in range(1500)]

    def phrase(self, n: int) -> str:
        """Return `n` words, nearly half of them common ones."""
        at = self.chance.randrange(len(self.pool) - n)
        return " ".join(
            self.chance.choice(COMMON) if self.chance.random() < 0.45 else self.pool[at + k] for k in range(n)
        )

    def sentence(self) -> str:
        """Return a sentence with links, templates and references now and then."""
        chance = self.chance
        said = self.phrase(chance.randint(9, 24)).capitalize()
        for _ in range(chance.choice([0, 0, 1, 1, 2])):
            target = chance.choice(self.titles)
            said += f" {self.phrase(2)} [[{target}]]" if chance.random() < 0.6 else f" [[{target}|{self.phrase(2)}]]"
        if chance.random() < 0.05:
            said += f" {{{{convert|{chance.randint(1, 900)}|km|mi|abbr=on}}}}"
        said += "."
        if chance.random() < 0.35:
            said += (
                f'<ref name="r{chance.randint(1, 40)}">{{{{cite web |url=http://example.org/{chance.randint(1, 9999)} '
            )
            said += f"|title={self.phrase(6)} |date=March {chance.randint(1990, 2021)}}}}}</ref>"
        return said

    def paragraph(self) -> str:
        """Return two to four sentences."""
        return " ".join(self.sentence() for _ in range(self.chance.randint(2, 4)))

    def infobox(self) -> str:
        """Return an infobox of some ten rows."""
        rows = "".join(f"| {self.phrase(1)} = {self.phrase(3)}\n" for _ in range(self.chance.randint(6, 20)))
        return f"{{{{Infobox place\n{rows}}}}}\n"


class Article:
    """An article that is edited part by part."""

    def __init__(self, writer: Writer, title: str) -> None:
        self._writer, self._title = writer, title
        self._box = writer.infobox() if writer.chance.random() < 0.6 else ""
        self._parts = [writer.paragraph()]

    def edit(self) -> None:
        """Add, replace, extend or remove a paragraph, or write the infobox anew."""
        writer, kind = self._writer, self._writer.chance.random()
        at = writer.chance.randrange(len(self._parts))
        if kind < 0.35:
            self._parts.insert(at, f"== {writer.phrase(2).capitalize()} ==\n{writer.paragraph()}")
            del self._parts[11:]
        elif kind < 0.6:
            self._parts[at] += " " + writer.sentence()
        elif kind < 0.85:
            self._parts[at] = writer.paragraph()
        elif kind < 0.93 and len(self._parts) > 3:
            del self._parts[at]
        else:
            self._box = writer.infobox()

    def text(self) -> str:
        """Return the wikitext as it stands."""
        body = "\n\n".join(self._parts)
        return f"{self._box}'''{self._title}''' {body}\n\n== References ==\n{{{{reflist}}}}\n[[Category:Places]]"


def write_history(out: TextIO, pages: int, revisions: int, seed: int) -> None:
    """Write an export of `pages` pages with about `revisions` revisions each."""
    writer = Writer(seed)
    out.write(HEAD)
    number = 1000
    for page_id in range(1, pages + 1):
        title, namespace, edits = _page(writer, page_id, revisions)
        out.write(f"  <page>\n    <title>{escape(title)}</title>\n    <ns>{namespace}</ns>\n    <id>{page_id}</id>\n")
        for time, comment, text in edits:
            number += 1
            out.write(_revision(writer, number, time, comment, text))
        out.write("  </page>\n")
    out.write("</mediawiki>\n")


def _page(writer: Writer, page_id: int, revisions: int) -> tuple[str, int, Iterator[tuple[datetime, str, str]]]:
    chance, title, kind = writer.chance, writer.titles[page_id % 1500], writer.chance.random()
    if kind < 0.06:
        text = f"#REDIRECT [[{chance.choice(writer.titles)}]]"
        return title, 0, ((time, "redirect", text) for time in _times(chance, chance.randint(1, 12)))
    if kind < 0.09:
        text = f"'''{title}''' may refer to:\n* [[{chance.choice(writer.titles)}]]\n{{{{disambiguation}}}}"
        return title, 0, ((time, "list", text) for time in _times(chance, chance.randint(1, 12)))
    namespace = 1 if kind < 0.15 else 0
    n = max(2, int(chance.lognormvariate(0, 0.8) * revisions * 0.72))
    return ("Talk:" if namespace else "") + title, namespace, _edits(writer, title, n)


def _times(chance: random.Random, n: int) -> list[datetime]:
    born = BEGIN + timedelta(days=chance.random() ** 1.5 * 6900)
    span = (END - born).total_seconds()
    return sorted(born + timedelta(seconds=int(chance.random() * span)) for _ in range(n))


def _edits(writer: Writer, title: str, n: int) -> Iterator[tuple[datetime, str, str]]:
    chance, article = writer.chance, Article(writer, title)
    for time in _times(chance, n):
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            article.edit()
        text = article.text()
        if chance.random() < 0.003:
            yield time, f"moved [[{title} old]] to [[{title}]]: per talk", text
        elif chance.random() < 0.04:
            yield time, "", chance.choice(["LOL " * 30, "", text[:500] + " hahaha"])
            yield (
                time + timedelta(seconds=chance.randint(20, 900)),
                "Reverted edits by [[Special:Contributions/1|1]]",
                text,
            )
        else:
            yield time, writer.phrase(5), text


def _revision(writer: Writer, number: int, time: datetime, comment: str, text: str) -> str:
    sha1 = base36_sha1(text.encode()).decode()
    told = f"      <comment>{escape(comment)}</comment>\n" if comment else ""
    return (
        f"    <revision>\n      <id>{number}</id>\n      <parentid>{number - 1}</parentid>\n"
        f"      <timestamp>{time:%Y-%m-%dT%H:%M:%SZ}</timestamp>\n      <contributor>\n"
        f"        <username>{writer.chance.choice(writer.words)}</username>\n"
        f"        <id>{writer.chance.randint(1, 99999)}</id>\n      </contributor>\n{told}"
        f"      <origin>{number}</origin>\n      <model>wikitext</model>\n      <format>text/x-wiki</format>\n"
        f'      <text bytes="{len(text.encode())}" sha1="{sha1}" xml:space="preserve">{escape(text)}</text>\n'
        f"      <sha1>{sha1}</sha1>\n    </revision>\n"
    )


def main() -> None:
    """Write a history to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--revisions", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args()
    with asked.out.open("w", encoding="utf-8") as out:
        write_history(out, asked.pages, asked.revisions, asked.seed)


if __name__ == "__main__":
    main()
