"""Explains why a design cannot be met: what each filter left, and which one removed most. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from tempkb.benchmarks.tempel.design import Design

_RAISED = ("max_men_prior", "max_ent_prior")
_OTHER_ADVICE = {
    "lists": "Take other snapshots, or a wiki with more articles",
    "disambiguations": "Take other snapshots, or a wiki with more articles",
    "no_item": "Give the home the dump's page and page_props tables, without which articles have no Wikidata item",
    "redirects": "Take snapshots at which fewer pages are redirects",
}


@dataclass(frozen=True)
class Left:
    """The numbers that a step of the selection left.

    Attributes:
        step: hyperparameter or filter.
        description: the step in words.
        entities: number of distinct target pages.
        surfaces: number of pairs of surface and target; None if the step is about entities only.
        mentions: number of mentions with these surfaces; None likewise.
    """

    step: str
    description: str
    entities: int
    surfaces: int | None = None
    mentions: int | None = None


def refusal(design: Design, preset: str, poorest: str, steps: Sequence[Left]) -> str:
    """Return the message of a refusal: what each step left, which one removed most, and what to change.

    Args:
        preset: the preset that it began with, which is not recommended again.
        poorest: the snapshot that was counted.
        steps: the steps in order; the first is what is offered.
    """
    taken = [before.entities - after.entities for before, after in zip(steps, steps[1:], strict=False)]
    lines = [
        f"the filters leave no entity that is continual. Of the mentions at {poorest}, the poorest snapshot:",
        *_lines(steps),
    ]
    if not steps[0].entities:
        lines.append("No mention is offered at all; build the windows with their texts and links")
        return "\n".join(lines)
    at = taken.index(max(taken)) + 1
    most = steps[at]
    lines.append(
        f"{most.description} removed most: {taken[at - 1]:,} of {steps[at - 1].entities:,} entities. "
        f"{_advice(most.step, design)}"
        + ("" if preset == "small" else ", or begin with --preset small, which has low thresholds")
    )
    return "\n".join(lines)


def _lines(steps: Sequence[Left]) -> list[str]:
    """The steps as aligned lines."""
    heads = ("left by", "mentions", "surfaces", "entities")
    rows = [heads, *((one.description, _n(one.mentions), _n(one.surfaces), _n(one.entities)) for one in steps)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(heads))]
    return [f"  {step:<{widths[0]}}  {m:>{widths[1]}}  {s:>{widths[2]}}  {e:>{widths[3]}}" for step, m, s, e in rows]


def _n(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _advice(step: str, design: Design) -> str:
    if step == "snapshots":
        return f"Take fewer than these {len(design.snapshots)} snapshots, or later ones"
    if step in _OTHER_ADVICE:
        return _OTHER_ADVICE[step]
    verb = "Raise" if step in _RAISED else "Lower"
    return f"{verb} it (--set {step}=..., now {getattr(design, step)})"
