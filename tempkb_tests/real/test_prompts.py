"""Prompts of the released items of TempLAMA and ECBD: all are made, and twenty of each are printed to be read."""

from collections import Counter

import pytest

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.ecbd.exporting import cloze_record, probe_record, read_records
from tempkb.benchmarks.ecbd.prompts import prompts_of_record
from tempkb.benchmarks.fact_queries.exporting import read_records as read_queries
from tempkb.benchmarks.fact_queries.prompts import forms_of_query, template_set
from tempkb.core.prompts import Prompt
from tempkb.models.checkpoints import load, read_checkpoint
from tempkb.models.scoring import Scorer
from tempkb_tests.models.tiny import KINDS, random_model, tokenizer_of
from tempkb_tests.real.data import DATA, REAL

pytestmark = REAL
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


@pytest.mark.parametrize(("kind", "template"), [("gpt2", "span_end"), ("roberta", "answer_l2r"), ("t5", "span_end")])
def test_all_released_items_go_through_models_of_random_weights(kind, template, tmp_path):
    """The way is the real one, from a checkpoint on disk; the numbers mean nothing."""
    module, tokenizer = random_model(KINDS[kind], tokenizer_of(kind), context=512), tokenizer_of(kind)
    module.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model = load(read_checkpoint(str(tmp_path)))
    rows = read_queries([DATA / "templama" / "templama_val.jsonl"]).to_pylist()
    facts = {
        Prompt(form.left, answer["label"], form.right)
        for row in rows
        for variant, form in forms_of_query(row["query"], row["relation"], template_set("templama")).items()
        if not variant.startswith("no_subject")
        for answer in row["answers"]
    }
    records = list(read_records(SAMPLES / "all_ent_2020_2021_np_500samples.json", probe_record))
    cloze = {
        prompt
        for at, record in enumerate(records)
        for prompt in prompts_of_record(record, records[at - 1].definition).values()
    }
    for name, asked, by in (("TempLAMA", facts, template), ("ECBD", cloze, template.removesuffix("_end"))):
        prompts = sorted(asked, key=lambda prompt: prompt.prompt_id)
        scores = list(Scorer(model, by).stream(prompts))
        counted = Counter(score.status for score in scores)
        print(f"\n{name}, {kind}, {by}: {dict(counted)}")
        assert len(scores) == len(prompts)
        assert counted.keys() <= {"scored", "too_long", "not_alignable", "no_left_context"}
        assert counted["scored"] > len(prompts) / 2
        if kind != "gpt2":
            assert counted["no_left_context"] == 0
        for prompt, score in list(zip(prompts, scores, strict=True))[:7]:
            said = f"{score.log_prob_nats:.2f} nats, {score.n_tokens} tokens" if score.n_tokens else score.status
            print(f"  {prompt.left[-90:]}|{prompt.target}|{prompt.right[:60]}: {said}")
            assert score.log_prob_nats is None or score.log_prob_nats < 0
