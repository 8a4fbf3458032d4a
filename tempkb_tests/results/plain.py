"""Every row of some views once more, in plain Python from the base tables: slow, and without a formula of tempkb."""

import math
from collections import Counter, defaultdict
from datetime import timedelta
from hashlib import md5
from itertools import product
from statistics import fmean, variance

from scipy.stats import t

SHARES = (
    "prefers_new",
    "prefers_new_raw",
    "prefers_new_per_character",
    "control_prefers_new",
    "control_prefers_new_raw",
)
MEANS = (
    "prefers_new_minus_control",
    "log_prob_new_minus_old",
    "log_prob_new_minus_old_per_character",
    "log_prob_new_minus_old_against_class",
    "control_log_prob_new_minus_old",
    "control_log_prob_new_minus_old_against_class",
)
WORDINGS = ("undated", "object_last")
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


def changes(tables):
    """Each scored change once, as a dict."""
    queries = {
        (q["release"], q["window_start"], q["subject_id"], q["relation"]): q
        for q in tables["dynamic_templama_queries"]
        if q["template_no"] == 1
    }
    prompts, scores = defaultdict(dict), defaultdict(dict)
    for p in tables["dynamic_templama_prompts"]:
        if p["variant"] != "dated":
            wording = next(one for one in reversed(WORDINGS) if one in p["variant"] or one == "undated")
            slot = wording, p["role"] == "control", "no_subject" not in p["variant"]
            prompts[p["release"], p["item_id"], p["stands_for_id"] or p["target_id"]][slot] = p
    for s in tables["prompt_scores"]:
        if s["status"] == "scored":
            scores[s["model"], s["scorer"]][s["prompt_id"]] = s
    certainly = {m["model"]: m["knows_certainly_until"] for m in tables["models"]}
    for c, (asked, own) in product(tables["dynamic_templama_changes"], scores.items()):
        if c["role"] != "leaving":
            continue
        q = queries.get((c["release"], c["window_start"], c["subject_id"], c["relation"]))
        places = (
            [prompts[c["release"], q["query_id"], c[one]] for one in ("paired_object_id", "object_id")] if q else []
        )
        for wording in WORDINGS if q else ():
            new, old = (
                {slot[1:]: own.get(p["prompt_id"]) for slot, p in place.items() if slot[0] == wording}
                for place in places
            )
            if new.get((False, True)) and old.get((False, True)):
                labels = [place[wording, False, True]["target"] for place in places]
                yield {
                    **dict(zip(("model", "scorer"), asked, strict=True)),
                    "release": c["release"],
                    "split": q["split"],
                    "window": c["paired_window_start"],
                    "subject": c["subject_id"],
                    "gap": abs(len(labels[0]) - len(labels[1])),
                    "is_long_known": is_long_known(c["window_start"], q["granularity"], certainly.get(asked[0])),
                    **values(new, old),
                }
                break


