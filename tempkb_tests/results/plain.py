"""Every row of the views of linking once more, in plain Python from the base tables, without a formula of tempkb."""

import math
from collections import Counter, defaultdict
from hashlib import md5
from statistics import fmean, variance

from scipy.stats import t

KS = (1, 2, 4, 8, 16, 32, 64)


def quantile(freedom):
    return float(t.ppf(0.975, freedom))


def mean(items):
    """Of values by cluster: value, standard error, low, high, items, clusters."""
    sums = defaultdict(list)
    for cluster, value in items:
        sums[cluster].append(value)
    n, n_clusters = len(items), len(sums)
    value = math.fsum(one for _, one in items) / n
    if n_clusters == 1:
        return value, None, None, None, n, 1
    squares = math.fsum((math.fsum(own) - value * len(own)) ** 2 for own in sums.values())
    error = math.sqrt(n_clusters / (n_clusters - 1) * squares) / n
    if error <= 1e-12 * abs(value):
        error = 0.0
    if n_clusters < 10 or not error:
        return value, error, None, None, n, n_clusters
    half = quantile(n_clusters - 1) * error
    return value, error, value - half, value + half, n, n_clusters


def cut(figures, least, most):
    """The same with an interval that ends where no more is possible."""
    value, error, low, high, *numbers = figures
    return value, error, low and max(low, least), high and min(high, most), *numbers


def share(items):
    """The same of what is true or false: Wilson's interval where fewer than ten effective items are either."""
    p, error, low, high, n, n_clusters = mean(items)
    if n_clusters < 10:
        return p, error, None, None, n, n_clusters
    effective = n_clusters if p in (0, 1) else min(p * (1 - p) / error**2, n) if error else n
    if error and effective * min(p, 1 - p) >= 10:
        return p, error, low, high, n, n_clusters
    z = quantile(n_clusters - 1)
    centre = (p + z**2 / (2 * effective)) / (1 + z**2 / effective)
    half = z / (1 + z**2 / effective) * math.sqrt(p * (1 - p) / effective + (z / (2 * effective)) ** 2)
    return p, error, max(0.0, min(centre - half, p)), min(1.0, max(centre + half, p)), n, n_clusters


# prefers_new


# leak_free_items


# linking


def setups_of(tables):
    """The setup of each linker that has linked mentions of a release."""
    linkers = {one["linker"]: one for one in tables["linkers"]}
    recipe = {name: f"{one['recipe'] or ''} {one['base'] or ''}" for name, one in linkers.items()}
    recipes = defaultdict(set)
    for name, one in linkers.items():
        recipes[one["release"], one["preset"]].add(recipe[name])
    found = {}
    for row in tables["linking_scores"]:
        name, one = row["linker"], linkers.get(row["linker"])
        setup = name
        if row["model_cut"] is not None:
            setup = one["preset"] or name
            setup += f" of {one['release']}" if one["release"] not in (None, row["release"]) else ""
            several = len(recipes[one["release"], one["preset"]]) > 1
            setup += f" {md5(recipe[name].encode()).hexdigest()[:6]}" if several else ""  # noqa: S324
        found[row["release"], name] = setup
    return found


class Cell:
    """The mentions of a linker at a test, of one category."""

    def __init__(self, rows):
        self.rows = rows

    def items(self, metric, k):
        """Entity and hit, or similarity, of each mention that counts."""
        if metric == "similarity":
            return [(r["target_page_id"], r["top_similarity"]) for r in self.rows if r["top_similarity"] is not None]
        return [(r["target_page_id"], float(r["rank"] is not None and r["rank"] <= k)) for r in self.rows]


METRICS = (*(("accuracy", k) for k in KS), ("similarity", 64))


def cells_of(tables, categories=lambda row: (row["category"],)):
    """Cells by group (release, setup, pool, subset, category), training snapshot, test and linker with its seed."""
    setups, rows = setups_of(tables), defaultdict(list)
    for r in tables["linking_scores"]:
        for category in categories(r):
            group = r["release"], setups[r["release"], r["linker"]], r["pool"], r["subset"], category
            rows[group, r["model_cut"], r["cut"], (r["linker"], r["seed"])].append(r)
    found = defaultdict(dict)
    for (group, *place), own in rows.items():
        found[group][tuple(place)] = Cell(own)
    return found


