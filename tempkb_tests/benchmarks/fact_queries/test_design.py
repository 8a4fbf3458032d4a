"""Designs and templates: what can be asked for, and what is refused by name."""

from datetime import date

import pytest

from tempkb.benchmarks.fact_queries.design import DYNAMIC, TEMPLAMA, Design, make_design
from tempkb.benchmarks.fact_queries.prompts import Template, read_templates, template_set
from tempkb.benchmarks.register import default_name
from tempkb.core.errors import DesignError

WINDOWS = "2019-01-01..2021-01-01"


def design(benchmark=TEMPLAMA, preset="tempkb", windows=WINDOWS, granularity="year", templates=(), **changes):
    return make_design(benchmark, preset, "wikidatawiki-20210101", windows, granularity, templates, changes)


def test_the_sets_are_those_of_the_papers():
    counts = {name: len(template_set(name)) for name in ("templama", "dynamic", "dynamic_improved")}
    assert counts == {"templama": 9, "dynamic": 17, "dynamic_improved": 17}
    relations = {one.relation for one in template_set("dynamic")}
    assert relations == {one.relation for one in template_set("dynamic_improved")}
    assert {one.relation for one in template_set("templama")} < relations


def test_a_wording_may_name_the_subject_twice():
    worded = next(one for one in template_set("dynamic_improved") if one.relation == "P108")
    assert worded.ask("Ada <object>") == "Ada <object> has a job. Ada <object> works for _X_."


@pytest.mark.parametrize(
    ("relation", "language", "wording", "why"),
    [
        ("P54", "en", "<subject> plays.", "has <object> 0 times"),
        ("P54", "en", "<subject> plays for <object> and <object>.", "has <object> 2 times"),
        ("P54", "en", "Somebody plays for <object>.", "has no <subject>"),
        ("P54", "en", "<subject> plays for <object> or _X_.", "contains _X_"),
        ("54", "en", "<subject> plays for <object>.", "the relation is '54'"),
        ("P54", "English", "<subject> plays for <object>.", "the language is 'English'"),
    ],
)
def test_a_bad_template_is_refused_by_name(relation, language, wording, why):
    with pytest.raises(DesignError, match=why) as caught:
        Template(relation, language, wording)
    assert wording in str(caught.value)


def test_a_bad_line_of_a_file_is_named(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("relation,language,wording\nP54,en,<subject> plays for <object>.\nP54,en,broken\n")
    with pytest.raises(DesignError, match=r"mine\.csv, line 3: template P54 \(en\) 'broken'"):
        read_templates(path)
    path.write_text("relation,wording\nP54,<subject> plays for <object>.\n")
    with pytest.raises(DesignError, match="no column language"):
        read_templates(path)
    with pytest.raises(DesignError, match="no such file"):
        read_templates(tmp_path / "none.csv")


def test_presets_are_those_of_the_papers():
    ours, paper = design(), design(preset="paper")
    assert (ours.max_subjects, ours.ranks, ours.rules, ours.close_at_death) == (1_000, "not_deprecated", "tempkb", True)
    assert (paper.max_subjects, paper.ranks, paper.rules, paper.close_at_death) == (1_000, "all", "paper", False)
    rules = {name: design(DYNAMIC, name, granularity="quarter").changes for name in ("tempkb", "small", "paper")}
    assert rules == {"tempkb": "handover", "small": "handover", "paper": "released"}
    dynamic = design(DYNAMIC, "paper", granularity="quarter")
    assert (dynamic.max_subjects, dynamic.shares, len(dynamic.templates)) == (5_000, (0.0, 0.0), 17)


def test_the_released_dates_know_the_released_changes_only():
    with pytest.raises(DesignError, match="found 'handover' with rules 'paper'.*: --set changes=released"):
        design(rules="paper")
    with pytest.raises(DesignError, match="found 'sets' with rules 'paper'"):
        design(preset="paper", changes="sets")
    assert design(changes="released", rules="paper") == design(rules="paper", changes="released")
    assert design(changes="sets").rules == "tempkb"


def test_a_design_is_read_back_and_names_itself():
    made = design(max_subjects="7", shares="0.5,0.25")
    assert Design.from_json(made.to_json()) == made
    assert default_name(TEMPLAMA, made).startswith("templama-20190101-20210101-")
    assert default_name(TEMPLAMA, made) != default_name(TEMPLAMA, design(max_subjects="8"))
    assert made.windows()[-1].end == date(2021, 1, 1)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"preset": "huge"}, "preset 'huge': no such preset; known: tempkb, paper, small"),
        ({"granularity": "day"}, "granularity: found 'day'"),
        ({"windows": "2019-02-01..2020-01-01"}, "windows: no year begins from 2019-02-01"),
        ({"windows": "2019-01-01..2020-07-01"}, "is not made of whole years; expected 2019-01-01..2021-01-01"),
        ({"templates": ["mine"]}, "templates 'mine': no such set"),
        ({"max_subjects": "many"}, "max_subjects: found 'many'; expected a whole number from 1 on"),
        ({"max_subjects": "0"}, "max_subjects: found '0'"),
        ({"popularity": "beauty"}, "popularity: found 'beauty'; expected statements, site_links or inlinks"),
        ({"answers": "maybe"}, "answers: found 'maybe'"),
        ({"shares": "0.9,0.2"}, "shares: found"),
        ({"shares": "nan,nan"}, r"shares: found 'nan,nan'; expected two numbers from 0 to 1, as 0\.2,0\.1"),
        ({"shares": "0.2,nan"}, "shares: found"),
        ({"language": "de"}, "no template is in 'de'"),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(asked, why):
    with pytest.raises(DesignError, match=why):
        design(**asked)


def test_the_dump_is_no_part_that_can_be_changed():
    with pytest.raises(DesignError, match="dump_id: no such part of a design"):
        make_design(TEMPLAMA, "tempkb", "d", WINDOWS, "year", (), {"dump_id": "x"})
