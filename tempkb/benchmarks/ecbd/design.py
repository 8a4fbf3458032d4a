"""The design of an ECBD release: its texts, entities, sentences, spans and rules."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any

from tempkb.benchmarks.designs import read_value, refuse_values
from tempkb.benchmarks.ecbd.popular import read_page_ids
from tempkb.benchmarks.ecbd.spans import Limits
from tempkb.errors import DesignError
from tempkb.windows import Granularity, parse_day, parse_range

SPLITS = ("dev", "test")
_CHOICES = {
    "origins": ("ecbd", "extended"),
    "suspects": ("keep", "drop"),
    "risky_aliases": ("drop", "keep"),
    "noun_chunker": ("auto", "spacy", "textblob"),
    "sentences": ("sentencex", "spacy"),
    "caps": ("together", "separate"),
    "rules": ("tempkb", "released"),
}
# Checks of the rows compare the limits of spans as 32-bit numbers.
_MOST = {
    "suspect_years": 1_000,
    **dict.fromkeys(("max_span_words", "max_distance", "max_spans_per_entity", "max_spans_per_window"), 2**31 - 1),
}
_LEAST = {
    "max_span_words": 1,
    "max_distance": 1,
    "max_spans_per_entity": 1,
    "alias_sample": 1,
    "min_sentence_words": 1,
    "min_words": 0,
    "popular": 0,
    "n_random_spans": 0,
    "max_spans_per_window": 0,
    "suspect_years": 0,
}


@dataclass(frozen=True)
class Design:
    """A release's design.

    Attributes:
        cut: the cut whose snapshot has all texts: midnight UTC of this day.
        first: first day of the study; the entities originate in [first, end).
        end: first day after the study.
        dump_id: the Wikidata dump with origins, classes and aliases; empty for popular pages only.
        origin_granularity: the finest window for an origin; an origin with a coarser date gets a longer window.
        origins: by the paper's six properties (`ecbd`), or also by publication, opening, launch (`extended`).
        suspects: entities whose page is much older than their origin: `keep` (and mark) or `drop`.
        suspect_years: how many years older such a page is.
        min_words: the number of words that an article must have.
        popular: the number of popular entities, ranked by contributors and by mentions in other articles.
        popular_pages: the page numbers of the popular entities, instead of a number.
        redirect_names: whether titles that redirect to an article are names of its entity.
        risky_aliases: names that occur in many articles which do not link to the entity: `drop` or `keep`.
        risky_share: the share of the sampled articles above which a name is risky (at least three articles).
        alias_sample: the number of articles in the sample.
        lists: whether list items are used as sentences.
        sentences: what splits paragraphs into sentences: `sentencex`, or the parser of the `spacy` model.
        min_sentence_words: the number of words that a sentence must have.
        noun_chunker: `spacy`, `textblob`, or `auto`, which is spaCy if its model is installed.
        spacy_model: name or folder of a spaCy pipeline.
        max_span_words: the largest number of words of a span.
        max_distance: the largest number of words from the mention to the first word of a span.
        after_mention: whether spans must be after the mention.
        n_random_spans: the largest number of random spans of a sentence.
        strict_answers: whether answers are refused that contain the mention or half a pair of quotation marks, consist
            of function words or are cut out of a noun phrase, and sentences that mention the entity again in another
            form.
        balance_kinds: whether each origin window and split has equal numbers of items with noun phrases and with random
            spans.
        max_spans_per_entity: the largest number of spans of an entity.
        caps: whether `max_spans_per_entity` applies to both kinds `together`, or to each kind (`separate`).
        max_spans_per_window: the largest number of items of each kind, origin window and split; 0 for no limit.
        dev_share: the share of the entities of an origin window that are dev.
        seed: the seed of all random choices.
        rules: `tempkb`, or `released` for the rules of the released code.
    """

    cut: date
    first: date
    end: date
    dump_id: str = ""
    origin_granularity: Granularity = Granularity.QUARTER
    origins: str = "ecbd"
    suspects: str = "keep"
    suspect_years: int = 2
    min_words: int = 500
    popular: int = 0
    popular_pages: tuple[int, ...] = ()
    redirect_names: bool = False
    risky_aliases: str = "drop"
    risky_share: float = 0.0005
    alias_sample: int = 20_000
    lists: bool = False
    sentences: str = "sentencex"
    min_sentence_words: int = 5
    noun_chunker: str = "auto"
    spacy_model: str = "en_core_web_sm"
    max_span_words: int = 5
    max_distance: int = 10
    after_mention: bool = True
    n_random_spans: int = 5
    strict_answers: bool = True
    balance_kinds: bool = True
    max_spans_per_entity: int = 100
    caps: str = "together"
    max_spans_per_window: int = 0
    dev_share: float = 0.5
    seed: int = 42
    rules: str = "tempkb"

    def __post_init__(self) -> None:
        """Check the design.

        Raises:
            DesignError: a value is not allowed; the message names the hyperparameter, the value and what is expected.
        """
        refuse_values(self, _CHOICES, _LEAST)
        for name, most in _MOST.items():
            if getattr(self, name) > most:
                raise DesignError(f"{name}: found {getattr(self, name)}; expected {most} or fewer")
        for name in ("risky_share", "dev_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise DesignError(f"{name}: found {getattr(self, name)}; expected a share from 0 to 1")
        if self.first >= self.end:
            raise DesignError(f"windows: {self.end} does not come after {self.first}, so no origin is between them")
        if self.dump_id and self.first >= self.cut:
            raise DesignError(
                f"windows: the study begins on {self.first}, but the texts are those of {self.cut} and contain nothing "
                "later; begin earlier, or take a later --cut"
            )
        if not self.dump_id and not (self.popular or self.popular_pages):
            raise DesignError(
                "dump_id: there is no Wikidata dump with origins, and there are no popular pages; read a dump "
                "(tempkb build), or name pages with --popular"
            )
        if self.popular and self.popular_pages:
            raise DesignError("popular: found a number and a list of pages; give one of them")
        fixed = (self.after_mention, self.max_span_words, self.max_distance)
        if self.rules == "released" and fixed != (True, 5, 10):
            raise DesignError("rules: the released ones fix after_mention, max_span_words and max_distance")

    @property
    def limits(self) -> Limits:
        """The limits of spans."""
        return Limits(
            self.max_span_words, self.max_distance, self.after_mention, self.n_random_spans, self.strict_answers
        )

    def to_json(self) -> dict[str, Any]:
        """Return the design as plain values, for files and for the release's row."""
        return {
            **asdict(self),
            "cut": self.cut.isoformat(),
            "first": self.first.isoformat(),
            "end": self.end.isoformat(),
            "origin_granularity": str(self.origin_granularity),
            "popular_pages": list(self.popular_pages),
        }

    def days(self) -> tuple[date, date, date]:
        """Return the first day of the study, the first day after it, and the cut."""
        return self.first, self.end, self.cut


