"""The `paper` preset's rules against what the released code gave (tempkb_tests/peer/templama/README.md)."""

import csv
import json
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from tempkb.benchmarks.fact_queries.exporting import most_answers
from tempkb.benchmarks.fact_queries.released import Fact, chosen_facts, days_of, resolve_objects, years_of
from tempkb.core.windows import Granularity, windows_between
from tempkb_tests.benchmarks.fact_queries.worlds import DYNAMIC, TEMPLAMA, release_without_prompts
from tempkb_tests.wiki.wikidata.items import item, read_home, said

PEER = Path(__file__).parents[2] / "peer" / "templama"


def number(text: str) -> int | None:
    parts = [int(part) for part in text.split("-")] if text else []
    return sum(part * 100 ** (2 - at) for at, part in enumerate(parts)) or None


def read_number(text: str) -> int | None:
    """As `number`; a year above 2100 is none."""
    found = number(text)
    return None if found is None or found // 10_000 > 2100 else found


@pytest.fixture(scope="module")
def world():
    """Facts of linked items with a template, in the order of the file, and how popular items are."""
    with (PEER / "entities.csv").open(encoding="utf-8") as lines:
        entities = {row["entity"]: row for row in csv.DictReader(lines)}
    linked = {name for name, row in entities.items() if row["is_linked"] == "true"}
    with (PEER / "facts.csv").open(encoding="utf-8") as lines:
        facts = [
            Fact(row["subject"], row["relation"], row["object"], read_number(row["start"]), read_number(row["end"]))
            for row in csv.DictReader(lines)
            if row["subject"] in linked and row["object"] in linked
        ]
    return facts, {name: int(row["n_statements"]) for name, row in entities.items()}


def records(name):
    return [json.loads(line) for line in (PEER / name).read_text("utf-8").splitlines()]


@pytest.mark.parametrize("case", json.loads((PEER / "resolve_objects.json").read_text("utf-8")), ids=str)
def test_facts_are_joined_as_released(case):
    given = [Fact("Q1", "P54", one, number(start), number(end)) for one, start, end in case["input"]]
    expected = [(one, number(start), number(end)) for one, start, end in case["output"]]
    assert [(one.object, one.start, one.end) for one in resolve_objects(given)] == expected


def test_quarters_have_the_released_answers(world):
    facts, popular = world
    told = {
        f"{one['id']}": [answer["wikidata_id"] for answer in one["answer"]] for one in records("dynamic_records.jsonl")
    }
    relations = {one["relation"] for one in records("dynamic_records.jsonl")}
    chosen = chosen_facts([one for one in facts if one.relation in relations], popular, 16, 2010)
    found = {}
    for window in windows_between(date(2019, 1, 1), date(2023, 1, 1), Granularity.QUARTER):
        for (relation, subject), rows in chosen.items():
            spans = [(one, *days_of(one, date(2019, 1, 1), date(2022, 6, 30))) for one in rows]
            answers = [one.object for one, start, end in spans if start < window.end and end > window.start]
            if answers:
                found[f"{subject}_{relation}_{window.label}"] = answers
    assert found == told


def test_years_hold_the_released_answer_among_all(world):
    """The released code keeps the most popular answer of a year; the released data, and we, all of them."""
    facts, popular = world
    told = {one["id"]: one["answer"]["wikidata_id"] for one in records("templama_records.jsonl")}
    relations = {one["relation"] for one in records("templama_records.jsonl")}
    chosen = chosen_facts([one for one in facts if one.relation in relations], popular, 18, 2010)
    found = {}
    for window in windows_between(date(2010, 1, 1), date(2021, 1, 1), Granularity.YEAR):
        for (relation, subject), rows in chosen.items():
            spans = [(one, *years_of(one)) for one in rows]
            answers = [
                one.object
                for one, start, end in spans
                if (start is None or start < window.end) and (end is None or end > window.start)
            ]
            if answers:
                found[f"{subject}_{relation}_{window.label}"] = max(answers, key=lambda one: popular[one])
    assert found == told


def as_json(facts_file, entities_file):
    """The synthetic facts as a Wikidata dump."""
    with facts_file.open(encoding="utf-8") as lines:
        by_subject: dict[str, dict] = {}
        for number, row in enumerate(csv.DictReader(lines)):
            claims = by_subject.setdefault(row["subject"], {}).setdefault(row["relation"], [])
            claims.append(said(f"{row['subject']}${number:05}", row["object"], row["start"], row["end"]))
    with entities_file.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            claims = by_subject.get(row["entity"], {})
            more = int(row["n_statements"]) - sum(len(one) for one in claims.values())
            fillers = (
                {"P856": [said(f"{row['entity']}$f{at}", {"snaktype": "novalue"}) for at in range(more)]}
                if more > 0
                else {}
            )
            page = f"{row['label']} ({row['entity']})" if row["is_linked"] == "true" else ""
            yield item(row["entity"], row["label"], page, **claims, **fillers)


@pytest.mark.slow
def test_the_paper_preset_gives_the_released_records_from_a_dump(tmp_path, monkeypatch):
    """From JSON to query tables; with room for all subjects, since ties go by another order than that of a file."""
    dump = list(as_json(PEER / "facts.csv", PEER / "entities.csv"))
    store = read_home(tmp_path, monkeypatch, {"2023-01-01": dump})
    common = {"dump_id": "wikidatawiki-20230101", "preset": "paper", "max_subjects": "1000"}
    made = release_without_prompts(store, DYNAMIC, "2019-01-01..2022-07-01", "quarter", **common)
    rows = store.read("dynamic_templama_queries", release=made.name).to_pylist()
    ours = {row["query_id"]: (row["query"], [one["entity_id"] for one in row["answers"]]) for row in rows}
    told = {
        one["id"]: (one["query"], [answer["wikidata_id"] for answer in one["answer"]])
        for one in records("dynamic_records.jsonl")
        if one["date"] not in ("2022-Q3", "2022-Q4")
    }
    assert {name: ours.get(name) for name in told} == told
    assert len(told) > 600
    made = release_without_prompts(store, TEMPLAMA, "2010-01-01..2021-01-01", "year", **common)
    rows = store.read("templama_queries", release=made.name).to_pylist()
    ours = {row["query_id"]: (row["query"], {one["entity_id"] for one in row["answers"]}) for row in rows}
    for one in records("templama_records.jsonl"):
        query, answers = ours[one["id"]]
        assert query == one["query"]
        assert one["answer"]["wikidata_id"] in answers
    by_pair: dict[str, list] = {}
    for row in sorted(rows, key=lambda row: row["date"]):
        by_pair.setdefault(row["query_id"].rsplit("_", 1)[0], []).append(
            (row["date"], [one["entity_id"] for one in row["answers"]])
        )
    popular = {one["id"]: sum(len(claims) for claims in (one["claims"] or {}).values()) for one in dump}
    for one in records("templama_records.jsonl"):
        frequent, recent = most_answers(by_pair[one["id"].rsplit("_", 1)[0]], popular)
        assert (frequent, recent) == tuple(one[f"most_{what}_answer"]["wikidata_id"] for what in ("frequent", "recent"))


def test_the_border_of_popularity_cuts_through_a_tie(world):
    """Otherwise the order of ties would not be tested."""
    facts, popular = world
    chosen = chosen_facts(facts, popular, 1_000, 2010)
    ranked = sorted((popular[subject] for relation, subject in chosen if relation == "P54"), reverse=True)
    assert ranked[15] == ranked[16]
    assert Counter(relation for relation, _ in chosen)["P102"] < 16
