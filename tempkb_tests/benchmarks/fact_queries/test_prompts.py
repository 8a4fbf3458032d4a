"""Prompts about facts: their texts by hand, answers that left, controls, ids that releases share."""

import random
from collections import Counter

import pyarrow.compute as pc
import pytest

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.dynamic_templama.tables import (
    DYNAMIC_TEMPLAMA_CHANGES,
    DYNAMIC_TEMPLAMA_PROMPTS,
    DYNAMIC_TEMPLAMA_QUERIES,
)
from tempkb.benchmarks.fact_queries import prompt_building
from tempkb.benchmarks.fact_queries.controls import Change, Controls, Known, Object
from tempkb.benchmarks.fact_queries.life import every_answer_asked
from tempkb.benchmarks.fact_queries.prompt_building import one_to_one
from tempkb.benchmarks.fact_queries.prompts import (
    Template,
    forms_of,
    read_templates,
    template_set,
)
from tempkb.benchmarks.promises import broken
from tempkb.benchmarks.register import mark_built
from tempkb.core.errors import DesignError
from tempkb.core.prompts import Prompt
from tempkb.store.drafts import Provenance
from tempkb_tests.benchmarks.fact_queries.worlds import DAY, DYNAMIC, TEMPLAMA, release
from tempkb_tests.benchmarks.splitmix import splitmix
from tempkb_tests.wiki.wikidata.items import item, read_home, said

CLUBS = ("Reed", "Salt", "Moss", "Fern", "Zürich", "York", "Ash", "Elm")
NUMBER = {name: f"Q10{number}" for number, name in enumerate(CLUBS, 1)}


@pytest.fixture
def home(tmp_path, monkeypatch):
    return lambda *people: read_home(tmp_path, monkeypatch, {DAY: [*clubs(), *people]})


def clubs():
    return [item(number, name, f"{name} (club)") for name, number in NUMBER.items()]


def player(number, name, *spells):
    """A player with spells at clubs: (club, start, end)."""
    statements = [said(f"Q{number}${at}", NUMBER[club], *days) for at, (club, *days) in enumerate(spells)]
    return item(f"Q{number}", name, f"{name} (player)", P54=statements)


ADA = player(1, "Ada", ("Reed", "2018-01-01", "2019-05-10"), ("Salt", "2019-05-11", ""), ("Moss", "2018-01-01", ""))
BO = player(2, "Bo", ("Fern", "2018-01-01", "2019-05-20"), ("Zürich", "2019-05-21", ""))


def rows_of(store, benchmark=DYNAMIC, **equal):
    return store.read(f"{benchmark}_prompts", **equal).to_pylist()


def text(row):
    return f"{row['left_context']}|{row['target']}|{row['right_context']}"


def asked(store, item_id, benchmark=DYNAMIC, variant="undated"):
    """Role, object, the object for which it stands, and text of an item's prompts."""
    rows = rows_of(store, benchmark, item_id=item_id, variant=variant)
    return {(row["role"], row["target_id"], row["stands_for_id"], text(row)) for row in rows}


def left_out(store, benchmark=DYNAMIC):
    counted = Counter()
    for row in store.read("exclusions", table_name=f"{benchmark}_prompts").to_pylist():
        counted[row["reason"].split(":")[0], row["partition"].split(".")[-1]] += row["n"]
    return dict(counted)


