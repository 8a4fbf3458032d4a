"""Real articles of many languages, read by the cleaner and by mwparserfromhell: `TEMPKB_REAL_DATA=folder make real`."""

import statistics
import time
from collections import Counter
from dataclasses import replace

import mwparserfromhell

from tempkb.wiki.dumps.elements import TextState, unescape
from tempkb.wiki.dumps.files import open_dump
from tempkb.wiki.dumps.xml import BrokenPageError, PageStream
from tempkb.wiki.wikitext.article import read_article
from tempkb.wiki.wikitext.page_kinds import redirect_target
from tempkb_tests.real.data import DUMPS, REAL
from tempkb_tests.wiki.wikitext import second_reader

pytestmark = REAL
LANGUAGES = [
    "ar",
    "ca",
    "cs",
    "de",
    "el",
    "en",
    "es",
    "fi",
    "fr",
    "he",
    "hu",
    "id",
    "it",
    "ja",
    "ko",
    "nl",
    "pl",
    "pt",
    "ro",
    "ru",
    "sv",
    "tr",
    "uk",
    "vi",
    "zh",
]
SETS = {
    "gensim 2016": ("piskvorky+gensim/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2", "enwiki"),
    "wp2txt 2014": ("yohasebe+wp2txt/ad8949a2dd/testdata_en.bz2", "enwiki"),
    **{f"dbpedia {one}": (f"dbpedia+extraction-framework/{one}/wiki.xml.bz2", f"{one}wiki") for one in LANGUAGES},
}
DEBRIS = ("()", "}}", "{{", "[[", "]]", "|")


def articles(name: str, dbname: str):
    """Yield (title, wikitext, site) of the articles of a file."""
    stream = PageStream(open_dump(DUMPS / name), name)
    # The heads of some of these files name another wiki.
    site = replace(stream.site, dbname=dbname)
    while (head := stream.next_page()) is not None:
        try:
            revisions = list(stream.revisions())
        except BrokenPageError:
            continue
        if head.namespace == 0 and revisions and revisions[-1].state is TextState.PRESENT:
            text = unescape(revisions[-1].text).decode("utf-8", "replace")
            if redirect_target(text, site) is None:
                yield head.title, text, site


def text_and_links(wikitext: str) -> tuple[str, list[tuple[str, str]]]:
    """What the cleaner gives, by the library."""
    code = mwparserfromhell.parse(wikitext)
    return code.strip_code(), [(str(link.title), str(link.text)) for link in code.ifilter_wikilinks()]


def test_agrees_with_mwparserfromhell_on_real_articles():
    scores, n_links, n_found, debris = [], 0, 0, Counter()
    seconds = Counter()
    size = 0
    print()
    for name, (file, dbname) in SETS.items():
        own, links, found = [], 0, 0
        for _title, wikitext, site in articles(file, dbname):
            size += len(wikitext.encode())
            article = read_article(wikitext, site, None, ())
            # Text and links on either side, each twice in a row, since the other side has emptied the caches.
            for side, reader in (
                ("ours", lambda text, site=site: read_article(text, site)),
                ("theirs", text_and_links),
            ):
                reader(wikitext)
                began = time.process_time()
                reader(wikitext)
                seconds[side] += time.process_time() - began
            text, theirs = second_reader.read(wikitext, site)
            own.append(second_reader.word_f1(article.text, text))
            agreed, _ = second_reader.found_links([(one.target, one.surface) for one in article.links], theirs)
            links, found = links + len(theirs), found + agreed
            assert all(article.text[one.start : one.end] == one.surface for one in article.links)
            # In the standard reading, without the sections of references and links.
            debris.update(sign for sign in DEBRIS if sign in read_article(wikitext, site).text)
        print(f"{name}: {len(own)} articles, word F1 {statistics.median(own):.4f}, links {found:,} of {links:,}")
        scores, n_links, n_found = scores + own, n_links + links, n_found + found
    scores.sort()
    low = scores[len(scores) // 20]
    ratio = seconds["theirs"] / seconds["ours"]
    print(
        f"all: {len(scores)} articles, {size / 1e6:.1f} MB; F1 median {statistics.median(scores):.4f}, 5th percentile {low:.4f}; "
        f"links {n_found / n_links:.2%} of {n_links:,}; signs of markup {dict(debris)}; "
        f"{size / 1e6 / seconds['ours']:.1f} MB/s against {size / 1e6 / seconds['theirs']:.2f} MB/s: {ratio:.1f}x"
    )
    assert n_found / n_links >= 0.99
    assert statistics.median(scores) >= 0.98
    assert low >= 0.90
    # A stroke may be one of mathematics; the others must not be seen in more than one of a thousand.
    assert sum(n for sign, n in debris.items() if sign != "|") <= len(scores) / 1000
