"""Writes results of linking: the paper's tables for people and for LaTeX, figures in sentences, and CSV."""

from collections.abc import Iterator, Sequence
from datetime import date

from tempkb.results.latex import escaped
from tempkb.results.linking_reading import CATEGORIES, Linking, Row
from tempkb.sql_estimates.conventions import MIN_CLUSTERS
from tempkb.wording import counted, csv_of, rounded

BETTER, WORSE, OWN = "better", "worse", "own"
"""How a cell differs from the one of the snapshot of the training."""
_COLOURED = 0.005  # smaller differences have no colour
Cell = tuple[str, str, float]
"""A text, how it differs (empty if it does not, or cannot), and by how much."""


def heads_of(linking: Linking) -> list[str]:
    """Return the heads of the columns: what was trained on, and the test snapshots."""
    shown = _short(linking)
    return ["trained on", *(shown[cut] for cut in linking.cuts)]


def _short(linking: Linking) -> dict[date, str]:
    """Snapshots in as few letters as tell them: years if all are first days of years, then months, then days."""
    days = {*linking.cuts, *(row["model_cut"] for row in linking.by_training if row["model_cut"] is not None)}
    form = "%Y-%m-%d"
    if all(day.day == 1 for day in days):
        form = "%Y" if all(day.month == 1 for day in days) else "%Y-%m"
    return {day: day.strftime(form) for day in days}


def table_of_category(linking: Linking, category: str) -> list[list[Cell]]:
    """Return the rows of the paper's table 2: training snapshots, then linkers that were not trained; in per cent."""
    several, shown = len(linking.setups) > 1, _short(linking)
    rows = []
    for setup in (*linking.setups, *linking.untrained):
        for model_cut in linking.models(setup):
            label = setup if model_cut is None else shown[model_cut] + (f" ({setup})" if several else "")
            cells = [_cell(linking, setup, model_cut, cut, category) for cut in linking.cuts]
            if any(text for text, *_ in cells):
                rows.append([(label, "", 0.0), *cells])
    return rows


def _cell(linking: Linking, setup: str, model_cut: date | None, cut: date, category: str) -> Cell:
    row = linking.cell(setup, model_cut, cut, category)
    if row is None:
        return "", "", 0.0
    text = f"{100 * row['value']:.1f}"
    if model_cut == cut:
        return f"[{text}]", OWN, 0.0
    own = linking.cell(setup, model_cut, cut, category, "minus_own_snapshot")
    if own is None or abs(own["value"]) < _COLOURED:
        return text, "", 0.0
    return text, BETTER if own["value"] > 0 else WORSE, own["value"]


def sentences(linking: Linking) -> Iterator[str]:
    """Yield the figures that follow from the tables, each with its interval or with the reason why it has none."""
    for setup in (*linking.setups, *linking.untrained):
        lines = [*_of_change(linking, setup), *_of_snapshots(linking, setup)]
        yield from (f"{setup}: {line}" for line in lines)


def _of_change(linking: Linking, setup: str) -> Iterator[str]:
    for category in CATEGORIES:
        row = linking.change(setup, category, "change", linking.cuts[-1])
        if row is not None:
            models = f", mean of {counted(row['n_linkers'], 'linker')}" if row["n_linkers"] > 1 else ""
            yield (
                f"accuracy@{linking.k} of {category} entities changed by {points(row)} from {row['from_cut']} to "
                f"{row['cut']}{models}"
            )
    row = linking.change(setup, "continual", "change", linking.cuts[-1], metric="similarity", k=64)
    if row is not None and setup not in linking.untrained:
        yield (
            "the mean similarity of consecutive descriptions among the first 64 candidates changed by "
            f"{_number(row, 1, 3)} (continual entities)"
        )


def _of_snapshots(linking: Linking, setup: str) -> Iterator[str]:
    for category in CATEGORIES:
        row = linking.change(setup, category, "in_minus_out", None)
        if row is not None:
            yield f"in-snapshot minus out-of-snapshot, {category} entities: {points(row)}"
    offsets = [
        row
        for row in linking.changes
        if (row["setup"], row["aggregate"], row["metric"], row["k"]) == (setup, "out_minus_in", "accuracy", linking.k)
    ]
    for steps in (-1, 1):
        said = [f"{row['category']} {points(row)}" for row in offsets if row["steps"] == steps]
        if said:
            when = "before" if steps < 0 else "after"
            yield f"trained one snapshot {when} the test, against in-snapshot: {', '.join(sorted(said))}"
    for row in _gains_by_type(linking, setup):
        yield f"in-snapshot minus out-of-snapshot, new entities of type {row['entity_type']}: {points(row)}"


def _gains_by_type(linking: Linking, setup: str) -> list[Row]:
    rows = [
        row
        for row in linking.types(setup)
        if (row["aggregate"], row["metric"], row["k"], row["cut"]) == ("in_minus_out", "accuracy", linking.k, None)
    ]
    return sorted(rows, key=lambda row: row["entity_type"])


