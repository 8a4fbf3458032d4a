"""Views about time and entities: scores by gap, what a model cannot have read, one entity in several benchmarks."""

import math
from datetime import UTC, date, datetime

import pytest

from tempkb_tests.results.worlds import GPT, Q1, Q2, Q3, Q4, Cloze, Facts, clustered, figures

EXP = math.exp
DAY = date(2021, 4, 1)


class Both(Cloze, Facts):
    """Items of both kinds."""


@pytest.fixture
def both():
    world = Both()
    world.model("m", DAY, DAY)
    world.model("undated")
    world.add("fact_releases", release="r", granularity="quarter")
    world.add("fact_releases", release="y", granularity="year")
    return world


def test_gaps_are_days_from_the_models_knowledge_to_the_window(both):
    both.model("broad", date(2021, 2, 1), date(2021, 5, 1))
    for model in ("m", "undated", "broad"):
        for number, (arrival, left) in enumerate(((Q1, Q2), (Q2, Q3), (Q3, Q4))):
            subject = f"S{number}"
            if model == "m":
                both.handover(subject, "Salt", "Reed", arrival, left)
            both.tell(subject, {"Reed": -1, "Salt": -2}, model=model)
    found = {
        (row["model"], row["window_start"]): (row["gap_days"], row["gap_days_at_most"], row["position"])
        for row in both.read("scores_by_gap", aggregate="prefers_new_raw", split="all")
    }
    # By the window in which the new object has begun.
    assert found == {
        ("m", Q1): (-90, -90, "before"),
        ("m", Q2): (0, 0, "after"),
        ("m", Q3): (91, 91, "after"),
        ("broad", Q1): (-120, -31, "inside"),
        ("broad", Q2): (-30, 59, "inside"),
        ("broad", Q3): (61, 150, "after"),
        ("undated", Q1): (None, None, None),
        ("undated", Q2): (None, None, None),
        ("undated", Q3): (None, None, None),
    }
    ends = {(row["granularity"], row["window_start"], row["window_end"]) for row in both.read("scores_by_gap")}
    assert ends == {("quarter", Q1, Q2), ("quarter", Q2, Q3), ("quarter", Q3, Q4), ("quarter", Q4, date(2022, 1, 1))}


def test_gaps_show_every_benchmark(both):
    both.handover("Ann", "Salt", "Reed")
    both.tell("Ann", {"Reed": -1, "Salt": -3}, scorer=GPT)
    both.item("a1", "A", 1, origin=date(2021, 5, 9))
    both.item("a2", "A", {"original": 3, "no_ent": 9}, origin=date(2021, 5, 9))
    both.item("b1", "B", 5, origin=date(2021, 1, 1), granularity="year")
    both.item("p1", "P", 9, origin=date(2021, 1, 1), subset="popular", granularity=None)
    both.prompt("templama", date(2021, 1, 1), "Ann_P54_2021", "Reed", "Ann Reed undated", "Ann", release="y")
    rows = both.read("scores_by_gap", split="test")
    found = {(row["benchmark"], row["granularity"], row["window_start"], row["aggregate"]): row for row in rows}
    values = {key: (row["value"], row["n_items"], row["position"]) for key, row in found.items()}
    year = date(2021, 1, 1)
    expected = {
        ("ecbd", "quarter", Q2, "ppl_entity_macro"): (EXP(2), 2, "after"),
        # Both entities are of the year, and only one of them has a finer origin.
        ("ecbd", "year", year, "ppl_entity_macro"): (EXP((2 + 5) / 2), 3, "inside"),
        ("templama", "year", year, "ppl_token"): (EXP(1 / 2), 1, "inside"),
        ("dynamic_templama", "quarter", Q2, "ppl_token"): (EXP(4 / 4), 2, "after"),
        ("dynamic_templama", "quarter", Q3, "ppl_token"): (EXP(1 / 2), 1, "after"),
        ("dynamic_templama", "quarter", Q2, "prefers_new_raw"): (1, 1, "after"),
    }
    assert values == {
        key: pytest.approx(one) if key[0] == "" else (pytest.approx(one[0]), *one[1:]) for key, one in expected.items()
    }
    assert {row["scorer"] for row in rows} == {GPT, "causal.span-1.f32"}


def test_gaps_have_clustered_intervals(both):
    for number in range(10):
        both.item(f"i{number}", f"E{number}", 1 + number / 5)
    value, error, low, high = clustered([1 + number / 5 for number in range(10)], range(10))
    row = both.one("scores_by_gap", granularity="quarter")
    assert figures(row) == pytest.approx((EXP(value), EXP(value) * error, EXP(low), EXP(high)), rel=1e-4)


