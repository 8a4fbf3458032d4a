"""What people ask of linkers: to train or add one, and which mentions to link among which candidates. No torch here."""

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from tempkb.benchmarks.linkable.pool_names import OWN_POOL, pool_name
from tempkb.errors import SettingsError
from tempkb.linking.tables import BASELINES
from tempkb.models.tables import NAME_PATTERN
from tempkb.values import day

Words = Mapping[str, str]
"""A request as people type it; empty words are left out."""

LINKER_LINES: Mapping[str, str] = {
    "release": "The release of TempEL on whose mentions it is trained.",
    "cut": "The snapshot on whose mentions it is trained.",
    "seed": "Seed of its training; by default 1.",
    "preset": "demo, tempkb (the default) or paper.",
    "base": "Checkpoint with which its training begins, a folder or an id of the hub; by default what the preset says.",
    "settings": "Numbers of the recipe other than the preset's, such as epochs=3,batch_size=32.",
    "hard_negatives": "Wrong entities of each mention that another linker ranks high, to be learnt from; by default 0.",
    "negatives_of": "The linker that ranks them; it must be trained on the same release and snapshot.",
    "checkpoint": "Instead of training: a folder, or an id on the Hugging Face hub, of sentence-transformers.",
    "revision": "Branch, tag or commit on the hub; by default its main branch.",
    "device": "Where it is trained; by default all GPUs, else cpu.",
}
"""What may be said of a linker, with its meaning: options of the command, and fields of a run."""

LINK_LINES: Mapping[str, str] = {
    "releases": "Names of releases of TempEL, with commas between them; by default all.",
    "cuts": "Snapshots of the mentions, with commas between them; by default all of a release.",
    "subset": "test (the default) or validation.",
    "pools": "Among which candidates: own (the default), the day of another snapshot, fixed or fixed-N; with commas.",
    "limit": "At most so many mentions of each snapshot, chosen by hash.",
    "device": "By default a GPU if there is one, else cpu.",
    "dtype": "float32 (the default) or bfloat16.",
    "batch_tokens": "Tokens encoded at once; by default what is fast.",
}
"""What may be said of linking mentions, with its meaning: options of the command, and fields of a run."""

AS_OF = "as_of"
"""What is kept of a linker that was asked for a text or an index: the cut whose entities were encoded for it."""

PRESETS = ("tempkb", "paper", "demo")

_REPEATED = ("releases", "cuts", "pools")

_LARGEST_SEED = 2**31 - 1  # that the tables hold
_LARGEST = 10**12 - 1


@dataclass(frozen=True)
class TrainRequest:
    """A linker to be trained.

    Attributes:
        linker: its name.
        release: the release of TempEL on whose mentions it is trained.
        cut: its snapshot.
        seed: of its training.
        preset: name of the recipe.
        base: checkpoint with which training begins; empty for what the preset says.
        settings: numbers of the recipe other than the preset's.
        hard_negatives: wrong entities for each mention.
        negatives_of: the linker that ranks them; empty if there are none.
        device: empty for all GPUs, else cpu.
    """

    linker: str
    release: str
    cut: date
    seed: int = 1
    preset: str = PRESETS[0]
    base: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    hard_negatives: int = 0
    negatives_of: str = ""
    device: str = ""


@dataclass(frozen=True)
class AddRequest:
    """An encoder of sentences to be used as it is.

    Attributes:
        linker: its name.
        checkpoint: a folder, or an id of the hub, in the layout of sentence-transformers.
        revision: branch, tag or commit on the hub; None for its main branch.
    """

    linker: str
    checkpoint: str
    revision: str | None = None


@dataclass(frozen=True)
class LinkRequest:
    """Which mentions are to be linked, and among which candidates.

    Attributes:
        releases: names of releases; empty for all.
        cuts: snapshots of the mentions; empty for all of a release.
        subset: test or validation.
        pools: `own`, a day, or `fixed-N`; each once, in this order.
        limit: at most so many mentions of each snapshot, chosen by hash; None for all.
        device: empty for a GPU if there is one, else cpu.
        dtype: in which the encoder computes.
        batch_tokens: encoded at once; None for what is fast.
    """

    releases: tuple[str, ...] = ()
    cuts: tuple[date, ...] = ()
    subset: str = "test"
    pools: tuple[str, ...] = (OWN_POOL,)
    limit: int | None = None
    device: str = ""
    dtype: str = "float32"
    batch_tokens: int | None = None


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
    if odd := sorted(set(words) - set(LINKER_LINES)):
        raise SettingsError(f"{what}: found {', '.join(odd)}; expected only {', '.join(LINKER_LINES)}")
    if words.get("checkpoint"):
        if beside := sorted(set(words) - {"checkpoint", "revision"}):
            raise SettingsError(
                f"{what}: found a checkpoint, which is used as it is, and {', '.join(beside)}; expected a checkpoint "
                "alone, or base for one with which training begins"
            )
        if name in PRESETS:
            raise SettingsError(
                f"{what}: found the name of a preset, under which results put together what is trained with it; "
                "choose another name"
            )
        return AddRequest(name, words["checkpoint"], words.get("revision"))
    if not words.get("release") or not words.get("cut"):
        raise SettingsError(
            f"{what}: found neither a checkpoint nor a release with a snapshot to be trained on; train it with "
            "tempkb linker train RELEASE --cut DATE, or add one: tempkb linker add NAME CHECKPOINT"
        )
    preset = words.get("preset", PRESETS[0])
    if preset not in PRESETS:
        raise SettingsError(f"{what}: found the preset {preset!r}; expected one of {', '.join(PRESETS)}")
    negatives = _whole(what, words, "hard_negatives", 0)
    if bool(negatives) != bool(words.get("negatives_of")):
        raise SettingsError(
            f"{what}: hard_negatives says how many and negatives_of which linker ranks them; expected both or neither"
        )
    return TrainRequest(
        name,
        words["release"],
        _day(what, words["cut"]),
        _whole(what, words, "seed", 1, least=1, most=_LARGEST_SEED),
        preset,
        words.get("base", ""),
        _settings(what, words.get("settings", "")),
        negatives,
        words.get("negatives_of", ""),
        words.get("device", ""),
    )


