"""Holes in real articles of 25 languages, counted by real sentences: `TEMPKB_REAL_DATA=folder make real`."""

from collections import Counter
from dataclasses import dataclass, field

from sentencex import get_sentence_boundaries

from tempkb.wikitext.article import Article, read_article
from tempkb.wikitext.holes import count_inside
from tempkb.wikitext.wikis import language_of
from tempkb_tests.real.data import REAL
from tempkb_tests.real.test_articles import SETS, articles

pytestmark = REAL
# Sentences with a hole, in per cent, with what was shown before holes were known: no formula, and of templates those
# that the table named on 2026-11-21. Silent templates are left out of this count, too.
BEFORE = {
    "ar": 8.96,
    "ca": 3.40,
    "cs": 0.83,
    "de": 0.32,
    "el": 0.0,
    "en": 0.85,
    "es": 2.07,
    "fi": 0.20,
    "fr": 17.38,
    "he": 0.37,
    "hu": 0.63,
    "id": 0.0,
    "it": 5.03,
    "ja": 12.11,
    "ko": 22.78,
    "nl": 0.18,
    "pl": 0.0,
    "pt": 7.56,
    "ro": 2.14,
    "ru": 1.15,
    "sv": 0.0,
    "tr": 4.56,
    "uk": 0.38,
    "vi": 0.31,
    "zh": 2.88,
    "all": 1.15,
}


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
        said = f"with a hole before {BEFORE[language]:.2f} %, now {one.share:.2%}"
        print(f"{language}: {one.n_sentences:,} sentences, {said}; worst: {worst}")
    everything = Counter[tuple[str, str]]()
    for one in damage.values():
        everything.update(one.names)
    n_sentences = sum(one.n_sentences for one in damage.values())
    n_damaged = sum(one.n_damaged for one in damage.values())
    print(
        f"all: {n_sentences:,} sentences, with a hole before {BEFORE['all']} %, now {n_damaged / n_sentences:.2%}; worst:"
    )
    for key, n in everything.most_common(25):
        example = next(one.examples[key] for one in damage.values() if key in one.examples)
        print(f"  {key[0]} {key[1]}: {n}, {example[:120]}")
    assert n_damaged / n_sentences < 1 / 200
