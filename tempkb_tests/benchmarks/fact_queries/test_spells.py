"""From facts to queries: small stories with rows by hand, and random ones against a day-by-day oracle."""

import random
from datetime import date, timedelta

import pytest

from tempkb.core.errors import DesignError
from tempkb_tests.benchmarks.fact_queries.worlds import (
    DAY,
    DUMP,
    TEMPLAMA,
    answers,
    players,
    release_without_prompts,
)
from tempkb_tests.wiki.wikidata.items import item, read_home, said, time

PLAYS = "{} plays for _X_."


@pytest.fixture
def home(tmp_path, monkeypatch):
    return lambda entities, **settings: read_home(tmp_path, monkeypatch, {DAY: entities}, **settings)


def of(store, name, **equal):
    """Answers of a player by date."""
    return {when: found for (query, when), found in answers(store, **equal).items() if query == PLAYS.format(name)}


def left_out(store, table):
    rows = store.read("exclusions", recorded_in=table).to_pylist()
    return {row["reason"]: row["n"] for row in rows}


def test_answers_are_all_that_hold_in_a_window_by_when_they_began(home):
    store = home(
        players(Ada=[("Q102", "2018", "2019-05-10"), ("Q101", "2019-05-10", "2019-12-31"), ("Q103", "2020-07", "")])
    )
    release_without_prompts(store)
    assert of(store, "Ada") == {
        "2019-Q1": ["Salt"],
        "2019-Q2": ["Salt", "Reed"],
        "2019-Q3": ["Reed"],
        "2019-Q4": ["Reed"],
        "2020-Q3": ["Moss"],
        "2020-Q4": ["Moss"],
    }


@pytest.mark.slow
def test_every_granularity_asks_of_its_own_windows(home):
    store = home(players(Ada=[("Q101", "2019-01-01", "2020-03-01"), ("Q102", "2020-03-02", "2020-03-10")]))
    for granularity, windows in (
        ("year", "2019-01-01..2021-01-01"),
        ("month", "2020-02-01..2020-05-01"),
        ("week", "2020-02-24..2020-03-16"),
    ):
        release_without_prompts(store, windows=windows, granularity=granularity)
    found = of(store, "Ada")
    assert {when: found[when] for when in sorted(found)} == {
        "2019": ["Reed"],
        "2020": ["Reed", "Salt"],
        "2020-02": ["Reed"],
        "2020-03": ["Reed", "Salt"],
        # The week of Monday, 24 February ends on Sunday, 1 March, the last day at Reed.
        "2020-W09": ["Reed"],
        "2020-W10": ["Salt"],
        "2020-W11": ["Salt"],
    }


@pytest.mark.slow
def test_a_gap_is_kept_and_a_spell_inside_another_cuts_nothing_short(home):
    store = home(
        players(
            Gap=[
                ("Q101", "2019-01-10", "2019-02-10"),
                ("Q101", "2020-01-10", "2020-02-10"),
                ("Q102", "2019-07-01", "2019-07-02"),
            ],
            Nest=[
                ("Q101", "2018-01-01", "2020-12-31"),
                ("Q101", "2019-01-01", "2019-01-31"),
                ("Q102", "2020-01-01", "2020-01-02"),
            ],
            Touch=[
                ("Q101", "2019-01-01", "2019-03-31"),
                ("Q101", "2019-04-01", "2019-12-31"),
                ("Q102", "2020-01-01", ""),
            ],
        )
    )
    release_without_prompts(store)
    spells = [
        (
            row["subject_id"],
            row["object_id"],
            row["spell_no"],
            str(row["valid_from"]),
            str(row["valid_to"]),
            [one["fact_id"] for one in row["members"]],
        )
        for row in store.read("fact_spells").to_pylist()
    ]
    assert spells == [
        ("Q1", "Q101", 1, "2019-01-10", "2019-02-11", ["Q1$0"]),
        ("Q1", "Q101", 2, "2020-01-10", "2020-02-11", ["Q1$1"]),
        ("Q1", "Q102", 1, "2019-07-01", "2019-07-03", ["Q1$2"]),
        ("Q2", "Q101", 1, "2018-01-01", "2021-01-01", ["Q2$0", "Q2$1"]),
        ("Q2", "Q102", 1, "2020-01-01", "2020-01-03", ["Q2$2"]),
        # The day after the last is the first: nothing lies between.
        ("Q3", "Q101", 1, "2019-01-01", "2020-01-01", ["Q3$0", "Q3$1"]),
        ("Q3", "Q102", 1, "2020-01-01", "None", ["Q3$2"]),
    ]
    assert set(of(store, "Gap")) == {"2019-Q1", "2019-Q3", "2020-Q1"}
    assert len(of(store, "Nest")) == 8