def link_request(words: Words) -> LinkRequest:
    """Return the request that words make.

    Raises:
        SettingsError: a word is not allowed.
    """
    what = "linker score"
    if odd := sorted(set(words) - set(LINK_LINES)):
        raise SettingsError(f"{what}: found {', '.join(odd)}; expected only {', '.join(LINK_LINES)}")
    subset, dtype = words.get("subset", "test"), words.get("dtype", "float32")
    if subset not in ("test", "validation"):
        raise SettingsError(f"{what}: found the subset {subset!r}; expected test or validation")
    if dtype not in ("float32", "bfloat16"):
        raise SettingsError(f"{what}: found the dtype {dtype!r}; expected float32 or bfloat16")
    return LinkRequest(
        _parts(words.get("releases", "")),
        tuple(sorted({_day(what, part) for part in _parts(words.get("cuts", ""))})),
        subset,
        tuple(dict.fromkeys(_pool(what, part) for part in _parts(words.get("pools", "")))) or (OWN_POOL,),
        _whole(what, words, "limit", 0, least=1) or None,
        words.get("device", ""),
        dtype,
        _whole(what, words, "batch_tokens", 0, least=1) or None,
    )


def link_words(request: LinkRequest, releases: Iterable[str], cuts: Iterable[date]) -> Words:
    """Return the words of a request, with names of releases and snapshots in place of those that it asks for."""
    words = {
        "releases": ",".join(sorted(set(releases))),
        "cuts": ",".join(sorted({cut.isoformat() for cut in cuts})),
        "subset": request.subset if request.subset != LinkRequest.subset else "",
        "pools": ",".join(request.pools) if request.pools != LinkRequest.pools else "",
        "limit": str(request.limit or ""),
        "device": request.device,
        "dtype": request.dtype if request.dtype != LinkRequest.dtype else "",
        "batch_tokens": str(request.batch_tokens or ""),
    }
    return {name: word for name, word in words.items() if word}


def command_of_link(linker: str, words: Words) -> str:
    """Return the command that asks for what words of a request say, such as those that are kept of a linker.

    >>> command_of_link("prior", {"releases": "a,b", "cuts": "2022-01-01", "batch_tokens": "9"})
    'tempkb linker score prior --release a --release b --cut 2022-01-01 --batch-tokens 9'
    >>> command_of_link("tiny", {AS_OF: "2022-01-01"})
    "tempkb link '[[it]]' --as-of 2022-01-01 --linker tiny"
    """
    if AS_OF in words:
        return f"tempkb link {shlex.join(['[[it]]', '--as-of', words[AS_OF], '--linker', linker])}"
    options = [linker]
    for name, word in words.items():
        option = f"--{(name.removesuffix('s') if name in _REPEATED else name).replace('_', '-')}"
        options += [part for one in (_parts(word) if name in _REPEATED else (word,)) for part in (option, one)]
    return f"tempkb linker score {shlex.join(options)}"


def _require_name(name: str) -> None:
    if not re.fullmatch(NAME_PATTERN, name) or name in BASELINES:
        raise SettingsError(
            f"linker {name!r}: found a name that is not allowed; expected lower-case letters, digits, dots, "
            f"underscores and single hyphens, and neither {' nor '.join(BASELINES)}, which every home has"
        )


def _pool(what: str, part: str) -> str:
    """The name of a pool as tables have it."""
    try:
        return day(part).isoformat() if part[:1].isdecimal() else pool_name(part)
    except ValueError:
        raise SettingsError(
            f"{what}: found the pool {part!r}; expected own, the day of a snapshot, fixed or fixed-N"
        ) from None


def _settings(what: str, words: str) -> tuple[tuple[str, str], ...]:
    pairs = [part.partition("=") for part in _parts(words)]
    if odd := [name for name, equals, value in pairs if not name.strip() or not equals or not value.strip()]:
        raise SettingsError(f"{what}: found the setting {odd[0]!r}; expected NAME=VALUE, such as epochs=3")
    return tuple(sorted((name.strip(), value.strip()) for name, _, value in pairs))


def _whole(what: str, words: Words, name: str, default: int, least: int = 0, most: int = _LARGEST) -> int:
    found = words.get(name, "")
    if not found:
        return default
    # Python refuses to read a number of thousands of digits.
    if not found.isdecimal() or len(found) > len(str(_LARGEST)) or not least <= int(found) <= most:
        raise SettingsError(f"{what}: {name} is {found!r}; expected a whole number from {least} to {most:,}")
    return int(found)


def _day(what: str, found: str) -> date:
    try:
        return day(found)
    except ValueError:
        raise SettingsError(f"{what}: found the day {found!r}; expected YYYY-MM-DD") from None


def _parts(words: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in words.split(",") if part.strip())
