"""What may be said of a model: its family and number type, lines of `[models.NAME]`, options of commands, fields."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from tempkb.core.errors import SettingsError
from tempkb.core.options import Form, OddValueError, Request, Words, one_of, option, options_of, read_as

Family = Literal["masked", "seq2seq", "causal"]
FAMILIES: tuple[Family, ...] = get_args(Family)

Dtype = Literal["float32", "bfloat16", "float64"]
GPUs = Annotated[str, one_of("cpu", "cuda")]  # all of them
NAME_PATTERN = "[a-z0-9][a-z0-9._]*(-[a-z0-9._]+)*"
"""What a model's name looks like. Two hyphens in a row separate a model from a scorer in the names of partitions."""


def require_name(what: str, name: str, further: str, taken: Sequence[str] = ()) -> None:
    """Raise a SettingsError for a name that a model or linker cannot have; it ends with what else must be known."""
    if not re.fullmatch(NAME_PATTERN, name) or name in taken:
        raise SettingsError(
            f"{what}: found a name that is not allowed; expected lower-case letters, digits, dots, underscores and "
            f"single hyphens, {further}"
        )


def place_of(word: str) -> str:
    """Return the absolute folder that a word names, or an id of the hub as it is."""
    folder = Path(word).expanduser()
    return str(folder.resolve()) if folder.is_dir() else word


def _until(word: str) -> tuple[date, date]:
    """Read `DATE`, or the two days of `CERTAIN..POSSIBLE`."""
    first, dots, second = word.partition("..")
    certainly = read_as(date, first)
    possibly = read_as(date, second) if dots else certainly
    if certainly > possibly:
        raise ValueError
    return certainly, possibly


@dataclass(frozen=True)
class ModelRequest(Request):
    """A model to be added, by its name."""

    command = "model add"
    name: str
    checkpoint: Annotated[str, place_of] = option("", "A folder, or an id on the Hugging Face hub.")
    revision: str | None = option(None, "Branch, tag or commit on the hub; by default its main branch.")
    family: Family | None = option(
        None, "masked, seq2seq or causal; by default what the architecture says.", metavar="FAMILY"
    )
    knows_until: Annotated[
        tuple[date, date] | None,
        Form(
            _until,
            "YYYY-MM-DD, or an earlier day that is certain and a later one that is possible, such as "
            "2020-03-01..2021-01-01",
        ),
    ] = option(
        None,
        "Its stated training cutoff: the first day not in its training texts; A..B if they certainly reach up to A and "
        "contain nothing from B on.",
        metavar="DATE[..DATE]",
    )

    @property
    def knows_certainly_until(self) -> date | None:
        """Day before which its training texts certainly reach; None if unknown."""
        return self.knows_until and self.knows_until[0]

    @property
    def knows_possibly_until(self) -> date | None:
        """Day from which on none of its training texts is; None if unknown."""
        return self.knows_until and self.knows_until[1]


def model_lines(value: Any) -> tuple[tuple[str, Words], ...]:
    """Read the tables `[models.NAME]` of TOML, as pairs of a name and its lines."""
    if not isinstance(value, Mapping):
        raise OddValueError("models are tables of tempkb.toml, not a variable")
    for name, lines in value.items():
        if not isinstance(lines, Mapping) or "checkpoint" not in lines:
            raise OddValueError(f"[models.{name}] has no line checkpoint")
        if odd := sorted(set(lines) - set(options_of(ModelRequest))):
            raise OddValueError(f"[models.{name}] has a line {odd[0]}")
    return tuple((name, {key: str(word) for key, word in lines.items()}) for name, lines in value.items())