def from_json(values: Mapping[str, Any]) -> Design:
    """Return a design from the values that `to_json` wrote."""
    days = {name: date.fromisoformat(values[name]) for name in ("cut", "first", "end")}
    granularity = Granularity(values["origin_granularity"])
    pages = tuple(values["popular_pages"])
    return Design(**{**values, **days, "origin_granularity": granularity, "popular_pages": pages})


_PAPER: Mapping[str, Any] = {
    "origin_granularity": Granularity.YEAR,
    "risky_aliases": "keep",
    "max_spans_per_window": 2_000,
    "strict_answers": False,
    "balance_kinds": False,
}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "tempkb": {},
    # The final paper, and its earlier version with spans on either side of the mention.
    "paper": _PAPER,
    "paper_2021": {**_PAPER, "after_mention": False},
    # The released data and code.
    "ecbd_compat": {
        **_PAPER,
        "rules": "released",
        "caps": "separate",
        "lists": True,
        "min_sentence_words": 6,
    },
    "small": {"min_words": 100, "popular": 3},
}


def make_design(
    preset: str,
    windows: str,
    cut: str,
    dump_id: str = "",
    popular: str = "",
    changes: Mapping[str, str] | None = None,
) -> Design:
    """Return a design from a preset and changes given as text.

    Args:
        windows: `A..B`: the entities originate in [A, B).
        dump_id: Wikidata dump; empty for popular pages only.
        popular: the number of popular entities, or a file that lists pages; empty for the preset's value.
        changes: hyperparameter -> value as people type it, such as `{"min_words": "300"}`.

    Raises:
        DesignError: an unknown preset, hyperparameter or value.
    """
    if preset not in PRESETS:
        raise DesignError(f"preset {preset!r}: no such preset; known: {', '.join(PRESETS)}")
    first, end = parse_range(windows)
    values = dict(PRESETS[preset])
    if popular:
        values |= {"popular": int(popular)} if popular.isascii() and popular.isdigit() else _listed(Path(popular))
    known = {one.name: one.default for one in fields(Design)}
    for name in ("cut", "first", "end", "dump_id", "popular", "popular_pages"):
        del known[name]
    for name, text in (changes or {}).items():
        if name not in known:
            raise DesignError(f"{name}: no such part of a design; known: {', '.join(sorted(known))}")
        values[name] = read_value(name, text, known[name])
    return Design(parse_day(cut), first, end, dump_id, **values)


def _listed(path: Path) -> dict[str, Any]:
    return {"popular": 0, "popular_pages": read_page_ids(path)}
