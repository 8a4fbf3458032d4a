"""What defines a release of ECBD: which text, which entities, which sentences, which spans, by which rules."""

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

BENCHMARK = "ecbd"
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
_MOST_YEARS = 1_000
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
        cut: midnight UTC of this day ends the window whose snapshot gives all texts.
        first: first day of the study: entities whose origin lies in [first, end) are asked about.
        end: first day after it.
        dump_id: Wikidata dump that tells origins, classes and aliases; empty: popular pages only.
        origin_granularity: the finest window an origin is put into; a coarser one where its date is coarser.
        origins: by the paper's six properties (`ecbd`), or also by publication, opening, launch (`extended`).
        suspects: entities whose page is much older than their origin: `keep` (flagged) or `drop`.
        suspect_years: how much older that is.
        min_words: white-space words that an article must have.
        popular: how many popular entities, ranked by contributors and mentions in other articles.
        popular_pages: numbers of the pages that are the popular ones, instead.
        redirect_names: are titles that redirect to an article names of its entity?
        risky_aliases: names that stand in many articles that do not link to the entity: `drop` or `keep`.
        risky_share: of the articles looked at; more is risky (three articles at least).
        alias_sample: articles that are looked at.
        lists: are items of lists sentences, too?
        sentences: what parts paragraphs: `sentencex`, or the parser of the spaCy model.
        min_sentence_words: white-space words of a sentence.
        noun_chunker: `spacy`, `textblob`, or `auto`: spaCy where its model is installed.
        spacy_model: name or folder of a spaCy pipeline.
        max_span_words: of a span.
        max_distance: words from the mention to a span's first one.
        after_mention: must spans lie after the mention?
        n_random_spans: of a sentence.
        strict_answers: are answers refused that hold half a pair of quotation marks, consist of function words alone or
            are cut out of a noun phrase, and sentences that mention the entity again in another form?
        balance_kinds: are there as many items with noun phrases as random ones, in each origin window and split?
        max_spans_per_entity: of both kinds `together`, or of each by itself, as `caps` says.
        caps: see there.
        max_spans_per_window: of each kind, origin window and split; 0: all.
        dev_share: share of the entities of an origin window that are for development.
        seed: what all chance depends on, beside the things' own names.
        rules: `tempkb`, or `released` for what the released code does.
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
        """Refuse what cannot be meant.

        Raises:
            DesignError: names the part of the design, what was found and what is expected.
        """
        refuse_values(self, _CHOICES, _LEAST)
        if self.suspect_years > _MOST_YEARS:
            raise DesignError(f"suspect_years: found {self.suspect_years}; expected {_MOST_YEARS} or fewer")
        for name in ("risky_share", "dev_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise DesignError(f"{name}: found {getattr(self, name)}; expected a share from 0 to 1")
        if self.first >= self.end:
            raise DesignError(f"windows: {self.end} does not come after {self.first}, so no origin lies between them")
        if self.dump_id and self.first >= self.cut:
            raise DesignError(
                f"windows: the study begins on {self.first}, but the texts are those of {self.cut} and know of nothing "
                "after it; begin earlier, or take a later --cut"
            )
        if not self.dump_id and not (self.popular or self.popular_pages):
            raise DesignError(
                "dump_id: no Wikidata dump tells origins, and no popular pages are asked for; read a dump "
                "(tempkb build), or ask for pages with --popular"
            )
        if self.popular and self.popular_pages:
            raise DesignError("popular: found a number and a list of pages; give one of them")
        fixed = (self.after_mention, self.max_span_words, self.max_distance)
        if self.rules == "released" and fixed != (True, 5, 10):
            raise DesignError("rules: the released ones fix after_mention, max_span_words and max_distance")

    @property
    def limits(self) -> Limits:
        """What spans must keep to."""
        return Limits(
            self.max_span_words, self.max_distance, self.after_mention, self.n_random_spans, self.strict_answers
        )

    def to_json(self) -> dict[str, Any]:
        """The design as plain values, for files and for the release's row."""
        return {
            **asdict(self),
            "cut": self.cut.isoformat(),
            "first": self.first.isoformat(),
            "end": self.end.isoformat(),
            "origin_granularity": str(self.origin_granularity),
            "popular_pages": list(self.popular_pages),
        }

    def days(self) -> tuple[date, date, date]:
        """The first day of the study, the day on which it ends, and the cut."""
        return self.first, self.end, self.cut


def from_json(values: Mapping[str, Any]) -> Design:
    """Read a design that `to_json` wrote, also in an earlier version."""
    days = {name: date.fromisoformat(values[name]) for name in ("cut", "first", "end")}
    granularity = Granularity(values["origin_granularity"])
    pages = tuple(values["popular_pages"])
    # Releases that are older than these parts were neither strict nor balanced.
    older = {"strict_answers": False, "balance_kinds": False}
    return Design(**{**older, **values, **days, "origin_granularity": granularity, "popular_pages": pages})


_PAPER: Mapping[str, Any] = {
    "origin_granularity": Granularity.YEAR,
    "risky_aliases": "keep",
    "max_spans_per_window": 2_000,
    "strict_answers": False,
    "balance_kinds": False,
}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "tempkb": {},
    # As the final paper has it; and as its earlier version, with spans on either side of the mention.
    "paper": _PAPER,
    "paper_2021": {**_PAPER, "after_mention": False},
    # As the released data show it.
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
    """Make a design from a preset and changes given as text.

    Args:
        preset: `tempkb`, `paper`, `paper_2021`, `ecbd_compat` or `small`.
        windows: `A..B`: entities whose origin lies in [A, B).
        cut: day that ends the window whose snapshot gives the texts.
        dump_id: Wikidata dump; empty for popular pages only.
        popular: how many popular entities, or a file that lists pages; empty for what the preset has.
        changes: part of the design -> value as people type it, such as `{"min_words": "300"}`.

    Raises:
        DesignError: an unknown preset, part or value.
    """
    if preset not in PRESETS:
        raise DesignError(f"preset {preset!r}: no such preset; known: {', '.join(PRESETS)}")
    first, end = parse_range(windows)
    asked = dict(PRESETS[preset])
    if popular:
        asked |= {"popular": int(popular)} if popular.isascii() and popular.isdigit() else _listed(Path(popular))
    known = {one.name: one.default for one in fields(Design)}
    for name in ("cut", "first", "end", "dump_id", "popular", "popular_pages"):
        del known[name]
    for name, text in (changes or {}).items():
        if name not in known:
            raise DesignError(f"{name}: no such part of a design; known: {', '.join(sorted(known))}")
        asked[name] = read_value(name, text, known[name])
    return Design(parse_day(cut), first, end, dump_id, **asked)


def _listed(path: Path) -> dict[str, Any]:
    return {"popular": 0, "popular_pages": read_page_ids(path)}
