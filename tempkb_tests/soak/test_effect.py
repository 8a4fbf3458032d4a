"""The demo effect: contrasts of made-up values whose answers are known, and the values of made-up scores of a home."""

import itertools
import math
import shutil
import statistics
from collections import defaultdict
from datetime import date, timedelta

import numpy as np
import pytest

from tempkb.core.prompts import Prompt
from tempkb.demo.models.recipe import DemoModel, is_withheld
from tempkb.platform.api import open_store
from tempkb_tests.results.conftest import SCORERS, add_model, add_scores
from tempkb_tests.soak.contrasts import CONTRASTS, CUTS, PLACEBOS, POSITIVE, effects
from tempkb_tests.soak.effect import read

FIRST, SECOND = CUTS
MODELS = tuple(itertools.product(CUTS, range(5)))


def subject(number):
    return f"Q{number:03}"


def found(*values):
    """What is found of made-up values, by contrast."""
    rows = effects({kind: [one for own in values for one in own.get(kind, ())] for kind in set().union(*values)})
    assert tuple(row.contrast for row in rows) == CONTRASTS
    return {row.contrast: row for row in rows}


def noise(*key, spread=1.0):
    """A random number that belongs to a key."""
    seeds = [sum(map(ord, str(part))) * 31 + at for at, part in enumerate(key)]
    return float(np.random.default_rng(seeds).normal(0, spread))


def changes(lead, control=lambda *_: 0.0, *, n_seeds=5, n_subjects=40, cuts=CUTS, is_withheld=False, added=None):
    """Changes of subjects, each with noise of its own, by functions of the cut, the seed and the subject's number."""
    values = defaultdict(list)
    for key in itertools.product(cuts, range(n_seeds), range(n_subjects)):
        cut, seed, at = key
        own = (cut, seed, subject(at), "change")
        of_others = control(*key) + noise("control", *key, is_withheld, spread=0.5)
        of_change = lead(*key) + noise("lead", at, is_withheld) + noise("lead", *key, is_withheld, spread=0.5)
        values["withheld" if is_withheld else "net"].append((*own, of_change - of_others))
        if not is_withheld:
            values["control"].append((*own, of_others))
        elif added is not None:
            values["withheld_added"].append((*own, added(*key) + noise("added", *key, spread=0.5)))
    return values


def knows(cut, *_):
    """Leads of models that know what held at their cut."""
    return 2.0 if cut == SECOND else -1.0


def nothing(*_):
    return 0.0


def test_the_headline_by_hand_counts_each_subject_once():
    """Of subject 0 two changes count half each: (1 + 3) / 2; of all others 5."""
    gains = {(0, "a"): 1.0, (0, "b"): 3.0} | {(at, "a"): 5.0 for at in range(1, 12)}
    earlier = [(FIRST, 0, subject(at), change, 7.0) for at, change in gains]
    later = [(SECOND, 0, subject(at), change, 7.0 + gain) for (at, change), gain in gains.items()]
    row = found({"net": earlier + later})["new_minus_removed"]
    assert row.estimate == pytest.approx((2 + 11 * 5) / 12)
    assert (row.n_items, row.n_clusters, row.n_seeds) == (13, 12, 1)


def test_an_effect_that_is_there_is_shown():
    row = found(changes(knows))["new_minus_removed"]
    assert row.estimate == pytest.approx(3, abs=0.3)
    assert 2 < row.low < row.estimate < row.high < 4
    assert row.verdict == "shown"
    # Of 252 ways to call five of ten models the later ones, only the true one and its mirror reach the effect.
    assert row.p_permuted_cuts == pytest.approx(2 / 252)
    assert row.note is None


def test_names_that_have_become_frequent_are_no_effect_and_permuted_answers_show_them():
    """All models of the later cut prefer new names, whoever they belong to."""
    drift = changes(lambda cut, *_: 2.0 * (cut == SECOND), lambda cut, *_: 2.0 * (cut == SECOND))
    rows = found(drift)
    assert rows["new_minus_removed"].verdict == "not shown"
    assert rows["new_minus_removed"].low < 0 < rows["new_minus_removed"].high
    assert rows["permuted_answers"].verdict == "not zero"
    assert rows["permuted_answers"].estimate == pytest.approx(2, abs=0.2)
    assert rows["permuted_answers"].p_holm < 0.001


