"""The demo effect: contrasts of made-up scores whose answers are known, and those of models that are trained here."""

import itertools
import math
import os
import shutil
import statistics
from collections import defaultdict
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from tempkb.api import open_store
from tempkb.demo.models.asking import DemoModel
from tempkb.demo.models.effect import CONTRASTS, effects
from tempkb.demo.models.effect_reading import demo_effect, demo_models, read_scores
from tempkb.demo.models.effect_scores import ChangeScore, ClozeScore, FamilyScores, ObjectScore
from tempkb.demo.models.recipe import is_withheld
from tempkb.models.names import FAMILIES
from tempkb.prompts import Prompt
from tempkb.results.tables import DEMO_EFFECT
from tempkb.statistics import clustered_mean
from tempkb.store.store import read_files
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.results.making import make

CUTS = FIRST, SECOND = date(2022, 1, 1), date(2023, 7, 1)


def model(cut, seed=0):
    return DemoModel("causal", cut, seed)


def subject(number):
    return f"Q{number:03}"


def found(**scores):
    """What is found of made-up scores, by contrast."""
    rows = effects(FamilyScores("causal", CUTS, **scores))
    assert [row.contrast for row in rows] == list(CONTRASTS)
    return {row.contrast.name: row for row in rows}


def noise(*key, spread=1.0):
    """A random number that belongs to a key."""
    return float(
        np.random.default_rng([sum(map(ord, str(part))) * 31 + at for at, part in enumerate(key)]).normal(0, spread)
    )


def changes(lead, control=lambda *_: 0.0, *, n_seeds=5, n_subjects=40, cuts=CUTS, is_withheld=False, added=None):
    """Changes of subjects, each with noise of its own, by functions of the cut, the seed and the subject's number."""
    return [
        ChangeScore(
            model(cut, seed),
            subject(at),
            "change",
            is_withheld,
            lead(cut, seed, at)
            + noise("lead", at, is_withheld)
            + noise("lead", cut, seed, at, is_withheld, spread=0.5),
            control(cut, seed, at) + noise("control", cut, seed, at, is_withheld, spread=0.5),
            None if added is None else added(cut, seed, at) + noise("added", cut, seed, at, spread=0.5),
        )
        for cut in cuts
        for seed in range(n_seeds)
        for at in range(n_subjects)
    ]


def knows(cut, *_):
    """Leads of models that know what held at their cut."""
    return 2.0 if cut == SECOND else -1.0


def nothing(*_):
    return 0.0


def test_the_headline_by_hand_counts_each_subject_once_and_subtracts_permuted_answers():
    """Of subject 0 two changes count half each: (1 + 3) / 2 - 0.5; of all others 5 - 0.5."""
    rows = []
    for at in range(12):
        for change, gain in (("a", 1.0), ("b", 3.0)) if at == 0 else (("a", 5.0),):
            rows.append(ChangeScore(model(FIRST), subject(at), change, False, 7.0, 1.0))
            rows.append(ChangeScore(model(SECOND), subject(at), change, False, 7.0 + gain, 1.5))
    row = found(changes=rows)["new_minus_removed"]
    assert row.estimate == pytest.approx((2 + 11 * 5) / 12 - 0.5)
    assert (row.n_items, row.n_clusters, row.n_seeds) == (13, 12, 1)


def test_an_effect_that_is_there_is_shown():
    row = found(changes=changes(knows))["new_minus_removed"]
    assert row.estimate == pytest.approx(3, abs=0.3)
    assert 2 < row.low < row.estimate < row.high < 4
    assert row.verdict == "shown"
    # Of 252 ways to call five of ten models the later ones, only the true one and its mirror reach the effect.
    assert row.p_permuted_cuts == pytest.approx(2 / 252)
    assert row.note is None


def test_names_that_have_become_frequent_are_no_effect_and_permuted_answers_show_them():
    """All models of the later cut prefer new names, whoever they belong to."""
    drift = changes(lambda cut, *_: 2.0 * (cut == SECOND), lambda cut, *_: 2.0 * (cut == SECOND))
    rows = found(changes=drift)
    assert rows["new_minus_removed"].verdict == "not shown"
    assert rows["new_minus_removed"].low < 0 < rows["new_minus_removed"].high
    assert rows["permuted_answers"].verdict == "not zero"
    assert rows["permuted_answers"].estimate == pytest.approx(2, abs=0.2)
    assert rows["permuted_answers"].p_holm < 0.001


