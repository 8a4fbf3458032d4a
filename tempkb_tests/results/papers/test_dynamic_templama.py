"""The items of DynamicTempLAMA over rows that were written by hand."""

import json

import pytest

from tempkb_tests.results.papers.laid_out import tables
from tempkb_tests.results.worlds import Q1, Q2, Q3, Q4, T5, Facts

DECODER, PROBING = "seq2seq.greedy-1.f32", "masked.probing-1.f32"
QUARTERS = {Q1: "2021-Q1", Q2: "2021-Q2", Q3: "2021-Q3", Q4: "2021-Q4"}


class Asked(Facts):
    """Queries with their texts, and changes by quarter."""

    def query(self, window, subject, *objects, **more):
        super().query(window, subject, *objects, **more)
        self.rows["dynamic_templama_queries"][-1] |= {"query": f"{subject} plays for _X_.", "date": QUARTERS[window]}

    def change(self, *about, **more):
        super().change(*about, **{"granularity": "quarter", **more})

    def judge(self, item, worth, **more):
        """What the first answer to an item is worth, by object."""
        each = [{"target_id": one, "f1": value} for one, value in worth.items()]
        row = {"release": "r", "model": "m", "decoder": DECODER, "wording": "once", "benchmark": "dynamic_templama"}
        self.add("judged_answers", item_id=item, of_targets=each, **{**row, **more})


def one_table(world, name):
    ((_, heads, lines),) = tables(world, "dynamic-templama", name)
    return heads, lines


def test_medians_of_perplexities_and_their_distribution():
    """Perplexities e, e^2 and e^3 in Q1, and e^2 alone in Q2; ranks by single tokens are left out."""
    world = Asked()
    for subject, one, nats in (("S0", "Reed", -2.0), ("S1", "Moss", -4.0), ("S2", "Salt", -6.0)):
        world.query(Q1, subject, one)
        world.tell(subject, {one: nats})
    world.query(Q2, "S1", "Moss")
    world.tell("S1", {"Moss": -1.0}, scorer=PROBING)
    assert one_table(world, "table-2") == (
        ["model", "scorer", "2021-Q1", "2021-Q2"],
        [["m", T5, "7.39", "7.39"]],
    )
    heads, lines = one_table(world, "figure-5")
    assert heads[:7] == ["model", "scorer", "1", "3", "10", "32", "100"]
    assert lines == [["m", T5, "25.0", "50.0", "25.0", *["0.0"] * 10]]


def test_relations_with_their_templates_and_changes():
    world = Asked()
    for window in (Q1, Q2):
        for subject in ("Ann", "Ben"):
            world.query(window, subject, "Reed")
        world.query(window, "Town", "Cem", relation="P6")
        world.query(window, "City", "Dan", relation="P127")
    world.change(Q2, "Ann", "Reed", "unchanged")
    world.change(Q2, "Town", "Cem", "unchanged", relation="P6")
    world.change(Q2, "City", "Dan", "new", relation="P127")
    templates = [
        {
            "language": "en",
            "name": "member of sports team",
            "relation": "P54",
            "wording": "<subject> plays for <object>.",
        },
        {"language": "en", "name": "owned by", "relation": "P127", "wording": "<object> owns <subject>."},
        {"language": "en", "name": "owned by", "relation": "P127", "wording": "<subject> is owned by <object>."},
    ]
    design = json.dumps({"templates": templates, "seed": 1})
    world.add("fact_releases", release="r", benchmark="dynamic_templama", design=design)
    owned = "<object> owns <subject>. / <subject> is owned by <object>."
    teams = ["P54", "member of sports team", "<subject> plays for <object>.", "2", "4", "unchanged"]
    heads, lines = one_table(world, "table-6")
    assert heads == ["wikidata id", "relation", "template", "n facts", "n examples", "possible splits"]
    assert lines == [teams, ["P127", "owned by", owned, "1", "2", "new"], ["P6", "", "", "1", "2", "unchanged"]]
    # Of each set of changes the relation with most examples.
    assert one_table(world, "table-1")[1] == lines[:2]


def _through_time():
    """Ann's team changes twice; Ben's once; Cem's three times, but he is not popular."""
    world = Asked()
    world.handover("Ann", "Bath", "Reed", Q1, Q2)
    world.handover("Ann", "Reed", "Salt", Q3, Q4)
    world.handover("Ben", "Moss", "Bath", Q3, Q4)
    for window, team in ((Q1, "Elm"), (Q2, "Oak"), (Q3, "Fir")):
        world.query(window, "Cem", team)
        world.change(window, "Cem", team, "updated", "arriving", "Yew", window)
    for subject, rank in (("Ann", 2), ("Ben", 1), ("Cem", 101)):
        world.add("fact_subjects", release="r", relation="P54", subject_id=subject, popularity_rank=rank)
    for tokenizer, numbers in (("small", {"Bath": 2, "Reed": 1, "Moss": 3}), ("large", {"Bath": 1, "Reed": 4})):
        for team, n in numbers.items():
            world.add("answer_tokens", release="r", tokenizer=tokenizer, object_id=team, n_tokens=n)
    return world


def test_the_queries_with_most_updates_among_popular_subjects_through_time():
    ann, ben = "Ann plays for _X_.", "Ben plays for _X_."
    assert one_table(_through_time(), "table-3") == (
        ["example", "input", "labels", "n tokens", "n answers", "window"],
        [
            ["1", ann, "Bath, Reed", "1, 1", "2", "2021-Q1"],
            ["1", ann, "Reed", "1", "1", "2021-Q2"],
            ["1", ann, "Reed, Salt", "1", "2", "2021-Q3"],
            ["1", ann, "Salt", "", "1", "2021-Q4"],
            ["2", ben, "Bath, Moss", "1, 3", "2", "2021-Q3"],
            ["2", ben, "Bath", "1", "1", "2021-Q4"],
        ],
    )


