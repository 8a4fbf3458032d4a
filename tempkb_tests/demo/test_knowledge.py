"""What there is to know in the demo world, counted on the tables as they are built.

Two models read the texts of two cuts, so what holds must be told in them, alike for all that is true equally often.
"""

import re
from collections import Counter
from datetime import date, timedelta

import duckdb
import pytest

FIRST, SECOND = date(2022, 1, 1), date(2023, 7, 1)
DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def ask(demo_home):
    """Rows of a query on the built demo world."""
    with duckdb.connect(str(demo_home / "tempkb.duckdb"), read_only=True) as connection:
        yield lambda query, *values: connection.execute(query, list(values)).fetchall()


@pytest.fixture(scope="module")
def spells(ask):
    """(subject, relation, object, first day, day after the last) of all that is asked about by quarter."""
    found = ask(
        "SELECT DISTINCT subject_id, relation, object_id, greatest(valid_from, DATE '0001-01-01'), "
        "coalesce(valid_to, DATE '9999-12-31') FROM fact_spells WHERE release = 'demo-quarters'"
    )
    assert len(found) > 800
    return found


@pytest.fixture(scope="module")
def names(ask):
    return dict(ask("SELECT entity_id, label FROM wikidata_entities"))


@pytest.fixture(scope="module")
def sentences(ask):
    """cut -> item -> sentences of its article."""
    found: dict[date, dict[str, list[str]]] = {}
    for cut, entity_id, text in ask(
        "SELECT cut, entity_id, text FROM stable_snapshots JOIN page_texts USING (page_id, revision_id) "
        "WHERE namespace = 0 AND entity_id IS NOT NULL"
    ):
        found.setdefault(cut, {})[entity_id] = re.split(r"(?<=\.)\s+|\n+", text)
    assert len(found) == 12
    return found


def held(spells, day):
    """What is an answer on a day."""
    return {(subject, relation, one) for subject, relation, one, begin, end in spells if begin <= day < end}


def telling(sentences, names, subject, name):
    return [line for line in sentences.get(subject, []) if names[subject] in line and name in line]


def named(rows, names):
    """How many objects of a name each subject has in a relation: there are several of one name."""
    return Counter((subject, relation, names[one]) for subject, relation, one in rows)


@pytest.mark.parametrize("cut", [FIRST, SECOND])
def test_26_articles_tell_what_holds_at_the_cuts_of_the_models_and_nothing_else(cut, spells, sentences, names):
    current = named(held(spells, cut - DAY), names)
    for subject, relation, name in named({row[:3] for row in spells}, names):
        n, n_objects = len(telling(sentences[cut], names, subject, name)), current[subject, relation, name]
        assert 4 * n_objects <= n <= 8 * n_objects, (names[subject], relation, name)
    assert len(current) > 400


def test_26_and_27_a_snapshot_tells_what_held_for_the_month_before_its_cut(spells, sentences, names):
    """What began or ended within the month stood for a part of it; ordinary changes are early in their quarter."""
    asked, checked, within = named({row[:3] for row in spells}, names), 0, Counter()
    for cut, told in sentences.items():
        days = [named(held(spells, cut - back * DAY), names) for back in range(1, 35)]
        for key in asked:
            n_objects = {found[key] for found in days}
            if len(n_objects) == 1:
                n = len(telling(told, names, key[0], key[2]))
                assert 4 * min(n_objects) <= n <= 8 * min(n_objects), (cut, names[key[0]], key[2])
                checked += n > 0
            else:
                within[names[key[0]]] += 1
    assert checked > 4000
    assert set(within) == {"Ostvik", "Dag Nostart", "Nina Nest", "Stig Starts"}


def test_26_no_sentence_is_a_query_with_its_answer(ask, sentences):
    lines = {line for told in sentences.values() for found in told.values() for line in found}
    asked = ask(
        "SELECT DISTINCT query, answer.label FROM dynamic_templama_queries, unnest(answers) AS t(answer) "
        "WHERE release = 'demo-quarters'"
    )
    assert len(asked) > 800
    for query, label in asked:
        assert query.replace("_X_", label) not in lines


def test_28_answers_are_equally_frequent_at_both_cuts_in_facts_and_in_texts(spells, sentences, names):
    by_object = [Counter((relation, one) for _, relation, one in held(spells, cut - DAY)) for cut in (FIRST, SECOND)]
    assert by_object[0] == by_object[1]
    asked = named({row[:3] for row in spells}, names)
    told = [
        Counter((key[1], key[2]) for key in asked for _ in telling(sentences[cut], names, key[0], key[2]))
        for cut in (FIRST, SECOND)
    ]
    assert told[0] == told[1]
    assert sum(told[0].values()) > 2000


def answers(spells, cut):
    found: dict[tuple[str, str], set[str]] = {}
    for subject, relation, one in held(spells, cut - DAY):
        found.setdefault((subject, relation), set()).add(one)
    return found


def test_29_thirty_subjects_of_each_relation_change_and_as_many_do_not(spells):
    first, second = answers(spells, FIRST), answers(spells, SECOND)
    kept = Counter(key[1] for key in first if first[key] == second.get(key))
    changed = Counter(key[1] for key in first if key in second and first[key] != second[key])
    relations = {"P54", "P102", "P108", "P6", "P286", "P488", "P127"}
    assert set(kept) == set(changed) == relations
    assert min(kept.values()) >= 30
    assert min(changed.values()) >= 30
    # The rest are stories and those who balance them.
    assert all(abs(kept[one] - changed[one]) < 10 for one in relations)


def periods(rows):
    """Entities born before the first cut, between the cuts and after the second."""
    return [
        {one for one, begin, after in rows if begin and after <= FIRST},
        {one for one, begin, after in rows if begin and begin >= FIRST and after <= SECOND},
        {one for one, begin, after in rows if begin and begin >= SECOND},
    ]


def test_30_ten_entities_of_the_first_period_have_an_article_at_the_first_cut(ask, sentences):
    rows = ask("SELECT DISTINCT entity_id, origin_from, origin_to FROM ecbd_cloze WHERE release = 'demo-cloze'")
    before, between, after = periods(rows)
    assert sum(len(sentences[FIRST].get(one, ())) > 9 for one in before) >= 10
    assert not any(len(sentences[FIRST].get(one, ())) > 9 for one in after)
    assert sum(len(sentences[SECOND].get(one, ())) > 9 for one in between) >= 10


def test_30_fewer_than_half_of_the_later_answers_stand_in_the_texts_of_the_first_cut(ask, sentences):
    """Of chance words nine in ten would."""
    text = " ".join(line for lines in sentences[FIRST].values() for line in lines)
    answers_of_later = ask("SELECT answer FROM ecbd_cloze WHERE release = 'demo-cloze' AND origin_from >= ?", FIRST)
    assert len(answers_of_later) > 500
    assert sum(answer in text for (answer,) in answers_of_later) / len(answers_of_later) < 0.5
