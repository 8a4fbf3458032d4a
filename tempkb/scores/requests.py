"""What people ask for when they ask models: which prompts, in which way, how much at once. No torch here."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import get_args

from tempkb.models.names import Dtype
from tempkb.options import Words, option, words_of
from tempkb.values import digits, in_order, one_of, text, truth
from tempkb.windows import parse_range


@dataclass(frozen=True)
class AskRequest(ABC):
    """Which prompts models are asked, and how. Each kind of answers adds the option by which its template is typed."""

    benchmarks: tuple[str, ...] = option(
        (),
        in_order(),
        "Benchmarks, separated by commas; by default all that have prompts.",
        flag="--benchmark",
        metavar="NAME",
        help="Only ecbd, templama or dynamic-templama; may be repeated.",
    )
    releases: tuple[str, ...] = option(
        (),
        in_order(),
        "Releases, separated by commas; by default all that are built.",
        flag="--release",
        metavar="NAME",
        help="Only this release; may be repeated.",
    )
    windows: tuple[date, date] | None = option(
        None,
        parse_range,
        "A..B: only items whose window begins on or after A and before B.",
        metavar="A..B",
        help="Only items whose window begins on or after A and before B.",
        write="{0[0]}..{0[1]}".format,
    )
    variants: tuple[str, ...] = option(
        (),
        in_order(),
        "Forms of prompts, separated by commas; by default those that each benchmark names.",
        flag="--variant",
        metavar="NAME",
        help="Only this form of prompts, such as no_ent; may be repeated. By default those that a benchmark names.",
    )
    limit: int | None = option(
        None,
        digits(1),
        "At most so many prompts of each scorer, chosen by hash; by default all.",
        allowed="a number from 1 on",
        metavar="N",
        help="At most so many prompts of each scorer, chosen by hash.",
    )
    device: str = option(
        "",
        text,
        "Where to compute, such as cpu or cuda:1; by default a GPU if there is one.",
        help="By default a GPU if there is one, else cpu.",
    )
    dtype: Dtype = option(
        "float32",
        one_of(*get_args(Dtype)),
        "float32, bfloat16 or float64; by default float32.",
        allowed=", ".join(get_args(Dtype)),
        help="float32 (default), bfloat16 or float64.",
    )
    batch_tokens: int | None = option(
        None,
        digits(1),
        "Tokens that are computed at once; by default what is fast on the device.",
        allowed="a number from 1 on",
        metavar="N",
        help="Tokens computed at once; by default what is fast.",
    )
    threads: int | None = option(
        None,
        digits(1),
        "Threads of a CPU; by default one for small models, which more would slow down.",
        allowed="a number from 1 on",
        metavar="N",
        help="Threads of a CPU; by default one for small models.",
    )
    fixed_shapes: bool = option(
        False,
        truth,
        "true for scores that do not depend on the rest of the batch, bit for bit on one machine; slower.",
        allowed="true or false",
        help="Scores that do not depend on the rest of the batch, bit for bit on one machine; slower.",
    )

    @property
    @abstractmethod
    def template(self) -> str:
        """What a person asked for: template of a scorer, or name of a decoder; empty for what benchmarks name."""


@dataclass(frozen=True)
class ScoreRequest(AskRequest):
    """Which prompts are to be scored, and how."""

    scorer: str = option(
        "",
        text,
        "Template of the scorer, such as answer_l2r; by default the one that each benchmark names.",
        metavar="TEMPLATE",
        help="Without its family, such as span_end; by default the one that a benchmark names.",
    )

    @property
    def template(self) -> str:
        """The scorer."""
        return self.scorer


def words_for(request: AskRequest, releases: Sequence[str]) -> Words:
    """Return the words of a request, with the names of releases in place of those that it asks for."""
    return words_of(replace(request, benchmarks=(), releases=tuple(sorted(set(releases)))))
