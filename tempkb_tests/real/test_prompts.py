"""Prompts of the released items of TempLAMA and ECBD: all are made, and twenty of each are printed to be read."""

import os
from collections import Counter
from pathlib import Path

import pytest

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.ecbd.prompts import prompts_of_record
from tempkb.benchmarks.ecbd.records import cloze_record, probe_record, read_records
from tempkb.benchmarks.fact_queries.prompts import forms_of_query
from tempkb.benchmarks.fact_queries.records import read_records as read_queries
from tempkb.benchmarks.fact_queries.templates import template_set
from tempkb.prompts import Prompt

FOLDER = os.environ.get("TEMPKB_REAL_DATA")
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not FOLDER, reason="TEMPKB_REAL_DATA names no folder with real dumps"),
]
DATA = Path(FOLDER or ".").resolve()
SAMPLES = DATA / "ecbd" / "ekp_2020_2021"


def show(title, prompts):
    """Print twenty of some prompts, by (name, variant), in the order of a hash."""
    print(f"\n{title}: {len(prompts)} prompts, {len({one.prompt_id for one in prompts.values()})} different")
    for name, variant in sorted(prompts, key=lambda key: draw(1, *key))[:20]:
        prompt = prompts[name, variant]
        print(f"  {variant}: {prompt.left}|{prompt.target}|{prompt.right}")


@pytest.mark.parametrize("name", ["train", "val"])
def test_all_released_queries_are_asked(name):
    rows = read_queries([DATA / "templama" / f"templama_{name}.jsonl"]).to_pylist()
    prompts = {}
    for row in rows:
        forms = forms_of_query(row["query"], row["relation"], template_set("templama"))
        for variant, form in forms.items():
            for answer in row["answers"]:
                key = (f"{row['query_id']} {answer['entity_id']}", variant)
                prompts[key] = Prompt(form.left, answer["label"], form.right)
    counted = Counter(variant for _, variant in prompts)
    n = len({(row["query_id"], one["entity_id"]) for row in rows for one in row["answers"]})
    first = [row for row in rows if row["query"].startswith("_X_")]
    n_first = len({(row["query_id"], one["entity_id"]) for row in first for one in row["answers"]})
    assert counted == {"undated": n, "no_subject": n, "object_last": n_first, "no_subject_object_last": n_first}
    queries = {row["query_id"]: row["query"] for row in rows}
    for (item, variant), prompt in prompts.items():
        query = queries[item.split()[0]]
        assert variant != "undated" or prompt.statement == query.replace("_X_", prompt.target)
        assert prompt.left or (variant in ("undated", "no_subject") and query.startswith("_X_"))
        assert prompt.statement.endswith(".")
    show(f"TempLAMA, {name}", prompts)


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("all_ent_2020_2021_np_500samples", 500),
        ("all_ent_2020_2021_np_easy", 114),
        ("all_ent_2020_2021_random_easy", 38),
    ],
)
def test_all_released_cloze_items_are_asked(name, n):
    records = list(read_records(SAMPLES / f"{name}.json", probe_record))
    assert len(records) == n
    prompts = {}
    for at, record in enumerate(records):
        other = records[at - 1].definition.replace("<extra_id_0>", records[at - 1].definition_answer)
        for variant, prompt in prompts_of_record(record, other).items():
            assert prompt.target == record.labels
            prompts[f"{at} {record.ex_id}", variant] = prompt
        original = prompts[f"{at} {record.ex_id}", "original"]
        assert f"{original.left}<extra_id_0>{original.right}" == record.probe
    assert set(Counter(variant for _, variant in prompts).values()) == {n}
    show(f"ECBD, {name}", prompts)


def test_the_record_of_nine_fields_is_asked():
    (record,) = read_records(DATA / "ecbd" / "ecbd_readme_record.json", cloze_record)
    found = prompts_of_record(record)
    assert found["no_ent"].left == "The entity model has "
    assert found["definition"].left.endswith("The GPT-2 model has ")
    assert "[ENT" not in found["definition"].left
    show("ECBD, nine fields", {("", variant): prompt for variant, prompt in found.items()})
