"""What people ask of linkers: to train or add one, and which mentions to link among which candidates. No torch here."""

import re
import shlex
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, replace
from datetime import date
from typing import Any

from tempkb.benchmarks.linkable.pool_names import OWN_POOL, pool_name
from tempkb.errors import SettingsError
from tempkb.options import Words, option, options_of, read_request, refuse_unknown, typed, words_of
from tempkb.values import day, digits, in_order, named, one_of, parts, text

AS_OF = "as_of"
"""What is kept of a linker that was asked for a text or an index: the cut whose entities were encoded for it."""

PRESETS = ("tempkb", "paper", "demo")

_LARGEST_SEED = 2**31 - 1  # that the tables hold
_ANY_NUMBER = "a whole number from {} to 999,999,999,999"
_day = named("day", "YYYY-MM-DD", day)


def _pair(word: Any) -> tuple[str, str]:
    name, _, value = (part.strip() for part in text(word).partition("="))
    if not name or not value:
        raise ValueError
    return name, value


def _as_pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return ",".join(map("=".join, pairs))


def _pool(word: Any) -> str:
    """Read the name of a pool as tables have it."""
    return day(word).isoformat() if word[:1].isdecimal() else pool_name(word)


@dataclass(frozen=True)
class TrainRequest:
    """A linker to be trained, by its name."""

    linker: str
    release: str = option(MISSING, text, "The release of TempEL on whose mentions it is trained.")
    cut: date = option(MISSING, _day, "The snapshot on whose mentions it is trained.")
    seed: int = option(
        1,
        digits(1, _LARGEST_SEED),
        "Seed of its training; by default 1.",
        allowed=f"a whole number from 1 to {_LARGEST_SEED:,}",
    )
    preset: str = option(
        PRESETS[0],
        named("preset", f"one of {', '.join(PRESETS)}", one_of(*PRESETS)),
        "demo, tempkb (the default) or paper.",
        default_in_words=PRESETS[0],
        metavar="NAME",
        help="tempkb (BERT-base), paper (BERT-large), or demo (tiny, with random weights).",
    )
    base: str = option(
        "",
        text,
        "Checkpoint with which its training begins, a folder or an id of the hub; by default what the preset says.",
        metavar="CHECKPOINT",
        help="Begin with this encoder, a folder or an id of the hub.",
    )
    settings: tuple[tuple[str, str], ...] = option(
        (),
        in_order(named("setting", "NAME=VALUE, such as epochs=3", _pair)),
        "Numbers of the recipe other than the preset's, such as epochs=3,batch_size=32.",
        flag="--set",
        metavar="NAME=VALUE",
        write=_as_pairs,
        help="Another number of the recipe; may be repeated.",
    )
    hard_negatives: int = option(
        0,
        digits(0),
        "Wrong entities of each mention that another linker ranks high, to be learnt from; by default 0.",
        allowed=_ANY_NUMBER.format(0),
        metavar="N",
        help="Learn also from N wrong entities of each mention that another linker ranks high.",
    )
    negatives_of: str = option(
        "",
        text,
        "The linker that ranks them; it must be trained on the same release and snapshot.",
        metavar="LINKER",
        help="The linker that ranks them; it must be of the same release and snapshot.",
    )
    device: str = option(
        "", text, "Where it is trained; by default all GPUs, else cpu.", help="By default all GPUs, else cpu."
    )


@dataclass(frozen=True)
class AddRequest:
    """An encoder of sentences to be used as it is, by its name."""

    linker: str
    checkpoint: str = option(
        MISSING, text, "Instead of training: a folder, or an id on the Hugging Face hub, of sentence-transformers."
    )
    revision: str | None = option(None, text, "Branch, tag or commit on the hub; by default its main branch.")


@dataclass(frozen=True)
class LinkRequest:
    """Which mentions are to be linked, and among which candidates."""

    releases: tuple[str, ...] = option(
        (),
        parts(),
        "Names of releases of TempEL, with commas between them; by default all.",
        flag="--release",
        metavar="NAME",
        help="Only this release; may be repeated.",
    )
    cuts: tuple[date, ...] = option(
        (),
        in_order(_day),
        "Snapshots of the mentions, with commas between them; by default all of a release.",
        flag="--cut",
        metavar="DATE",
        help="Only mentions of this snapshot; may be repeated.",
    )
    subset: str = option(
        "test",
        named("subset", "test or validation", one_of("test", "validation")),
        "test (the default) or validation.",
        help="test (default) or validation.",
    )
    pools: tuple[str, ...] = option(
        (OWN_POOL,),
        parts(named("pool", "own, the day of a snapshot, fixed or fixed-N", _pool)),
        "Among which candidates: own (the default), the day of another snapshot, fixed or fixed-N; with commas.",
        flag="--pool",
        metavar="POOL",
        help="own (default): the candidates of the mentions' snapshot; the day of another snapshot; or fixed, fixed-N: "
        "as many at each snapshot. May be repeated.",
    )
    limit: int | None = option(
        None,
        digits(1),
        "At most so many mentions of each snapshot, chosen by hash.",
        allowed=_ANY_NUMBER.format(1),
        metavar="N",
    )
    device: str = option("", text, "By default a GPU if there is one, else cpu.")
    dtype: str = option(
        "float32",
        named("dtype", "float32 or bfloat16", one_of("float32", "bfloat16")),
        "float32 (the default) or bfloat16.",
        help="float32 (default) or bfloat16.",
    )
    batch_tokens: int | None = option(
        None,
        digits(1),
        "Tokens encoded at once; by default what is fast.",
        allowed=_ANY_NUMBER.format(1),
        metavar="N",
    )