def points(row: Row) -> str:
    """Return a difference in percentage points with its interval, or with the reason why it has none."""
    return f"{_number(row, 100, 1)}{_reason(row)}"


def _number(row: Row, scale: int, digits: int) -> str:
    value, low, high = (None if row[name] is None else scale * row[name] for name in ("value", "low", "high"))
    text = rounded(value or 0, digits, "+") + (" points" if scale == 100 else "")
    if low is None or high is None:
        return text
    return f"{text} [{rounded(low, digits, '+')}, {rounded(high, digits, '+')}]"


def _reason(row: Row) -> str:
    if row["low"] is not None:
        return ""
    if row["n_clusters"] < MIN_CLUSTERS:
        return f" ({counted(row['n_clusters'], 'entity', 'entities')}; an interval needs {MIN_CLUSTERS})"
    return " (all entities agree exactly, so that there is no interval)"


def limits(linking: Linking) -> Iterator[str]:
    """Yield what the results cannot tell, or what must be known of them."""
    if not linking.setups:
        yield (
            f"No linker was trained on a snapshot of {linking.release}, so that in- and out-of-snapshot cannot be "
            f"compared: tempkb linker train {linking.release}"
        )
    for setup in linking.setups:
        models = linking.models(setup)
        if len(models) == 1:
            yield (
                f"{setup}: linkers were trained on {models[0]} alone, so that nothing is both in-snapshot and "
                "out-of-snapshot at one test."
            )
        own = [row for row in linking.by_training if row["setup"] == setup and row["aggregate"] == "mean_of_seeds"]
        if any(row["n_seeds"] == 1 for row in own):
            yield (
                f"{setup}: a training snapshot has one seed only, so that intervals hold for these very linkers. "
                "Another training would give other numbers, and it is not known how different they would be."
            )
    at_one = [row for row in linking.accuracy if (row["metric"], row["k"]) == ("accuracy", 1)]
    missing = max(
        (row["n_missing"], row["n_items"], row["linker"], row["cut"]) for row in at_one if row["category"] == "all"
    )
    if missing[0]:
        yield (
            f"Of {missing[1]:,} mentions of {missing[3]}, the entities of {missing[0]:,} are no candidates; they count "
            "as misses."
        )
    for category in CATEGORIES:
        few = [row["n_clusters"] for row in at_one if row["category"] == category and row["n_clusters"] < MIN_CLUSTERS]
        if few:
            yield (
                f"{category} entities: {counted(min(few), 'entity', 'entities')} at a snapshot; an interval needs at "
                f"least {MIN_CLUSTERS}."
            )
        if not any(row["category"] == category for row in at_one):
            yield f"No mention of a {category} entity was linked."
    if linking.pool == "own" and len(set(linking.n_candidates.values())) > 1:
        first, *_, last = (linking.n_candidates[cut] for cut in sorted(linking.n_candidates))
        yield (
            f"Candidates are {first:,} at the first snapshot and {last:,} at the last: more candidates alone make "
            "linking harder. A fixed pool has as many at each: tempkb linker score --all --pool fixed"
        )


def as_csv(every: Sequence[Linking]) -> str:
    """Return a CSV file with the rows of all views, of all k; the first column names the view."""
    named = [
        ("linking_" + name, row)
        for one in every
        for name, rows in (
            ("accuracy", one.accuracy),
            ("by_training", one.by_training),
            ("changes", one.changes),
            ("by_type", one.by_type),
        )
        for row in rows
    ]
    columns = list(dict.fromkeys(name for _, row in named for name in row))
    ordered = sorted(named, key=lambda one: (one[0], [str(one[1].get(name)) for name in columns]))
    return csv_of([["view", *columns], *([view, *map(row.get, columns)] for view, row in ordered)])


def as_latex(every: Sequence[Linking]) -> str:
    """Return the paper's table 2 of each release and category; it needs booktabs, and xcolor with the option table."""
    return "\n".join(_latex(one, category) for one in every for category in CATEGORIES)


def _latex(linking: Linking, category: str) -> str:
    rows = table_of_category(linking, category)
    head = " & ".join(map(escaped, heads_of(linking)))
    lines = [" & ".join(map(_latex_cell, row)) + r" \\" for row in rows]
    caption = escaped(f"Accuracy@{linking.k} (%) of {category} entities, {linking.release}, pool {linking.pool}")
    return "\n".join(
        (
            r"\begin{table}[t]",
            rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{l{'r' * len(linking.cuts)}}}",
            r"\toprule",
            rf"{head} \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        )
    )


def _latex_cell(cell: Cell) -> str:
    text, how, difference = cell
    if how not in (BETTER, WORSE):
        return escaped(text)
    # Five points have the full colour.
    strength = min(60, max(5, round(1200 * abs(difference))))
    return rf"\cellcolor{{{'green' if how == BETTER else 'red'}!{strength}}}{escaped(text)}"
