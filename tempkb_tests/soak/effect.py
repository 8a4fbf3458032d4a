"""The demo effect with many seeds: do tiny models of two cuts know what changed between the cuts?

    python -m tempkb_tests.soak.effect [FOLDER] [--seeds N] [--world SEED]

builds the demo world of a seed in FOLDER (by default a temporary one; a home that
is there is taken as it is, with the models and scores that it has), trains and scores
tiny models, prints all contrasts, and ends with status 1 if the headline is not shown
in a family, or a placebo is not zero. All entities of ECBD are in its test part, so
that there are ten of each period.

A model has read what held on the day before its cut. So a change between the cuts is
one whose old object held on the day before the first cut and not on that before the
second, and whose new object held on the latter only. The window in which a change is
listed does not tell: an object leaves in the first window without it, and models of a
cut at its beginning know of that.
"""

import argparse
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.dynamic_templama.benchmark import DYNAMIC_TEMPLAMA
from tempkb.benchmarks.ecbd.benchmark import ECBD
from tempkb.core.model_words import FAMILIES, Family
from tempkb.demo.models.recipe import demo_models, is_withheld
from tempkb.models.scorers import scorer_name
from tempkb.models.scores.requests import ScoreRequest
from tempkb.platform.api import open_store
from tempkb.store.quoting import literal
from tempkb.store.store import Store
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.soak.contrasts import CUTS, POSITIVE, Value, effects

_STUDY, _QUARTERS, _CLOZE = "2021-01-01..2024-01-01", "demo-quarters", "demo-cloze"
_SHOWN = ("estimate", "low", "high", "p_value", "p_holm", "p_permuted_cuts")


def main() -> None:
    """Build, train, score, compute and print."""
    reader = argparse.ArgumentParser(prog="tempkb_tests.soak.effect", description=__doc__)
    reader.add_argument("folder", nargs="?", type=Path, help="keep the home here")
    reader.add_argument("--seeds", type=int, default=5, help="of each family and cut")
    reader.add_argument("--world", type=int, default=7, help="seed of the demo world")
    asked = reader.parse_args()
    with tempfile.TemporaryDirectory(prefix="effect-") as temporary:
        home = (asked.folder or Path(temporary) / "home").resolve()
        fill(home, asked.world, asked.seeds)
        with mock.patch.dict(os.environ, {"TEMPKB_HOME": str(home)}):
            found = [(family, one) for family in FAMILIES for one in effects(read(open_store(), family))]
    titles = ("family", "contrast", *_SHOWN, "items", "clusters", "seeds", "verdict", "note")
    sys.stdout.write(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}\n")
    n_wrong = 0
    for family, one in found:
        sys.stdout.write(_line(family, vars(one)) + "\n")
        n_wrong += one.verdict == "not zero" or (one.contrast == POSITIVE[0] and one.verdict != "shown")
    sys.stdout.write(f"{n_wrong} headlines and placebos are not what is expected\n")
    sys.exit(1 if n_wrong else 0)


def fill(home: Path, world: int, n_seeds: int) -> None:
    """Build a demo world with the models of a number of seeds and their scores, or what is missing of it."""
    if not (home / "dumps").exists():
        run_tempkb(home, "demo", "--seed", str(world))
    run_tempkb(home, "build")
    run_tempkb(home, "release", "dynamic-templama", _STUDY, "--name", _QUARTERS)
    run_tempkb(home, "release", "ecbd", _STUDY, "--preset", "small", "--set", "dev_share=0", "--name", _CLOZE)
    run_tempkb(home, "model", "demo", "--cuts", ",".join(map(str, CUTS)), "--seeds", str(n_seeds), "--untrained")
    run_tempkb(home, "score", "--all", "--benchmark", "dynamic-templama")
    run_tempkb(home, "score", "--all", "--benchmark", "ecbd", "--variant", "original")


def _line(family: Family, row: Mapping[str, Any]) -> str:
    numbers = " | ".join("" if row[name] is None else f"{row[name]:.3f}" for name in _SHOWN)
    told = " | ".join(str(row[name]) for name in ("n_items", "n_clusters", "n_seeds", "verdict"))
    return f"| `{family}` | {row['contrast']} | {numbers} | {told} | {row['note'] or ''} |"


