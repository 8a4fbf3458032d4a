<<<<<<< HEAD
"""The three families of language models, and the numbers in which they compute. Without torch: names alone."""
=======
"""The families of language models. Without torch, since commands that only read need the names alone."""
>>>>>>> main

from collections.abc import Mapping
from typing import Literal, get_args

from tempkb.models.causal import Causal
from tempkb.models.masked import Masked
from tempkb.models.seq2seq import SequenceToSequence
from tempkb.models.traits import Traits

Family = Literal["masked", "seq2seq", "causal"]
FAMILIES: tuple[Family, ...] = get_args(Family)
<<<<<<< HEAD

Dtype = Literal["float32", "bfloat16", "float64"]
=======
TRAITS: Mapping[Family, Traits] = {"masked": Masked(), "seq2seq": SequenceToSequence(), "causal": Causal()}
"""What tells each family from the others, by name."""
>>>>>>> main
