"""Reads the scores of the tiny models of a home and computes the demo effect.

A model has read what held on the day before its cut. So a change between the cuts is one whose old object held on the
day before the first cut and not on that before the second, and whose new object held on the latter only. The window in
which a change is listed does not tell: an object leaves in the first window without it, and models of a cut at its
beginning know of that.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

import pyarrow as pa

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.dynamic_templama.benchmark import DYNAMIC_TEMPLAMA
from tempkb.benchmarks.dynamic_templama.tables import (
    DYNAMIC_TEMPLAMA_CHANGES,
    DYNAMIC_TEMPLAMA_PROMPTS,
    DYNAMIC_TEMPLAMA_QUERIES,
)
from tempkb.benchmarks.dynamic_templama.views import CHANGE_SCORES
from tempkb.benchmarks.ecbd.benchmark import ECBD
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_PROMPTS
from tempkb.benchmarks.fact_queries.tables import FACT_SPELLS
from tempkb.benchmarks.prompting import Prompting
from tempkb.demo.models.asking import DemoModel
from tempkb.demo.models.effect import Effect, effects
from tempkb.demo.models.effect_scores import ChangeScore, ClozeScore, FamilyScores, ObjectScore
from tempkb.demo.models.recipe import is_withheld
from tempkb.errors import ContractError
from tempkb.models.known import known_models
from tempkb.models.names import FAMILIES, Family
from tempkb.models.scorers import scorer_name
from tempkb.models.tables import READY
from tempkb.results.tables import DEMO_EFFECT
from tempkb.scores.requests import ScoreRequest
from tempkb.scores.tables import PROMPT_SCORES
from tempkb.store.quoting import literal
from tempkb.store.store import Store


def demo_effect(store: Store) -> pa.Table:
    """Return the rows of `demo_effect` by all scores of tiny models; there are none without such models of two cuts."""
    read = read_scores(store)
    rows = [_row(scores, effect) for scores in read for effect in effects(scores)]
    rows.sort(key=lambda row: [row[name] for name in DEMO_EFFECT.key])
    return pa.Table.from_pylist(rows, DEMO_EFFECT.schema)


def demo_models(store: Store) -> list[DemoModel]:
    """Return the models of the home that `tempkb model demo` has made, by name."""
    found = []
    for row in known_models(store.lake):
        model = DemoModel.named(row["model"])
        if model is not None and row["status"] == READY and row["knows_certainly_until"] == model.cut:
            found.append(model)
    return found


def withheld_clusters(store: Store, release: str) -> list[int]:
    """Return the subjects of a release whose articles are withheld from all models, as the results call clusters."""
    rows = store.ask(
        f"SELECT DISTINCT subject_id, hash(subject_id) AS cluster FROM {DYNAMIC_TEMPLAMA_QUERIES.name} "
        f"WHERE release = {literal(release)} ORDER BY subject_id",
        DYNAMIC_TEMPLAMA_QUERIES.name,
    )
    return [row["cluster"] for row in rows if is_withheld(row["subject_id"])]


def read_scores(store: Store) -> list[FamilyScores]:
    """Return the scores of each family that has models of two cuts; of several cuts, the first and the last count."""
    models = demo_models(store)
    found = []
    for family in FAMILIES:
        own = [one for one in models if one.family == family]
        cuts = sorted({one.cut for one in own if one.cut is not None})
        if len(cuts) > 1:
            reader = _Reader(
                store, family, (cuts[0], cuts[-1]), [one for one in own if one.cut in (None, cuts[0], cuts[-1])]
            )
            found.append(reader.read())
    return found


class _Reader:
    """Reads the scores of the models of a family."""

    def __init__(self, store: Store, family: Family, cuts: tuple[date, date], models: Sequence[DemoModel]) -> None:
        self._store, self._family, self._cuts = store, family, cuts
        self._models = {one.name: one for one in models}

    def read(self) -> FamilyScores:
        """Return all that the contrasts of the family need."""
        releases = {}
        facts = self._release(_RELEASES_OF_CHANGES, FACT_SPELLS.name, DYNAMIC_TEMPLAMA_CHANGES.name)
        cloze = self._release(_RELEASES_OF_BIRTHS, ECBD_CLOZE.name)
        changes: list[ChangeScore] = []
        objects: list[ObjectScore] = []
        clozes: list[ClozeScore] = []
        if facts is not None:
            releases[DYNAMIC_TEMPLAMA.name] = facts
            changes, objects = list(self._changes(facts)), list(self._objects(facts))
        if cloze is not None:
            releases[ECBD.name] = cloze
            clozes = list(self._clozes(cloze))
        return FamilyScores(self._family, self._cuts, changes, objects, clozes, releases)

    def _release(self, query: str, *tables: str) -> str | None:
        """The release with most items between the cuts, the first by name of equal ones."""
        found = self._ask(query, *tables)
        return found[0]["release"] if found else None

    def _changes(self, release: str) -> Iterator[ChangeScore]:
        tables = (CHANGE_SCORES.name, FACT_SPELLS.name)
        for row in self._ask(_CHANGES, *tables, release=release, scorer=_scorer(DYNAMIC_TEMPLAMA, self._family)):
            yield ChangeScore(
                self._models[row["model"]],
                row["subject_id"],
                (row["relation"], row["old_object_id"], row["new_object_id"]),
                is_withheld(row["subject_id"]),
                row["lead"],
                row["control_lead"],
                row["added_lead"],
            )

    def _objects(self, release: str) -> Iterator[ObjectScore]:
        tables = (FACT_SPELLS.name, DYNAMIC_TEMPLAMA_QUERIES.name, DYNAMIC_TEMPLAMA_PROMPTS.name, PROMPT_SCORES.name)
        for row in self._ask(_OBJECTS, *tables, release=release, scorer=_scorer(DYNAMIC_TEMPLAMA, self._family)):
            if not is_withheld(row["subject_id"]):
                yield ObjectScore(
                    self._models[row["model"]],
                    row["subject_id"],
                    (row["relation"], row["object_id"]),
                    row["is_new"],
                    row["added"],
                )

    def _clozes(self, release: str) -> Iterator[ClozeScore]:
        tables = (ECBD_CLOZE.name, ECBD_PROMPTS.name, PROMPT_SCORES.name)
        variant = _prompting(ECBD).variants[0]
        for row in self._ask(_CLOZES, *tables, release=release, scorer=_scorer(ECBD, self._family), variant=variant):
            model = self._models[row["model"]]
            yield ClozeScore(model, row["entity_id"], row["item_id"], row["born"], row["token_nats"])

    def _ask(self, query: str, *tables: str, **values: str) -> list[dict[str, Any]]:
        first, second = (literal(cut) for cut in self._cuts)
        said = {name: literal(value) for name, value in values.items()}
        models = ", ".join(map(literal, self._models))
        return self._store.ask(query.format(first=first, second=second, models=models, **said), *tables)


def _scorer(benchmark: Benchmark, family: Family) -> str:
    """The scorer by which a benchmark's prompts are scored unless somebody asks for another."""
    return scorer_name(family, _prompting(benchmark).templates[family], ScoreRequest().dtype)