@pytest.mark.slow
def test_an_open_end_is_closed_by_death(home):
    entities = players(
        Eva=[("Q101", "2019-01-01", ""), ("Q102", "2018-01-01", "2018-12-31"), ("Q103", "2020-03-01", "")]
    )
    entities[-1]["claims"]["P570"] = [said("Q1$d", time("2019-08"))]
    store = home(entities)
    release_without_prompts(store, windows="2018-01-01..2021-01-01")
    # She may have died on any day of August 2019; what begins after that cannot be true.
    assert list(of(store, "Eva").items())[-3:] == [("2019-Q1", ["Reed"]), ("2019-Q2", ["Reed"]), ("2019-Q3", ["Reed"])]
    found = left_out(store, "fact_spells")
    assert found["kept: its open end is closed by its subject's own end"] == 1
    assert found["begins after its subject ended"] == 1
    release_without_prompts(store, windows="2018-01-01..2021-01-01", close_at_death="false")
    assert len(answers(store)) == 7 + 12 - 7


GERMAN = "relation,language,wording\nP54,de,<subject> spielt für <object>.\n"


def german_players():
    entities = players(Ada=[("Q101", "2018-01-01", "2019-06-30"), ("Q102", "2019-07-01", "")])
    for one, name in zip(entities, ("Ried", "Salz", "Moos", "Ada"), strict=True):
        one["labels"]["de"] = {"language": "de", "value": name}
    return entities


@pytest.mark.slow
def test_templates_in_another_language_need_no_more_than_that_language(home, tmp_path):
    store = home(german_players(), languages="en,de")
    file = tmp_path / "de.csv"
    file.write_text(GERMAN, "utf-8")
    release_without_prompts(store, templates=[str(file)], language="de", windows="2019-01-01..2020-01-01")
    assert answers(store) == {
        ("Ada spielt für _X_.", "2019-Q1"): ["Ried"],
        ("Ada spielt für _X_.", "2019-Q2"): ["Ried"],
        ("Ada spielt für _X_.", "2019-Q3"): ["Salz"],
        ("Ada spielt für _X_.", "2019-Q4"): ["Salz"],
    }
    # Beside a set of ours, which is in English, only the German wordings are asked; the others are named.
    made = release_without_prompts(
        store, templates=["templama", str(file)], language="de", windows="2019-01-01..2020-01-01"
    )
    assert {query for query, _ in answers(store, release=made.name)} == {"Ada spielt für _X_."}
    unworded = store.read(
        "exclusions",
        recorded_in="fact_subjects",
        partition=made.name,
        reason="relation without a wording in the language",
    ).to_pylist()
    assert [(row["n"], row["example"]) for row in unworded] == [(8, "P39, P108, P102, P286, P69, P488, P6, P127")]


def test_a_language_that_is_not_there_is_named(home, tmp_path):
    file = tmp_path / "de.csv"
    file.write_text(GERMAN, "utf-8")
    store = home(german_players())
    with pytest.raises(DesignError, match="no template is in 'en', they are in de; .*--set language=de"):
        release_without_prompts(store, templates=[str(file)])
    with pytest.raises(DesignError, match="no template is in 'de', they are in en"):
        release_without_prompts(store, language="de")
    with pytest.raises(DesignError, match="the home has names in en only; .* TEMPKB_LANGUAGES=en,de tempkb build"):
        release_without_prompts(store, templates=[str(file)], language="de")


