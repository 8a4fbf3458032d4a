"""Draws what models know: levels with intervals, levels by window, a fact through time, how long facts take to come."""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Any

import numpy as np

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.core.pictures import figure
from tempkb.results.knowing import Known, by_question
from tempkb.results.tables import HIGHER, INCONCLUSIVE, LOWER, NOT_COMPARED

_ROW = 0.42  # inches of a model
_COLOURS = {HIGHER: "#2a7f4f", LOWER: "#b3541e", INCONCLUSIVE: "#5b6b7a", NOT_COMPARED: "#9aa5b1"}
_CAPTIONS = {
    one.reading.aggregate.name: one.reading.aggregate.caption
    for one in BENCHMARKS
    if one.reading and one.reading.aggregate
}


@contextmanager
def delays_figure(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Give a figure of which share of a window's facts is there after how many days, a line for each kind of facts."""
    with figure(1, 1, width=7.0, height=3.6) as (canvas, axis):
        for facts, colour in (("begun", "#2a7f4f"), ("holding", "#5b6b7a")):
            own = [
                row for row in rows if row["facts"] == facts and row["relation"] == "all" and row["days"] is not None
            ]
            shares = [row["share"] for row in own]
            axis.plot([row["days"] for row in own], shares, "o-", color=colour, label=facts, markersize=4)
            if own and own[0]["days_low"] is not None:
                low, high = ([row[end] for row in own] for end in ("days_low", "days_high"))
                axis.fill_betweenx(shares, low, high, color=colour, alpha=0.15, linewidth=0)
        axis.axvline(90, color="#c8ced6", linewidth=1, zorder=0)
        axis.set_xlabel("days after the end of the window (line: 90 days)", fontsize=8)
        axis.set_ylabel("share of the facts of the newest dump", fontsize=8)
        axis.legend(fontsize=8, frameon=False)
        yield canvas


@contextmanager
def levels_figure(known: Sequence[Known]) -> Any:
    """Give a figure with a panel for each release and aggregate: each model's level now (full) and earlier (hollow)."""
    panels = [one for one in by_question(known) if any(own.level for own in one)]
    n = max(map(len, panels), default=1)
    with figure(max(1, len(panels)), 1, width=max(6.0, 6.5 * len(panels)), height=1.6 + _ROW * n) as (canvas, axes):
        for axis, own in zip([axes] if len(panels) < 2 else axes, panels, strict=False):
            _draw_levels(axis, [one for one in own if one.level])
        yield canvas


def _draw_levels(axis: Any, known: Sequence[Known]) -> None:
    question = known[0].question
    for at, one in enumerate(known):
        row = one.row()
        colour = _COLOURS[one.verdict]
        if _are_finite(row["earlier_value"]):
            axis.plot(row["earlier_value"], at, "o", markerfacecolor="white", color=colour, markersize=6)
        if _are_finite(row["low"], row["high"]):
            axis.plot([row["low"], row["high"]], [at, at], color=colour, linewidth=2)
        if _are_finite(row["value"]):
            axis.plot(row["value"], at, "o", color=colour, markersize=6)
    axis.set_yticks(range(len(known)), [one.label for one in known], fontsize=8)
    axis.set_ylim(len(known) - 0.5, -0.5)
    if question.aggregate.is_share:
        axis.axvline(0.5, color="#c8ced6", linewidth=1, zorder=0)
        axis.set_xlim(0, 1)
    else:
        axis.set_xscale("log")
        _write_numbers(axis.xaxis)
        axis.tick_params(axis="x", which="both", labelsize=7)
    axis.set_xlabel(question.aggregate.label, fontsize=8)
    verdicts = [one for one in _COLOURS if any(row.verdict == one for row in known)]
    marks = [axis.plot([], [], "o-", color=_COLOURS[one], label=one)[0] for one in verdicts]
    axis.legend(handles=marks, fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    axis.set_title(
        f"{question.release}: {question.window[0]} to {question.window[1]} (full), "
        f"{question.earlier[0]} to {question.earlier[1]} (hollow)",
        fontsize=8,
    )
    axis.spines[["top", "right"]].set_visible(False)


def _are_finite(*values: float | None) -> bool:
    return all(value is not None and math.isfinite(value) for value in values)


def _write_numbers(axis: Any) -> None:
    """Label a logarithmic axis with plain numbers in place of powers."""
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("{x:g}")


@contextmanager
def windows_figure(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Give a figure of levels by window: a row for each release and aggregate, a column for each scorer.

    Dashed lines mark stated training cutoffs; with two dates, what they may know lies between the lines. Small
    marks, which no line connects, have no interval, being of fewer clusters than it needs.

    Args:
        rows: with release, aggregate, scorer, model, window_start, value, low, high, knows_certainly_until and
            knows_possibly_until.
    """
    panels: dict[tuple[str, str], dict[str, list[Mapping[str, Any]]]] = {}
    for row in rows:
        panels.setdefault((row["release"], row["aggregate"]), {}).setdefault(row["scorer"], []).append(row)
    n_columns = max(map(len, panels.values()), default=1)
    n_rows = max(1, len(panels))
    with figure(n_columns, n_rows, width=1 + 5.5 * n_columns, height=3.6 * n_rows) as (canvas, axes):
        grid = np.array(axes).reshape(n_rows, n_columns)
        for line, ((release, aggregate), scorers) in zip(grid, sorted(panels.items()), strict=False):
            for axis, (scorer, own) in zip(line, sorted(scorers.items()), strict=False):
                _draw_windows(axis, own)
                axis.legend(fontsize=7, title=f"scorer {scorer}", title_fontsize=6)
                axis.set_title(f"{_CAPTIONS[aggregate]}\n(by window, release {release})", fontsize=9)
            for axis in line[len(scorers) :]:
                axis.set_visible(False)
        yield canvas


def _draw_windows(axis: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    models: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        models.setdefault(row["model"], []).append(row)
    for name, own in sorted(models.items()):
        ordered = sorted((row for row in own if _are_finite(row["value"])), key=lambda row: row["window_start"])
        sure = [row for row in ordered if _are_finite(row["low"], row["high"])]
        (line,) = axis.plot(
            [row["window_start"] for row in sure], [row["value"] for row in sure], linewidth=1, label=name
        )
        for row in ordered:
            _draw_level(axis, row, line.get_color())
        for how in ("certainly", "possibly"):
            if (day := own[0][f"knows_{how}_until"]) is not None:
                axis.axvline(day, color=line.get_color(), linestyle="--", linewidth=1.5, zorder=0)
    if rows[0]["aggregate"].startswith("ppl"):
        axis.set_yscale("log")
        _write_numbers(axis.yaxis)
    else:
        axis.axhline(0.5, color="#c8ced6", linewidth=1, zorder=0)
        axis.set_ylim(-0.02, 1.02)
        axis.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    axis.tick_params(labelsize=7, which="both")
    axis.tick_params(axis="x", rotation=45)
    axis.set_xlabel("window; dashed: stated training cutoffs", fontsize=7)
    axis.spines[["top", "right"]].set_visible(False)


def _draw_level(axis: Any, row: Mapping[str, Any], colour: str) -> None:
    day, low, high = row["window_start"], row["low"], row["high"]
    if _are_finite(low, high):
        axis.plot([day, day], [low, high], color=colour, linewidth=1.5, alpha=0.5)
        axis.plot(day, row["value"], "o", color=colour, markersize=5)
    else:
        axis.plot(day, row["value"], "o", color=colour, markerfacecolor="white", markersize=2.5)


@contextmanager
def fact_figure(
    title: str,
    series: Mapping[str, Mapping[str, Sequence[tuple[date, float]]]],
    spells: Mapping[str, Sequence[tuple[date, date]]],
) -> Any:
    """Give a figure of the log-probabilities of a fact's objects, a panel for each scorer, above when each object held.

    Args:
        title: of the figure.
        series: by scorer and object: days and nats; at least one scorer.
        spells: by object: first day, and the day after the last.
    """
    with figure(1, len(series) + 1, height=2.2 * len(series) + 1 + 0.3 * len(spells)) as (canvas, axes):
        colours = {name: f"C{at % 10}" for at, name in enumerate(spells)}
        for axis, (scorer, objects) in zip(axes, series.items(), strict=False):
            for name, points in objects.items():
                axis.plot(
                    *zip(*sorted(points), strict=True), marker="o", markersize=4, color=colours.get(name), label=name
                )
            axis.set_ylabel("log-probability (nats)", fontsize=7)
            axis.legend(fontsize=7, title=f"scorer {scorer}", title_fontsize=6)
        for at, (name, held) in enumerate(spells.items()):
            for first, end in held:
                axes[-1].barh(at, end - first, left=first, height=0.6, color=colours[name])
        axes[-1].set_yticks(range(len(spells)), list(spells), fontsize=7)
        axes[-1].invert_yaxis()
        axes[-1].set_title("when each object held", fontsize=8)
        days = [day for ends in spells.values() for pair in ends for day in pair]
        days += [day for objects in series.values() for points in objects.values() for day, _ in points]
        margin = (max(days) - min(days)) / 40
        for axis in axes:
            axis.set_xlim(min(days) - margin, max(days) + margin)
            axis.tick_params(labelsize=7)
            axis.spines[["top", "right"]].set_visible(False)
        canvas.suptitle(title, fontsize=9)
        yield canvas
