"""Holes in real articles of 25 languages, counted by real sentences: `TEMPKB_REAL_DATA=folder make real`."""

import os
from collections import Counter
from dataclasses import dataclass, field

import pytest
from sentencex import get_sentence_boundaries

from tempkb.wikitext.article import Article, language_of, read_article
from tempkb.wikitext.holes import count_inside
from tempkb_tests.real.test_articles import SETS, articles

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not os.environ.get("TEMPKB_REAL_DATA"), reason="TEMPKB_REAL_DATA names no folder"),
]
# Sentences with a hole, in per cent, when holes were first counted: the table of templates of version 1, which knew
# hardly any template of other wikis and none that shows nothing.
BEFORE: dict[str, float] = {}


@dataclass
class Damage:
    """Sentences of one language, and which of them have a hole."""

    n_sentences: int = 0
    n_damaged: int = 0
    names: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def share(self) -> float:
        return self.n_damaged / self.n_sentences if self.n_sentences else 0.0

    def add(self, article: Article, language: str) -> None:
        """Count the sentences of an article; a name counts once per sentence that it damages."""
        for paragraph in article.paragraphs:
            line = article.text[paragraph.start : paragraph.end]
            holes = [one for one in article.holes if paragraph.start <= one.offset <= paragraph.end]
            for found in get_sentence_boundaries(language, line):
                start, end = found["start_index"], found["end_index"]
                end = start + len(line[start:end].rstrip())
                if start == end:
                    continue
                self.n_sentences += 1
                inside = [one for one in holes if count_inside(line, [one.offset - paragraph.start], start, end)]
                self.n_damaged += bool(inside)
                for key in {(one.kind, one.name) for one in inside}:
                    self.names[key] += 1
                    self.examples.setdefault(key, line[start:end])


def test_few_sentences_have_a_hole():
    damage: dict[str, Damage] = {}
    for file, dbname in SETS.values():
        for _title, wikitext, site in articles(file, dbname):
            language = language_of(site)
            damage.setdefault(language, Damage()).add(read_article(wikitext, site), language)
    print()
    for language, one in sorted(damage.items()):
        worst = ", ".join(f"{name or kind} {n}" for (kind, name), n in one.names.most_common(8))
        before = f", before {BEFORE[language]:.2f} %" if language in BEFORE else ""
        print(f"{language}: {one.n_sentences:,} sentences, with a hole {one.share:.2%}{before}; worst: {worst}")
    everything = Counter[tuple[str, str]]()
    for one in damage.values():
        everything.update(one.names)
    n_sentences = sum(one.n_sentences for one in damage.values())
    n_damaged = sum(one.n_damaged for one in damage.values())
    print(f"all: {n_sentences:,} sentences, with a hole {n_damaged / n_sentences:.2%}; worst:")
    for key, n in everything.most_common(25):
        example = next(one.examples[key] for one in damage.values() if key in one.examples)
        print(f"  {key[0]} {key[1]}: {n}, {example[:120]}")
    assert n_damaged / n_sentences < 1 / 200
