"""What people ask for when language models are trained: regimes, and recipes with every number. No torch here.

`paper` is what TempLAMA's paper says; its optimiser is that of T5, Adafactor, which the paper names by reference only.
`tempkb`, the default, is the same for one GPU, and `small` is for tiny models on a CPU; nothing of these two was tuned.
T5-CBQA of the paper is a checkpoint as it is (`tempkb model add --preset cbqa`), and T5-CBQA-ft is that one trained on
queries alone: `tempkb train uniform --preset paper --set texts_per_query=0 --set steps=5000`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, replace
from fractions import Fraction
from importlib.util import find_spec
from math import ceil
from sys import float_info
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta

from tempkb.core.errors import SettingsError
from tempkb.core.model_words import GPUs, place_of, require_name
from tempkb.core.options import AtLeastOne, Form, InOrder, NotNegative, Request, Share, option, options_of, read_all
from tempkb.core.windows import Days, Granularity, Window, window_of, windows_between
from tempkb.core.wording import counted
from tempkb.models.corpora.tables import HOME

VERSION = 1  # of what training computes; raise it when the same numbers give other weights
Positive = Annotated[float, Meta(ge=0, lt=float_info.max)]
RegimeName = Literal["uniform", "yearly", "temporal", "continual"]
Preset = Literal["tempkb", "paper", "small"]


def _pair(word: str) -> tuple[str, str]:
    name, _, value = (part.strip() for part in word.partition("="))
    if not name or not value:
        raise ValueError
    return name, value


def as_pairs(pairs: Iterable[tuple[str, str]]) -> str:
    """Return numbers of a recipe as people type them."""
    return ",".join(map("=".join, pairs))


Pairs = InOrder[Annotated[tuple[str, str], Form(_pair, "NAME=VALUE, such as epochs=3")]]
"""Numbers of a recipe by name."""


@dataclass(frozen=True)
class Regime:
    """How models are told the time.

    Attributes:
        meaning: half a sentence.
        is_dated: does the period of a text stand in front of it?
        has_experts: is there a model of its own for each period?
        in_order: are texts read in the order of time, and not those of all periods in turn?
    """

    meaning: str
    is_dated: bool = False
    has_experts: bool = False
    in_order: bool = False


REGIMES: Mapping[RegimeName, Regime] = {
    "uniform": Regime("texts of all periods in turn, without any date"),
    "yearly": Regime("an expert for each period; a query is answered by that of its date", has_experts=True),
    "temporal": Regime("texts of all periods in turn, each after its date, as in year: 2014", is_dated=True),
    "continual": Regime("texts in the order of time, without any date", in_order=True),
}
"""Regimes by their names."""


@dataclass(frozen=True)
class Recipe:
    """How a language model is trained."""

    steps: AtLeastOne = option(300_000, "Of the optimiser, of each expert.")
    batch_size: AtLeastOne = option(2_048, "Examples of a step, on all GPUs together.")
    mini_batch_size: AtLeastOne = option(
        64, "Most examples of which activations are in memory at once, on each GPU. It changes memory and speed alone."
    )
    max_tokens: Annotated[int, Meta(ge=8)] = option(128, "Of a text with its date; what is beyond is left out.")
    texts_per_query: NotNegative = option(1_000, "Texts that are read for each query of the release; 0: queries alone.")
    learning_rate: Positive = option(1e-3, "The highest rate.")
    schedule: Literal["constant", "linear"] = option("constant", "Whether the rate stays, or falls to zero.")
    warm_up: Share = option(0.0, "Share of the steps in which the rate rises.")
    optimizer: Literal["adafactor", "adamw"] = option("adafactor", "Adafactor takes a third of AdamW's memory.")
    weight_decay: Positive = option(0.0, "Decay of weights.")
    max_grad_norm: Positive = option(0.0, "Longest gradient; longer ones are made as long; 0: of any length.")
    dropout: Share = option(0.1, "Share of activations that are left out.")
    asked: Literal["all", "spans"] = option(
        "all", "Of causal models: all tokens of a text, or those of one of its spans, as models with an encoder are."
    )
    random_weights: bool = option(False, "Begin with random weights of the base's architecture, not with its own.")
    oldest: bool = option(
        False, "Also read what stood in the home's first window already, and may be much older than its date says."
    )

    newest_share: Annotated[float, Meta(ge=0.001, le=1)] | None = option(
        None,
        "Share of the texts that are of the last period of the windows, the rest evenly of the earlier ones, as when a "
        "model is brought up to date; by default as many of each.",
    )

    def numbers(self) -> dict[str, Any]:
        """Return all that decides what a model becomes, beside its texts, its base and its seed."""
        return {"version": VERSION, **asdict(self)}

    def shared_out(self, n_texts: int) -> tuple[int, int]:
        """Return how many of the first texts are of earlier periods, and how many of the last: a share, rounded up."""
        n_newest = ceil(n_texts * Fraction(str(self.newest_share)))
        return n_texts - n_newest, n_newest


_SMALL = Recipe(400, 32, 32, 128, 10, 3e-3, "linear", 0.05, "adamw", max_grad_norm=1.0, dropout=0.0)
PRESETS: Mapping[Preset, Recipe] = {
    "tempkb": Recipe(steps=20_000, batch_size=256),
    "paper": Recipe(),
    "small": _SMALL,
}
"""Recipes by their names."""


@dataclass(frozen=True)
class TrainRequest(Request):
    """A language model to be trained, by its name."""

    command = "train"
    name: str
    regime: RegimeName = option(
        MISSING, "; ".join(f"{name}: {one.meaning}" for name, one in REGIMES.items()) + ".", metavar="REGIME"
    )
    base: Annotated[str, place_of] = option(
        MISSING,
        "The checkpoint with which it begins: a folder, the name of a model of the home, or an id of the hub.",
        metavar="PATH",
    )
    windows: Days = option(
        MISSING,
        "Texts that are first seen in windows that begin on or after A and before B.",
        called="window",
        metavar="A..B",
        write="{0[0]}..{0[1]}".format,
    )
    corpus: str = option(HOME, "The corpus; by default home, the wiki's own sentences.", metavar="NAME")
    release: str = option("", "Also learn the train queries of this release, such as one of TempLAMA.", metavar="NAME")
    period: Granularity = option(
        Granularity.YEAR,
        "Of a date in front of a text, and of an expert: year (default), quarter, month or week.",
        metavar="LENGTH",
    )
    # The tables hold no larger seed.
    seed: Annotated[int, Meta(ge=1, le=2**31 - 1)] = option(1, "Seed of its training; by default 1.", metavar="N")
    preset: Preset = option(
        "tempkb",
        "tempkb (one GPU), paper (TempLAMA's), or small (tiny models on a CPU).",
        default_in_words="tempkb",
        metavar="NAME",
    )
    settings: Pairs = option(
        (), "Another number of the recipe; may be repeated.", called="set", metavar="NAME=VALUE", write=as_pairs
    )
    device: GPUs = option("", "cpu, or cuda for all GPUs in CUDA_VISIBLE_DEVICES; by default all, else cpu.")

    @property
    def how(self) -> Regime:
        """Its regime."""
        return REGIMES[self.regime]

    @property
    def periods(self) -> tuple[Window, ...]:
        """Those of which texts are read, oldest first."""
        first, end = self.windows
        return tuple(windows_between(window_of(first, self.period).start, end, self.period))

    def recipe(self) -> Recipe:
        """Return its recipe.

        Raises:
            SettingsError: a name or number is not allowed.
        """
        what = f"model {self.name!r}: "
        return replace(PRESETS[self.preset], **read_all(what, options_of(Recipe), dict(self.settings), "setting"))


def train_request(name: str, words: Mapping[str, str]) -> TrainRequest:
    """Return the request that words make for a model of that name; without one it is made of regime, windows and seed.

    >>> words = {"regime": "temporal", "base": "t5", "windows": "2019-01-01..2022-01-01", "preset": "small"}
    >>> train_request("", words).name
    'temporal-home-2019-01-01-2022-01-01-small'

    Raises:
        SettingsError: the name or a word is not allowed.
    """
    request = TrainRequest.of(words, name=name)
    if not name:
        named = "-".join(map(str, (request.regime, request.corpus, *request.windows)))
        named += "" if request.preset == get_args(Preset)[0] else f"-{request.preset}"
        request = replace(request, name=named + (f"-s{request.seed}" if request.seed != 1 else ""))
    require_name(f"model {request.name!r}", request.name, "such as temporal-2021")
    if not request.recipe().texts_per_query and not request.release:
        raise SettingsError(
            f"model {request.name!r}: found texts_per_query=0 and no release, so that there is nothing to read; name "
            "a release with --release, or read texts as well"
        )
    share, are_mixed = request.recipe().newest_share, not (request.how.has_experts or request.how.in_order)
    if share is not None and not (are_mixed and len(request.periods) > 1):
        raise SettingsError(
            f"model {request.name!r}: found newest_share={share} for the regime {request.regime} and "
            f"{counted(len(request.periods), request.period)}; expected uniform or temporal, and windows of two "
            f"{request.period}s or more, of which the last one gets that share"
        )
    return request


_EXTRA = ("bm25s", "sentence_transformers", "datasets", "accelerate", "faiss")


def require_extra(what: str, needed: Sequence[str] = _EXTRA) -> None:
    """Refuse what needs packages of the extra `linking`, unless they are installed.

    Raises:
        SettingsError: names those that are not.
    """
    if absent := [name for name in needed if find_spec(name) is None]:
        raise SettingsError(
            f"{what} needs {', '.join(absent)}, which {'are' if len(absent) > 1 else 'is'} not installed; install the "
            'extra linking: pip install "tempkb[linking]"'
        )
