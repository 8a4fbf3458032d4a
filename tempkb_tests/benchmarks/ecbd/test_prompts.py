"""Prompts of ECBD: an item in its six variants by hand, those that it lacks."""

from datetime import date

import pyarrow as pa

from tempkb.benchmarks.ecbd.prompts import NO_CHUNK, NO_DEFINITION, prompt_rows
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE
from tempkb.core.filtering import LeftOut
from tempkb.core.prompts import Prompt

SENTENCE = "In 2021 the Ida storm cost Zoë’s café a roof of tin."
ITEM = {
    "release": "r",
    "cloze_id": "7-np-aa",
    "page_id": 7,
    "entity_id": "Q7",
    "origin_from": date(2021, 8, 1),
    "split": "test",
    "sentence": SENTENCE,
    "masked_sentence": "In 2021 the Ida storm cost Zoë’s café <extra_id_0> of tin.",
    "answer": "a roof",
    "mention_start_char": 12,
    "mention_end_char": 15,
    "mention_chunk_start_char": 8,
    "mention_chunk_end_char": 21,
    "span_start_char": 38,
    "span_end_char": 44,
    "definition": "Ida is a storm.",
    "random_definition": "Rye is a grain.",
}
BARE = {
    **ITEM,
    "cloze_id": "8-np-bb",
    "page_id": 8,
    "entity_id": None,
    "origin_from": None,
    "split": "dev",
    "mention_chunk_start_char": None,
    "mention_chunk_end_char": None,
    "random_definition": None,
}


def table_of(*items):
    return pa.Table.from_pylist([*items], ECBD_CLOZE.schema).combine_chunks()


def prompts_of(*items):
    left_out = LeftOut()
    (batch,) = table_of(*items).to_batches()
    return prompt_rows(batch, left_out).to_pylist(), left_out


def test_an_item_is_asked_in_six_variants():
    rows, left_out = prompts_of(ITEM)
    assert {row["variant"]: f"{row['left_context']}|{row['target']}|{row['right_context']}" for row in rows} == {
        "original": "In 2021 the Ida storm cost Zoë’s café |a roof| of tin.",
        "no_ent": "In 2021 the entity storm cost Zoë’s café |a roof| of tin.",
        "no_ent_released": "In 2021 the the entity storm cost Zoë’s café |a roof| of tin.",
        "no_ent_chunk": "In 2021 the entity cost Zoë’s café |a roof| of tin.",
        "definition": "Ida is a storm. In 2021 the Ida storm cost Zoë’s café |a roof| of tin.",
        "random_definition": "Rye is a grain. In 2021 the Ida storm cost Zoë’s café |a roof| of tin.",
    }
    assert not left_out.counts
    (row,) = (row for row in rows if row["variant"] == "original")
    assert row == {
        "release": "r",
        "window_start": date(2021, 8, 1),
        "item_id": "7-np-aa",
        "target_id": "answer",
        "variant": "original",
        "prompt_id": Prompt("In 2021 the Ida storm cost Zoë’s café ", "a roof", " of tin.").prompt_id,
        "left_context": "In 2021 the Ida storm cost Zoë’s café ",
        "target": "a roof",
        "right_context": " of tin.",
        "role": "current",
        "stands_for_id": None,
        "cluster_id": "Q7",
        "split": "test",
    }


def test_a_variant_that_an_item_lacks_is_left_out_and_counted():
    rows, left_out = prompts_of(ITEM, BARE)
    own = [row for row in rows if row["item_id"] == "8-np-bb"]
    assert [row["variant"] for row in own] == ["definition", "no_ent", "no_ent_released", "original"]
    assert {(row["cluster_id"], row["window_start"], row["split"]) for row in own} == {("8", None, "dev")}
    assert left_out.counts == {NO_CHUNK: 1, NO_DEFINITION: 1}
    assert left_out.examples == {NO_CHUNK: ["8-np-bb"], NO_DEFINITION: ["8-np-bb"]}


def test_origins_before_year_one_are_kept():
    table = table_of(ITEM)
    early = pa.array([-800_000], pa.int32()).cast(pa.date32())
    at = table.schema.get_field_index("origin_from")
    (batch,) = table.set_column(at, table.schema.field(at), early).to_batches()
    found = prompt_rows(batch, LeftOut())["window_start"].cast(pa.int32()).to_pylist()
    assert set(found) == {-800_000}