@pytest.mark.parametrize(
    ("wording", "subject", "expected"),
    [
        (
            ("P54", "<subject> plays for <object>."),
            "Ada",
            {"undated": "Ada plays for |.", "no_subject": "This player plays for |."},
        ),
        (
            ("P286", "<object> is the head coach of <subject>."),
            "1. FC Köln",
            {
                "undated": "| is the head coach of 1. FC Köln.",
                "no_subject": "| is the head coach of this team.",
                "object_last": "The name of the head coach of 1. FC Köln is |.",
                "no_subject_object_last": "The name of the head coach of this team is |.",
            },
        ),
        (
            ("P488", "<object> is the chair of <subject>."),
            "Frog Ropes",
            {
                "undated": "| is the chair of Frog Ropes.",
                "no_subject": "| is the chair of this organization.",
                "object_last": "The name of the chair of the Frog Ropes is |.",
                "no_subject_object_last": "The name of the chair of the organization is |.",
            },
        ),
        (
            ("P6", "<object> is the head of the government of <subject>."),
            "Reed",
            {
                "undated": "| is the head of the government of Reed.",
                "no_subject": "| is the head of the government of this place.",
                "object_last": "The name of the head of the government of Reed is the |.",
                "no_subject_object_last": "The name of the head of the government of this place is the |.",
            },
        ),
        (
            ("P108", "<subject> has a job. <subject> works for <object>."),
            "Ada",
            {
                "undated": "Ada has a job. Ada works for |.",
                "no_subject": "This person has a job. This person works for |.",
            },
        ),
        (
            ("P54", "The name of the team that <subject> plays for is <object>."),
            "the object",
            {
                "undated": "The name of the team that the object plays for is |.",
                "no_subject": "The name of the team that this player plays for is |.",
            },
        ),
        (("P54", "Nobody knows <object>, club of <subject>."), "Ada", {"undated": "Nobody knows |, club of Ada."}),
        (("P17", "<object> has <subject>."), "Ada", {"undated": "| has Ada."}),
    ],
)
def test_a_query_in_its_variants(wording, subject, expected):
    relation, words = wording
    forms = forms_of(Template(relation, "en", words), subject)
    assert {variant: "|".join(form) for variant, form in forms.items()} == expected


def test_every_wording_of_ours_has_a_noun_and_a_sentence_begins_with_a_capital():
    for name in ("templama", "dynamic", "dynamic_improved"):
        for template in template_set(name):
            query = template.ask_without_subject()
            assert query.count("_X_") == 1
            assert query.startswith("_X_") or query[0].isupper()
            assert "the this" not in query
            assert template.begins_with_object == (template.ending_with_object() is not None)
    spanish = Template("P54", "es", "¿<subject> juega en <object>? Sí, <subject>.", subject_noun="este jugador")
    assert spanish.ask_without_subject() == "¿Este jugador juega en _X_? Sí, este jugador."
    turkish = Template("P54", "tr", "<subject> şurada oynar: <object>.", subject_noun="iyi bilinen bu oyuncu")
    assert turkish.ask_without_subject() == "İyi bilinen bu oyuncu şurada oynar: _X_."
    assert spanish.ending_with_object() is None