def is_long_known(window, granularity, certainly):
    if certainly is None:
        return False
    months = {"month": 1, "quarter": 3, "year": 12}
    if granularity == "week":
        end = window + timedelta(days=7)
    else:
        month = window.month - 1 + months[granularity]
        end = window.replace(year=window.year + month // 12, month=month % 12 + 1)
    back = certainly.replace(day=28) if (certainly.month, certainly.day) == (2, 29) else certainly
    return end <= back.replace(year=certainly.year - 3)


def values(new, old):
    """What each aggregate takes of a change; None where it does not count."""

    def nats(side, is_control, has_subject=True):
        score = side.get((is_control, has_subject))
        return score and score["log_prob_nats"]

    def added(is_control):
        four = [nats(side, is_control, has) for side in (new, old) for has in (True, False)]
        return None if None in four else (four[0] - four[1]) - (four[2] - four[3])

    def minus(one, other):
        return None if one is None or other is None else one - other

    def above(difference):
        return difference if difference is None else float(difference > 0)

    raw, control = minus(nats(new, False), nats(old, False)), minus(nats(new, True), nats(old, True))
    by_character = minus(*(nats(side, False) / side[False, True]["n_chars"] for side in (new, old)))
    return {
        "prefers_new": above(added(False)),
        "prefers_new_raw": above(raw),
        "prefers_new_per_character": above(by_character),
        "control_prefers_new": above(added(True)),
        "control_prefers_new_raw": above(control),
        "prefers_new_minus_control": minus(above(added(False)), above(added(True))),
        "log_prob_new_minus_old": raw,
        "log_prob_new_minus_old_per_character": by_character,
        "log_prob_new_minus_old_against_class": added(False),
        "control_log_prob_new_minus_old": control,
        "control_log_prob_new_minus_old_against_class": added(True),
    }


def prefers_new(tables):
    """Figures by release, model, scorer, split, window, pairs and aggregate."""
    groups = defaultdict(list)
    for one in changes(tables):
        pairs = ["all", *["equal_length"] * (one["gap"] == 0), *["nearly_equal_length"] * (one["gap"] <= 1)]
        pairs += ["long_known"] * one["is_long_known"]
        for split, window, kind, name in product(
            (one["split"], "all"), (one["window"], None), pairs, (*SHARES, *MEANS)
        ):
            if one[name] is not None:
                key = one["release"], one["model"], one["scorer"], split, window, kind, name
                groups[key].append((one["subject"], one[name]))
    found = {key: (share if key[-1] in SHARES else mean)(items) for key, items in groups.items()}
    return {key: cut(one, -1, 1) if "minus_control" in key[-1] else one for key, one in found.items()}


# leak_free_items


def leak_free_items(tables):
    """How often each row occurs: model, benchmark, release, item, target, window and the days."""
    found = Counter()
    known = [(m["model"], m["knows_possibly_until"]) for m in tables["models"] if m["knows_possibly_until"]]
    for (model, until), one in product(known, [*_spans(tables), *_facts(tables)]):
        key, origin, evidence, lacking, having = one
        if origin < until or (having is not None and having <= until):
            continue
        is_told = lacking is not None and (key[0] == "ecbd" or lacking >= until)
        days = [day for day in (origin, evidence, lacking if is_told else None) if day is not None]
        if min(days) >= until:
            told = (lacking if is_told else None, is_told)
            found[model, *key, origin, evidence, *told, (min(days) - until).days] += 1
    return found


def _spans(tables):
    created = {
        (e["release"], e["page_id"]): e["page_created_at"] and e["page_created_at"].date()
        for e in tables["ecbd_entities"]
    }
    for c in tables["ecbd_cloze"]:
        page = created.get((c["release"], c["page_id"]))
        days = [page] if c["is_since_first_window"] else [c["sentence_since"], page]
        days = [day for day in days if day is not None]
        if c["origin_from"] is not None and days:
            key = "ecbd", c["release"], c["cloze_id"], "answer", c["origin_from"]
            yield key, c["origin_from"], max(days), page, None


def _facts(tables):
    told, described, starts = {}, defaultdict(list), defaultdict(list)
    for f in (*tables["facts"], *tables["undated_statements"]):
        fact = f["subject_id"], f["relation"], f["object_id"]
        told[fact] = min(f["dump_date"], told.get(fact, f["dump_date"]))
    for e in tables["wikidata_entities"]:
        described[e["entity_id"]].append(e["dump_date"])
    for s in tables["fact_spells"]:
        starts[s["release"], s["subject_id"], s["relation"], s["object_id"]].append(s["valid_from"])
    for benchmark in ("templama", "dynamic_templama"):
        for q in tables[f"{benchmark}_queries"]:
            for target in {one["entity_id"] for one in q["answers"]}:
                fact = q["subject_id"], q["relation"], target
                own, having = starts.get((q["release"], *fact)), told.get(fact)
                if own and None not in own:
                    before = [day for day in described[fact[0]] if having is not None and day < having]
                    key = benchmark, q["release"], q["query_id"], target, q["window_start"]
                    yield key, min(own), None, max(before, default=None), having


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