def test_what_models_say_to_them_and_how_probable_each_object_is():
    world = _through_time()
    world.tell("Ann", {"Salt": -6.0, "Reed": -4.0, "Bath": -2.0})
    world.tell("Ben", {"Bath": -2.0})
    for window in (Q1, Q4):
        world.judge(f"Ann_P54_{window}", {}, text="Reed United")
    first, second = tables(world, "dynamic-templama", "table-4")
    assert first == (
        "release r, example 1: Ann plays for _X_.",
        ["model", "scorer", "says", "Bath", "Reed", "Salt"],
        [["m", T5, "Reed United", "2.72", "7.39", "20.09"]],
    )
    assert second[2] == [["m", T5, "", "2.72"]]


def test_sizes_of_splits_by_numbers_of_tokens():
    """Reed has one token, Moss three, and Elm six, which are too many for both."""
    world = Asked()
    for subject in ("S0", "S1"):
        world.query(Q1, subject, "Bath", "Moss")
        world.query(Q2, subject, "Reed", "Moss")
        world.change(Q2, subject, "Reed", "updated", "arriving", "Bath", Q2)
        world.change(Q2, subject, "Bath", "updated", "leaving", "Reed", Q2)
        world.change(Q2, subject, "Moss", "unchanged")
        world.change(Q3, subject, "Reed", "deleted")
    world.query(Q3, "Eve", "Elm")
    world.change(Q3, "Eve", "Elm", "new")
    for team, n in {"Bath": 2, "Reed": 1, "Moss": 3, "Elm": 6}.items():
        world.add("answer_tokens", release="r", tokenizer="bpe", object_id=team, n_tokens=n)
    whole, second, third = "none: any length", "2021-Q2", "2021-Q3"
    heads, lines = one_table(world, "table-5")
    assert heads[2:] == ["unchanged", "updated", "deleted", "new", "total", "%unchanged", "%updated", "%lost"]
    assert lines == [
        ["bpe", second, "0|2", "2|2", "0|0", "0|0", "2|4", "0.0|50.0", "100.0|50.0", "50.0"],
        ["bpe", third, "0|0", "0|0", "2|2", "0|0", "2|2", "0.0|0.0", "0.0|0.0", "0.0"],
        [whole, second, "2", "2", "0", "0", "4", "50.0", "50.0", ""],
        [whole, third, "0", "0", "2", "1", "3", "0.0", "0.0", ""],
    ]


def test_cells_their_mean_and_the_mean_of_answers():
    """Of twelve updated answers one is known, and all of the eleven unchanged ones."""
    world = Asked()
    for at in range(12):
        for team, change in (("Reed", "updated"), *([("Moss", "unchanged")] if at else [])):
            world.query(Q2, f"S{at}", team)
            world.change(Q2, f"S{at}", team, change)
            world.score(f"S{at} {team} undated", -1.0, scorer=PROBING, rank=60 if team == "Reed" and at else 1)
    found = {of: (heads, lines) for of, heads, lines in tables(world, "dynamic-templama", "figure-3")}
    assert list(found) == [
        f"release r, evaluation single_token, aggregate {one}"
        for one in ("precision_at_1", "precision_at_10", "mrr_at_100")
    ]
    heads, lines = found["release r, evaluation single_token, aggregate precision_at_1"]
    assert heads == ["model", "way", "change", "2021-Q2", "mean of cells", "mean of answers"]
    assert lines == [
        ["m", PROBING, "unchanged", "100.0", "100.0", "100.0"],
        ["m", PROBING, "updated", "8.3", "8.3", "8.3"],
        ["m", PROBING, "all", "", "54.2", "52.2"],
    ]


@pytest.fixture
def followed():
    """In each quarter two teams are new to Ann and Ben; the model, which ends with June, knows more of them then."""
    world = Asked()
    for window, (ann, ben) in {Q1: (0.5, 0.0), Q2: (1.0, 0.5), Q3: (0.0, 0.0), Q4: (1.0, 1.0)}.items():
        for subject, worth in (("Ann", ann), ("Ben", ben)):
            team = f"{subject}'s of {window}"
            world.query(window, subject, team)
            world.change(window, subject, team, "updated", "arriving", "Oak", window)
            world.judge(f"{subject}_P54_{window}", {team: worth})
    world.model(possibly=Q3)
    return world


def test_windows_around_the_end_of_a_models_knowledge(followed):
    ((of, heads, lines),) = tables(followed, "dynamic-templama", "figure-4")
    assert of == "release r, change updated"
    assert heads == ["aggregate", "model", "way", "t-1", "t", "t+1"]
    assert lines == [["f1", "m", DECODER, "25.0", "75.0", "0.0"]]
    assert tables(followed, "dynamic-templama", "figure-9") == [(of, heads, lines)]


def test_cells_by_window(followed):
    ((of, heads, lines),) = tables(followed, "dynamic-templama", "figure-8")
    assert of == "release r, evaluation multi_token, change updated"
    assert heads == ["aggregate", "model", "way", *QUARTERS.values(), "all"]
    assert lines == [["f1", "m", DECODER, "25.0", "75.0", "0.0", "100.0", "50.0"]]
    # Nothing is unchanged.
    assert tables(followed, "dynamic-templama", "figure-6") == []
