"""Holes in real articles of 25 languages, counted by real sentences: `TEMPKB_REAL_DATA=folder make real`."""

from collections import Counter
from dataclasses import dataclass, field

from sentencex import get_sentence_boundaries

from tempkb.wiki.wikitext.article import Article, read_article
from tempkb.wiki.wikitext.holes import count_inside
from tempkb.wiki.wikitext.page_kinds import language_of
from tempkb_tests.real.data import REAL
from tempkb_tests.real.test_articles import SETS, articles

pytestmark = REAL


@dataclass
class Damage:
    """Sentences of one language, and which of them have a hole."""

    n_sentences: int = 0
    n_damaged: int = 0
    names: Counter[tuple[str, str]] = field(default_factory=Counter)

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
                self.names.update({(one.kind, one.name) for one in inside})


def test_few_sentences_have_a_hole():
    damage: dict[str, Damage] = {}
    for file, dbname in SETS.values():
        for _title, wikitext, site in articles(file, dbname):
            language = language_of(site)
            damage.setdefault(language, Damage()).add(read_article(wikitext, site), language)
    for language, one in sorted(damage.items()):
        print(f"\n{language}: {one.n_sentences:,} sentences, {one.share:.2%} with a hole; {one.names.most_common(8)}")
    n_sentences = sum(one.n_sentences for one in damage.values())
    assert sum(one.n_damaged for one in damage.values()) / n_sentences < 1 / 200