def test_an_entity_is_joined_across_benchmarks_by_item_and_window(both):
    both.item("a1", "Ann", 1, origin=date(2021, 5, 9))
    both.item("a2", "Ann", 4, origin=date(2021, 5, 9), scorer="causal.span_end-1.f32")
    both.rows["ecbd_cloze"][-1]["sentence"] = "about a1"
    both.score("a2 original", -2.0, scorer="causal.span-1.f32")
    # The same item in another release counts once.
    both.item("a1", "Ann", {"original": None}, release="f", origin=date(2021, 5, 9))
    both.prompt("ecbd", Q2, "a1", "answer", "a1 original", "Ann", release="f", variant="original")
    both.handover("Ann", "Salt", "Reed")
    both.query(Q2, "Reed Town", "Ann", relation="P6")
    both.query(Q3, "Reed Town", "Ann", relation="P6")
    both.tell("Ann", {"Reed": -1, "Salt": -6}, scorer=GPT)
    both.tell("Ann", {"Reed": -3, "Salt": -3}, scorer=GPT, variant="no_subject")
    both.tell("Reed Town", {"Ann": -8}, scorer=GPT)
    both.tell("Ann", {"Reed": -50, "Salt": -60}, scorer="causal.sentence-1.f32")
    found = {row["window_start"]: row for row in both.read("entity_knowledge", entity_id="Ann")}
    columns = ("n_sentences", "n_cloze_items", "nats_per_token", "n_facts_as_subject", "nats_per_token_as_subject")
    more = ("n_changes", "prefers_new", "n_facts_as_object", "nats_per_token_as_object")
    assert {day: tuple(row[name] for name in columns) for day, row in found.items()} == {
        Q2: (1, 2, 1, 2, 7 / 4),
        Q3: (0, 0, None, 1, 1 / 2),
        None: (1, 2, 1, 2, 7 / 4),
    }
    assert {day: tuple(row[name] for name in more) for day, row in found.items()} == {
        # Reed came in the second quarter; Salt has left in the third.
        Q2: (1, 1, 1, 4),
        Q3: (0, None, 1, 4),
        None: (1, 1, 1, 4),
    }
    assert {(row["model"], row["numbers"]) for row in found.values()} == {("m", "1.f32")}
    assert {row["entity_id"] for row in both.read("entity_knowledge")} == {"Ann", "Salt", "Reed", "Reed Town"}


def at(*day):
    return datetime(*day, 12, tzinfo=UTC)


def leak_free(world, **equal):
    return {(row["item_id"], row["target_id"]): row for row in world.read("leak_free_items", model="m", **equal)}


def test_sentences_are_leak_free_if_sentence_origin_and_page_are_later(both):
    def item(name, origin, since, created, is_first=False):
        both.item(name, name, 1, origin=origin, sentence_since=since, is_since_first_window=is_first)
        page = len(both.rows["ecbd_entities"]) + 1
        both.rows["ecbd_cloze"][-1]["page_id"] = page
        both.add("ecbd_entities", release="e", page_id=page, page_created_at=created)

    item("all later", date(2021, 5, 1), date(2021, 7, 1), at(2021, 5, 20))
    item("on the day", DAY, DAY, at(2021, 4, 1))
    item("page tells more", date(2021, 5, 1), date(2021, 4, 1), at(2021, 6, 1))
    item("old sentence", date(2021, 5, 1), date(2021, 1, 1), at(2020, 5, 1))
    item("old page", date(2021, 5, 1), date(2021, 7, 1), at(2021, 3, 31))
    item("old entity", date(2021, 3, 31), date(2021, 7, 1), at(2021, 5, 1))
    item("first window, new page", date(2021, 5, 1), date(2021, 4, 1), at(2021, 4, 11), is_first=True)
    item("first window, old page", date(2021, 5, 1), date(2021, 4, 1), at(2021, 3, 1), is_first=True)
    item("first window, page of unknown age", date(2021, 5, 1), date(2021, 4, 1), None, is_first=True)
    item("no origin", None, date(2021, 7, 1), at(2021, 7, 1))
    item("page of unknown age", date(2021, 5, 1), date(2021, 7, 1), None)
    found = leak_free(both, benchmark="ecbd")
    days = {item: (row["evidence_day"], row["statement_day"], row["days_after"]) for (item, _), row in found.items()}
    assert days == {
        "all later": (date(2021, 7, 1), date(2021, 5, 20), 30),
        "on the day": (DAY, DAY, 0),
        "page tells more": (date(2021, 6, 1), date(2021, 6, 1), 30),
        "first window, new page": (date(2021, 4, 11), date(2021, 4, 11), 10),
        "page of unknown age": (date(2021, 7, 1), None, 30),
    }
    assert {item for (item, _), row in found.items() if not row["statement_is_known"]} == {"page of unknown age"}
    assert {target for _, target in found} == {"answer"}
    assert both.read("leak_free_items", model="undated") == []