def test_a_seed_that_has_learnt_more_is_no_difference_between_all_pairs_of_seeds():
    rows = found(changes(lambda cut, seed, at: knows(cut) * (3 if seed == 3 else 1)))
    row = rows["pairs_of_seeds"]
    assert row.verdict == "zero is included"
    assert row.low < 0 < row.high


def test_all_pairs_of_seeds_by_brute_force():
    levels = {FIRST: [0.0, 0.3, 1.1], SECOND: [2.0, 2.9, 2.5]}
    rows = [
        (cut, seed, subject(at), "a", at / 10 + level)
        for cut, own in levels.items()
        for seed, level in enumerate(own)
        for at in range(20)
    ]

    def over_pairs(orders):
        return statistics.mean(own[j] - own[i] for own in orders for i, j in itertools.combinations(range(3), 2))

    true = over_pairs(levels.values())
    every = [over_pairs(both) for both in itertools.product(*(itertools.permutations(own) for own in levels.values()))]
    assert len(every) == 36
    row = found({"net": rows})["pairs_of_seeds"]
    assert row.estimate == pytest.approx(true)
    assert row.p_value == pytest.approx(sum(abs(one) >= abs(true) - 1e-9 for one in every) / 36, abs=0.02)
    assert row.n_seeds == 3


@pytest.mark.parametrize(("n_seeds", "said"), [(1, "1 seed; at least 5"), (4, "4 seeds; at least 5")])
def test_few_seeds_make_no_claim_and_one_seed_no_interval(n_seeds, said):
    rows = found(changes(knows, n_seeds=n_seeds))
    row = rows["new_minus_removed"]
    assert row.verdict == "no claim"
    assert said in row.note
    assert row.estimate == pytest.approx(3, abs=0.3)
    assert (row.low is None) == (row.p_value is None) == (n_seeds == 1)
    assert (rows["pairs_of_seeds"].estimate is None) == (n_seeds == 1)
    assert (rows["pairs_of_seeds"].note == "1 seed; a pair needs 2, and a claim at least 5") == (n_seeds == 1)
    assert {row.verdict for row in rows.values()} == {"no claim"}


def test_what_withheld_subjects_add_is_a_placebo_of_its_own_beside_the_quantity_of_the_headline():
    """Names that have become rarer are so without the subject, too; what models know of a subject is in both rows."""
    drift = changes(lambda cut, *_: -2.0 * (cut == SECOND), is_withheld=True, added=nothing)
    rows = found(changes(knows), drift)
    assert rows["withheld_subjects"].verdict == "not zero"
    assert rows["withheld_subjects_added"].verdict == "zero is included"
    assert rows["withheld_subjects"].estimate == pytest.approx(-2, abs=0.3)
    assert rows["withheld_subjects_added"].estimate == pytest.approx(0, abs=0.3)
    without = found(changes(knows), changes(nothing, is_withheld=True))["withheld_subjects_added"]
    assert (without.estimate, without.note) == (None, "found no items that models of both cuts have scored")


def test_untrained_models_that_prefer_new_names_for_their_letters_are_noticed():
    untrained = changes(lambda *_: 1.5, cuts=(None,))
    rows = found(changes(knows), untrained)
    assert rows["untrained"].verdict == "not zero"
    assert rows["untrained"].estimate == pytest.approx(1.5, abs=0.4)
    fair = found(changes(knows), changes(nothing, cuts=(None,)))["untrained"]
    assert fair.verdict == "zero is included"


def test_holm_is_over_the_placebos_of_a_family():
    """A withheld placebo with p = 0.02 or so alone is not zero; among five it is."""
    rows = found(
        changes(knows),
        changes(nothing, cuts=(None,)),
        changes(lambda cut, *_: -0.35 * (cut == SECOND), is_withheld=True, n_subjects=30, added=nothing),
    )
    # By Holm's definition: the smallest times five, the next times four, and so on, never falling.
    running = 0.0
    for rank, row in enumerate(sorted((rows[name] for name in PLACEBOS), key=lambda row: row.p_value)):
        running = max(running, min(1.0, (5 - rank) * row.p_value))
        assert row.p_holm == pytest.approx(running)
    assert {rows[name].p_holm for name in POSITIVE} == {None}
    assert rows["withheld_subjects"].p_value < 0.05 < rows["withheld_subjects"].p_holm
    assert rows["withheld_subjects"].verdict == "zero is included"
    assert rows["withheld_subjects"].high < 0
    assert rows["withheld_subjects"].note == "zero is included after Holm only: its own interval excludes zero"
    assert rows["permuted_answers"].note is None


