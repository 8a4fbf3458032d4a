"""Names of scorers and decoders: family, template or way, version, number type. No torch here."""

from collections.abc import Mapping

from tempkb.core.errors import SettingsError
from tempkb.core.model_words import Dtype, Family
from tempkb.models.families import TRAITS

SHORT_DTYPES: dict[Dtype, str] = {"float32": "f32", "bfloat16": "bf16", "float64": "f64"}
# Of what scorers compute, by number type; scores of another version are other scores. In 1, narrow numbers rounded the
# frequencies of rotary positions as well.
VERSIONS: dict[Dtype, int] = {"float32": 1, "bfloat16": 2, "float64": 1}


def require_template(family: Family, template: str) -> None:
    """Make sure that a family has a template.

    Raises:
        SettingsError: it has none of that name.
    """
    known = TRAITS[family].templates
    if template not in known:
        raise SettingsError(
            f"Scorers of {family} models have no template {template!r}; expected one of {', '.join(known)}."
        )


def scorer_name(family: Family, template: str, dtype: Dtype) -> str:
    """Return the name of a scorer; equal names of one model mean equal scores, up to rounding.

    >>> scorer_name("causal", "span", "bfloat16")
    'causal.span-2.bf16'
    """
    return f"{family}.{template}-{VERSIONS[dtype]}.{SHORT_DTYPES[dtype]}"


WAYS: Mapping[Family, tuple[str, ...]] = {
    "masked": ("beam10", "greedy", "paper"),
    "seq2seq": ("greedy", "recall_beam10", "recall_beam100"),
    "causal": ("greedy", "chat"),
}
"""Ways in which models of a family answer, the default first."""

VERSION = 1
"""Of what decoders compute; what decoders of another version say is something else."""

NEW_TOKENS, CHAT_TOKENS = 32, 64
"""The most tokens that a model adds, and those of a chat model's reply."""

MASKS = 5
"""The most masks that a masked model fills."""


def require_way(family: Family, way: str) -> None:
    """Make sure that models of a family answer in a way.

    Raises:
        SettingsError: there is none of that name.
    """
    if way not in WAYS[family]:
        raise SettingsError(
            f"Decoders of {family} models have no way {way!r} of answering; expected one of {', '.join(WAYS[family])}."
        )


def decoder_name(family: Family, way: str, dtype: Dtype) -> str:
    """Return the name of a decoder; equal names of one model mean equal answers, up to rounding.

    >>> decoder_name("seq2seq", "recall_beam100", "float32")
    'seq2seq.recall_beam100-1.f32'
    """
    return f"{family}.{way}-{VERSION}.{SHORT_DTYPES[dtype]}"
