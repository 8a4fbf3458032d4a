"""What `prefers_new` costs over 1.7 million scores: `python -m tempkb_tests.bench preferences`."""

from pathlib import Path

import duckdb

from tempkb.platform.rooms import TABLES, VIEWS
from tempkb.store.memory import in_memory, view_files
from tempkb.store.tables import by_name
from tempkb_tests.bench.measuring import Side, measure, row, spread

N_CHANGES, N_SUBJECTS, N_WINDOWS = 53_000, 18_000, 40
MODELS = ("a", "b", "c", "d")
PLACES = "(VALUES ('current', 'new'), ('previous', 'old'), ('control', 'new'), ('control', 'old')) AS p(role, place)"
_WINDOW = f"CAST(DATE '2014-01-01' + INTERVAL 3 MONTH * (({{}}) % {N_WINDOWS}) AS DATE)"
_SOURCES = {
    "models": f"""
        SELECT unnest({list(MODELS)}) AS model, DATE '2021-01-01' AS knows_certainly_until,
               DATE '2021-01-01' AS knows_possibly_until
    """,
    "dynamic_templama_changes": f"""
        SELECT 'r' AS release, {_WINDOW.format("i + 1")} AS window_start, concat('Q', i % {N_SUBJECTS}) AS subject_id,
               concat('P', i) AS relation, concat('old ', i) AS object_id, 'leaving' AS role,
               concat('new ', i) AS paired_object_id, {_WINDOW.format("i")} AS paired_window_start
        FROM range({N_CHANGES}) AS every(i)
    """,
    "dynamic_templama_queries": f"""
        SELECT 'r' AS release, {_WINDOW.format("i + 1")} AS window_start, concat('Q', i % {N_SUBJECTS}) AS subject_id,
               concat('P', i) AS relation, concat('query ', i) AS query_id, 1 AS template_no,
               ['train', 'validation', 'test'][(1 + hash(i % {N_SUBJECTS}) % 3)::INTEGER] AS split, 'quarter' AS granularity,
               false AS is_provisional
        FROM range({N_CHANGES}) AS every(i)
    """,
    "dynamic_templama_prompts": f"""
        SELECT 'r' AS release, concat('query ', i) AS item_id, variant,
               concat(CASE role WHEN 'control' THEN 'other ' ELSE '' END, place, ' ', i) AS target_id,
               repeat('x', (5 + hash(i, role, place) % 9)::INTEGER) AS target, md5(concat(i, role, place, variant)) AS prompt_id,
               role, CASE role WHEN 'control' THEN concat(place, ' ', i) END AS stands_for_id
        FROM range({N_CHANGES}) AS every(i), {PLACES}, (VALUES ('undated'), ('no_subject')) AS v(variant)
    """,
    "prompt_scores": f"""
        SELECT prompt_id, model, 'causal.span_end-1.f32' AS scorer, 'scored' AS status,
               -5 - hash(prompt_id, model) % 100000 / 5000 AS log_prob_nats, 2 AS n_tokens, 8 AS n_chars
        FROM prompts, (SELECT unnest({list(MODELS)}) AS model)
    """,
}


def measure_all(folder: Path) -> None:
    """Print what the view costs."""
    write(folder / "preferences")
    side = Side("prefers_new", ["prefers-new", str(folder / "preferences")])
    measure(side)
    row("view", "scores", "CPU s", "peak MB")
    row("---", "---", "---", "---")
    row("prefers_new", f"{8 * N_CHANGES * len(MODELS):,}", spread(side.cpu), f"{side.peak_mb:.0f}")
    print()


def write(folder: Path) -> None:
    """Write the tables that the view needs; every change has a score of each model."""
    folder.mkdir(parents=True)
    with duckdb.connect() as connection:
        for name, query in _SOURCES.items():
            connection.execute(f"COPY ({query}) TO '{folder / name}.parquet'")
            if name == "dynamic_templama_prompts":
                connection.execute(f"CREATE VIEW prompts AS FROM '{folder / name}.parquet'")


def read(folder: Path) -> int:
    """Return the number of rows of the view over such tables."""
    views = by_name(VIEWS)
    with in_memory() as connection:
        for name in by_name(TABLES).keys() & {path.stem for path in folder.glob("*.parquet")}:
            view_files(connection, name, [folder / f"{name}.parquet"])
        for name in ("change_scores", "scored_changes", "prefers_new"):
            connection.execute(f"CREATE TEMP VIEW {name} AS {views[name].query}")
        return len(connection.sql("FROM prefers_new").to_arrow_table())