def test_a_seed_that_has_learnt_more_makes_single_pairs_differ_but_not_all_of_them_together():
    rows = found(changes=changes(lambda cut, seed, at: knows(cut) * (3 if seed == 3 else 1)))
    row = rows["pairs_of_seeds"]
    assert row.verdict == "zero is included"
    assert row.low < 0 < row.high
    # Four pairs of either cut have the seed 3; at the later cut they differ by 4, give or take the noise of 40 subjects.
    said = row.note.split()
    assert (said[0], said[1]) == ("20", "pairs,")
    assert 3.7 < float(said[7].rstrip(";")) < 4.6
    assert int(said[8]) >= 8


def test_all_pairs_of_seeds_by_brute_force():
    levels = {FIRST: [0.0, 0.3, 1.1], SECOND: [2.0, 2.9, 2.5]}

    def lead(at):
        return at / 10

    rows = [
        ChangeScore(model(cut, seed), subject(at), "a", False, lead(at) + level, 0.0)
        for cut, own in levels.items()
        for seed, level in enumerate(own)
        for at in range(20)
    ]

    def over_pairs(orders):
        return statistics.mean(own[j] - own[i] for own in orders for i, j in itertools.combinations(range(3), 2))

    true = over_pairs(levels.values())
    every = [over_pairs(both) for both in itertools.product(*(itertools.permutations(own) for own in levels.values()))]
    assert len(every) == 36
    row = found(changes=rows)["pairs_of_seeds"]
    assert row.estimate == pytest.approx(true)
    assert row.p_value == pytest.approx(sum(abs(one) >= abs(true) - 1e-9 for one in every) / 36, abs=0.02)
    assert row.n_seeds == 3
    assert "6 pairs" in row.note


@pytest.mark.slow
def test_pairs_of_seeds_raise_few_false_alarms_where_seeds_differ_by_luck_alone():
    alarms = 0
    for world in range(60):
        chance = np.random.default_rng(world)
        levels = {cut: chance.normal(0, 2, 5) for cut in CUTS}
        rows = [
            ChangeScore(model(cut, seed), subject(at), "a", False, levels[cut][seed] + chance.normal(), 0.0)
            for cut in CUTS
            for seed in range(5)
            for at in range(12)
        ]
        alarms += found(changes=rows)["pairs_of_seeds"].p_value < 0.05
    # Of 60 three are expected; more than eight have a probability of 0.4 %.
    assert alarms <= 8


@pytest.mark.parametrize(("n_seeds", "said"), [(1, "1 seed; at least 5"), (4, "4 seeds; at least 5")])
def test_few_seeds_make_no_claim_and_one_seed_no_interval(n_seeds, said):
    rows = found(changes=changes(knows, n_seeds=n_seeds))
    row = rows["new_minus_removed"]
    assert row.verdict == "no claim"
    assert said in row.note
    assert row.estimate == pytest.approx(3, abs=0.3)
    assert (row.low is None) == (row.p_value is None) == (n_seeds == 1)
    assert (rows["pairs_of_seeds"].estimate is None) == (n_seeds == 1)
    assert (rows["pairs_of_seeds"].note == "1 seed; a pair needs 2, and a claim at least 5") == (n_seeds == 1)
    assert {row.verdict for row in rows.values()} == {"no claim"}


def test_few_subjects_make_no_claim():
    row = found(changes=changes(knows, n_subjects=9))["new_minus_removed"]
    assert (row.verdict, row.low) == ("no claim", None)
    assert row.note == "9 clusters; at least 10 are needed for an interval"


def test_two_seeds_of_each_cut_cannot_do_better_than_one_of_three_under_permuted_cuts():
    rows = found(changes=changes(knows, n_seeds=2))
    assert rows["new_minus_removed"].p_permuted_cuts == pytest.approx(2 / 6)


def test_withheld_subjects_are_a_placebo_and_no_part_of_the_headline():
    rows = found(changes=[*changes(nothing), *changes(knows, is_withheld=True)])
    assert rows["new_minus_removed"].verdict == "not shown"
    assert rows["withheld_subjects"].verdict == "not zero"
    assert rows["withheld_subjects"].estimate == pytest.approx(3, abs=0.3)


