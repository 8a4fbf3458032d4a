"""The three families of language models. Without torch, since commands that only read need the names alone."""

from typing import Literal, get_args

Family = Literal["masked", "seq2seq", "causal"]
FAMILIES: tuple[Family, ...] = get_args(Family)
