"""Which tiny models a person asks for. No torch here."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from tempkb.errors import SettingsError
from tempkb.models.families import FAMILIES, Family
from tempkb.windows import parse_day


@dataclass(frozen=True)
class DemoModel:
    """A tiny model that is asked for.

    Attributes:
        family: what kind of model it is.
        cut: it has read what the articles said then.
        seed: of all that is random in its training.
    """

    family: Family
    cut: date
    seed: int = 0

    @property
    def name(self) -> str:
        """Its name in the table of models, such as `demo-causal-2022-01-01`, and `...-s1` for another seed."""
        return f"demo-{self.family}-{self.cut}" + (f"-s{self.seed}" if self.seed else "")


@dataclass(frozen=True)
class Asked:
    """Tiny models that are asked for: one of each family, cut and seed.

    Attributes:
        families: kinds of models.
        cuts: what their texts are of, oldest first.
        n_seeds: number of seeds, which are counted from 0.
    """

    families: tuple[Family, ...]
    cuts: tuple[date, ...]
    n_seeds: int = 1

    def models(self) -> list[DemoModel]:
        """Return all of them, those of a family and seed together."""
        return [
            DemoModel(family, cut, seed)
            for family in self.families
            for seed in range(self.n_seeds)
            for cut in self.cuts
        ]

    def names(self) -> list[str]:
        """Return their names."""
        return [one.name for one in self.models()]


def asked_for(families: Sequence[str], cuts: str, n_seeds: int) -> Asked:
    """Return what the words of a command ask for.

    Args:
        families: names; none for all.
        cuts: days, separated by commas.
        n_seeds: number of seeds.

    Raises:
        SettingsError: a word is not allowed.
    """
    odd = [name for name in families if name not in FAMILIES]
    if odd:
        raise SettingsError(f"--family {odd[0]}: no such family; expected one of {', '.join(FAMILIES)}")
    days = [parse_day(day.strip()) for day in cuts.split(",")]
    if len(set(days)) < len(days):
        raise SettingsError(f"--cuts {cuts}: found a day twice; expected each cut once")
    chosen = tuple(family for family in FAMILIES if not families or family in families)
    return Asked(chosen, tuple(sorted(days)), n_seeds)
