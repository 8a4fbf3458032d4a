"""Blocks of columns and rules are read as they are written, and what is malformed is refused with the line and a way out."""

from collections import defaultdict

import pytest

from tempkb.core.errors import ContractError
from tempkb.platform.rooms import ROOMS
from tempkb.store.columns import Column, Dictionary, Rule, columns, rules
from tempkb.store.types import DATE, INSTANT, INT32, INT64, STRING, list_of, struct_of

TOWN = Column("town", STRING, "name of the town")
SPAN = struct_of(("start", INT32), ("end", INT32))
TOWNS = Dictionary({"town": TOWN}, {"VARCHAR": STRING, "INTEGER": INT32})


def test_a_line_is_a_column():
    read = columns("""
        n_people BIGINT: how many live there: at night, too
        founded DATE: its first day
        seen_at TIMESTAMPTZ: when
    """)
    assert read == (
        Column("n_people", INT64, "how many live there: at night, too"),
        Column("founded", DATE, "its first day"),
        Column("seen_at", INSTANT, "when"),
    )


def test_an_indented_line_goes_on_with_the_one_above():
    read = TOWNS("""
        mayor VARCHAR: who leads it,
            or led it,
              when it was asked

        n_rivers INTEGER: rivers
    """)
    assert read == (
        Column("mayor", STRING, "who leads it, or led it, when it was asked"),
        Column("n_rivers", INT32, "rivers"),
    )


def test_one_line_is_a_block_and_no_line_has_no_column():
    assert TOWNS("n_rivers INTEGER: rivers") == (Column("n_rivers", INT32, "rivers"),)
    assert TOWNS("\n    \n") == ()


def test_lists_structs_and_bulk():
    read = TOWNS.with_types(SPAN=SPAN)("""
        names VARCHAR[]: what it is called
        history VARCHAR (bulk): all that was written of it
        places SPAN[] (bulk): where
        centre SPAN: where it begins
    """)
    assert read == (
        Column("names", list_of(STRING), "what it is called"),
        Column("history", STRING, "all that was written of it", is_bulk=True),
        Column("places", list_of(SPAN), "where", is_bulk=True),
        Column("centre", SPAN, "where it begins"),
    )


def test_a_name_alone_is_the_column_of_the_dictionary():
    read = TOWNS.extended("river VARCHAR: its river\nmayor VARCHAR: who leads it")("""
        n INTEGER: number
        mayor, town,
            river
    """)
    assert [one.name for one in read] == ["n", "mayor", "town", "river"]
    assert read[2] is TOWN


def test_a_block_may_say_otherwise_what_a_name_means():
    wider = TOWNS.extended("town VARCHAR: town of the birth")
    assert wider("town") == (Column("town", STRING, "town of the birth"),)
    assert wider("town VARCHAR: town of the death") == (Column("town", STRING, "town of the death"),)
    assert TOWNS("town") == (TOWN,)


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("river VARCHAR its river", "'river VARCHAR its river'; expected 'name TYPE: meaning'"),
        ("river: its river", "'river: its river'; expected 'name TYPE: meaning'"),
        ("river VARCHAR:", "'river VARCHAR:'; expected 'name TYPE: meaning'"),
        ("river VARCHAR (big): its river", "(big): its river'; expected"),
        ("town,", "'town,'; expected"),
        ("river TEXT: its river", "column 'river' has the type 'TEXT'; known are VARCHAR, INTEGER"),
        ("town, river", "names 'river' alone, which no dictionary above it has; say what it is: river TYPE: meaning"),
        ("town\ntown VARCHAR: again", "'town' twice"),
        ("    town\nriver VARCHAR: its river", "'river VARCHAR: its river' further to the left"),
    ],
)
def test_malformed_columns_are_refused(block, told):
    with pytest.raises(ContractError) as error:
        TOWNS(block)
    assert told in str(error.value)


def test_rules_have_a_condition_below_their_meaning():
    read = rules("""
        known_kind: kind is town or city: nothing else
            kind NOT IN ('town', 'city')
        peopled: nobody lives in no town
            n_people < 0
            OR n_people IS NULL
    """)
    assert read == (
        Rule("known_kind", "kind is town or city: nothing else", "kind NOT IN ('town', 'city')"),
        Rule("peopled", "nobody lives in no town", "n_people < 0 OR n_people IS NULL"),
    )


@pytest.mark.parametrize(
    "block", ["peopled: nobody lives in no town", "peopled\n  n_people < 0", "peopled: \n  n_people < 0"]
)
def test_malformed_rules_are_refused(block):
    with pytest.raises(ContractError, match="'peopled.*expected 'name: meaning', and below it, indented"):
        rules(block)


def test_columns_of_one_meaning_are_declared_once():
    """But in tables of prompts, which one function declares, and where a name means something else in most tables."""
    declared = defaultdict(set)
    for table in (one for room in ROOMS for one in room.tables if not one.name.endswith("_prompts")):
        for column in table.columns:
            if columns.known.get(column.name, column) is column:
                declared[column].add(id(column))
    assert not [column for column, times in declared.items() if len(times) > 1]


def test_the_common_dictionary_has_columns_of_several_rooms():
    rooms_of = defaultdict(set)
    for room in ROOMS:
        for column in (one for table in room.tables for one in table.columns):
            if column is columns.known.get(column.name):
                rooms_of[column.name].add(id(room))
    assert [name for name in columns.known if len(rooms_of[name]) < 2] == []