def read(store: Store, family: Family) -> dict[str, list[Value]]:
    """Return the values from which the contrasts of a family are computed, by kind, as `effects` takes them."""
    models = {one.name: one for one in demo_models(store) if one.family == family and one.cut in (*CUTS, None)}

    def ask(query: str, benchmark: Benchmark, *tables: str) -> Iterator[tuple[Mapping[str, Any], Any]]:
        scorer = scorer_name(family, benchmark.prompting.templates[family], ScoreRequest().dtype)
        days = {name: literal(cut) for name, cut in zip(("first", "second"), CUTS, strict=True)}
        names = ", ".join(map(literal, models))
        for row in store.ask(query.format(scorer=literal(scorer), models=names, **days), *tables) if models else ():
            model = models[row["model"]]
            yield row, (model.cut, model.seed, row["cluster"], tuple(row["item"]))

    found = defaultdict(list)
    for row, key in ask(_CHANGES, DYNAMIC_TEMPLAMA, "change_scores", "fact_spells"):
        hidden = is_withheld(row["cluster"])
        found["withheld" if hidden else "net"].append((*key, row["lead"] - row["control"]))
        if not hidden:
            found["control"].append((*key, row["control"]))
        elif row["added"] is not None:
            found["withheld_added"].append((*key, row["added"]))
    asked = ("fact_spells", "dynamic_templama_queries", "dynamic_templama_prompts", "prompt_scores")
    for row, key in ask(_OBJECTS, DYNAMIC_TEMPLAMA, *asked):
        if not is_withheld(row["cluster"]):
            found["new" if row["is_new"] else "kept"].append((*key, row["added"]))
    for row, key in ask(_CLOZES, ECBD, "ecbd_cloze", "ecbd_prompts", "prompt_scores"):
        found[row["born"]].append((*key, row["token_nats"]))
    return found


# What held on the day before each cut.
_HELD = f"""
    held AS (
        SELECT subject_id, relation, object_id,
               bool_or(coalesce(valid_from < {{first}}, true) AND coalesce(valid_to >= {{first}}, true)) AS at_first,
               bool_or(coalesce(valid_from < {{second}}, true) AND coalesce(valid_to >= {{second}}, true)) AS at_second
        FROM fact_spells WHERE release = '{_QUARTERS}' GROUP BY ALL
    )
"""
_CHANGES = f"""
    WITH {_HELD}
    SELECT c.model, c.subject_id AS cluster, [c.relation, c.old_object_id, c.new_object_id] AS item,
           c.new_nats - c.old_nats AS lead, c.control_new_nats - c.control_old_nats AS control,
           c.preference_nats AS added
    FROM change_scores AS c
    JOIN held AS new ON new.subject_id = c.subject_id AND new.relation = c.relation
         AND new.object_id = c.new_object_id AND new.at_second AND NOT new.at_first
    JOIN held AS old ON old.subject_id = c.subject_id AND old.relation = c.relation
         AND old.object_id = c.old_object_id AND old.at_first AND NOT old.at_second
    WHERE c.release = '{_QUARTERS}' AND c.scorer = {{scorer}} AND c.model IN ({{models}}) AND control IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY c.model, cluster, item ORDER BY c.wording DESC, c.window_start) = 1
"""
# A query has the same words in all windows, and an object the same score.
_OBJECTS = f"""
    WITH {_HELD},
    subjects AS (
        SELECT subject_id, relation, bool_or(at_first <> at_second) AS is_changed, bool_or(at_first) AS was_asked
        FROM held GROUP BY ALL
    ),
    objects AS (
        SELECT subject_id, relation, object_id, NOT at_first AS is_new
        FROM held JOIN subjects USING (subject_id, relation)
        WHERE was_asked AND at_second AND is_changed = NOT at_first
    ),
    asked AS (
        SELECT DISTINCT subject_id, relation, object_id, is_new, p.prompt_id,
               replace(replace(p.variant, 'no_subject_', ''), 'no_subject', 'undated') AS wording,
               p.variant NOT LIKE 'no_subject%' AS has_subject
        FROM objects JOIN dynamic_templama_queries AS q USING (subject_id, relation)
        JOIN dynamic_templama_prompts AS p
          ON p.release = q.release AND p.item_id = q.query_id AND p.target_id = object_id
        WHERE q.release = '{_QUARTERS}' AND p.role <> 'control' AND p.variant <> 'dated' AND q.template_no = 1
    )
    SELECT s.model, subject_id AS cluster, [relation, object_id] AS item, is_new,
           avg(s.log_prob_nats) FILTER (WHERE has_subject)
           - avg(s.log_prob_nats) FILTER (WHERE NOT has_subject) AS added
    FROM asked JOIN prompt_scores AS s USING (prompt_id)
    WHERE s.status = 'scored' AND s.scorer = {{scorer}} AND s.model IN ({{models}})
    GROUP BY s.model, cluster, item, is_new, wording
    HAVING added IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY s.model, cluster, item ORDER BY wording DESC) = 1
"""
_CLOZES = f"""
    SELECT s.model, p.cluster_id AS cluster, [p.item_id] AS item, s.log_prob_nats / s.n_tokens AS token_nats,
           CASE WHEN origin_from >= {{first}} AND origin_to <= {{second}} THEN 'between'
                WHEN origin_from >= {{second}} THEN 'later' WHEN origin_to <= {{first}} THEN 'earlier' END AS born
    FROM ecbd_cloze AS c
    JOIN ecbd_prompts AS p ON p.release = c.release AND p.item_id = c.cloze_id AND p.variant = 'original'
    JOIN prompt_scores AS s USING (prompt_id)
    WHERE c.release = '{_CLOZE}' AND c.split = 'test' AND born IS NOT NULL AND s.status = 'scored'
          AND s.scorer = {{scorer}} AND s.model IN ({{models}})
"""

if __name__ == "__main__":
    main()