def test_facts_are_leak_free_if_their_object_came_later_and_no_dump_had_them(both):
    dumps = (date(2021, 2, 1), date(2021, 6, 1), date(2021, 9, 1))

    def fact(subject, begins, having, described=dumps, object_id="Reed", table="facts"):
        both.query(Q3, subject, object_id)
        for begin in begins:
            both.add(
                "fact_spells", release="r", subject_id=subject, relation="P54", object_id=object_id, valid_from=begin
            )
        for day in described:
            if day in having:
                both.add(table, dump_date=day, subject_id=subject, relation="P54", object_id=object_id)
            both.add("wikidata_entities", dump_date=day, entity_id=subject)

    later, earlier = date(2021, 5, 1), date(2021, 3, 1)
    fact("told later", [later], dumps[2:])
    fact("told between", [later], dumps[1:])
    fact("told before", [later], dumps)
    fact("told on the day", [later], (DAY, *dumps[1:]), described=(dumps[0], DAY, *dumps[1:]))
    fact("told before without a date", [later], dumps, table="undated_statements")
    fact("not described before", [later], dumps[2:], described=dumps[2:])
    fact("described before the day only", [later], dumps[2:], described=(dumps[0], dumps[2]))
    fact("held before", [earlier], dumps[2:])
    fact("came back", [date(2019, 1, 1), later], dumps[2:])
    fact("since unknown", [None], dumps[2:])
    found = leak_free(both, benchmark="dynamic_templama")
    days = {item.split("_")[0]: (row["statement_day"], row["days_after"]) for (item, _), row in found.items()}
    assert days == {
        "told later": (dumps[1], 30),
        # No dump between the model's day and the first that has it: the statement may be older or younger.
        "told between": (None, 30),
        "not described before": (None, 30),
        "described before the day only": (None, 30),
    }
    assert {row["evidence_day"] for row in found.values()} == {None}
    assert {row["origin_day"] for row in found.values()} == {later}
    assert [row["statement_is_known"] for row in found.values()].count(True) == 1


def test_dumps_need_not_be_there(both):
    both.query(Q3, "Ann", "Reed")
    both.add(
        "fact_spells", release="r", subject_id="Ann", relation="P54", object_id="Reed", valid_from=date(2021, 5, 1)
    )
    ((row),) = leak_free(both).values()
    assert (row["days_after"], row["statement_is_known"]) == (30, False)


def test_queries_that_gain_an_answer_and_keep_one_are_counted():
    world = Facts()
    for subject, year, answers in (
        ("A", 2018, "xy"),
        ("A", 2019, "yz"),  # gains z, keeps y
        ("A", 2020, "y"),  # gains nothing
        ("B", 2018, "x"),
        ("B", 2019, "w"),  # gains w, keeps nothing
        ("C", 2018, "x"),
        ("C", 2020, "xw"),  # 2019 is missing
        ("D", 2020, "xy"),  # new altogether
        ("E", 2019, "xx"),
        ("E", 2020, "xy"),  # gains y, keeps x
    ):
        world.query(date(year, 1, 1), subject, *answers)
    world.rows["templama_queries"] = world.rows["dynamic_templama_queries"]
    (row,) = (row for row in world.read("stale_answers") if row["window_start"] is None)
    assert (row["n_queries"], row["n_gaining"], row["n_keeping"]) == (4, 3, 2)


def test_stale_answers_of_built_releases_are_by_window():
    world = Facts()
    years = [date(year, 1, 1) for year in (2018, 2019, 2020)]
    for release, given in (("r", ("xy", "yz", "y")), ("s", ("x", "w", "wv"))):
        for year, objects in zip(years, given, strict=True):
            world.query(year, "A", *objects, release=release)
    world.rows["templama_queries"] = world.rows["dynamic_templama_queries"]
    found = {
        (row["release"], row["window_start"]): (row["n_queries"], row["n_gaining"], row["n_keeping"], row["keeps_one"])
        for row in world.read("stale_answers")
    }
    assert found == {
        ("r", years[1]): (1, 1, 1, 1),
        ("r", years[2]): (1, 0, 0, None),
        ("r", None): (2, 1, 1, 1),
        ("s", years[1]): (1, 1, 0, 0),
        ("s", years[2]): (1, 1, 1, 1),
        ("s", None): (2, 2, 1, 0.5),
    }
