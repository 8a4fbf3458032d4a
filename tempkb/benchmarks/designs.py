"""What the designs of releases have in common: they are made of a preset and changes, and kept as JSON. Pure."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Self, get_type_hints

import msgspec

from tempkb.core.errors import DesignError, SettingsError
from tempkb.core.options import options_of, read_all

Preset = Mapping[str, Any]
"""Values of some parts of a design."""


@dataclass(frozen=True)
class Design(ABC):
    """A release's design: dates, sources, rules and hyperparameters. Equal designs give equal releases.

    Of its fields a person may change those that are options.
    """

    @classmethod
    def of(cls, presets: Mapping[str, Preset], preset: str, changes: Mapping[str, str] | None, **given: Any) -> Self:
        """Return a design of a preset, the parts that are given, and changes as people type them.

        Raises:
            DesignError: an unknown preset or part, or a value that it cannot have.
        """
        if preset not in presets:
            raise DesignError(f"preset {preset!r}: no such preset; known: {', '.join(presets)}")
        try:
            changed = read_all("", options_of(cls), changes or {}, "part of a design")
        except SettingsError as error:
            raise DesignError(str(error)) from None
        # Values are checked together: templates in German need a language that another change sets.
        return cls(**{**presets[preset], **given, **changed})

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return a design from the values that `to_json` wrote."""
        kinds = get_type_hints(cls, include_extras=True)
        return cls(**{name: msgspec.convert(value, kinds.get(name, Any)) for name, value in values.items()})

    def to_json(self) -> dict[str, Any]:
        """Return the design as plain values, for files and for the release's row."""
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values

    @abstractmethod
    def days(self) -> tuple[date, ...]:
        """Return the days for a release's default name, such as the first and the last of its study."""
