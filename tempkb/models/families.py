"""The families of language models. Without torch, since commands that only read need the names alone."""

from collections.abc import Mapping

from tempkb.models.causal import Causal
from tempkb.models.masked import Masked
from tempkb.models.names import Family
from tempkb.models.seq2seq import SequenceToSequence
from tempkb.models.traits import Traits

TRAITS: Mapping[Family, Traits] = {"masked": Masked(), "seq2seq": SequenceToSequence(), "causal": Causal()}
"""What tells each family from the others, by name."""