def default_name(release: str, cut: date, seed: int, preset: str) -> str:
    """Return the name of a linker that is trained without one, such as `demo-2022-01-01` or `demo-2022-01-01-s2`."""
    named = f"{release}-{cut}" + ("" if preset == PRESETS[0] else f"-{preset}")
    return re.sub("-+", "-", named) + (f"-s{seed}" if seed != 1 else "")


def linker_request(name: str, words: Words) -> TrainRequest | AddRequest:
    """Return the request that words make for a linker of that name.

    Raises:
        SettingsError: the name or a word is not allowed, or words exclude one another.
    """
    what = f"linker {name!r}"
    _require_name(name)
    refuse_unknown(what, options_of(TrainRequest) | options_of(AddRequest), words)
    if words.get("checkpoint"):
        return _add_request(what, name, words)
    if not words.get("release") or not words.get("cut"):
        raise SettingsError(
            f"{what}: found neither a checkpoint nor a release with a snapshot to be trained on; train it with "
            "tempkb linker train RELEASE --cut DATE, or add one: tempkb linker add NAME CHECKPOINT"
        )
    trained = {key: word for key, word in words.items() if key in options_of(TrainRequest)}
    request = read_request(TrainRequest, what, trained, linker=name)
    if bool(request.hard_negatives) != bool(request.negatives_of):
        raise SettingsError(
            f"{what}: hard_negatives says how many and negatives_of which linker ranks them; expected both or neither"
        )
    return request


def link_request(words: Words) -> LinkRequest:
    """Return the request that words make.

    Raises:
        SettingsError: a word is not allowed.
    """
    return read_request(LinkRequest, "linker score", words)


def link_words(request: LinkRequest, releases: Iterable[str], cuts: Iterable[date]) -> Words:
    """Return the words of a request, with names of releases and snapshots in place of those that it asks for."""
    return words_of(replace(request, releases=tuple(sorted(set(releases))), cuts=tuple(sorted(set(cuts)))))


def command_of(linker: str, words: Words) -> str:
    """Return the command that trains or adds a linker as words of a request say; they are empty if none are known.

    >>> command_of("mine", {"checkpoint": "./a b", "revision": "0a1b"})
    "tempkb linker add mine './a b' --revision 0a1b"
    >>> command_of("mine", {"release": "demo", "cut": "2022-01-01", "settings": "epochs=3,heads=2"})
    'tempkb linker train demo --cut 2022-01-01 --set epochs=3 --set heads=2 --name mine'
    """
    rest = {name: word for name, word in words.items() if name not in ("checkpoint", "release")}
    if "checkpoint" in words:
        return typed(f"tempkb linker add {shlex.join([linker, words['checkpoint']])}", AddRequest, rest)
    if "release" in words:
        return typed(f"tempkb linker train {words['release']}", TrainRequest, rest) + f" --name {linker}"
    return (
        f"tempkb linker add {linker} CHECKPOINT, or, if it was trained here: "
        f"tempkb linker train RELEASE --cut DATE --preset PRESET --name {linker}"
    )


def command_of_link(linker: str, words: Words) -> str:
    """Return the command that asks for what words of a request say, such as those that are kept of a linker.

    >>> command_of_link("prior", {"releases": "a,b", "cuts": "2022-01-01", "batch_tokens": "9"})
    'tempkb linker score prior --release a --release b --cut 2022-01-01 --batch-tokens 9'
    >>> command_of_link("tiny", {AS_OF: "2022-01-01"})
    "tempkb link '[[it]]' --as-of 2022-01-01 --linker tiny"
    """
    if AS_OF in words:
        return f"tempkb link {shlex.join(['[[it]]', '--as-of', words[AS_OF], '--linker', linker])}"
    return typed(f"tempkb linker score {linker}", LinkRequest, words)


def _add_request(what: str, name: str, words: Words) -> AddRequest:
    if beside := sorted(set(words) - set(options_of(AddRequest))):
        raise SettingsError(
            f"{what}: found a checkpoint, which is used as it is, and {', '.join(beside)}; expected a checkpoint "
            "alone, or base for one with which training begins"
        )
    if name in PRESETS:
        raise SettingsError(
            f"{what}: found the name of a preset, under which results put together what is trained with it; "
            "choose another name"
        )
    return read_request(AddRequest, what, words, linker=name)


def _require_name(name: str) -> None:
    # Tables are no business of a command that only says what may be asked for.
    from tempkb.linking.tables import BASELINES
    from tempkb.models.tables import NAME_PATTERN

    if not re.fullmatch(NAME_PATTERN, name) or name in BASELINES:
        raise SettingsError(
            f"linker {name!r}: found a name that is not allowed; expected lower-case letters, digits, dots, "
            f"underscores and single hyphens, and neither {' nor '.join(BASELINES)}, which every home has"
        )
