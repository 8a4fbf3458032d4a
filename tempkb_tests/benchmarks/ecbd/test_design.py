"""Designs: presets, changes typed by people, and what cannot be meant."""

import json
from datetime import date

import pytest

from tempkb.benchmarks.ecbd.design import PRESETS, Design, make_design
from tempkb.benchmarks.ecbd.entities import origin_window
from tempkb.benchmarks.ecbd.popular import read_page_ids
from tempkb.benchmarks.register import default_name
from tempkb.core.errors import DesignError, SettingsError
from tempkb.core.windows import Granularity

STUDY = "2021-01-01..2024-01-01"


def design(preset: str = "tempkb", popular: str = "", **changes: str):
    return make_design(preset, STUDY, "2024-01-01", "wikidatawiki-20240101", popular, changes)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_design_survives_its_file(preset):
    made = design(preset, popular="7")
    assert Design.from_json(made.to_json()) == made
    assert made.popular == 7


def test_presets_say_what_the_papers_and_the_data_say():
    assert design("paper").origin_granularity is Granularity.YEAR
    assert design("paper").max_spans_per_window == 2_000
    assert (design("paper").after_mention, design("paper_2021").after_mention) == (True, False)
    compat = design("ecbd_compat")
    assert (compat.rules, compat.caps, compat.min_sentence_words, compat.lists) == ("released", "separate", 6, True)
    assert design().min_words == 500


def test_changes_are_read_by_kind():
    made = design(min_words="300", redirect_names="true", risky_share="0.01", origin_granularity="month")
    assert (made.min_words, made.redirect_names, made.risky_share) == (300, True, 0.01)
    assert made.origin_granularity is Granularity.MONTH
    assert default_name("ecbd", made) != default_name("ecbd", design())


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"min_words": "many"}, "min_words: found 'many'; expected a whole number from 0 on"),
        ({"min_wrods": "1"}, "min_wrods: no such part of a design; did you mean min_words"),
        ({"max_distance": "0"}, "max_distance: found '0'; expected a whole number from 1 to 2,147,483,647"),
        ({"popular_pages": "1"}, "popular_pages: no such part"),
        ({"caps": "both"}, "caps: found 'both'; expected together or separate"),
        ({"dev_share": "1.5"}, "dev_share: found '1.5'; expected a number from 0 to 1"),
        ({"rules": "released", "max_distance": "5"}, "rules: the released ones fix after_mention"),
        ({"redirect_names": "maybe"}, "redirect_names: found 'maybe'; expected true or false"),
        ({"suspect_years": "99999"}, "suspect_years: found '99999'; expected a whole number from 0 to 1,000"),
        (
            {"max_spans_per_entity": "10000000000"},
            "max_spans_per_entity: found '10000000000'; expected a whole number from 1 to 2,147,483,647",
        ),
        (
            {"max_spans_per_window": "2147483648"},
            "max_spans_per_window: found '2147483648'; expected a whole number from 0 to 2,147,483,647",
        ),
        (
            {"max_distance": "10000000000"},
            "max_distance: found '10000000000'; expected a whole number from 1 to 2,147,483,647",
        ),
        (
            {"max_span_words": "10000000000"},
            "max_span_words: found '10000000000'; expected a whole number from 1 to 2,147,483,647",
        ),
        ({"origin_granularity": "day"}, "origin_granularity: found 'day'; expected week, month, quarter or year"),
    ],
)
def test_what_cannot_be_meant_is_refused(changes, told):
    with pytest.raises(DesignError, match=told):
        design(**changes)


def test_studies_and_sources_must_fit():
    with pytest.raises(DesignError, match="preset 'best': no such preset; known: tempkb, paper"):
        design("best")
    with pytest.raises(SettingsError, match="2021-01-01 is not after 2024-01-01"):
        make_design("tempkb", "2024-01-01..2021-01-01", "2024-01-01", "d")
    with pytest.raises(
        DesignError, match="begins on 2021-01-01, but the texts are those of 2021-01-01 and contain nothing"
    ):
        make_design("tempkb", STUDY, "2021-01-01", "d")
    with pytest.raises(
        DesignError, match="dump_id: there is no Wikidata dump with origins, and there are no popular pages"
    ):
        make_design("tempkb", STUDY, "2024-01-01")
    assert make_design("tempkb", STUDY, "2024-01-01", popular="3").popular == 3
    assert make_design("tempkb", STUDY, "2014-12-01", popular="3").cut == date(2014, 12, 1)  # no study without a dump


@pytest.mark.parametrize("inside", ["\u2028", "\u0085"])
def test_a_sentence_of_a_popular_page_may_hold_what_unicode_calls_the_end_of_a_line(tmp_path, inside):
    path = tmp_path / "creak.json"
    rows = ({"sentence": f"It is{inside}red.", "en_wiki_pageid": page} for page in ("305", "12"))
    path.write_bytes("".join(json.dumps(row, ensure_ascii=False) + "\r\n" for row in rows).encode())
    assert read_page_ids(path) == (12, 305)


def test_popular_pages_come_from_a_file(tmp_path):
    path = tmp_path / "pages.txt"
    path.write_text('12\n\n{"entity": "Soup", "en_wiki_pageid": "305"}\n{"page_id": 12}\n{"en_wiki_pageid": "n/a"}\n')
    assert read_page_ids(path) == (12, 305)
    made = design("small", popular=str(path))
    assert (made.popular, made.popular_pages) == (0, (12, 305))
    path.write_text("12\nSoup\n")
    with pytest.raises(DesignError, match="line 2: found 'Soup'; expected a page number, or a JSON object with one of"):
        read_page_ids(path)
    path.write_text("\ufeff12\n")
    assert read_page_ids(path) == (12,)
    path.write_text("²\n")
    with pytest.raises(DesignError, match="line 1: found '²'"):
        read_page_ids(path)
    path.write_text('{"en_wiki_pageid": "n/a"}\n')
    with pytest.raises(DesignError, match="lists no page"):
        read_page_ids(path)
    with pytest.raises(DesignError, match="cannot be read"):
        read_page_ids(tmp_path / "missing")


DAY = (date(2021, 5, 4), date(2021, 5, 5))
MONTH = (date(2021, 5, 1), date(2021, 6, 1))
YEAR = (date(2021, 1, 1), date(2022, 1, 1))
DECADE = (date(2020, 1, 1), date(2030, 1, 1))


@pytest.mark.parametrize(
    ("origin", "finest", "window"),
    [
        (DAY, "week", "2021-W18"),
        (DAY, "month", "2021-05"),
        (DAY, "quarter", "2021-Q2"),
        (DAY, "year", "2021"),
        (MONTH, "week", "2021-05"),
        (MONTH, "quarter", "2021-Q2"),
        (MONTH, "year", "2021"),
        (YEAR, "week", "2021"),
        (YEAR, "quarter", "2021"),
        (YEAR, "year", "2021"),
        (DECADE, "year", None),
    ],
)
def test_an_origin_lies_in_the_finest_window_that_contains_it(origin, finest, window):
    found = origin_window(*origin, Granularity(finest))
    assert (found[0] if found else None) == window