def test_what_withheld_subjects_add_is_a_placebo_of_its_own_beside_the_quantity_of_the_headline():
    """Names that have become rarer are so without the subject, too; what models know of a subject is in both rows."""
    drift = changes(lambda cut, *_: -2.0 * (cut == SECOND), is_withheld=True, added=nothing)
    rows = found(changes=[*changes(knows), *drift])
    assert (rows["withheld_subjects"].verdict, rows["withheld_subjects_added"].verdict) == (
        "not zero",
        "zero is included",
    )
    assert rows["withheld_subjects"].estimate == pytest.approx(-2, abs=0.3)
    assert rows["withheld_subjects_added"].estimate == pytest.approx(0, abs=0.3)
    # Of the subjects that are read nothing counts, and neither do permuted answers in what the subject adds.
    leak = changes(nothing, knows, is_withheld=True, added=knows)
    row = found(changes=[*changes(nothing, added=lambda *_: 9.0), *leak])["withheld_subjects_added"]
    assert row.verdict == "not zero"
    assert row.estimate == pytest.approx(3, abs=0.3)
    without = found(changes=[*changes(knows), *changes(nothing, is_withheld=True)])["withheld_subjects_added"]
    assert (without.estimate, without.note) == (None, "found no items that models of both cuts have scored")


def test_untrained_models_that_prefer_new_names_for_their_letters_are_noticed():
    untrained = changes(lambda *_: 1.5, cuts=(None,))
    rows = found(changes=[*changes(knows), *untrained])
    assert rows["untrained"].verdict == "not zero"
    assert rows["untrained"].estimate == pytest.approx(1.5, abs=0.4)
    fair = found(changes=[*changes(knows), *changes(nothing, cuts=(None,))])["untrained"]
    assert fair.verdict == "zero is included"
    # The others do not depend on them.
    assert rows["new_minus_removed"] == found(changes=changes(knows))["new_minus_removed"]
    missing = found(changes=changes(knows))["untrained"]
    assert missing.estimate is None
    assert missing.note == "found no scores of untrained models; make them: tempkb model demo --untrained"


def test_holm_is_over_the_placebos_of_a_family():
    """A withheld placebo with p = 0.02 or so alone is not zero; among five it is."""
    rows = found(
        changes=[
            *changes(knows),
            *changes(nothing, cuts=(None,)),
            *changes(lambda cut, *_: -0.35 * (cut == SECOND), is_withheld=True, n_subjects=30, added=nothing),
        ]
    )
    placebos = [row for row in rows.values() if row.contrast.expected == "zero"]
    assert len(placebos) == 5
    # By Holm's definition: the smallest times five, the next times four, and so on, never falling.
    ascending = sorted(placebos, key=lambda row: row.p_value)
    running = 0.0
    for rank, row in enumerate(ascending):
        running = max(running, min(1.0, (5 - rank) * row.p_value))
        assert row.p_holm == pytest.approx(running)
    assert {row.p_holm for row in rows.values() if row.contrast.expected == "positive"} == {None}
    assert rows["withheld_subjects"].p_value < 0.05 < rows["withheld_subjects"].p_holm
    assert rows["withheld_subjects"].verdict == "zero is included"
    assert rows["withheld_subjects"].high < 0
    assert rows["withheld_subjects"].note == "zero is included after Holm only: its own interval excludes zero"
    assert rows["permuted_answers"].note is None


def test_new_minus_kept_by_hand_and_a_subject_may_be_in_both_groups():
    """What subjects add to new objects rises by 3, to kept ones by 1."""
    rows = [
        ObjectScore(
            model(cut, seed), subject(at), name, is_new, at + gain * (cut == SECOND) + 0.1 * noise(cut, seed, at, name)
        )
        for cut in CUTS
        for seed in range(5)
        for name, is_new, gain, own in (("new", True, 3.0, range(20)), ("kept", False, 1.0, range(15, 40)))
        for at in own
    ]
    row = found(objects=rows)["new_minus_kept"]

    def mean(name, cut):
        return statistics.mean(one.added for one in rows if one.object == name and one.model.cut == cut)

    by_hand = mean("new", SECOND) - mean("new", FIRST) - mean("kept", SECOND) + mean("kept", FIRST)
    assert row.estimate == pytest.approx(by_hand)
    assert row.estimate == pytest.approx(2, abs=0.1)
    assert row.low < 2 < row.high
    assert row.high - row.low < 0.2
    assert (row.n_items, row.n_clusters, row.verdict) == (45, 20, "shown")


