"""Names of decoders: family, way, version, number type. Without torch, since choosing questions needs names only."""

from collections.abc import Mapping

from tempkb.errors import SettingsError
from tempkb.models.names import Dtype, Family
from tempkb.models.scorers import SHORT_DTYPES

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
