"""The design of an ECBD release: its texts, entities, sentences, spans and rules."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from tempkb.benchmarks import benchmark as designs
from tempkb.benchmarks import register
from tempkb.benchmarks.ecbd.popular import read_page_ids
from tempkb.benchmarks.ecbd.spans import Limits
from tempkb.core.errors import DesignError
from tempkb.core.options import AtLeastOne, NotNegative, Share, option
from tempkb.core.windows import Granularity, parse_day, parse_range

SPLITS = ("dev", "test")
# Checks of the rows compare the limits of spans as 32-bit numbers.
_Limit = Annotated[int, Meta(ge=1, le=2**31 - 1)]


@dataclass(frozen=True)
class Design(designs.Design):
    """A release's design.

    Attributes:
        cut: the cut whose snapshot has all texts: midnight UTC of this day.
        first: first day of the study; the entities originate in [first, end).
        end: first day after the study.
        dump_id: the Wikidata dump with origins, classes and aliases; empty for popular pages only.
        popular: the number of popular entities, ranked by contributors and by mentions in other articles.
        popular_pages: the page numbers of the popular entities, instead of a number.
    """

    cut: date
    first: date
    end: date
    dump_id: str = ""
    origin_granularity: Granularity = option(
        Granularity.QUARTER,
        "The finest window for an origin; an origin with a coarser date gets a longer window.",
    )
    origins: Literal["ecbd", "extended"] = option(
        "ecbd", "By the paper's six properties (`ecbd`), or also by publication, opening, launch (`extended`)."
    )
    suspects: Literal["keep", "drop"] = option(
        "keep", "Entities whose page is much older than their origin: `keep` (and mark) or `drop`."
    )
    suspect_years: Annotated[int, Meta(ge=0, le=1_000)] = option(2, "How many years older such a page is.")
    min_words: NotNegative = option(500, "The number of words that an article must have.")
    popular: int = 0
    popular_pages: tuple[int, ...] = ()
    redirect_names: bool = option(False, "Whether titles that redirect to an article are names of its entity.")
    risky_aliases: Literal["drop", "keep"] = option(
        "drop", "Names that occur in many articles which do not link to the entity: `drop` or `keep`."
    )
    risky_share: Share = option(
        0.0005, "The share of the sampled articles above which a name is risky (at least three articles)."
    )
    alias_sample: AtLeastOne = option(20_000, "The number of articles in the sample.")
    lists: bool = option(False, "Whether list items are used as sentences.")
    sentences: Literal["sentencex", "spacy"] = option(
        "sentencex", "What splits paragraphs into sentences: `sentencex`, or the parser of the `spacy` model."
    )
    min_sentence_words: AtLeastOne = option(5, "The number of words that a sentence must have.")
    noun_chunker: Literal["auto", "spacy", "textblob"] = option(
        "auto", "`spacy`, `textblob`, or `auto`, which is spaCy if its model is installed."
    )
    spacy_model: str = option("en_core_web_sm", "Name or folder of a spaCy pipeline.")
    max_span_words: _Limit = option(5, "The largest number of words of a span.")
    max_distance: _Limit = option(10, "The largest number of words from the mention to the first word of a span.")
    after_mention: bool = option(True, "Whether spans must be after the mention.")
    n_random_spans: int = option(5, "The largest number of random spans of a sentence.")
    strict_answers: bool = option(
        True,
        "Whether answers are refused that contain the mention or half a pair of quotation marks, consist of function "
        "words or are cut out of a noun phrase, and sentences that mention the entity again in another form.",
    )
    balance_kinds: bool = option(
        True,
        "Whether each origin window and split has equal numbers of items with noun phrases and with random spans.",
    )
    max_spans_per_entity: _Limit = option(100, "The largest number of spans of an entity.")
    caps: Literal["together", "separate"] = option(
        "together", "Whether `max_spans_per_entity` applies to both kinds `together`, or to each kind (`separate`)."
    )
    max_spans_per_window: Annotated[int, Meta(ge=0, le=2**31 - 1)] = option(
        0, "The largest number of items of each kind, origin window and split; 0 for no limit."
    )
    dev_share: Share = option(0.5, "The share of the entities of an origin window that are dev.")
    seed: int = option(42, "The seed of all random choices.")
    rules: Literal["tempkb", "released"] = option(
        "tempkb", "`tempkb`, or `released` for the rules of the released code."
    )

    def __post_init__(self) -> None:
        """Check the design.

        Raises:
            DesignError: a value is not allowed; the message names the hyperparameter, the value and what is expected.
        """
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

    def days(self) -> tuple[date, date, date]:
        """Return the first day of the study, the first day after it, and the cut."""
        return self.first, self.end, self.cut


_PAPER: designs.Preset = {
    "origin_granularity": Granularity.YEAR,
    "risky_aliases": "keep",
    "max_spans_per_window": 2_000,
    "strict_answers": False,
    "balance_kinds": False,
}
PRESETS: Mapping[str, designs.Preset] = {
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
    first, end = parse_range(windows)
    given: dict[str, Any] = {"cut": parse_day(cut), "first": first, "end": end, "dump_id": dump_id}
    if popular.isascii() and popular.isdigit():
        given["popular"] = int(popular)
    elif popular:
        given |= {"popular": 0, "popular_pages": read_page_ids(Path(popular))}
    return Design.of(PRESETS, preset, changes, **given)


Release = register.Release[Design]

read_entry = register.reader(Design)
