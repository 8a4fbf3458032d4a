"""Which tiny models a person asks for, which a home has, and what is withheld from them. No torch here."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_QUERIES
from tempkb.demo.models.recipe import is_withheld
from tempkb.errors import SettingsError
from tempkb.models.known import known_models
from tempkb.models.names import FAMILIES, Family
from tempkb.models.tables import READY
from tempkb.store.quoting import literal
from tempkb.windows import parse_day

if TYPE_CHECKING:
    from tempkb.store.store import Store

_UNTRAINED = "untrained"
_NAME = re.compile(
    rf"demo-(?P<family>{'|'.join(FAMILIES)})-(?P<cut>\d{{4}}-\d\d-\d\d|{_UNTRAINED})(?:-s(?P<seed>[1-9]\d*))?"
)


@dataclass(frozen=True)
class DemoModel:
    """A tiny model that is asked for.

    Attributes:
        cut: it has read what the articles said then; None for an untrained model, which has read nothing.
    """

    family: Family
    cut: date | None
    seed: int = 0

    @property
    def name(self) -> str:
        """Its name in the table of models, such as `demo-causal-2022-01-01`, and `...-s1` for another seed."""
        return f"demo-{self.family}-{self.cut or _UNTRAINED}" + (f"-s{self.seed}" if self.seed else "")

    @classmethod
    def named(cls, name: str) -> "DemoModel | None":
        """Return the model that has a name; None if no tiny model is named like that.

        >>> DemoModel.named("demo-causal-untrained-s2")
        DemoModel(family='causal', cut=None, seed=2)
        >>> DemoModel.named("t5-large") is None
        True
        """
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        family = next(one for one in FAMILIES if one == found["family"])
        try:
            cut = None if found["cut"] == _UNTRAINED else date.fromisoformat(found["cut"])
        except ValueError:
            return None  # such as the 30th of February
        return cls(family, cut, int(found["seed"] or 0))


@dataclass(frozen=True)
class Asked:
    """Tiny models that are asked for: one of each family, cut and seed, and untrained ones if they are wanted.

    Attributes:
        cuts: what their texts are of, oldest first.
        n_seeds: number of seeds, which are counted from 0.
        with_untrained: whether there is also a model of each family and seed that has read nothing.
    """

    families: tuple[Family, ...]
    cuts: tuple[date, ...]
    n_seeds: int = 1
    with_untrained: bool = False

    def models(self) -> list[DemoModel]:
        """Return all of them, those of a family and seed together."""
        return [
            DemoModel(family, cut, seed)
            for family in self.families
            for seed in range(self.n_seeds)
            for cut in (*self.cuts, *((None,) if self.with_untrained else ()))
        ]

    def names(self) -> list[str]:
        """Return their names."""
        return [one.name for one in self.models()]


def asked_for(families: Sequence[str], cuts: str, n_seeds: int, *, with_untrained: bool = False) -> Asked:
    """Return what the words of a command ask for.

    Args:
        families: names; none for all.
        cuts: days, separated by commas.

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
    return Asked(chosen, tuple(sorted(days)), n_seeds, with_untrained)


def demo_models(store: "Store") -> list[DemoModel]:
    """Return the models of the home that `tempkb model demo` has made, by name."""
    found = []
    for row in known_models(store.lake):
        model = DemoModel.named(row["model"])
        if model is not None and row["status"] == READY and row["knows_certainly_until"] == model.cut:
            found.append(model)
    return found


def withheld_clusters(store: "Store", release: str) -> list[int]:
    """Return the subjects of a release whose articles are withheld from all models, as the results call clusters."""
    rows = store.ask(
        f"SELECT DISTINCT subject_id, hash(subject_id) AS cluster FROM {DYNAMIC_TEMPLAMA_QUERIES.name} "
        f"WHERE release = {literal(release)} ORDER BY subject_id",
        DYNAMIC_TEMPLAMA_QUERIES.name,
    )
    return [row["cluster"] for row in rows if is_withheld(row["subject_id"])]