@pytest.mark.slow
def test_the_interval_of_two_groups_is_that_of_two_independent_means():
    """Without differences between seeds: SE^2 = s_1^2 / n_1 + s_2^2 / n_2."""
    chance = np.random.default_rng(1)
    gains = {True: chance.normal(0, 1, 400), False: chance.normal(0, 2, 400)}
    rows = [
        ObjectScore(model(cut, seed), f"{is_new}{at}", "a", is_new, gain * (cut == SECOND))
        for cut in CUTS
        for seed in range(5)
        for is_new, own in gains.items()
        for at, gain in enumerate(own)
    ]
    row = found(objects=rows)["new_minus_kept"]
    error = math.sqrt(sum(own.var(ddof=1) / 400 for own in gains.values()))
    assert (row.high - row.low) / 2 == pytest.approx(1.96 * error, rel=0.05)


def cloze(born, entity, item, gain):
    return [
        ClozeScore(
            model(cut, seed), entity, item, born, -6.0 + gain * (cut == SECOND) + 0.05 * noise(cut, seed, entity, item)
        )
        for cut in CUTS
        for seed in range(5)
    ]


def test_entities_count_once_and_are_compared_with_those_of_both_other_periods():
    """Those born between the cuts gain 1 nat a token, later ones 0.4, earlier ones 0; one has many easy items."""
    rows = []
    for at in range(12):
        rows += (
            cloze("between", f"b{at}", 0, 1.0) + cloze("later", f"l{at}", 0, 0.4) + cloze("earlier", f"e{at}", 0, 0.0)
        )
    rows += [row for item in range(1, 30) for row in cloze("between", "b0", item, 5.0)]
    both = found(clozes=rows)
    of_b0 = (1 + 29 * 5) / 30
    mean = (of_b0 + 11) / 12
    assert both["born_between_minus_later"].estimate == pytest.approx(mean - 0.4, abs=0.05)
    assert both["born_between_minus_earlier"].estimate == pytest.approx(mean, abs=0.05)
    assert both["born_between_minus_later"].n_items == 53
    assert both["born_between_minus_later"].n_clusters == 12


def test_entities_that_gain_like_later_ones_are_no_effect():
    rows = [row for at in range(12) for born in ("between", "later") for row in cloze(born, f"{born}{at}", 0, 0.7)]
    row = found(clozes=rows)["born_between_minus_later"]
    assert row.verdict == "not shown"
    assert row.low < 0 < row.high
    fewer = found(clozes=[one for one in rows if one.entity_id not in {"later0", "later1", "later2"}])
    assert fewer["born_between_minus_later"].note == "9 clusters; at least 10 are needed for an interval"
    assert fewer["born_between_minus_later"].estimate == pytest.approx(0, abs=0.1)


def test_what_one_model_has_not_scored_counts_for_none():
    rows = changes(knows)
    lacking = [one for one in rows if (one.model, one.subject_id) != (model(SECOND, 2), subject(5))]
    without = [one for one in rows if one.subject_id != subject(5)]
    assert found(changes=lacking) == found(changes=without)
    # A seed of which one cut has no model is left out.
    alone = [*rows, *(one for one in changes(knows, n_seeds=6) if one.model == model(FIRST, 5))]
    assert found(changes=alone)["new_minus_removed"] == found(changes=rows)["new_minus_removed"]


def test_without_scores_there_is_a_row_that_says_so():
    rows = found()
    assert {row.estimate for row in rows.values()} == {None}
    assert {row.verdict for row in rows.values()} == {"no claim"}
    assert rows["new_minus_removed"].note == "found no items that models of both cuts have scored"


@pytest.fixture(scope="module")
def home(made_once, demo_home, tmp_path_factory):
    """The demo world with two seeds of all tiny models, untrained ones among them, and their scores.

    The masked models alone are asked about ECBD, since that takes as long as training them.
    """

    def fill(home):
        shutil.copytree(demo_home, home)
        run_tempkb(home, "model", "demo", "--seeds", "2", "--untrained")
        run_tempkb(home, "score", "--all", "--benchmark", "dynamic-templama")
        names = [f"demo-masked-{cut}{seed}" for cut in CUTS for seed in ("", "-s1")]
        run_tempkb(home, "score", *names, "--benchmark", "ecbd", "--variant", "original")

    home = tmp_path_factory.mktemp("effect") / "home"
    shutil.copytree(made_once("effect", fill), home)
    return home