@pytest.mark.slow
def test_relations_that_no_statement_has_are_named(home, tmp_path):
    store = home(players(Ada=[("Q101", "2018-01-01", "2019-06-30"), ("Q102", "2019-07-01", "")]))
    file = tmp_path / "mine.csv"
    lines = [
        "P54,en,<subject> plays for <object>.",
        "P9998,en,<subject> likes <object>.",
        "P101,en,<subject> does <object>.",
    ]
    file.write_text("\n".join(["relation,language,wording", *lines]), "utf-8")
    made = release_without_prompts(store, templates=[str(file)], windows="2019-01-01..2020-01-01")
    assert {query for query, _ in answers(store)} == {PLAYS.format("Ada")}
    missing = store.read("exclusions", partition=made.name, reason="relation that no dated statement has").to_pylist()
    assert [(row["table_name"], row["n"], row["example"]) for row in missing] == [("fact_subjects", 2, "P101, P9998")]
    file.write_text("\n".join(["relation,language,wording", *lines[1:]]), "utf-8")
    with pytest.raises(DesignError, match=f"no statement of P101, P9998 in {DUMP} has a date and an item as value"):
        release_without_prompts(store, templates=[str(file)])


def ages(store, name, **equal):
    """Age in days of each answer of a player, by date."""
    rows = store.read("dynamic_templama_queries", **equal).to_pylist()
    return {
        row["date"]: {one["label"]: one["answer_age_days"] for one in row["answers"]}
        for row in rows
        if row["query"] == PLAYS.format(name)
    }


def test_answers_tell_how_old_they_are(home):
    """In days from the first possible day of the spell to the window's first; what begins in the window has none yet."""
    store = home(
        players(
            Ada=[("Q101", "2018-12-02", ""), ("Q102", "2019-05-10", "2019-07-01"), ("Q103", "", "2019-06-30")],
            # The first spell that holds in a window gives the answer; of 2019 the first day may be the start.
            Ben=[("Q101", "2019", "2019-04-01"), ("Q101", "2019-06-01", ""), ("Q102", "2019-04-02", "2019-04-03")],
        )
    )
    release_without_prompts(store, windows="2019-01-01..2019-10-01")
    assert ages(store, "Ada") == {
        "2019-Q1": {"Reed": 30, "Moss": None},
        "2019-Q2": {"Reed": 120, "Moss": None, "Salt": 0},
        "2019-Q3": {"Reed": 211, "Salt": 52},
    }
    assert ages(store, "Ben") == {"2019-Q1": {"Reed": 0}, "2019-Q2": {"Reed": 90, "Salt": 0}, "2019-Q3": {"Reed": 30}}


def test_by_the_released_rules_a_start_that_was_filled_in_tells_no_age(home):
    store = home(players(Ada=[("Q101", "", "2019-06-30"), ("Q102", "2018-07-01", "")]))
    release_without_prompts(store, preset="paper", windows="2019-01-01..2019-07-01")
    assert ages(store, "Ada") == {"2019-Q1": {"Reed": None, "Salt": 184}, "2019-Q2": {"Reed": None, "Salt": 274}}


def open_for_long():
    """Ada's start at Reed is 20 years before 1 January 2019, to the day; her start at Salt is told, and her end there."""
    return players(
        Ada=[("Q101", "1999-01-01", ""), ("Q102", "1951", "2020-12-31"), ("Q103", "2019-02-01", "")],
        Ben=[("Q101", "1951", ""), ("Q102", "2019-01-01", "2019-03-31"), ("Q103", "2019-04-01", "")],
    )


