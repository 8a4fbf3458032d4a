"""Prompts of the released items of TempLAMA and ECBD: all are made, and twenty of each are printed to be read."""

import re
from collections import Counter

import pytest

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.ecbd.variants import VARIANTS, prompt_of
from tempkb.benchmarks.fact_queries.prompts import forms_of, template_set
from tempkb.core.prompts import Prompt
from tempkb.models.checkpoints import load, read_checkpoint
from tempkb.models.scoring import Scorer
from tempkb_tests.models.tiny import KINDS, random_model, tokenizer_of
from tempkb_tests.real.data import DATA, REAL, definition_of, filled
from tempkb_tests.real.released_files import read_records

pytestmark = REAL
SAMPLES = DATA / "ecbd" / "ekp_2020_2021"


def show(title, prompts):
    """Print twenty of some prompts, by (name, variant), in the order of a hash."""
    print(f"\n{title}: {len(prompts)} prompts, {len({one.prompt_id for one in prompts.values()})} different")
    for name, variant in sorted(prompts, key=lambda key: draw(1, *key))[:20]:
        prompt = prompts[name, variant]
        print(f"  {variant}: {prompt.left}|{prompt.target}|{prompt.right}")


def forms(record):
    """The variants of a released query, whose template and subject are read from it."""
    for template in template_set("templama"):
        first, *others = (re.escape(part) for part in template.ask("<subject>").split("<subject>"))
        pattern = f"{first}(?P<subject>.+){'(?P=subject)'.join(others)}"
        if template.relation == record["relation"] and (found := re.fullmatch(pattern, record["query"], re.DOTALL)):
            return forms_of(template, found["subject"]).items()
    raise AssertionError(record["query"])


def prompts_of(records):
    """The prompts of released probes by (number and id, variant); another entity is that of the record before."""
    for at, record in enumerate(records):
        for variant in VARIANTS:
            prompt = prompt_of(variant, *filled(record), definition_of(record), definition_of(records[at - 1]))
            if prompt is not None:
                yield (f"{at} {record['ex_id']}", variant), prompt


@pytest.mark.parametrize("name", ["train", "val"])
def test_all_released_queries_are_asked(name):
    rows = list(read_records(DATA / "templama" / f"templama_{name}.jsonl", "templama"))
    prompts = {}
    for row in rows:
        for variant, form in forms(row):
            for answer in row["answer"]:
                prompts[f"{row['id']} {answer['wikidata_id']}", variant] = Prompt(form.left, answer["name"], form.right)
    counted = Counter(variant for _, variant in prompts)
    n = len({(row["id"], one["wikidata_id"]) for row in rows for one in row["answer"]})
    first = [row for row in rows if row["query"].startswith("_X_")]
    n_first = len({(row["id"], one["wikidata_id"]) for row in first for one in row["answer"]})
    assert counted == {"undated": n, "no_subject": n, "object_last": n_first, "no_subject_object_last": n_first}
    queries = {row["id"]: row["query"] for row in rows}
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
    records = list(read_records(SAMPLES / f"{name}.json", "propagation"))
    assert len(records) == n
    prompts = dict(prompts_of(records))
    for at, record in enumerate(records):
        original = prompts[f"{at} {record['ex_id']}", "original"]
        probe = record["probe_sentences"]["template_0"]
        assert f"{original.left}<extra_id_0>{original.right}" == probe["probe_sentence"]
        assert probe["label"] == f"<extra_id_0> {original.target} <extra_id_1>"
    assert set(Counter(variant for _, variant in prompts).values()) == {n}
    show(f"ECBD, {name}", prompts)


@pytest.mark.parametrize(("kind", "template"), [("gpt2", "span_end"), ("roberta", "answer_l2r"), ("t5", "span_end")])
def test_all_released_items_go_through_models_of_random_weights(kind, template, tmp_path):
    """The way is the real one, from a checkpoint on disk; the numbers mean nothing."""
    module, tokenizer = random_model(KINDS[kind], tokenizer_of(kind), context=512), tokenizer_of(kind)
    module.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model = load(read_checkpoint(str(tmp_path)))
    rows = list(read_records(DATA / "templama" / "templama_val.jsonl", "templama"))
    facts = {
        Prompt(form.left, answer["name"], form.right)
        for row in rows
        for variant, form in forms(row)
        if not variant.startswith("no_subject")
        for answer in row["answer"]
    }
    cloze = set(
        dict(prompts_of(list(read_records(SAMPLES / "all_ent_2020_2021_np_500samples.json", "propagation")))).values()
    )
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
