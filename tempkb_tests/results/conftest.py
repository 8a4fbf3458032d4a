"""A home with the demo's releases and the scores of two made-up models, which know the world until a day each."""

import shutil
from datetime import date

import duckdb
import pytest

from tempkb.models.scores.tables import PROMPT_SCORES, partition_of
from tempkb.models.tables import MODELS
from tempkb.platform.api import open_store
from tempkb.store.drafts import Provenance
from tempkb.store.quoting import parquet
from tempkb.store.store import Store
from tempkb.wiki.wikidata.tables import FACTS

DAYS = {"early": date(2022, 1, 1), "late": date(2023, 7, 1)}
SCORERS = ("causal.span_end-1.f32", "causal.span-1.f32")


@pytest.fixture(scope="session")
def scored_home(made_once, demo_home):
    """Both models give an object 6 nats more if it held on their day; the rest is chance, by hash.

    Read only; copy it to change it.
    """

    def fill(home):
        shutil.copytree(demo_home, home)
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("TEMPKB_HOME", str(home))
            store = open_store()
            for name, day in DAYS.items():
                add_model(store, name, day)
                add_scores(store, name, day)
            store.publish()

    return made_once("scored", fill)


def add_model(store: Store, name: str, day: date | None) -> None:
    row = {
        **dict.fromkeys(MODELS.column_names()),
        **dict.fromkeys(("weights_sha256", "config_sha256", "tokenizer_sha256"), name * 8),
        "model": name,
        "checkpoint": f"/nowhere/{name}",
        "family": "causal",
        "n_parameters": 1,
        "knows_certainly_until": day,
        "knows_possibly_until": day,
        "status": "ready",
    }
    import pyarrow as pa

    store.write(MODELS, name, [pa.Table.from_pylist([row], MODELS.schema)], Provenance())


def add_scores(store: Store, name: str, day: date, luck: str = "") -> None:
    """Write scores of a model that knows what held on a day; models of the same luck are equal but for that."""
    facts, cloze = (parquet(store.lake.files(table)) for table in ("dynamic_templama_prompts", "ecbd_prompts"))
    held = f"""
        EXISTS (FROM {parquet(store.lake.files(FACTS.name))} AS f
                WHERE f.object_id = p.target_id AND p.item_id LIKE f.subject_id || '\\_%' ESCAPE '\\'
                AND coalesce(f.valid_from, DATE '1900-01-01') <= DATE '{day}'
                AND coalesce(f.valid_to, DATE '2100-01-01') > DATE '{day}')
    """
    for scorer, prompts, bonus in (
        (SCORERS[0], facts, f"max(CASE WHEN {held} THEN 6 ELSE 0 END)"),
        (SCORERS[1], cloze, "0"),
    ):
        rows = duckdb.sql(f"""
            SELECT prompt_id, '{name}' AS model, '{scorer}' AS scorer, 'scored' AS status,
                   -20 - hash(prompt_id || '{luck}') % 1000 / 250
                       + CASE WHEN any_value(variant) LIKE 'no_subject%' THEN 0 ELSE {bonus} END AS log_prob_nats,
                   2::INTEGER AS n_tokens, 8::INTEGER AS n_chars, [1, 2]::INTEGER[] AS token_ids,
                   [-1.0, -1.0]::DOUBLE[] AS token_log_probs, 0::INTEGER AS n_before, 0::INTEGER AS n_after,
                   NULL::BIGINT AS rank
            FROM {prompts} AS p WHERE variant <> 'dated' GROUP BY prompt_id ORDER BY prompt_id
        """).to_arrow_table()
        store.write(PROMPT_SCORES, partition_of(name, scorer), [PROMPT_SCORES.conform(rows)], Provenance())


@pytest.fixture
def scored_store(scored_home, monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", str(scored_home))
    return open_store()