@pytest.mark.slow
def test_an_open_statement_counts_for_so_many_years(home):
    store = home(open_for_long())
    release_without_prompts(store, windows="2019-01-01..2019-07-01", max_open_years="20", min_objects="1")
    # On the very day of twenty years it is not more than twenty; who has an end is not asked.
    assert of(store, "Ada") == {"2019-Q1": ["Salt", "Reed", "Moss"], "2019-Q2": ["Salt", "Moss"]}
    assert of(store, "Ben") == {"2019-Q1": ["Salt"], "2019-Q2": ["Moss"]}
    found = left_out(store, "fact_spells")
    assert found["open for more than max_open_years before the study"] == 1
    assert found["no answer any more: was open for max_open_years"] == 1
    ends = {
        (row["subject_id"], row["object_id"]): (str(row["valid_to"]), row["end_kind"])
        for row in store.read("fact_spells").to_pylist()
    }
    assert ends["Q1", "Q101"] == ("2019-01-02", "open_too_long")
    assert ends["Q1", "Q103"] == ("None", "absent")
    # That nobody has told the end is no news of that day.
    changes = {
        (row["object_id"], row["change"])
        for row in store.read("dynamic_templama_changes").to_pylist()
        if row["subject_id"] == "Q1"
    }
    assert changes == {("Q101", "undatable"), ("Q102", "unchanged"), ("Q103", "unchanged")}


@pytest.mark.slow
def test_how_long_open_statements_count_may_depend_on_the_relation(home):
    store = home(open_for_long())
    everything = {"2019-Q1": ["Reed", "Salt"], "2019-Q2": ["Reed", "Moss"]}
    shorter = {"2019-Q1": ["Salt"], "2019-Q2": ["Moss"]}
    for asked, expected in (
        ("none", everything),
        ("P39:10", everything),
        ("P39:10,80", everything),
        ("P39:80,10", shorter),
        ("P54:67,P39:80", shorter),
        ("P54:69", everything),
    ):
        made = release_without_prompts(store, windows="2019-01-01..2019-07-01", max_open_years=asked)
        assert of(store, "Ben", release=made.name) == expected, asked
    # By default nobody plays for one team for more than 30 years.
    made = release_without_prompts(store, windows="2019-01-01..2019-07-01")
    assert of(store, "Ben", release=made.name) == shorter
    assert of(store, "Ada", release=made.name)["2019-Q1"] == ["Salt", "Reed", "Moss"]


@pytest.mark.parametrize("text", ["P54", "P54:x", "P54:10,P54:20", "-1", "", "P54=10", "10,20"])
def test_a_limit_that_cannot_be_read_is_refused(home, text):
    with pytest.raises(DesignError, match="expected none, a number of years such as 80, or numbers by relation"):
        release_without_prompts(home(players(Ada=[("Q101", "2019", "")])), max_open_years=text)


@pytest.mark.slow
def test_what_has_no_end_is_certain_until_its_subject_may_have_died(home):
    """Every one came to Reed in 2010 for good, and also played for Salt; they differ in when they died."""
    told = [("Q101", "2010-01-01", "novalue"), ("Q102", "2012-01-01", "2015-01-01"), ("Q103", "2012-01-01", "")]
    died = {
        "Alive": None,
        "Day": time("2018-06-30"),
        "First": time("2018-01-01"),
        "Year": time("2018"),
        "Decade": time("+2010-00-00T00:00:00Z", 8),
        "Long": time("-0026-00-00T00:00:00Z", 7),
    }
    entities = players(**dict.fromkeys(died, told))
    for number, (name, when) in enumerate(died.items(), 3):
        if when:
            entities[number]["claims"]["P570"] = [said(f"{name}$died", when)]
    store = home(entities)
    made = release_without_prompts(
        store, TEMPLAMA, granularity="year", windows="2013-01-01..2021-01-01", answers="certain", min_objects="1"
    )
    with_salt = dict.fromkeys(("2013", "2014", "2015"), ["Reed", "Salt"])
    until_2018 = {**with_salt, **dict.fromkeys(("2016", "2017", "2018"), ["Reed"])}
    assert of(store, "Alive", benchmark=TEMPLAMA) == {**until_2018, **dict.fromkeys(("2019", "2020"), ["Reed"])}
    # Who died on some day of 2018 held it on its first day, and the day of the death still counts.
    for name in ("Day", "First", "Year"):
        assert of(store, name, benchmark=TEMPLAMA) == until_2018, name
    # May have died on any day from 2010 on; and before all of it, which Salt's own dates know nothing of.
    for name in ("Decade", "Long"):
        assert of(store, name, benchmark=TEMPLAMA) == dict.fromkeys(with_salt, ["Salt"]), name
    assert made.design.close_at_death
    # An end that is not given is never certain, whoever died.
    assert all("Moss" not in found for found in answers(store, TEMPLAMA).values())