def linking_accuracy(tables):
    """Figures by group, linker, test, metric and k."""
    return {
        (*group, linker, day, *one): cut((share if one[0] == "accuracy" else mean)(cell.items(*one)), 0, 1)
        for group, cells in cells_of(tables, lambda row: (row["category"], "all")).items()
        for (_, day, (linker, _)), cell in cells.items()
        for one in METRICS
        if cell.items(*one)
    }


def weighted(cells, spots, *, is_pooled=False):
    """Figures of a sum of accuracies by metric and k: value, errors, interval, items, entities, linkers, seeds.

    Args:
        cells: of a group.
        spots: weights by training snapshot and test; the linkers of a spot share its weight.
        is_pooled: errors are around the mean of all cells of one sign, and not around that of each cell.
    """
    n_linkers = Counter(place[:2] for place in cells)
    weights = {place: spots[place[:2]] / n_linkers[place[:2]] for place in cells if place[:2] in spots}
    for one in METRICS:
        items = {place: cells[place].items(*one) for place in weights}
        if all(items.values()):
            means = {place: fmean(value for _, value in own) for place, own in items.items()}
            yield one, _weighted(cells, weights, items, means, n_linkers, is_pooled=is_pooled)


def _weighted(cells, weights, items, means, n_linkers, *, is_pooled):
    centres = dict(means)
    if is_pooled:
        for is_plus in (True, False):
            side = [place for place in weights if (weights[place] > 0) == is_plus]
            total = math.fsum(weights[place] for place in side)
            around = math.fsum(weights[place] * means[place] for place in side) / total if side else None
            centres |= dict.fromkeys(side, around)
    psi, sides, parts = defaultdict(float), (set(), set()), defaultdict(lambda: defaultdict(lambda: defaultdict(float)))
    for place, weight in weights.items():
        sides[weight > 0].update(entity for entity, _ in items[place])
        for entity, value in items[place]:
            psi[entity] += weight * (value - centres[place]) / len(items[place])
        model_cut, _, (linker, seed) = place
        if model_cut is not None:
            parts[model_cut][seed][linker] += weight * n_linkers[place[:2]] * means[place]
    n, n_clusters = len(psi), min(len(side) for side in sides if side)
    squares = math.fsum(one**2 for one in psi.values())
    by_entity = None if n < 2 else 0.0 if squares <= 1e-24 else squares * n / (n - 1)
    n_seeds = min(map(len, parts.values()), default=None)
    terms = []
    if n_seeds is not None and n_seeds > 1:
        terms = [
            (variance([fmean(own.values()) for own in seeds.values()]) / len(seeds), len(seeds))
            for seeds in parts.values()
        ]
    by_seed = math.fsum(v for v, _ in terms)
    by_seed = 0.0 if by_seed <= 1e-24 else by_seed
    value = math.fsum(weight * means[place] for place, weight in weights.items())
    error = None if by_entity is None else math.sqrt(by_entity + by_seed)
    low = high = None
    if n_clusters >= 10 and error:
        spread = by_entity**2 / (n_clusters - 1) + math.fsum(v**2 / (size - 1) for v, size in terms)
        freedom = (by_entity + by_seed) ** 2 / spread
        half = quantile(freedom) * error
        # At least where means of positive weight are 0 and those of negative weight are 1, and at most the other way round.
        low = max(value - half, math.fsum(weight for weight in weights.values() if weight < 0))
        high = min(value + half, math.fsum(weight for weight in weights.values() if weight > 0))
    n_items, names = sum(map(len, items.values())), {place[2][0] for place in weights}
    return value, error, math.sqrt(by_seed) if terms else None, low, high, n_items, n_clusters, len(names), n_seeds


def in_and_out(spots, size):
    """Weights of in-snapshot, out-of-snapshot and their difference, by test (None: all tests that have both)."""
    inside = {cut for model, cut in spots if model == cut}
    others = {cut: [model for model, at in spots if at == cut and model not in (cut, None)] for _, cut in spots}
    for cut in {cut for _, cut in spots}:
        if cut in inside:
            yield "in_snapshot", cut, {(cut, cut): 1}
        if others[cut]:
            yield "out_of_snapshot", cut, {(model, cut): 1 / len(others[cut]) for model in others[cut]}
    both = [cut for cut in inside if others[cut]]
    total = sum(size[cut, cut] for cut in both)
    for name, is_in, is_out in (("in_snapshot", 1, 0), ("out_of_snapshot", 0, 1), ("in_minus_out", 1, -1)):
        own = {
            cut: {(cut, cut): is_in} | {(model, cut): is_out / len(others[cut]) for model in others[cut]}
            for cut in both
        }
        own = {cut: {spot: weight for spot, weight in one.items() if weight} for cut, one in own.items()}
        if name == "in_minus_out":
            yield from ((name, cut, one) for cut, one in own.items())
        if both:
            # Each test of all tests by the size of its spots: those of the linkers of one test are of one size.
            yield name, None, {spot: w * size[spot] / total for one in own.values() for spot, w in one.items()}


