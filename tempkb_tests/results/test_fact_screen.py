"""The screen of `tempkb knows --fact`, of scores that are written down here."""

from datetime import date

import pytest

from tempkb.commands.screens import answers
from tempkb.core.errors import SettingsError
from tempkb.results.facts import Fact, FactScore

OLD, NEW = "Old Club", "New Club"
SPELLS = {OLD: [(date(2021, 1, 1), date(2022, 1, 1))], NEW: [(date(2022, 1, 1), date(2023, 1, 1))]}


def dated(name, day, nats):
    return FactScore("m", "causal.span_end-1.f32", name, nats, day, is_dated=True)


@pytest.fixture
def shown(monkeypatch, capsys):
    """Prints the fact with scores, and a picture if a file is named; gives what was printed, and the error, if any."""

    def show(scores, picture=None):
        fact = Fact("r", "Ada", "P54", "Ada plays for _X_.", SPELLS, scores)
        monkeypatch.setattr(answers, "open_store", lambda: None)
        monkeypatch.setattr(answers, "read_fact", lambda *_: fact)
        refused = None
        try:
            answers.print_fact("Ada", "P54", (), picture)
        except SettingsError as error:
            refused = str(error)
        return capsys.readouterr().out, refused

    return show


@pytest.fixture
def rows(shown):
    """The cells of the last table. The new object's first date is later than the old one's, as names are sorted."""
    scores = [
        FactScore("m", "causal.span_end-1.f32", NEW, -3.0, date(2022, 6, 1), is_dated=False),
        FactScore("m", "causal.span_end-1.f32", OLD, -2.0, date(2022, 6, 1), is_dated=False),
        dated(NEW, date(2022, 1, 1), -5.0),
        dated(NEW, date(2022, 4, 1), -4.0),
        dated(OLD, date(2021, 10, 1), -7.0),
        dated(OLD, date(2022, 1, 1), -6.0),
    ]
    said, _ = shown(scores)
    lines = said.split("log-probabilities (nats)\n")[1].splitlines()
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


@pytest.mark.slow
def test_scores_that_belong_to_no_day_are_printed_but_not_drawn(shown, tmp_path):
    picture = tmp_path / "f.png"
    undated = FactScore("m", "causal.span_end-1.f32", OLD, -2.0, None, is_dated=False)
    said, refused = shown([undated], picture)
    assert "-2.0" in said
    assert refused == (
        f"--picture {picture}: no model with scores of this fact has a stated training cutoff, and none has "
        "scores of its dated queries, so there is no day at which to draw them; name it: tempkb model add MODEL CHECKPOINT "
        "--knows-until DATE, or score those queries: tempkb score MODEL --variant dated"
    )
    assert not picture.exists()
    # One that has a day is enough.
    later = FactScore("n", "causal.span_end-1.f32", OLD, -2.5, date(2022, 6, 1), is_dated=False)
    assert shown([undated, later], picture)[1] is None
    assert picture.read_bytes().startswith(b"\x89PNG")
