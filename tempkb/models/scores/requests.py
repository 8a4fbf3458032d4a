"""What people ask for when models are to score or to answer: which prompts, in which way, how much at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tempkb.core.model_words import Dtype
from tempkb.core.options import Count, InOrder, Request, Words, option
from tempkb.core.windows import Days


@dataclass(frozen=True)
class AskRequest(Request):
    """Which prompts models are asked, and how. Each kind of answers adds the option by which its template is typed."""

    way: ClassVar[str]
    """Name of that option, which is also the column of the answers with the name of the way of asking."""

    benchmarks: InOrder[str] = option(
        (), "Only ecbd, templama or dynamic-templama; may be repeated.", called="benchmark", metavar="NAME"
    )
    releases: InOrder[str] = option((), "Only this release; may be repeated.", called="release", metavar="NAME")
    windows: Days | None = option(
        None,
        "Only items whose window begins on or after A and before B.",
        called="window",
        metavar="A..B",
        write="{0[0]}..{0[1]}".format,
    )
    variants: InOrder[str] = option(
        (),
        "Only this form of prompts, such as no_ent; may be repeated. By default those that a benchmark names.",
        called="variant",
        metavar="NAME",
    )
    limit: Count | None = option(None, "At most so many prompts of each scorer, chosen by hash.", metavar="N")
    device: str = option("", "By default a GPU if there is one, else cpu.")
    dtype: Dtype = option("float32", "float32 (default), bfloat16 or float64.")
    batch_tokens: Count | None = option(None, "Tokens computed at once; by default what is fast.", metavar="N")
    threads: Count | None = option(None, "Threads of a CPU; by default one for small models.", metavar="N")
    fixed_shapes: bool = option(
        False, "Scores that do not depend on the rest of the batch, bit for bit on one machine; slower."
    )

    @property
    def template(self) -> str:
        """Template of a scorer, or name of a decoder, as asked for; empty for what benchmarks name."""
        template: str = getattr(self, self.way)
        return template

    def words_for(self, releases: Sequence[str]) -> Words:
        """Return the words of the request, with the names of releases in place of those that it asks for."""
        return replace(self, benchmarks=(), releases=tuple(sorted(set(releases)))).words


@dataclass(frozen=True)
class ScoreRequest(AskRequest):
    """Which prompts are to be scored, and how."""

    command, way = "score", "scorer"
    scorer: str = option(
        "",
        "Without its family, such as span_end; by default the one that a benchmark names.",
        metavar="TEMPLATE",
    )


@dataclass(frozen=True)
class GenerateRequest(AskRequest):
    """Which questions models are to answer, and how."""

    command, way = "generate", "decoder"
    decoder: str = option(
        "", "Without its family, such as greedy; by default the one that a benchmark names.", metavar="NAME"
    )
