"""The recipe by which tiny models are trained, every number of it, and which ones are asked for. No torch here."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_QUERIES
from tempkb.core.errors import SettingsError
from tempkb.core.model_words import FAMILIES, Family
from tempkb.core.windows import parse_day
from tempkb.models.known import known_models
from tempkb.models.tables import READY
from tempkb.store.quoting import literal

if TYPE_CHECKING:
    from tempkb.store.store import Store


VERSION = 1  # of what training computes; raise it when the same numbers give other weights
WITHHELD_SHARE = 5  # one fact subject in so many is withheld
VOCABULARY = 2_000  # tokens, special ones included
CONTEXT_TOKENS = 256
STEP_TOKENS = 512  # padded tokens of a step

FACTS, BORN, OTHERS = KINDS = ("facts", "born", "others")
"""Kinds of articles: about subjects of facts, about entities with a date of origin, and all others."""

EXPOSURE: Mapping[str, float] = {FACTS: 0.75, BORN: 0.10, OTHERS: 0.15}
"""The share of each kind in the tokens that a model reads, whatever its share in the texts is."""


def is_withheld(entity_id: str) -> bool:
    """Return whether the article about a subject of facts is withheld from all models: one in five, by hash."""
    return draw(0, "fact subject", entity_id) % WITHHELD_SHARE == 0


@dataclass(frozen=True)
class Recipe:
    """How models of a family are trained.

    Attributes:
        architecture: the class of transformers.
        config: its configuration; vocabulary and special tokens come with the tokenizer.
        warm_up: share of the steps in which the learning rate rises; from then on it falls to zero.
        scaled: factors of random weights at the beginning, by the names of parameters.
        whole: of masked models, the share of the names that are hidden whole; of the others a beginning is shown.
        others_asked: of causal models, the share of the tokens outside names that are asked for.
        others_weight: how much the mean of these counts beside that of the names' tokens.
    """

    architecture: str
    config: Mapping[str, Any]
    steps: int
    warm_up: float = 0.05
    learning_rate: float = 5e-3
    scaled: Mapping[str, float] = field(default_factory=dict)
    whole: float = 0.5
    others_asked: float = 0.3
    others_weight: float = 0.3

    def numbers(self) -> dict[str, Any]:
        """Return all that decides what a model becomes, beside its texts and its seed."""
        return {
            "version": VERSION,
            **{one.name: getattr(self, one.name) for one in fields(self)},
            "vocabulary": VOCABULARY,
            "step_tokens": STEP_TOKENS,
            "context_tokens": CONTEXT_TOKENS,
            "exposure": dict(EXPOSURE),
        }


_LLAMA = {
    "hidden_size": 64,
    "intermediate_size": 192,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": CONTEXT_TOKENS,
    "initializer_range": 0.1,
    "tie_word_embeddings": True,
}

RECIPES: Mapping[Family, Recipe] = {
    "causal": Recipe("LlamaForCausalLM", _LLAMA, steps=400),
    # BERT as Llama is built: norms before layers, rotated positions, nothing between layers and vocabulary.
    "masked": Recipe("EuroBertForMaskedLM", _LLAMA, steps=500),
    "seq2seq": Recipe(
        "T5ForConditionalGeneration",
        {
            "d_model": 64,
            "d_ff": 192,
            "d_kv": 16,
            "num_heads": 4,
            "num_layers": 1,
            "num_decoder_layers": 1,
            "feed_forward_proj": "gated-silu",
            "dropout_rate": 0.0,
        },
        steps=600,
        learning_rate=2e-3,
        # T5 begins with embeddings ten times as large as others do, and divides what comes out by the root of d_model.
        scaled={"shared.weight": 0.1, "decoder.final_layer_norm.weight": 8.0},
    ),
}


def _deeper(family: Family, **config: Any) -> Recipe:
    return replace(RECIPES[family], config={**RECIPES[family].config, **config})


BASES: Mapping[Family, Recipe] = {
    # One layer of attention cannot join what precedes a name to the subject and to the date at once.
    "causal": _deeper("causal", num_hidden_layers=2, initializer_range=0.05),
    "seq2seq": _deeper("seq2seq", num_layers=2, num_decoder_layers=2),
}
"""Architectures with which models begin that are told the time."""

_UNTRAINED = "untrained"
_NAME = re.compile(
    rf"demo-(?P<family>{'|'.join(FAMILIES)})-(?P<cut>\d{{4}}-\d\d-\d\d|{_UNTRAINED})(?:-s(?P<seed>[1-9]\d*))?"
)


@dataclass(frozen=True)
class DemoModel:
    """A tiny model that is asked for.

    Attributes:
        cut: it has read what the articles said then; None for an untrained model, which has read nothing.
    """

    family: Family
    cut: date | None
    seed: int = 0

    @property
    def name(self) -> str:
        """Its name in the table of models, such as `demo-causal-2022-01-01`, and `...-s1` for another seed."""
        return f"demo-{self.family}-{self.cut or _UNTRAINED}" + (f"-s{self.seed}" if self.seed else "")

    @classmethod
    def named(cls, name: str) -> "DemoModel | None":
        """Return the model that has a name; None if no tiny model is named like that.

        >>> DemoModel.named("demo-causal-untrained-s2")
        DemoModel(family='causal', cut=None, seed=2)
        >>> DemoModel.named("t5-large") is None
        True
        """
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        family = next(one for one in FAMILIES if one == found["family"])
        try:
            cut = None if found["cut"] == _UNTRAINED else date.fromisoformat(found["cut"])
        except ValueError:
            return None  # such as the 30th of February
        return cls(family, cut, int(found["seed"] or 0))


@dataclass(frozen=True)
class Asked:
    """Tiny models that are asked for: one of each family, cut and seed, and untrained ones if they are wanted.

    Attributes:
        cuts: what their texts are of, oldest first.
        n_seeds: number of seeds, which are counted from 0.
        with_untrained: whether there is also a model of each family and seed that has read nothing.
    """

    families: tuple[Family, ...]
    cuts: tuple[date, ...]
    n_seeds: int = 1
    with_untrained: bool = False

    def models(self) -> list[DemoModel]:
        """Return all of them, those of a family and seed together."""
        return [
            DemoModel(family, cut, seed)
            for family in self.families
            for seed in range(self.n_seeds)
            for cut in (*self.cuts, *((None,) if self.with_untrained else ()))
        ]

    def names(self) -> list[str]:
        """Return their names."""
        return [one.name for one in self.models()]


def asked_for(families: Sequence[str], cuts: str, n_seeds: int, *, with_untrained: bool = False) -> Asked:
    """Return what the words of a command ask for.

    Args:
        families: names; none for all.
        cuts: days, separated by commas.

    Raises:
        SettingsError: a word is not allowed.
    """
    odd = [name for name in families if name not in FAMILIES]
    if odd:
        raise SettingsError(f"--family {odd[0]}: no such family; expected one of {', '.join(FAMILIES)}")
    days = [parse_day(day.strip()) for day in cuts.split(",")]
    if len(set(days)) < len(days):
        raise SettingsError(f"--cut {cuts}: found a day twice; expected each cut once")
    chosen = tuple(family for family in FAMILIES if not families or family in families)
    return Asked(chosen, tuple(sorted(days)), n_seeds, with_untrained)


def demo_models(store: "Store") -> list[DemoModel]:
    """Return the models of the home that `tempkb model demo` has made, by name."""
    found = []
    for row in known_models(store.lake):
        model = DemoModel.named(row["model"])
        if model is not None and row["status"] == READY and row["knows_certainly_until"] == model.cut:
            found.append(model)
    return found


def withheld_clusters(store: "Store", release: str) -> list[int]:
    """Return the subjects of a release whose articles are withheld from all models, as the results call clusters."""
    rows = store.ask(
        f"SELECT DISTINCT subject_id, hash(subject_id) AS cluster FROM {DYNAMIC_TEMPLAMA_QUERIES.name} "
        f"WHERE release = {literal(release)} ORDER BY subject_id",
        DYNAMIC_TEMPLAMA_QUERIES.name,
    )
    return [row["cluster"] for row in rows if is_withheld(row["subject_id"])]
