"""ECBD: finding names, finding spans, and a whole release; sides take turns within one process."""

import os
import random
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tempkb.benchmarks.chunking import Chunker, SpacyChunker, TextBlobChunker, load_pipeline
from tempkb.benchmarks.ecbd.matching import NameFinder, longest
from tempkb.benchmarks.ecbd.spans import Limits, Reach, noun_spans, random_spans
from tempkb.benchmarks.sentences import Place
from tempkb_tests.bench.measuring import PAIRS, row, spread
from tempkb_tests.benchmarks.test_chunking import train
from tempkb_tests.conftest import run_tempkb

_ENTITIES = 100_000
_VOCABULARY = 20_000
_WORDS = 26  # of a sentence, as in the released data


def measure_all(folder: Path) -> None:
    """Measure all of it."""
    chance = random.Random(5)
    words = ["".join(chance.choices("abcdefghijklmnoprstuvwy", k=chance.randint(3, 10))) for _ in range(_VOCABULARY)]
    names = sorted(_names(chance, words))
    sentences = [_sentence(chance, words, names) for _ in range(20_000)]
    _matching(names, sentences)
    _spans(folder, sentences[:2_000])
    _release(folder)


def _names(chance: random.Random, words: list[str]) -> set[str]:
    """Three names of each entity: a title of two or three words, a shorter form, an abbreviation with a number."""
    found: set[str] = set()
    for number in range(_ENTITIES):
        title = [word.capitalize() for word in chance.sample(words, chance.choice((2, 3)))]
        found |= {" ".join(title), " ".join(title[:-1]) + f" {number % 97}", f"{title[0][:2].upper()}-{number}"}
    return found


def _sentence(chance: random.Random, words: list[str], names: list[str]) -> str:
    told = chance.choices(words, k=_WORDS)
    told[chance.randint(0, 5)] = chance.choice(names)
    text = " ".join(told)
    return f"{text[0].upper()}{text[1:]}."


def _matching(names: list[str], sentences: list[str]) -> None:
    """All names in one automaton, beside a loop over one compiled pattern a name."""
    patterns = [re.compile(rf"\b{re.escape(name)}\b") for name in names]
    few = sentences[:20]
    build, ours, theirs, found = [], [], [], []
    for _ in range(PAIRS):
        seconds, finder = _timed(lambda: NameFinder(names))
        build.append(seconds)
        seconds, found = _timed(lambda finder=finder: [longest(finder.find(one)) for one in sentences])
        ours.append(len(sentences) / seconds)
        seconds, _ = _timed(lambda: [[name for name in patterns if name.search(one)] for one in few])
        theirs.append(len(few) / seconds)
    n = sum(len(one) for one in found)
    row(f"{len(names):,} names of {_ENTITIES:,} entities", "sentences a CPU s", "ratio", "to build, CPU s")
    row("---", "---", "---", "---")
    ratio = [a / b for a, b in zip(ours, theirs, strict=True)]
    row(
        f"one automaton ({n:,} names found in {len(sentences):,} sentences)",
        spread(ours, "{:,.0f}"),
        spread(ratio, "{:,.0f}"),
        spread(build),
    )
    row("a loop over one compiled pattern a name", spread(theirs, "{:,.1f}"), "", "")
    print()


def _spans(folder: Path, sentences: list[str]) -> None:
    """Spans of sentences whose mention is the fourth word, with each chunker and without any."""
    pipeline = load_pipeline(str(train(folder / "tiny")), "en")
    sides: dict[str, Callable[[], Chunker | None]] = {
        "random spans alone": lambda: None,
        "both kinds, bundled chunker": TextBlobChunker,
        "both kinds, spaCy parser (untrained, of the small models' size)": lambda: SpacyChunker(pipeline),
    }
    rates: dict[str, list[float]] = {name: [] for name in sides}
    parsed = dict.fromkeys(sides, 0)
    for _ in range(PAIRS):
        for name, make in sides.items():
            chunker = make()
            seconds, n = _timed(lambda chunker=chunker: _count(sentences, chunker))
            rates[name].append(n / seconds)
            parsed[name] = chunker.n_parsed if chunker else 0
    row(f"spans of {len(sentences):,} sentences", "spans a CPU s", "sentences parsed")
    row("---", "---", "---")
    for name, found in rates.items():
        row(name, spread(found, "{:,.0f}"), f"{parsed[name]:,}")
    print()


def _count(sentences: list[str], chunker: Chunker | None) -> int:
    chunks = chunker.chunks(sentences) if chunker else ([] for _ in sentences)
    n = 0
    for sentence, own in zip(sentences, chunks, strict=True):
        start = len(" ".join(sentence.split()[:3])) + 1
        reach = Reach(sentence, Place(start, start + len(sentence.split()[3])), Limits())
        n += len(list(noun_spans(reach, own))) + len(list(random_spans(reach, 1, sentence)))
    return n


def _release(folder: Path) -> None:
    """A whole release over the demo world: sentences parsed are the distinct ones."""
    import tempkb
    from tempkb.benchmarks.ecbd.benchmark import ECBD
    from tempkb.benchmarks.ecbd.design import make_design
    from tempkb.benchmarks.register import create, keep
    from tempkb.platform.api import open_store
    from tempkb_tests.benchmarks.building import build_release

    with tempfile.TemporaryDirectory(dir=folder) as name:
        run_tempkb(Path(name), "demo")
        run_tempkb(Path(name), "build")
        os.environ["TEMPKB_HOME"] = name
        store = open_store()
        seconds = []
        for number in range(PAIRS):
            design = make_design("small", "2021-01-01..2024-01-01", "2024-01-01", "wikidatawiki-20240101")
            made = create(store.home, ECBD, "small", design, f"bench-{number}")
            keep(store.home, made)
            took, _ = _timed(lambda made=made: build_release(store, ECBD, made))
            seconds.append(took)
        (said,) = tempkb.open().read("ecbd_releases", release="bench-0").to_pylist()
        kept = tempkb.open().read("ecbd_sentences", release="bench-0")["sentence"]
        items = tempkb.open().read("ecbd_cloze", release="bench-0").num_rows
        row("release over the demo world", "CPU s", "sentences parsed", "distinct sentences kept", "items")
        row("---", "---", "---", "---", "---")
        row("small", spread(seconds), said["n_parsed"], len(kept.unique()), f"{items:,}")


def _timed(work: Callable[[], object]) -> tuple[float, object]:
    began = time.process_time()
    result = work()
    return time.process_time() - began, result