def grouped(gains):
    """Values of new and kept objects, whose gains at the later cut are given by subject."""
    return {
        kind: [(*model, name, "a", 7 + gain * (model[0] == SECOND)) for name, gain in own.items() for model in MODELS]
        for kind, own in gains.items()
    }


def test_new_minus_kept_by_hand_and_a_subject_may_be_in_both_groups():
    gains = {"new": {subject(at): at for at in range(20)}, "kept": {subject(at): at / 2 for at in range(15, 40)}}
    row = found(grouped(gains))["new_minus_kept"]
    assert row.estimate == pytest.approx(9.5 - 27 / 2)
    assert (row.n_items, row.n_clusters, row.n_seeds, row.verdict) == (45, 20, 5, "not shown")


@pytest.mark.slow
def test_the_interval_of_two_groups_is_that_of_two_independent_means():
    """Without differences between seeds: SE^2 = s_1^2 / n_1 + s_2^2 / n_2."""
    chance = np.random.default_rng(1)
    gains = {
        kind: {f"{kind}{at}": chance.normal(0, size) for at in range(400)} for kind, size in (("new", 1), ("kept", 2))
    }
    row = found(grouped(gains))["new_minus_kept"]
    error = math.sqrt(sum(np.var([*own.values()], ddof=1) / 400 for own in gains.values()))
    assert (row.high - row.low) / 2 == pytest.approx(1.96 * error, rel=0.05)


def clozes(entity, gain, items=(0,)):
    return [
        (cut, seed, entity, item, -6.0 + gain * (cut == SECOND) + 0.05 * noise(cut, seed, entity, item))
        for cut, seed in MODELS
        for item in items
    ]


def test_entities_count_once_and_are_compared_with_those_of_both_other_periods():
    """Those born between the cuts gain 1 nat a token, later ones 0.4, earlier ones 0; one has many easy items."""
    values = {
        born: [row for at in range(12) for row in clozes(f"{born}{at}", gain)]
        for born, gain in (("between", 1.0), ("later", 0.4), ("earlier", 0.0))
    }
    both = found(values, {"between": clozes("between0", 5.0, range(1, 30))})
    mean = ((1 + 29 * 5) / 30 + 11) / 12
    assert both["born_between_minus_later"].estimate == pytest.approx(mean - 0.4, abs=0.05)
    assert both["born_between_minus_earlier"].estimate == pytest.approx(mean, abs=0.05)
    assert both["born_between_minus_later"].n_items == 53
    assert both["born_between_minus_later"].n_clusters == 12
    # The smaller group counts.
    fewer = {kind: [row for row in own if row[2] not in ("later0", "later1", "later2")] for kind, own in values.items()}
    few = found(fewer)["born_between_minus_later"]
    assert few.note == "9 clusters; at least 10 are needed for an interval"
    assert few.estimate == pytest.approx(0.6, abs=0.05)


def test_what_one_model_has_not_scored_counts_for_none():
    values = changes(knows)
    lacking = {kind: [one for one in own if one[:3] != (SECOND, 2, subject(5))] for kind, own in values.items()}
    without = {kind: [one for one in own if one[2] != subject(5)] for kind, own in values.items()}
    assert found(lacking) == found(without)
    # A seed of which one cut has no model is left out.
    alone = {"net": [one for one in changes(knows, n_seeds=6)["net"] if one[:2] == (FIRST, 5)]}
    assert found(values, alone)["new_minus_removed"] == found(values)["new_minus_removed"]


def test_without_scores_there_is_a_row_that_says_so():
    rows = found({})
    assert {row.estimate for row in rows.values()} == {None}
    assert {row.verdict for row in rows.values()} == {"no claim"}
    assert rows["new_minus_removed"].note == "found no items that models of both cuts have scored"


@pytest.fixture(scope="module")
def store(demo_home, tmp_path_factory):
    """The demo world with made-up scores, by hash, of causal models of two seeds."""
    home = tmp_path_factory.mktemp("effect") / "home"
    shutil.copytree(demo_home, home)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TEMPKB_HOME", str(home))
        store = open_store()
        for cut, seed in itertools.product(CUTS, range(2)):
            name = DemoModel("causal", cut, seed).name
            add_model(store, name, cut)
            add_scores(store, name, cut, luck=name)
        yield store