def test_a_noun_of_ones_own_comes_from_a_column_and_is_a_part_of_the_design(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(
        "relation,language,wording,subject_noun\n"
        "P54,en,<subject> kicks for <object>.,this kicker\nP54,en,<subject> plays for <object>.,\n",
        "utf-8",
    )
    mine, ours = read_templates(path)
    assert mine.ask_without_subject() == "This kicker kicks for _X_."
    assert mine.to_json() == {
        "relation": "P54",
        "language": "en",
        "wording": "<subject> kicks for <object>.",
        "name": "",
        "subject_noun": "this kicker",
    }
    # Designs without nouns of their own have the bytes that they always had.
    assert ours.to_json() == {
        "relation": "P54",
        "language": "en",
        "wording": "<subject> plays for <object>.",
        "name": "",
    }
    assert ours.ask_without_subject() == "This player plays for _X_."
    path.write_text("relation,language,wording,subject_noun\nP54,en,<subject> is <object>.,a <object>\n", "utf-8")
    with pytest.raises(DesignError, match=r"line 2: .*subject_noun is 'a <object>'; expected words such as"):
        read_templates(path)


@pytest.mark.slow
def test_the_prompts_of_two_players_and_a_coach(home):
    coached = item(
        "Q9",
        "York City",
        "York City",
        P286=[said("Q9$1", "Q11", "2018-01-01", "2019-05-31"), said("Q9$2", "Q12", "2019-06-01", "")],
    )
    kicks = player(3, "York City", ("York", "2018-01-01", ""))
    store = home(ADA, BO, coached, kicks, item("Q11", "Ida", "Ida"), item("Q12", "Kai", "Kai"))
    made = release(store, windows="2019-01-01..2020-01-01", min_objects="1")
    # Ada has two answers, Reed has left, and the objects of Bo's change are asked in their place.
    assert asked(store, "Q1_P54_2019-Q3") == {
        ("current", "Q102", None, "Ada plays for |Salt|."),
        ("current", "Q103", None, "Ada plays for |Moss|."),
        ("previous", "Q101", None, "Ada plays for |Reed|."),
        ("control", "Q104", "Q101", "Ada plays for |Fern|."),
        ("control", "Q105", "Q102", "Ada plays for |Zürich|."),
    }
    assert asked(store, "Q2_P54_2019-Q3", variant="no_subject") == {
        ("current", "Q105", None, "This player plays for |Zürich|."),
        ("previous", "Q104", None, "This player plays for |Fern|."),
        ("control", "Q101", "Q104", "This player plays for |Reed|."),
        ("control", "Q102", "Q105", "This player plays for |Salt|."),
    }
    # In the quarter of the change both are answers, and later it is over.
    assert {role for role, *_ in asked(store, "Q1_P54_2019-Q2")} == {"current"}
    assert {(role, target) for role, target, *_ in asked(store, "Q1_P54_2019-Q4")} == {
        ("current", "Q102"),
        ("current", "Q103"),
    }
    assert asked(store, "Q3_P54_2019-Q3", variant="dated") == {
        ("current", "Q106", None, "quarter: 2019-Q3 York City plays for |York|.")
    }
    # Nobody else got another coach, so there is no control.
    assert {variant: asked(store, "Q9_P286_2019-Q3", variant=variant) for variant in ("object_last", "undated")} == {
        "object_last": {
            ("current", "Q12", None, "The name of the head coach of York City is |Kai|."),
            ("previous", "Q11", None, "The name of the head coach of York City is |Ida|."),
        },
        "undated": {
            ("current", "Q12", None, "|Kai| is the head coach of York City."),
            ("previous", "Q11", None, "|Ida| is the head coach of York City."),
        },
    }
    assert left_out(store) == {("control", "2019-07-01"): 1}
    (row,) = rows_of(store, item_id="Q9_P286_2019-Q3", target_id="Q11", variant="no_subject_object_last")
    subject = store.read("fact_subjects", subject_id="Q9").to_pylist()[0]
    assert row == {
        "release": made.name,
        "window_start": made.design.windows()[2].start,
        "item_id": "Q9_P286_2019-Q3",
        "target_id": "Q11",
        "variant": "no_subject_object_last",
        "prompt_id": Prompt("The name of the head coach of this team is ", "Ida", ".").prompt_id,
        "left_context": "The name of the head coach of this team is ",
        "target": "Ida",
        "right_context": ".",
        "role": "previous",
        "stands_for_id": None,
        "cluster_id": "Q9",
        "split": subject["split"],
    }


@pytest.mark.slow
def test_of_a_change_of_two_each_pair_gets_a_pair_and_no_object_twice(home):
    several = player(
        1,
        "Ada",
        ("Reed", "2018-01-01", "2019-05-10"),
        ("Salt", "2018-01-01", "2019-05-10"),
        ("Moss", "2019-05-11", ""),
        ("Fern", "2019-05-11", ""),
    )
    others = [
        player(2, "Bo", ("Zürich", "2018-01-01", "2019-05-10"), ("York", "2019-05-11", "")),
        player(3, "Cy", ("Ash", "2018-01-01", "2019-05-10"), ("Elm", "2019-05-11", "")),
    ]
    store = home(several, *others)
    release(store, windows="2019-01-01..2020-01-01")
    rows = asked(store, "Q1_P54_2019-Q3")
    assert {target for role, target, *_ in rows if role == "previous"} == {NUMBER["Reed"], NUMBER["Salt"]}
    stands_for = {target: other for role, target, other, _ in rows if role == "control"}
    assert sorted(stands_for) == [NUMBER[one] for one in ("Zürich", "York", "Ash", "Elm")]
    # By the rule `handover` the nearest arrivals by number took over: Moss from Reed, Fern from Salt.
    pairs = {(stands_for[NUMBER["Zürich"]], stands_for[NUMBER["York"]])}
    pairs |= {(stands_for[NUMBER["Ash"]], stands_for[NUMBER["Elm"]])}
    assert pairs == {(NUMBER["Reed"], NUMBER["Moss"]), (NUMBER["Salt"], NUMBER["Fern"])}


@pytest.mark.slow
def test_controls_come_from_the_nearest_earlier_window_if_there_is_none_in_this(home):
    store = home(
        ADA,
        player(2, "Bo", ("Fern", "2018-01-01", "2018-08-20"), ("Zürich", "2018-08-21", "")),
        player(3, "Cy", ("Elm", "2018-01-01", "2018-11-20"), ("Ash", "2018-11-21", "")),
        # His objects are Ada's own, so they are no control for her.
        player(4, "Di", ("Moss", "2018-01-01", "2019-05-20"), ("Salt", "2019-05-21", "")),
    )
    made = release(store, windows="2018-04-01..2020-01-01")
    controls = {(target, other) for role, target, other, _ in asked(store, "Q1_P54_2019-Q3") if role == "control"}
    assert controls == {(NUMBER["Elm"], NUMBER["Reed"]), (NUMBER["Ash"], NUMBER["Salt"])}
    used = {
        row["name"]
        for row in store.read("manifest", table_name="dynamic_templama_prompts", role="input").to_pylist()
        if row["partition"] == f"{made.name}.2019-07-01"
    }
    assert {one for one in used if one.startswith("dynamic")} == {
        f"dynamic_templama_queries {made.name}.2019-07-01",
        f"dynamic_templama_changes {made.name}.2019-07-01",
        f"dynamic_templama_changes {made.name}.2019-01-01",
    }


@pytest.mark.slow
def test_an_object_with_the_name_of_an_answer_is_not_previous(home):
    moved = [said("Q1$1", "Q118", "2018-01-01", "2019-05-10"), said("Q1$2", "Q102", "2019-05-11", "")]
    store = home(item("Q118", "Salt", "Salt (town)"), item("Q1", "Ada", "Ada", P54=moved))
    release(store, windows="2019-01-01..2020-01-01")
    assert asked(store, "Q1_P54_2019-Q3") == {("current", "Q102", None, "Ada plays for |Salt|.")}
    assert left_out(store) == {("previous", "2019-07-01"): 1}


@pytest.mark.slow
def test_by_year_the_object_that_came_may_have_come_in_the_last_year_of_the_other(home):
    store = home(
        ADA,
        BO,
        # Both were there for years, so that neither came for the other.
        player(3, "Cy", ("York", "2016-01-01", "2019-06-30"), ("Ash", "2016-01-01", "")),
        # At the turn of a year, which is seen in the year before that of the others.
        player(4, "Di", ("Moss", "2016-01-01", "2018-12-31"), ("Elm", "2019-01-01", "")),
    )
    release(store, TEMPLAMA, windows="2018-01-01..2021-01-01", granularity="year")
    assert asked(store, "Q2_P54_2020", TEMPLAMA) == {
        ("current", "Q105", None, "Bo plays for |Zürich|."),
        ("previous", "Q104", None, "Bo plays for |Fern|."),
        ("control", "Q101", "Q104", "Bo plays for |Reed|."),
        ("control", "Q102", "Q105", "Bo plays for |Salt|."),
    }
    assert asked(store, "Q3_P54_2020", TEMPLAMA) == {
        ("current", "Q107", None, "Cy plays for |Ash|."),
        ("previous", "Q106", None, "Cy plays for |York|."),
    }
    assert asked(store, "Q4_P54_2019", TEMPLAMA, "dated") == {
        ("current", "Q108", None, "year: 2019 Di plays for |Elm|."),
        ("previous", "Q103", None, "year: 2019 Di plays for |Moss|."),
    }
    assert left_out(store, TEMPLAMA) == {("control", "2019-01-01"): 1}
    future = rows_of(store, TEMPLAMA, variant="future")
    assert len(future) == 54 * 200 + 32 * 249
    assert {(one["item_id"], text(one).replace("|", "")) for one in future} == {
        (f"future.{row['query_no']}", row["query"].replace("_X_", one["label"]))
        for row in store.read("future_relation_queries").to_pylist()
        for one in row["answers"]
    }
    (row,) = (one for one in future if one["item_id"] == "future.1" and one["target_id"] == "5368361")
    assert (text(row), row["role"], row["cluster_id"]) == (
        "The Super Bowl will take place in |Los Angeles|.",
        "candidate",
        "future.1",
    )
    assert {(one["window_start"], one["split"], one["stands_for_id"]) for one in future} == {(None, None, None)}


def test_without_a_noun_or_another_wording_the_variants_are_left_out_and_counted(home, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("relation,language,wording\nP54,en,<object> has <subject>.\n", "utf-8")
    store = home(ADA)
    release(store, windows="2019-01-01..2019-04-01", templates=[str(path)])
    assert {row["variant"]: text(row) for row in rows_of(store, target_id="Q101")} == {
        "undated": "|Reed| has Ada.",
        "dated": "quarter: 2019-Q1 |Reed| has Ada.",
        "object_last": "The name of the team that Ada plays for is |Reed|.",
        "no_subject_object_last": "The name of the team that this player plays for is |Reed|.",
    }
    assert left_out(store) == {("no_subject", "2019-01-01"): 2}


@pytest.mark.slow
def test_a_longer_study_asks_only_its_new_undated_prompts(home):
    store = home(ADA, BO)
    first = release(store, windows="2019-01-01..2019-07-01")
    second = release(store, windows="2019-01-01..2020-01-01")

    def ids(made, *variants):
        return {row["prompt_id"] for row in rows_of(store, release=made.name) if row["variant"] in variants}

    # Reed, Salt, Moss for Ada, Fern and Zürich for Bo, in 2019-Q1 and Q2; then two controls each.
    assert len(ids(first, "undated")) == 5
    assert len(ids(second, "undated")) == 9
    assert ids(first, "undated") <= ids(second, "undated")
    # Without the subject, the controls are what the other player is asked: nothing is new.
    assert ids(first, "no_subject") == ids(second, "no_subject")
    assert len(ids(first, "dated")) == 3 + 5
    assert len(ids(second, "dated")) == 3 + 5 + 5 + 4 + 3


def lowest(seed, change, candidates):
    """The change with the lowest score, one at a time."""
    own, others = (
        [draw(seed, "control", one.subject_id, one.relation, one.old.object_id, one.new.object_id) for one in some]
        for some in ([change], candidates)
    )
    return candidates[min(range(len(others)), key=lambda at: splitmix(own[0] ^ splitmix(others[at])))]


def test_draws_agree_with_an_oracle_that_scores_one_at_a_time():
    chance = random.Random(5)
    names = [Object(f"Q{number}", f"Name {number % 37}") for number in range(60)]
    windows = [
        [Change(f"S{number}", "P54", *chance.sample(names, 2)) for number in chance.sample(range(40), n)]
        for n in (2, 30, 0, 5)
    ]
    own = {f"S{number}": {one.object_id for one in chance.sample(names, 35)} for number in range(40)}
    controls, n_earlier, n_none = Controls(7), 0, 0
    for at, changes in enumerate(windows):
        controls.add(str(at), changes)
        found = {one.change: one for one in controls.draw(changes, Known(own))}
        for change in changes:
            expected = None
            for before in range(at, -1, -1):
                fitting = [
                    one
                    for one in windows[before]
                    if one.subject_id != change.subject_id
                    and not {one.old.object_id, one.new.object_id} & own[change.subject_id]
                ]
                if fitting:
                    expected = (lowest(7, change, fitting), str(before))
                    n_earlier += before < at
                    break
            n_none += expected is None
            drawn = found.get(change)
            assert (drawn and (drawn.drawn, drawn.window)) == expected
    assert n_earlier
    assert n_none


def test_pairs_are_one_to_one_and_the_first_ones_first():
    candidates = [
        ("s", "p", "a", "x"),
        ("s", "p", "a", "y"),
        ("s", "p", "b", "x"),
        ("s", "p", "c", "x"),
        ("s", "q", "a", "x"),
    ]
    assert one_to_one(candidates) == {("s", "p", "a"): "x", ("s", "q", "a"): "x"}


def test_an_answer_that_is_not_asked_is_noticed(home):
    store = home(ADA)
    made = release(store, windows="2019-01-01..2019-04-01")
    promise = every_answer_asked(DYNAMIC_TEMPLAMA_QUERIES, DYNAMIC_TEMPLAMA_PROMPTS)
    rows = store.read(DYNAMIC_TEMPLAMA_PROMPTS.name)
    for kept, n_broken in ((rows, 0), (rows.filter(pc.not_equal(rows["target_id"], "Q103")), 1)):
        store.write(DYNAMIC_TEMPLAMA_PROMPTS, f"{made.name}.2019-01-01", [kept], Provenance())
        mark_built(store, made.name)
        assert len(broken(store, promise, [made.name])) == n_broken


@pytest.mark.slow
def test_changes_by_the_sets_rule_have_previous_objects_and_controls_as_well(home):
    store = home(ADA, BO)
    release(store, windows="2019-01-01..2020-01-01", changes="sets")
    assert set(store.read(DYNAMIC_TEMPLAMA_CHANGES.name)["role"].to_pylist()) == {None}
    assert {row[:3] for row in asked(store, "Q1_P54_2019-Q3")} == {
        ("current", "Q102", None),
        ("current", "Q103", None),
        ("previous", "Q101", None),
        ("control", "Q104", "Q101"),
        ("control", "Q105", "Q102"),
    }


def test_spells_are_asked_with_a_date_on_which_they_hold_and_dates_on_which_they_do_not(home, monkeypatch):
    returns = player(
        3, "Cy", ("Fern", "2019-02-10", "2019-08-20"), ("Fern", "2020-04-01", "2020-10-10"), ("Salt", "2018-01-01", "")
    )
    made = release(store := home(returns, BO), windows="2019-01-01..2021-01-01")
    rows = rows_of(store, variant="dates")
    found = {}
    for row in rows:
        query, label = row["item_id"].split("@")
        assert text(row) == f"quarter: {label} {'Bo' if 'Q2_' in query else 'Cy'} plays for |{row['target']}|."
        assert query.endswith(str(windows_of(made)[row["window_start"]]))
        found.setdefault((query, row["target_id"]), {}).setdefault(row["role"], set()).add(label)
    # Of Salt there is no wrong date. Fern holds for the whole of one quarter of either spell.
    certain = {"Q104": [{"2019-Q2"}, {"2020-Q2", "2020-Q3"}, {"2019-Q1"}], "Q105": [{"2019-Q3", "2019-Q4", *LAST}]}
    outside = {
        ("Q3", "Q104"): {"2019-Q4", "2020-Q1"},
        ("Q2", "Q104"): {"2019-Q3", "2019-Q4", *LAST},
        ("Q2", "Q105"): {"2019-Q1"},
    }
    asked_about = set()
    for (query, target), roles in found.items():
        subject = query.split("_")[0]
        (right,) = roles["current"]
        assert query.endswith(right)
        assert any(right in some for some in certain[target])
        wrong = roles["wrong_date"]
        assert wrong <= outside[subject, target]
        assert len(wrong) == min(5, len(outside[subject, target]))
        asked_about.add((subject, target, right))
    assert {one[:2] for one in asked_about} == set(outside)
    assert len(asked_about) == 4

    monkeypatch.setattr(prompt_building, "MOST_SPELLS", 2)
    fewer = release(store, windows="2019-01-01..2021-01-01", seed="7")
    rows = rows_of(store, variant="dates", release=fewer.name)
    assert sum(row["role"] == "current" for row in rows) == 2


LAST = ("2020-Q1", "2020-Q2", "2020-Q3", "2020-Q4")


def windows_of(made):
    return {window.start: window.label for window in made.design.windows()}