def _prompting(benchmark: Benchmark) -> Prompting:
    if benchmark.prompting is None:
        raise ContractError(f"benchmark {benchmark.name!r} has no prompts, so there is nothing to compare")
    return benchmark.prompting


def _row(scores: FamilyScores, effect: Effect) -> dict[str, Any]:
    contrast = effect.contrast
    return {
        **vars(effect),
        "family": scores.family,
        "benchmark": contrast.benchmark,
        "contrast": contrast.name,
        "unit": contrast.unit,
        "expected": contrast.expected,
        "release": scores.releases.get(contrast.benchmark),
        "first_cut": scores.cuts[0],
        "second_cut": scores.cuts[1],
    }


# What held on the day before each cut.
_HELD = """
    held AS (
        SELECT release, subject_id, relation, object_id,
               bool_or(coalesce(valid_from < {first}, true) AND coalesce(valid_to >= {first}, true)) AS at_first,
               bool_or(coalesce(valid_from < {second}, true) AND coalesce(valid_to >= {second}, true)) AS at_second
        FROM fact_spells GROUP BY ALL
    )
"""
_PAIRED = """
    JOIN held AS new ON new.release = c.release AND new.subject_id = c.subject_id AND new.relation = c.relation
         AND new.object_id = c.{new} AND new.at_second AND NOT new.at_first
    JOIN held AS old ON old.release = c.release AND old.subject_id = c.subject_id AND old.relation = c.relation
         AND old.object_id = c.{old} AND old.at_first AND NOT old.at_second
"""
_RELEASES_OF_CHANGES = f"""
    WITH {_HELD}
    SELECT c.release, count(*) AS n
    FROM dynamic_templama_changes AS c {_PAIRED.format(new="paired_object_id", old="object_id")}
    WHERE c.role = 'leaving' GROUP BY c.release ORDER BY n DESC, c.release LIMIT 1
"""
_CHANGES = f"""
    WITH {_HELD}
    SELECT c.model, c.subject_id, c.relation, c.old_object_id, c.new_object_id, c.new_nats - c.old_nats AS lead,
           c.control_new_nats - c.control_old_nats AS control_lead, c.preference_nats AS added_lead
    FROM change_scores AS c {_PAIRED.format(new="new_object_id", old="old_object_id")}
    WHERE c.release = {{release}} AND c.scorer = {{scorer}} AND c.model IN ({{models}}) AND control_lead IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY c.model, c.subject_id, c.relation, c.old_object_id, c.new_object_id
        ORDER BY c.wording DESC, c.window_start
    ) = 1
"""
# A query has the same words in all windows, and an object the same score.
_OBJECTS = f"""
    WITH {_HELD},
    subjects AS (
        SELECT release, subject_id, relation, bool_or(at_first <> at_second) AS is_changed,
               bool_or(at_first) AS was_asked
        FROM held GROUP BY ALL
    ),
    objects AS (
        SELECT release, subject_id, relation, object_id, NOT at_first AS is_new
        FROM held JOIN subjects USING (release, subject_id, relation)
        WHERE release = {{release}} AND was_asked AND at_second AND is_changed = NOT at_first
    ),
    asked AS (
        SELECT DISTINCT subject_id, relation, object_id, is_new, p.prompt_id,
               replace(replace(p.variant, 'no_subject_', ''), 'no_subject', 'undated') AS wording,
               p.variant NOT LIKE 'no_subject%' AS has_subject
        FROM objects JOIN dynamic_templama_queries AS q USING (release, subject_id, relation)
        JOIN dynamic_templama_prompts AS p
          ON p.release = q.release AND p.item_id = q.query_id AND p.target_id = object_id
        WHERE p.role <> 'control' AND p.variant <> 'dated' AND q.template_no = 1
    )
    SELECT s.model, subject_id, relation, object_id, is_new,
           avg(s.log_prob_nats) FILTER (WHERE has_subject)
           - avg(s.log_prob_nats) FILTER (WHERE NOT has_subject) AS added
    FROM asked JOIN prompt_scores AS s USING (prompt_id)
    WHERE s.status = 'scored' AND s.scorer = {{scorer}} AND s.model IN ({{models}})
    GROUP BY s.model, subject_id, relation, object_id, is_new, wording
    HAVING added IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY s.model, subject_id, relation, object_id ORDER BY wording DESC
    ) = 1
"""
_BORN = """
    CASE WHEN origin_from >= {first} AND origin_to <= {second} THEN 'between'
         WHEN origin_from >= {second} THEN 'later' WHEN origin_to <= {first} THEN 'earlier' END
"""
_RELEASES_OF_BIRTHS = f"""
    SELECT release, count(DISTINCT entity_id) AS n FROM ecbd_cloze
    WHERE split = 'test' AND {_BORN} = 'between' GROUP BY release ORDER BY n DESC, release LIMIT 1
"""
_CLOZES = f"""
    SELECT s.model, p.cluster_id AS entity_id, p.item_id, {_BORN} AS born, s.log_prob_nats / s.n_tokens AS token_nats
    FROM ecbd_cloze AS c
    JOIN ecbd_prompts AS p ON p.release = c.release AND p.item_id = c.cloze_id AND p.variant = {{variant}}
    JOIN prompt_scores AS s USING (prompt_id)
    WHERE c.release = {{release}} AND c.split = 'test' AND born IS NOT NULL AND s.status = 'scored'
          AND s.scorer = {{scorer}} AND s.model IN ({{models}})
"""
