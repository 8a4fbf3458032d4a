"""Writes results of linking: the paper's tables for people and for LaTeX, figures in sentences, and CSV."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import partial

from tempkb.core.estimates_sql import MIN_CLUSTERS
from tempkb.core.wording import counted, in_points, percent, rounded
from tempkb.results.linking_reading import CATEGORIES, Linking, Row
from tempkb.store.listings import BETTER, OWN, WORSE, Marked, Sheet, as_latex, csv_of, estimate

_COLOURED = 0.005  # smaller differences have no colour


def _short(linking: Linking) -> dict[date, str]:
    """Snapshots in as few letters as tell them: years if all are first days of years, then months, then days."""
    days = {*linking.cuts, *(row["model_cut"] for row in linking.by_training if row["model_cut"] is not None)}
    form = "%Y-%m-%d"
    if all(day.day == 1 for day in days):
        form = "%Y" if all(day.month == 1 for day in days) else "%Y-%m"
    return {day: day.strftime(form) for day in days}


def table_of_category(linking: Linking, category: str) -> Sheet:
    """Return the paper's table 2: training snapshots, then linkers that were not trained, by test; in per cent."""
    several, shown = len(linking.setups) > 1, _short(linking)
    lines = []
    for setup in (*linking.setups, *linking.untrained):
        for model_cut in linking.models(setup):
            label = setup if model_cut is None else shown[model_cut] + (f" ({setup})" if several else "")
            cells = [_cell(linking, setup, model_cut, cut, category) for cut in linking.cuts]
            if any(cell.text for cell in cells):
                lines.append([label, *cells])
    title = f"{linking.release}: accuracy@{linking.k} of {category} entities (pool {linking.pool})"
    return Sheet(["trained on", *(shown[cut] for cut in linking.cuts)], lines, title)


def _cell(linking: Linking, setup: str, model_cut: date | None, cut: date, category: str) -> Marked:
    row = linking.row(setup, category, "mean_of_seeds", cut, model_cut)
    if row is None:
        return Marked("")
    text = percent(row["value"], 1)
    if model_cut == cut:
        return Marked(f"[{text}]", OWN)
    own = linking.row(setup, category, "minus_own_snapshot", cut, model_cut)
    if own is None or abs(own["value"]) < _COLOURED:
        return Marked(text)
    return Marked(text, BETTER if own["value"] > 0 else WORSE, own["value"])


def sentences(linking: Linking) -> Iterator[str]:
    """Yield the figures that follow from the tables, each with its interval or with the reason why it has none."""
    for setup in (*linking.setups, *linking.untrained):
        lines = [*_of_change(linking, setup), *_of_snapshots(linking, setup)]
        yield from (f"{setup}: {line}" for line in lines)


def _of_change(linking: Linking, setup: str) -> Iterator[str]:
    for category in CATEGORIES:
        row = linking.row(setup, category, "change", linking.cuts[-1])
        if row is not None:
            models = f", mean of {counted(row['n_linkers'], 'linker')}" if row["n_linkers"] > 1 else ""
            yield (
                f"accuracy@{linking.k} of {category} entities changed by {points(row)} from {row['from_cut']} to "
                f"{row['cut']}{models}"
            )
    row = linking.row(setup, "continual", "change", linking.cuts[-1], metric="similarity", k=64)
    if row is not None and setup not in linking.untrained:
        yield (
            "the mean similarity of consecutive descriptions among the first 64 candidates changed by "
            f"{estimate(row, show=partial(rounded, digits=3, sign='+'))} (continual entities)"
        )


def _of_snapshots(linking: Linking, setup: str) -> Iterator[str]:
    for category in CATEGORIES:
        row = linking.row(setup, category, "in_minus_out", None)
        if row is not None:
            yield f"in-snapshot minus out-of-snapshot, {category} entities: {points(row)}"
    for steps, when in ((-1, "before"), (1, "after")):
        rows = _chosen(linking.changes, setup=setup, aggregate="out_minus_in", metric="accuracy", k=linking.k)
        if said := sorted(f"{row['category']} {points(row)}" for row in _chosen(rows, steps=steps)):
            yield f"trained one snapshot {when} the test, against in-snapshot: {', '.join(said)}"
    rows = _chosen(linking.types(setup), aggregate="in_minus_out", metric="accuracy", k=linking.k, cut=None)
    for row in sorted(rows, key=lambda row: row["entity_type"]):
        yield f"in-snapshot minus out-of-snapshot, new entities of type {row['entity_type']}: {points(row)}"


def _chosen(rows: Iterable[Row], **values: object) -> list[Row]:
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def points(row: Row) -> str:
    """Return a difference in percentage points with its interval, or with the reason why it has none."""
    return estimate(row, show=in_points, unit=" points") + _reason(row)


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
        if _chosen(linking.by_training, setup=setup, aggregate="mean_of_seeds", n_seeds=1):
            yield (
                f"{setup}: a training snapshot has one seed only, so that intervals hold for these very linkers. "
                "Another training would give other numbers, and it is not known how different they would be."
            )
    at_one = _chosen(linking.accuracy, metric="accuracy", k=1)
    n_missing, n_items, _, cut = max(
        (row["n_missing"], row["n_items"], row["linker"], row["cut"]) for row in _chosen(at_one, category="all")
    )
    if n_missing:
        of = f"Of {n_items:,} mentions of {cut}"
        yield f"{of}, the entities of {n_missing:,} are no candidates; they count as misses."
    for category in CATEGORIES:
        n = min((row["n_clusters"] for row in _chosen(at_one, category=category)), default=None)
        if n is None:
            yield f"No mention of a {category} entity was linked."
        elif n < MIN_CLUSTERS:
            few = counted(n, "entity", "entities")
            yield f"{category} entities: {few} at a snapshot; an interval needs at least {MIN_CLUSTERS}."
    if linking.pool == "own" and len(set(linking.n_candidates.values())) > 1:
        first, *_, last = (linking.n_candidates[cut] for cut in sorted(linking.n_candidates))
        yield (
            f"Candidates are {first:,} at the first snapshot and {last:,} at the last: more candidates alone make "
            "linking harder. A fixed pool has as many at each: tempkb linker score --all --pool fixed"
        )


def linking_csv(every: Sequence[Linking]) -> str:
    """Return a CSV file with the rows of all views, of all k; the first column names the view."""
    views = ("accuracy", "by_training", "changes", "by_type")
    named = [("linking_" + view, row) for one in every for view in views for row in getattr(one, view)]
    columns = list(dict.fromkeys(name for _, row in named for name in row))
    ordered = sorted(named, key=lambda one: (one[0], [str(one[1].get(name)) for name in columns]))
    return csv_of([["view", *columns], *([view, *map(row.get, columns)] for view, row in ordered)])


def linking_latex(every: Sequence[Linking]) -> str:
    """Return the paper's table 2 of each release and category in LaTeX."""
    return "\n".join(
        as_latex(
            table_of_category(one, category)._replace(
                title=f"Accuracy@{one.k} (%) of {category} entities, {one.release}, pool {one.pool}"
            )
        )
        for one in every
        for category in CATEGORIES
    )