def linking_changes(tables):
    """Figures by group, aggregate, test, first test, steps, metric and k."""
    every = cells_of(tables)
    tests = defaultdict(set)
    for group, cells in every.items():
        tests[group[0]] |= {cut for _, cut, _ in cells}
    trainings = defaultdict(set)
    for group, cells in every.items():
        trainings[group[:2]] |= {model for model, *_ in cells if model is not None}
    found = {}
    for group, cells in every.items():
        days = sorted(tests[group[0]] | trainings[group[:2]])
        for (aggregate, cut, first, steps), weights in _sums_of(sorted({place[:2] for place in cells}, key=str), days):
            for one, figures in weighted(cells, weights):
                found[(*group, aggregate, cut, first, steps, *one)] = figures
    return found


def _sums_of(spots, days):
    for cut in {cut for _, cut in spots}:
        models = [model for model, at in spots if at == cut]
        yield ("mean_of_models", cut, None, None), {(model, cut): 1 / len(models) for model in models}
    first = min(cut for _, cut in spots)
    for cut in {cut for _, cut in spots} - {first}:
        both = [model for model, at in spots if at == cut and (model, first) in spots]
        later = [model for model in both if model is not None and model > first]
        for name, models in (("change", both), ("change_of_later_models", later)):
            if models:
                signs = {(model, at): sign / len(models) for model in models for at, sign in ((cut, 1), (first, -1))}
                yield (name, cut, first, None), signs
    for name, cut, weights in in_and_out(spots, dict.fromkeys(spots, 1)):
        yield (name, cut, None, None), weights
    distant = defaultdict(list)
    for model, cut in spots:
        if model not in (None, cut) and (cut, cut) in spots:
            distant[days.index(model) - days.index(cut)].append((model, cut))
    for steps, pairs in distant.items():
        weights = defaultdict(float)
        for model, cut in pairs:
            weights[model, cut] += 1 / len(pairs)
            weights[cut, cut] -= 1 / len(pairs)
        yield ("out_minus_in", None, None, steps), weights


def linking_by_training(tables):
    """Figures by group, training snapshot, test, aggregate, metric and k."""
    found = {}
    for group, cells in cells_of(tables).items():
        spots = {place[:2] for place in cells}
        for model, cut in spots:
            sums = {"mean_of_seeds": {(model, cut): 1}}
            if model not in (None, cut) and (model, model) in spots:
                sums["minus_own_snapshot"] = {(model, cut): 1, (model, model): -1}
            for aggregate, weights in sums.items():
                for one, figures in weighted(cells, weights):
                    found[(*group, model, cut, aggregate, *one)] = figures
    return found


def linking_by_type(tables):
    """Figures by group (its category being kind and type), aggregate, test, metric and k."""
    types = defaultdict(list)
    for e in tables["tempel_new_entities"]:
        origin = (
            "extract of an existing page" if e["is_extract"] else "series" if e["series_page_id"] is not None else None
        )
        origin = origin or ("other" if e["n_runs"] is not None else None)
        for kind, name in (("paper", e["paper_type"]), ("class", e["entity_class"]), ("origin", origin)):
            if name is not None:
                types[e["release"], e["cut"], e["page_id"]].append((kind, name))
    of = lambda r: types[r["release"], r["cut"], r["target_page_id"]] if r["category"] == "new" else ()  # noqa: E731
    found = {}
    for group, cells in cells_of(tables, of).items():
        size = defaultdict(int)
        for place, cell in cells.items():
            size[place[:2]] = max(size[place[:2]], len(cell.rows))
        for aggregate, cut, weights in in_and_out(sorted(size, key=str), size):
            for one, figures in weighted(cells, weights, is_pooled=True):
                found[(*group, aggregate, cut, *one)] = figures
    return found
