"""What people ask for when they score: which prompts, by which scorer, how much at once. No torch here."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import get_args

from tempkb.errors import SettingsError
from tempkb.models.scorers import Dtype
from tempkb.windows import parse_range

SCORE_LINES: Mapping[str, str] = {
    "benchmarks": "Benchmarks, separated by commas; by default all that have prompts.",
    "releases": "Releases, separated by commas; by default all that are built.",
    "windows": "A..B: only items whose window begins on or after A and before B.",
    "variants": "Forms of prompts, separated by commas; by default those that each benchmark names.",
    "scorer": "Template of the scorer, such as answer_l2r; by default the one that each benchmark names.",
    "limit": "At most so many prompts of each scorer, chosen by hash; by default all.",
    "device": "Where to compute, such as cpu or cuda:1; by default a GPU if there is one.",
    "dtype": "float32, bfloat16 or float64; by default float32.",
    "batch_tokens": "Tokens that are computed at once; by default what is fast on the device.",
    "threads": "Threads of a CPU; by default one for small models, which more would slow down.",
    "fixed_shapes": "true for scores that do not depend on the rest of the batch, bit for bit on one machine; slower.",
}
"""What may be said of scoring, with its meaning: options of the command, and fields of a run."""

Words = Mapping[str, str]

_REPEATED = {"benchmarks": "--benchmark", "releases": "--release", "variants": "--variant"}


@dataclass(frozen=True)
class ScoreRequest:
    """Which prompts are to be scored, and how.

    Attributes:
        benchmarks: names; empty for all that have prompts.
        releases: names; empty for all that are built.
        windows: first day, and the day after the last, of the items' windows; None for all items.
        variants: forms of prompts; empty for those that each benchmark scores by default.
        template: of the scorer; empty for the one that each benchmark names.
        limit: most prompts of each scorer; None for all.
        device: where to compute; empty for a GPU if there is one.
        dtype: in which numbers.
        batch_tokens: tokens that are computed at once; None for what is fast on the device.
        threads: of a CPU; None for what is fast for the model.
        has_fixed_shapes: whether shapes of computations depend on single prompts alone.
    """

    benchmarks: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    windows: tuple[date, date] | None = None
    variants: tuple[str, ...] = ()
    template: str = ""
    limit: int | None = None
    device: str = ""
    dtype: Dtype = "float32"
    batch_tokens: int | None = None
    threads: int | None = None
    has_fixed_shapes: bool = False


def words_of(request: ScoreRequest, releases: Sequence[str]) -> Words:
    """Return the words of a request, with the names of releases in place of those that it asks for."""
    first, end = request.windows or ("", "")
    words = {
        "releases": ",".join(sorted(set(releases))),
        "windows": f"{first}..{end}" if request.windows else "",
        "variants": ",".join(request.variants),
        "scorer": request.template,
        "limit": str(request.limit or ""),
        "device": request.device,
        "dtype": request.dtype if request.dtype != ScoreRequest.dtype else "",
        "batch_tokens": str(request.batch_tokens or ""),
        "threads": str(request.threads or ""),
        "fixed_shapes": "true" if request.has_fixed_shapes else "",
    }
    return {name: word for name, word in words.items() if word}


def request_of(words: Words) -> ScoreRequest:
    """Return the request that words make; empty words are left out.

    Raises:
        SettingsError: a word is not allowed.
    """
    said = {name: word.strip() for name, word in words.items() if word.strip()}
    odd = sorted(set(said) - set(SCORE_LINES))
    if odd:
        raise SettingsError(f"score: found {', '.join(odd)}; expected only {', '.join(SCORE_LINES)}")
    return ScoreRequest(
        _names(said.get("benchmarks", "")),
        _names(said.get("releases", "")),
        parse_range(said["windows"]) if "windows" in said else None,
        _names(said.get("variants", "")),
        said.get("scorer", ""),
        _number("limit", said),
        said.get("device", ""),
        _dtype(said.get("dtype", "float32")),
        _number("batch_tokens", said),
        _number("threads", said),
        _truth("fixed_shapes", said),
    )


def command_of(model: str, words: Words) -> str:
    """Return the command that asks for what words of a request say, such as those that are kept of a model.

    >>> command_of("tiny", {"releases": "a,b", "limit": "7", "fixed_shapes": "true"})
    'tempkb score tiny --release a --release b --limit 7 --fixed-shapes'
    """
    options = [model]
    for name, word in words.items():
        if name in _REPEATED:
            options += [part for one in _names(word) for part in (_REPEATED[name], one)]
        else:
            option = f"--{name.replace('_', '-')}"
            options += [option] if name == "fixed_shapes" else [option, word]
    return f"tempkb score {shlex.join(options)}"


def _names(words: str) -> tuple[str, ...]:
    """Names in their alphabetical order, each once.

    >>> _names("b, a,b")
    ('a', 'b')
    """
    return tuple(sorted({name for word in words.split(",") if (name := word.strip())}))


def _number(name: str, said: Words) -> int | None:
    if name not in said:
        return None
    if not re.fullmatch(r"[1-9]\d{0,11}", said[name]):
        raise SettingsError(f"score: {name} is {said[name]!r}; expected a number from 1 on")
    return int(said[name])


def _dtype(word: str) -> Dtype:
    known: dict[str, Dtype] = {one: one for one in get_args(Dtype)}
    if word not in known:
        raise SettingsError(f"score: dtype is {word!r}; expected {', '.join(known)}")
    return known[word]


def _truth(name: str, said: Words) -> bool:
    word = said.get(name, "false")
    if word not in ("true", "false"):
        raise SettingsError(f"score: {name} is {word!r}; expected true or false")
    return word == "true"