@pytest.fixture(scope="module")
def values(store):
    """Values by kind, model, cluster and item."""
    return {kind: {tuple(key): value for *key, value in own} for kind, own in read(store, "causal").items()}


def scores_of(store, scorer):
    """Nats and tokens of all prompts, by cut, seed and prompt."""
    models = {DemoModel("causal", cut, seed).name: (cut, seed) for cut, seed in itertools.product(CUTS, range(2))}
    rows = store.read("prompt_scores", scorer=scorer).to_pylist()
    return {(*models[row["model"]], row["prompt_id"]): (row["log_prob_nats"], row["n_tokens"]) for row in rows}


def held(store, day):
    """Objects of each subject and relation on a day, from the spells; some end in years that Python does not know."""
    spells = store.read("fact_spells", release="demo-quarters")
    begins, ends = (spells[name].cast("int32").to_pylist() for name in ("valid_from", "valid_to"))
    names = [spells[name].to_pylist() for name in ("subject_id", "relation", "object_id")]
    number = (day - date(1970, 1, 1)).days
    now = defaultdict(set)
    for subject_id, relation, one, begin, end in zip(*names, begins, ends, strict=True):
        if (begin is None or begin <= number) and (end is None or number < end):
            now[subject_id, relation].add(one)
    return now


@pytest.mark.slow
def test_changes_between_the_cuts_by_hand(store, values):
    """New minus removed beyond permuted answers: from texts, without any view."""
    before, after = (held(store, cut - timedelta(days=1)) for cut in CUTS)
    pairs = {
        key: (*(before[key] - objects), *(objects - before[key]))
        for key, objects in after.items()
        if before.get(key) and not objects & before[key]
    }
    asked = defaultdict(dict)
    relations = {row["query_id"]: row["relation"] for row in store.read("dynamic_templama_queries").to_pylist()}
    for row in store.read("dynamic_templama_prompts").to_pylist():
        if row["variant"] in ("undated", "object_last"):
            own = asked[row["variant"], row["cluster_id"], relations[row["item_id"]], row["item_id"]]
            text = Prompt(row["left_context"], row["target"], row["right_context"])
            own[row["stands_for_id"] or row["target_id"], row["role"] == "control"] = text.prompt_id
    scores, leads = scores_of(store, SCORERS[0]), {"net": {}, "withheld": {}}
    # The undated wording, which comes last, counts.
    for (_, subject_id, relation, _), prompts in sorted(asked.items()):
        both = pairs.get((subject_id, relation), ())
        keys = [(one, is_control) for is_control in (False, True) for one in both]
        if len(both) == 2 and all(key in prompts for key in keys):
            for model in itertools.product(CUTS, range(2)):
                old, new, other_old, other_new = (scores[*model, prompts[key]][0] for key in keys)
                item = (*model, subject_id, (relation, *both))
                leads["withheld" if is_withheld(subject_id) else "net"][item] = (new - old) - (other_new - other_old)
    assert values["net"] == pytest.approx(leads["net"], abs=1e-9)
    assert values["withheld"] == pytest.approx(leads["withheld"], abs=1e-9)
    assert min(len({key[2] for key in own}) for own in leads.values()) > 20


@pytest.mark.slow
def test_entities_of_ecbd_by_hand(store, values):
    """Nats a token of test items about entities that came into being between the cuts, or later."""
    born = {}
    for row in store.read("ecbd_cloze", release="demo-cloze").to_pylist():
        if row["split"] == "test" and row["origin_from"] and row["origin_from"] >= FIRST:
            is_later = row["origin_from"] >= SECOND
            born[row["cloze_id"]] = "later" if is_later else "between" if row["origin_to"] <= SECOND else None
    scores, nats = scores_of(store, SCORERS[1]), defaultdict(dict)
    for row in store.read("ecbd_prompts", variant="original").to_pylist():
        for model in itertools.product(CUTS, range(2)):
            total, n_tokens = scores[*model, row["prompt_id"]]
            key = (*model, row["cluster_id"], (row["item_id"],))
            nats[born.get(row["item_id"])][key] = total / n_tokens
    for kind in ("between", "later"):
        assert values[kind] == pytest.approx(nats[kind], abs=1e-9)
        assert len(nats[kind]) > 20