def test_objects_are_counted_as_answers_are(home):
    """Where only what certainly held is asked for, an object that may have been one makes no second answer."""
    store = home(
        players(
            Ada=[("Q101", "2019-01-01", "2019-12-31"), ("Q102", "2020-01-01", "")],
            Ben=[("Q101", "2019-01-01", "2019-12-31"), ("Q102", "2020-01-01", "2020-06-30")],
        )
    )
    made = release_without_prompts(store, answers="certain")
    assert store.read("fact_subjects", release=made.name)["label"].to_pylist() == ["Ben"]
    assert set(of(store, "Ben")) == {f"{year}-Q{n}" for year in (2019, 2020) for n in (1, 2, 3, 4)} - {
        "2020-Q3",
        "2020-Q4",
    }


@pytest.mark.slow
def test_several_objects_are_counted_in_the_study_and_not_before(home):
    store = home(
        players(
            Before=[("Q101", "2010", "2012"), ("Q102", "2013", "")],
            Within=[("Q101", "2010", "2019-05"), ("Q102", "2019-06", "")],
        )
    )
    release_without_prompts(store)
    assert store.read("fact_subjects")["label"].to_pylist() == ["Within"]
    assert left_out(store, "fact_subjects")["has fewer objects in the study than asked for"] == 1


@pytest.mark.slow
def test_the_most_popular_are_asked_about_and_ties_go_by_number(home):
    spells = [("Q101", "2019", "2019"), ("Q102", "2020", "2020")]
    entities = players(**{f"P{n}": spells for n in range(1, 13)})
    entities[3 + 10]["claims"]["P856"] = [said("x", {"snaktype": "novalue"})]
    entities[3 + 11]["sitelinks"]["ywiki"] = {"title": "P12"}
    store = home(entities)
    release_without_prompts(store, max_subjects="3")
    # Q11 has a statement more; then Q1 and Q2, by their numbers and not as words, by which Q10 would come before Q2.
    assert set(store.read("fact_subjects")["subject_id"].to_pylist()) == {"Q11", "Q1", "Q2"}
    made = release_without_prompts(store, max_subjects="1", popularity="site_links")
    assert store.read("fact_subjects", release=made.name)["subject_id"].to_pylist() == ["Q12"]


@pytest.mark.slow
def test_subjects_of_one_name_are_told_apart(home):
    spells = [("Q101", "2019", "2019"), ("Q102", "2020", "2020")]
    entities = players(Ada=spells, Ben=spells, Cem=spells)
    entities[3]["labels"]["en"]["value"] = entities[4]["labels"]["en"]["value"] = "Twin"
    store = home(entities)
    asked = {}
    for choice in ("qualify", "drop", "keep"):
        made = release_without_prompts(store, ambiguous=choice)
        asked[choice] = store.read("fact_subjects", release=made.name)["asked_as"].to_pylist()
    assert asked == {
        "qualify": ["Ada (player)", "Ben (player)", "Cem"],
        "drop": ["Cem"],
        "keep": ["Twin", "Twin", "Cem"],
    }


