"""What the designs of releases have in common: they are made of a preset and changes, and kept as JSON. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar, get_type_hints

import msgspec

from tempkb.errors import DesignError, SettingsError
from tempkb.options import options_of, read_all

Preset = Mapping[str, Any]


@dataclass(frozen=True)
class Parts:
    """A design; of its fields a person may change those that are options."""

    def to_json(self) -> dict[str, Any]:
        """Return the design as plain values, for files and for the release's row."""
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return a design from the values that `to_json` wrote."""
        kinds = get_type_hints(cls, include_extras=True)
        return cls(**{name: msgspec.convert(value, kinds.get(name, Any)) for name, value in values.items()})


_Design = TypeVar("_Design", bound=Parts)


def designed(
    design: type[_Design], presets: Mapping[str, Preset], preset: str, changes: Mapping[str, str] | None, **given: Any
) -> _Design:
    """Return a design of a preset, changes as people type them, and the parts that are given.

    Raises:
        DesignError: an unknown preset or part, or a value that it cannot have.
    """
    if preset not in presets:
        raise DesignError(f"preset {preset!r}: no such preset; known: {', '.join(presets)}")
    try:
        changed = read_all("", options_of(design), changes or {}, "part of a design")
    except SettingsError as error:
        raise DesignError(str(error)) from None
    # Values are checked together: templates in German need a language that another change sets.
    return design(**{**presets[preset], **given, **changed})
