"""Names of the families of language models, and of the numbers in which they compute. Pure."""

from typing import Literal, get_args

Family = Literal["masked", "seq2seq", "causal"]
FAMILIES: tuple[Family, ...] = get_args(Family)

Dtype = Literal["float32", "bfloat16", "float64"]