def test_several_wordings_and_wordings_of_ones_own(home, tmp_path):
    mine = tmp_path / "mine.csv"
    mine.write_text(
        'relation,language,wording\nP54,en,"<object> counts <subject> among its players."\nP54,de,<subject> spielt für <object>.\n'
    )
    store = home(players(Ada=[("Q101", "2019", "2019"), ("Q102", "2020", "2020")]))
    made = release_without_prompts(
        store, templates=["dynamic", str(mine)], windows="2019-01-01..2021-01-01", granularity="year"
    )
    rows = store.read("dynamic_templama_queries", release=made.name).to_pylist()
    assert [(row["query_id"], row["query"]) for row in rows] == [
        ("Q1_P54_2019", "Ada plays for _X_."),
        ("Q1_P54_2019_2", "_X_ counts Ada among its players."),
        ("Q1_P54_2020", "Ada plays for _X_."),
        ("Q1_P54_2020_2", "_X_ counts Ada among its players."),
    ]


def test_no_study_reaches_beyond_the_dump(home):
    store = home(players(Ada=[("Q101", "2019", "2019"), ("Q102", "2020", "2020")]))
    with pytest.raises(
        DesignError, match=r"the study ends on 2021-04-01, after the day of wikidatawiki-20210101 \(2021-01-01\)"
    ):
        release_without_prompts(store, windows="2020-01-01..2021-04-01")


def test_a_release_with_nobody_to_ask_about_says_why(home):
    store = home(players(Ada=[("Q101", "2019", "")]))
    with pytest.raises(DesignError, match="1 x has fewer objects in the study than asked for"):
        release_without_prompts(store)


@pytest.mark.slow
def test_windows_are_provisional_until_ninety_days_after(home):
    store = home(players(Ada=[("Q101", "2019", "2019"), ("Q102", "2020", "2020")]))
    release_without_prompts(store)
    rows = store.read("dynamic_templama_queries").to_pylist()
    # The dump is of 1 January 2021: 92 days after the end of the third quarter, and none after that of the fourth.
    assert {row["date"]: row["is_provisional"] for row in rows if row["date"] >= "2020-Q3"} == {
        "2020-Q3": False,
        "2020-Q4": True,
    }


@pytest.mark.slow
def test_a_subject_has_one_split_in_all_relations_and_releases(home):
    clubs = [item(f"Q{n}", f"Club {n}", f"Club {n}") for n in range(900, 903)]
    people = []
    for n in range(1, 301):
        claims = {p: [said(f"Q{n}${p}{at}", f"Q{900 + at}", str(2019 + at)) for at in (0, 1)] for p in ("P54", "P102")}
        people.append(item(f"Q{n}", f"Person {n}", f"Person {n}", **claims))
    store = home([*clubs, *people])
    release_without_prompts(store, TEMPLAMA, granularity="year")
    release_without_prompts(store)
    by_subject: dict[str, set[str]] = {}
    for row in store.read("fact_subjects").to_pylist():
        by_subject.setdefault(row["subject_id"], set()).add(row["split"])
    assert all(len(splits) == 1 for splits in by_subject.values())
    counted = {split: sum(1 for one in by_subject.values() if one == {split}) for split in ("train", "val", "test")}
    # Of 300 drawn: four standard deviations about 60, 30 and 210 are 28, 21 and 32.
    assert abs(counted["train"] - 60) < 28
    assert abs(counted["val"] - 30) < 21
    assert sum(counted.values()) == 300


LINKED = {"Q101": "Reed", "Q102": "Salt", "Q103": "Moss"}
DUMP_DAY = date(2021, 1, 1)
YEARS = {"P54:2,60": 2, "1": 1}
"""Years by the values of `max_open_years` below; by default 30, of which no statement below is that old."""


