"""Scores from which the demo effect is computed, and their matrices of clusters by seeds. Pure."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tempkb.demo.models.asking import DemoModel
from tempkb.models.names import Family

Born = Literal["between", "later", "earlier"]
BORN: tuple[Born, ...] = get_args(Born)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ChangeScore:
    """What a model gives for a change between the cuts: an object that was removed, and a new one in its place.

    Attributes:
        subject_id: whose change it is.
        change: identifies the change.
        is_withheld: whether articles about the subject were withheld from all models.
        lead: log-probability of the new object minus that of the removed one, in nats.
        control_lead: the same for the objects of another subject's change (permuted answers).
        added_lead: the same as `lead` of what the subject adds to a log-probability, beyond the noun of its class; None
            without such scores.
    """

    model: DemoModel
    subject_id: str
    change: Hashable
    is_withheld: bool
    lead: float
    control_lead: float
    added_lead: float | None = None


@dataclass(frozen=True)
class ObjectScore:
    """What a subject adds to the log-probability of one of its objects, with a model.

    Attributes:
        object: identifies the object and its relation.
        is_new: whether it came between the cuts to a subject that changed; otherwise an unchanged subject kept it.
        added: log-probability after the subject minus that after the noun of its class, in nats.
    """

    model: DemoModel
    subject_id: str
    object: Hashable
    is_new: bool
    added: float


@dataclass(frozen=True)
class ClozeScore:
    """What a model gives for a span in a withheld sentence about an entity.

    Attributes:
        item: identifies the span.
        born: when the entity came into being: before the first cut (earlier), between the cuts, or after the second
            (later).
        token_nats: mean log-probability of a token of the span, in nats.
    """

    model: DemoModel
    entity_id: str
    item: Hashable
    born: Born
    token_nats: float


@dataclass(frozen=True)
class FamilyScores:
    """All scores of a family from which its effect is computed.

    Attributes:
        cuts: of the earlier and of the later models.
        changes: of changes between the cuts, also of untrained models.
        objects: of new and kept objects of subjects that are not withheld.
        clozes: of test items of ECBD.
        releases: the release of each benchmark from which they are; a benchmark without scores has none.
    """

    family: Family
    cuts: tuple[date, date]
    changes: Sequence[ChangeScore] = ()
    objects: Sequence[ObjectScore] = ()
    clozes: Sequence[ClozeScore] = ()
    releases: Mapping[str, str] = field(default_factory=dict)


class Panel:
    """Values by model and item, where an item belongs to a cluster.

    Args:
        rows: model, cluster, item and value.
    """

    def __init__(self, rows: Iterable[tuple[DemoModel, str, Hashable, float]]) -> None:
        self._values: dict[DemoModel, dict[tuple[str, Hashable], float]] = {}
        for model, cluster, item, value in rows:
            self._values.setdefault(model, {})[cluster, item] = value

    def seeds(self, *cuts: date | None) -> list[int]:
        """Return the seeds of which there is a model of each cut."""
        of_cuts = [{model.seed for model in self._values if model.cut == cut} for cut in cuts]
        return sorted(set.intersection(*of_cuts))

    def matrices(self, seeds: Sequence[int], *cuts: date | None) -> "Matrices":
        """Return means of clusters by seed, one matrix for each cut; only items that all these models have scored."""
        sides = [[one for seed in seeds for one in self._values if (one.cut, one.seed) == (cut, seed)] for cut in cuts]
        models = [one for side in sides for one in side]
        common = set.intersection(*(set(self._values[one]) for one in models)) if models else set()
        items = sorted(common, key=repr)
        clusters = sorted({cluster for cluster, _ in items})
        place = {cluster: at for at, cluster in enumerate(clusters)}
        rows = np.array([place[cluster] for cluster, _ in items], np.int64)
        n = np.bincount(rows, minlength=len(clusters))
        found = []
        for side in sides:
            means = [np.bincount(rows, [self._values[one][item] for item in items], len(clusters)) / n for one in side]
            found.append(np.array(means, np.float64).reshape(len(side), len(clusters)).T)
        return Matrices(tuple(found), tuple(clusters), len(items))


@dataclass(frozen=True)
class Matrices:
    """Matrices of clusters by seeds.

    Attributes:
        values: one for each cut.
        clusters: of the rows.
        n_items: number of items of which the rows are means.
    """

    values: tuple[Floats, ...]
    clusters: tuple[str, ...]
    n_items: int