@pytest.fixture(scope="module")
def store(home):
    with pytest.MonkeyPatch.context() as patched:
        for name in [name for name in os.environ if name.startswith("TEMPKB_")]:
            patched.delenv(name)
        patched.setenv("TEMPKB_HOME", str(home))
        yield open_store()


@pytest.fixture(scope="module")
def written(store):
    """Rows of `demo_effect` by family and contrast."""
    version = make(store, DEMO_EFFECT)
    assert version.partition == "all"
    rows = [row for piece in read_files(version.paths()) for row in piece.to_pylist()]
    assert [(row["family"], row["benchmark"], row["contrast"]) for row in rows] == sorted(
        (family, contrast.benchmark, contrast.name) for family in FAMILIES for contrast in CONTRASTS
    )
    return {(row["family"], row["contrast"]): row for row in rows}


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


def by_hand(store, family):
    """New minus removed beyond permuted answers, B - A, by subject and seed: from texts, without any view."""
    before, after = (held(store, cut - timedelta(days=1)) for cut in CUTS)
    pairs = {
        (subject, relation): (
            *(before[subject, relation] - after[subject, relation]),
            *(objects - before[subject, relation]),
        )
        for (subject, relation), objects in after.items()
        if before.get((subject, relation)) and not objects & before[subject, relation] and not is_withheld(subject)
    }
    asked = defaultdict(dict)
    relations = {row["query_id"]: row["relation"] for row in store.read("dynamic_templama_queries").to_pylist()}
    for row in store.read("dynamic_templama_prompts").to_pylist():
        if row["variant"] in ("undated", "object_last"):
            own = asked[row["cluster_id"], relations[row["item_id"]], row["variant"], row["item_id"]]
            text = Prompt(row["left_context"], row["target"], row["right_context"])
            own[row["stands_for_id"] or row["target_id"], row["role"] == "control"] = text.prompt_id
    scores = {
        (row["model"], row["prompt_id"]): row["log_prob_nats"]
        for row in store.read("prompt_scores").to_pylist()
        if row["status"] == "scored" and not row["scorer"].startswith("causal.sentence")
    }
    gains = defaultdict(dict)
    for (subject, relation, variant, _), prompts in asked.items():
        both = pairs.get((subject, relation), ())
        keys = [(one, is_control) for is_control in (False, True) for one in reversed(both)]
        if len(both) != 2 or any(key not in prompts for key in keys):
            continue
        for seed in range(2):
            names = [DemoModel(family, cut, seed).name for cut in CUTS]
            told = [[scores.get((name, prompts[key])) for key in keys] for name in names]
            if None not in told[0] + told[1]:
                leads = [(new - old) - (other_new - other_old) for new, old, other_new, other_old in told]
                gains[seed].setdefault((subject, relation), {})[variant] = leads[1] - leads[0]
    return [
        {subject_relation: own.get("undated", own.get("object_last")) for subject_relation, own in gains[seed].items()}
        for seed in range(2)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_models_know_what_has_changed_between_their_cuts(store, written, family):
    row = written[family, "new_minus_removed"]
    seeds = by_hand(store, family)
    per_subject = defaultdict(list)
    for own in seeds:
        for (subject_id, _), gain in own.items():
            per_subject[subject_id].append(gain)
    assert row["estimate"] == pytest.approx(statistics.mean(map(statistics.mean, per_subject.values())), abs=1e-9)
    assert row["n_clusters"] == len(per_subject) > 100
    assert (row["n_seeds"], row["n_items"], row["verdict"]) == (2, len(seeds[0]), "no claim")
    assert row["note"] == "2 seeds; at least 5 are needed for a claim"
    assert row["estimate"] > 0.5
    # Each of the two trainings shows it for itself, whichever of them is compared.
    for own in seeds:
        alone = clustered_mean(list(own.values()), [subject_id for subject_id, _ in own])
        assert alone.low > 0


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_placebos_include_zero(written, family):
    """Withheld subjects may not in the quantity of the headline: docs/decisions.md says why."""
    for contrast in ("untrained", "pairs_of_seeds", "permuted_answers", "withheld_subjects_added"):
        row = written[family, contrast]
        assert row["p_holm"] >= 0.05, contrast
        assert row["n_seeds"] == 2
    for contrast in ("withheld_subjects", "withheld_subjects_added"):
        row = written[family, contrast]
        assert row["n_clusters"] > 20
        assert row["note"] == "2 seeds; at least 5 are needed for a claim"


@pytest.mark.slow
def test_new_objects_gain_more_than_kept_ones_in_what_subjects_add(written):
    for family in FAMILIES:
        row = written[family, "new_minus_kept"]
        assert row["estimate"] > 0
        assert row["n_clusters"] > 100


@pytest.mark.slow
def test_entities_of_ecbd_by_hand_and_families_that_were_not_asked_say_so(store, written):
    """Means over items, then entities, then seeds, of the gain of nats a token."""
    born = {}
    for row in store.read("ecbd_cloze", release="demo-cloze").to_pylist():
        if row["split"] == "test" and row["origin_from"] and row["origin_from"] >= FIRST:
            born[row["cloze_id"]] = (
                SECOND if row["origin_from"] >= SECOND else FIRST if row["origin_to"] <= SECOND else None
            )
    scores = {
        (row["model"], row["prompt_id"]): row["log_prob_nats"] / row["n_tokens"]
        for row in store.read("prompt_scores", scorer="masked.answer_l2r-1.f32").to_pylist()
        if row["status"] == "scored"
    }
    gains = defaultdict(lambda: defaultdict(list))
    for row in store.read("ecbd_prompts", variant="original").to_pylist():
        if born.get(row["item_id"]) is not None:
            for cut, seed in itertools.product(CUTS, range(2)):
                value = scores[DemoModel("masked", cut, seed).name, row["prompt_id"]]
                gains[born[row["item_id"]]][row["cluster_id"]].append(value if cut == SECOND else -value)
    # Half of the values of an entity are of either cut.
    means = {period: statistics.mean(2 * statistics.mean(own) for own in by.values()) for period, by in gains.items()}
    row = written["masked", "born_between_minus_later"]
    assert row["estimate"] == pytest.approx(means[FIRST] - means[SECOND], abs=1e-9)
    assert row["n_clusters"] == min(map(len, gains.values()))
    assert (row["release"], row["first_cut"], row["second_cut"]) == ("demo-cloze", *CUTS)
    unasked = written["causal", "born_between_minus_later"]
    assert (unasked["estimate"], unasked["note"]) == (None, "found no items that models of both cuts have scored")


@pytest.mark.slow
def test_the_same_scores_give_the_same_bytes(store):
    assert demo_effect(store).equals(demo_effect(store))


@pytest.mark.slow
def test_only_the_models_that_the_command_makes_count(store):
    assert [one.name for one in demo_models(store)] == sorted(
        DemoModel(family, cut, seed).name for family in FAMILIES for cut in (*CUTS, None) for seed in range(2)
    )
    assert [scores.family for scores in read_scores(store)] == list(FAMILIES)
    assert all(
        scores.releases == {"dynamic_templama": "demo-quarters", "ecbd": "demo-cloze"} for scores in read_scores(store)
    )


@pytest.mark.slow
def test_the_command_trains_and_adds_each_model_once(home, store):
    run_tempkb(home, "gc")
    written = {path: path.stat().st_mtime_ns for path in home.glob("models/*/model.safetensors")}
    command = ("model", "demo", "--family", "masked")
    said = run_tempkb(home, *command)
    assert run_tempkb(home, *command).stdout == said.stdout
    rows = {row["model"]: row for row in store.read("models").to_pylist()}
    assert len(rows) == len(written) == 3 * 3 * 2
    for cut in CUTS:
        row = rows[f"demo-masked-{cut}"]
        assert (row["knows_certainly_until"], row["knows_possibly_until"], row["status"]) == (cut, cut, "ready")

    refused = run_tempkb(home, *command, "--cuts", "2022-01-01,2023-04-01", check=False)
    first = "demo-masked-2022-01-01"
    assert refused.returncode == 1
    assert f"model {first}: expected the checkpoint {home / rows[first]['checkpoint']}" in refused.stderr
    assert f"tempkb model rm {first}" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1

    run_tempkb(home, "model", "rm", first, "--yes")
    run_tempkb(home, "gc")
    assert str(Path(rows[first]["checkpoint"]).parent) == "models"
    run_tempkb(home, *command)
    assert store.read("models").num_rows == len(rows)
    assert {path: path.stat().st_mtime_ns for path in home.glob("models/*/model.safetensors")} == written


def test_a_home_without_models_has_an_empty_table(demo_home, tmp_path, monkeypatch):
    shutil.copytree(demo_home, tmp_path / "home")
    monkeypatch.setenv("TEMPKB_HOME", str(tmp_path / "home"))
    assert make(open_store(), DEMO_EFFECT).rows == 0