def days_of(text):
    """The first and the last day of a year, a month or a day."""
    parts = [int(one) for one in text.split("-")]
    if len(parts) == 3:
        return date(*parts), date(*parts)
    behind = date(parts[0] + 1, 1, 1) if len(parts) == 1 else date(parts[0] + parts[1] // 12, parts[1] % 12 + 1, 1)
    return date(*parts, *[1] * (3 - len(parts))), behind - timedelta(days=1)


def holds(told, died, first, end, design):
    """Does a statement (object, start, end, point, rank) hold in the window [first, end) by the design?"""
    _, start, stop, point, _ = told
    since, until = (point, point) if point else (start, stop)
    begin = days_of(since) if since[:1].isdigit() else None
    finish = days_of(until) if until[:1].isdigit() else None
    if point and design.get("points_in_time") != "true" or first >= DUMP_DAY:
        return False
    if not begin and not finish and until != "novalue" or begin and finish and begin[0] > finish[1]:
        return False
    if design.get("answers") == "certain":
        last_certain = finish[0] if finish else DUMP_DAY - timedelta(days=1)
        if not begin or begin[1] >= end or last_certain < first or not (finish or until == "novalue"):
            return False
    elif begin and begin[0] >= end or finish and finish[1] < first:
        return False
    if not finish and until != "novalue" and begin and "max_open_years" in design:
        years = YEARS.get(design["max_open_years"])
        if years and begin[0].replace(year=begin[0].year + years) < first:
            return False
    if not died or finish or design.get("close_at_death") == "false":
        return True
    earliest, latest = days_of(died)
    # On the day of the death it still holds; by every reading of that day, if the answer is to be certain.
    return latest >= max(first, begin[0] if begin else first) and (
        design.get("answers") != "certain" or earliest >= first
    )


def admitted(told, design):
    """The statements whose ranks and objects a design admits."""
    ranks = design.get("ranks")
    known = [one for one in told if any(part[:1].isdigit() for part in one[1:4]) or "novalue" in one[1:3]]
    bare = [one for one in told if not any(one[1:4])]
    is_preferred = any(one[4] == "preferred" for one in known + bare)
    return [
        one
        for one in known
        if (ranks == "all" or one[4] != "deprecated")
        and (ranks != "best" or not is_preferred or one[4] == "preferred")
        and (one[0] in LINKED or design.get("linked_objects") == "false")
    ]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A home with random statements of all kinds; the statements of each subject, and when it died."""
    chance = random.Random(3)

    def day():
        year, month, number = chance.randrange(2014, 2021), chance.randrange(1, 13), chance.randrange(1, 29)
        return chance.choice([f"{year}", f"{year}-{month:02}", *[f"{year}-{month:02}-{number:02}"] * 2])

    def statement():
        stop = chance.choice([day(), day(), "", "somevalue", "novalue"])
        start, point = chance.choice([(day(), ""), (day(), ""), ("", ""), ("somevalue", ""), ("", day())])
        rank = chance.choice(["normal", "normal", "preferred", "deprecated"])
        is_bare = chance.random() < 0.25
        dates = ("", "", "") if is_bare else (start, "" if point else stop, point)
        return f"Q10{chance.randint(1, 4)}", *dates, rank

    entities = [*players(), item("Q104", "Fern")]
    told, died = {}, {}
    for name in (f"Q{number}" for number in range(1, 60)):
        died[name] = day() if chance.random() < 0.3 else ""
        told[name] = [statement() for _ in range(chance.randint(2, 6))]
        end = {"P570": [said(f"{name}$died", time(died[name]))]} if died[name] else {}
        claims = [said(f"{name}${at}", *one) for at, one in enumerate(told[name])]
        entities.append(item(name, f"Player {name}", f"Player {name}", P54=claims, **end))
    with pytest.MonkeyPatch.context() as patched:
        yield read_home(tmp_path_factory.mktemp("drawn"), patched, {DAY: entities}, wikidata_items="all"), told, died


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        {},
        {"answers": "certain"},
        {"ranks": "best"},
        {"ranks": "all"},
        {"points_in_time": "true"},
        {"close_at_death": "false"},
        {"max_open_years": "P54:2,60"},
        {"max_open_years": "1"},
        {"max_open_years": "none", "linked_objects": "false"},
        {"answers": "certain", "ranks": "best", "points_in_time": "true", "granularity": "month"},
        {"granularity": "week", "windows": "2019-12-02..2020-02-03"},
    ],
    ids=str,
)
def test_answers_are_those_that_hold_whatever_the_design(drawn, design):
    """Of each window the answers are judged one by one."""
    store, told, died = drawn
    made = release_without_prompts(store, min_objects="1", **design)
    found = {
        (row["subject_id"], row["window_start"]): {one["entity_id"] for one in row["answers"]}
        for row in store.read("dynamic_templama_queries", release=made.name).to_pylist()
    }
    expected = {}
    for name in store.read("fact_subjects", release=made.name)["subject_id"].to_pylist():
        for window in made.design.windows():
            kept = admitted(told[name], design)
            held = {one[0] for one in kept if holds(one, died[name], window.start, window.end, design)}
            expected |= {(name, window.start): held} if held else {}
    assert found == expected
    assert len(found) > 30


@pytest.mark.slow
def test_the_most_mentioned_by_choice(home):
    """Inlinks are those of the home's newest window, by the items of its pages."""
    import pyarrow as pa

    from tempkb.store.drafts import Provenance
    from tempkb.wiki.mentions.tables import ENTITY_POPULARITY
    from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS

    spells = [("Q101", "2019", "2019"), ("Q102", "2020", "2020")]
    store = home(players(Ada=spells, Ben=spells, Cem=spells))
    with pytest.raises(DesignError, match="inlinks need entity_popularity, which is not built"):
        release_without_prompts(store, popularity="inlinks")
    for key, inlinks in (("2020-07-01", (90, 1, 1)), ("2020-10-01", (3, 5, 4))):
        for table, columns in (
            (ENTITY_POPULARITY, {"page_id": [1, 2, 3], "n_inlinks": list(inlinks)}),
            (
                STABLE_SNAPSHOTS,
                {
                    "page_id": [1, 2, 3],
                    "entity_id": ["Q1", "Q2", None],
                    "entity_id_source": ["page_props", "page_props", None],
                },
            ),
        ):
            rows = [{name: values[at] for name, values in columns.items()} for at in range(3)]
            given = [{name: row.get(name, FILLER.get(name)) for name in table.column_names()} for row in rows]
            store.write(table, key, [pa.Table.from_pylist(given, table.schema)], Provenance())
    made = release_without_prompts(store, popularity="inlinks")
    found = [
        (row["label"], row["popularity"], row["popularity_rank"])
        for row in store.read("fact_subjects", release=made.name).to_pylist()
    ]
    # The newest window counts; nobody knows the page of Cem's item.
    assert found == [("Ada", 3, 2), ("Ben", 5, 1), ("Cem", 0, 3)]
    used = store.read("manifest", table_name="fact_subjects", role="input")["name"].to_pylist()
    assert {"entity_popularity 2020-10-01", "stable_snapshots 2020-10-01"} < set(used)


FILLER = {"standing_seconds": 1, "standing_share": 1.0, "is_blank": False, "title_source": "today"}


def test_tables_of_two_readings_are_not_mixed(home):
    """As a run leaves them that was killed between two tables."""
    from tempkb.core.errors import ContractError
    from tempkb.store.drafts import Provenance
    from tempkb.store.store import read_files

    store = home(players(Ada=[("Q101", "2019", "2019"), ("Q102", "2020", "2020")]))
    (facts,) = store.lake.versions("facts")
    rows = list(read_files(facts.paths()))
    other = Provenance({"wikidata-20210101-all.json": "0" * 64}, {"wiki": "xwiki", "languages": ["de", "mul"]})
    store.write(store.declaration("facts"), DUMP, rows, other)
    with pytest.raises(
        ContractError,
        match=f"facts of {DUMP} is not built, .* or is older than its sources; build it first: tempkb build",
    ):
        release_without_prompts(store)
