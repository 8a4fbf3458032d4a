"""What people ask of linkers: to train or add one, and which mentions to link among which candidates. No torch here."""

import re
import shlex
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, replace
from datetime import date
from typing import Annotated, Literal, get_args

from msgspec import Meta

from tempkb.benchmarks.linkable.declaration import OWN_POOL, pool_name
from tempkb.core.errors import SettingsError
from tempkb.core.model_words import GPUs, require_name
from tempkb.core.options import Count, Form, InOrder, Request, Words, option, options_of, read_as
from tempkb.models.training.requests import Pairs, as_pairs

AS_OF = "as_of"
"""What is kept of a linker that was asked for a text or an index: the cut whose entities were encoded for it."""

Precision = Literal["float32", "bfloat16"]
Preset = Literal["tempkb", "paper", "demo"]
PRESETS: tuple[Preset, ...] = get_args(Preset)


def _pool(word: str) -> str:
    """Read the name of a pool as tables have it."""
    return read_as(date, word).isoformat() if word[:1].isdecimal() else pool_name(word)


@dataclass(frozen=True)
class TrainRequest(Request):
    """A linker to be trained, by its name."""

    command = "linker train"
    linker: str
    release: str = option(MISSING, "The release of TempEL on whose mentions it is trained.")
    cut: date = option(MISSING, "The snapshot on whose mentions it is trained.")
    # The tables hold no larger seed.
    seed: Annotated[int, Meta(ge=1, le=2**31 - 1)] = option(1, "Seed of its training; by default 1.")
    preset: Preset = option(
        PRESETS[0],
        "tempkb (BERT-base), paper (BERT-large), or demo (tiny, with random weights).",
        default_in_words=PRESETS[0],
        metavar="NAME",
    )
    base: str = option("", "Begin with this encoder, a folder or an id of the hub.", metavar="CHECKPOINT")
    settings: Pairs = option(
        (), "Another number of the recipe; may be repeated.", called="set", metavar="NAME=VALUE", write=as_pairs
    )
    hard_negatives: Annotated[int, Meta(ge=0, le=10**12 - 1)] = option(
        0, "Learn also from N wrong entities of each mention that another linker ranks high.", metavar="N"
    )
    negatives_of: str = option(
        "", "The linker that ranks them; it must be of the same release and snapshot.", metavar="LINKER"
    )
    device: GPUs = option("", "cpu, or cuda for all GPUs in CUDA_VISIBLE_DEVICES; by default all, else cpu.")


@dataclass(frozen=True)
class AddRequest(Request):
    """An encoder of sentences to be used as it is, by its name."""

    command = "linker add"
    linker: str
    checkpoint: str = option(
        MISSING, "Instead of training: a folder, or an id on the Hugging Face hub, of sentence-transformers."
    )
    revision: str | None = option(None, "Branch, tag or commit on the hub; by default its main branch.")


@dataclass(frozen=True)
class LinkRequest(Request):
    """Which mentions are to be linked, and among which candidates."""

    command = "linker score"
    releases: tuple[str, ...] = option((), "Only this release; may be repeated.", called="release", metavar="NAME")
    cuts: InOrder[date] = option((), "Only mentions of this snapshot; may be repeated.", called="cut", metavar="DATE")
    subset: Literal["test", "validation"] = option("test", "test (default) or validation.")
    pools: tuple[Annotated[str, Form(_pool, "own, the day of a snapshot, fixed or fixed-N")], ...] = option(
        (OWN_POOL,),
        "own (default): the candidates of the mentions' snapshot; the day of another snapshot; or fixed, fixed-N: "
        "as many at each snapshot. May be repeated.",
        called="pool",
        metavar="POOL",
    )
    limit: Count | None = option(None, "At most so many mentions of each snapshot, chosen by hash.", metavar="N")
    device: str = option("", "By default a GPU if there is one, else cpu.")
    dtype: Precision = option("float32", "float32 (default) or bfloat16.")
    batch_tokens: Count | None = option(None, "Tokens encoded at once; by default what is fast.", metavar="N")

    def words_for(self, releases: Iterable[str], cuts: Iterable[date]) -> Words:
        """Return the words of the request, with names of releases and snapshots in place of those that it asks for."""
        return replace(self, releases=tuple(sorted(set(releases))), cuts=tuple(sorted(set(cuts)))).words


def default_name(release: str, cut: date, seed: int, preset: str) -> str:
    """Return the name of a linker that is trained without one, such as `demo-2022-01-01` or `demo-2022-01-01-s2`."""
    named = f"{release}-{cut}" + ("" if preset == PRESETS[0] else f"-{preset}")
    return re.sub("-+", "-", named) + (f"-s{seed}" if seed != 1 else "")


def linker_request(name: str, words: Words) -> TrainRequest | AddRequest:
    """Return the request that words make for a linker of that name.

    Raises:
        SettingsError: the name or a word is not allowed, or words exclude one another.
    """
    # Tables are no business of a command that only says what may be asked for.
    from tempkb.models.linking.tables import BASELINES

    what = f"linker {name!r}"
    require_name(what, name, f"and neither {' nor '.join(BASELINES)}, which every home has", BASELINES)
    if words.get("checkpoint"):
        return _add_request(what, name, words)
    if not words.get("release") or not words.get("cut"):
        raise SettingsError(
            f"{what}: found neither a checkpoint nor a release with a snapshot to be trained on; train it with "
            "tempkb linker train RELEASE --cut DATE, or add one: tempkb linker add NAME CHECKPOINT"
        )
    trained = {key: word for key, word in words.items() if key not in options_of(AddRequest)}
    request = TrainRequest.of(trained, what, linker=name)
    if bool(request.hard_negatives) != bool(request.negatives_of):
        raise SettingsError(
            f"{what}: hard_negatives says how many and negatives_of which linker ranks them; expected both or neither"
        )
    return request


def command_of(linker: str, words: Words) -> str:
    """Return the command that trains or adds a linker as words of a request say; they are empty if none are known.

    >>> command_of("mine", {"checkpoint": "./a b", "revision": "0a1b"})
    "tempkb linker add mine './a b' --revision 0a1b"
    >>> command_of("mine", {"release": "demo", "cut": "2022-01-01", "settings": "epochs=3,heads=2"})
    'tempkb linker train demo --cut 2022-01-01 --set epochs=3 --set heads=2 --name mine'
    """
    rest = {name: word for name, word in words.items() if name not in ("checkpoint", "release")}
    if "checkpoint" in words:
        return AddRequest.typed(rest, linker, words["checkpoint"])
    if "release" in words:
        return TrainRequest.typed(rest, words["release"]) + f" --name {linker}"
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
    return LinkRequest.typed(words, linker)


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
    return AddRequest.of(words, what, linker=name)
