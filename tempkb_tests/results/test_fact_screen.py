"""The screen of `tempkb knows --fact`, of scores that are written down here."""

from datetime import date

import pytest

from tempkb.results.facts import Fact, FactScore
from tempkb.screens import facts

OLD, NEW = "Old Club", "New Club"
SPELLS = {OLD: [(date(2021, 1, 1), date(2022, 1, 1))], NEW: [(date(2022, 1, 1), date(2023, 1, 1))]}


def dated(name, day, nats):
    return FactScore("m", "causal.span_end-1.f32", name, nats, day, is_dated=True)


@pytest.fixture
def rows(monkeypatch, capsys):
    """The cells of the last table. The new object's first date is later than the old one's, as names are sorted."""
    scores = [
        FactScore("m", "causal.span_end-1.f32", NEW, -3.0, date(2022, 6, 1), is_dated=False),
        FactScore("m", "causal.span_end-1.f32", OLD, -2.0, date(2022, 6, 1), is_dated=False),
        dated(NEW, date(2022, 1, 1), -5.0),
        dated(NEW, date(2022, 4, 1), -4.0),
        dated(OLD, date(2021, 10, 1), -7.0),
        dated(OLD, date(2022, 1, 1), -6.0),
    ]
    monkeypatch.setattr(facts, "open_store", lambda: None)
    monkeypatch.setattr(facts, "read_fact", lambda *_: Fact("r", "Ada", "P54", "Ada plays for _X_.", SPELLS, scores))
    facts.print_fact("Ada", "P54", (), None)
    lines = capsys.readouterr().out.split("log-probabilities (nats)\n")[1].splitlines()
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]


def test_queries_with_a_date_are_in_the_order_of_their_dates(rows):
    assert [row[2] for row in rows] == ["", "2021-10-01", "2022-01-01", "2022-04-01"]


def test_an_object_is_the_most_probable_one_only_where_there_is_another(rows):
    assert [row[3:] for row in rows] == [
        ["-2.0", "-3.0", OLD],
        ["-7.0", "", ""],
        ["-6.0", "-5.0", NEW],
        ["", "-4.0", ""],
    ]
