"""Reads what models have scored of a window and of an earlier period, item by item. No Dagster here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from tempkb.benchmarks.dynamic_templama.tables import (
    DYNAMIC_TEMPLAMA_CHANGES,
    DYNAMIC_TEMPLAMA_QUERIES,
)
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_RELEASES
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES
from tempkb.models.known import known_models, unusable_models
from tempkb.models.tables import READY
from tempkb.results.answering import Answers
from tempkb.results.fragments import end_of_window
from tempkb.results.questions import Flags, ModelScores, Question, Scored
from tempkb.results.requests import KnowledgeRequest, Period
from tempkb.rooms import BENCHMARKS
from tempkb.scores.tables import PROMPT_SCORES, model_of
from tempkb.store.quoting import literal
from tempkb.store.store import Store
from tempkb.wikidata.tables import LATE_EDITS
from tempkb.windows import Granularity, window_of


@dataclass(frozen=True)
class _Aggregate:
    """How an aggregate is read: SQL of items and of scores, each narrowed to a release by `{release}`."""

    name: str
    benchmark: str
    releases: str
    items: str
    scores: str
    needs: tuple[str, ...]


# All items have: item (hash), from_day, to_day, is_provisional. A change happens in the window in which the new object
# begins; the old one has left on the first day of the next window.
_CHANGES = _Aggregate(
    "prefers_new",
    "dynamic_templama",
    f"SELECT release, study_from, study_to, granularity FROM {FACT_RELEASES.name} WHERE benchmark = 'dynamic_templama'",
    f"""
    SELECT hash(q.query_id, c.paired_object_id, c.object_id) AS item,
           coalesce(c.paired_window_start, c.window_start) AS from_day,
           greatest(c.window_start, {end_of_window("from_day", "q.granularity")}) AS to_day, q.is_provisional
    FROM {DYNAMIC_TEMPLAMA_CHANGES.name} AS c
    JOIN {DYNAMIC_TEMPLAMA_QUERIES.name} AS q USING (release, window_start, subject_id, relation)
    WHERE c.role = 'leaving' AND q.template_no = 1 AND release = {{release}}
    """,
    """
    SELECT s.model, s.scorer, hash(s.item_id, s.new_object_id, s.old_object_id) AS item, hash(s.subject_id) AS cluster,
           s.change_from AS from_day, s.change_to AS to_day, (s.preference_nats > 0)::DOUBLE AS value, f.days_after
    FROM scored_changes AS s
    LEFT JOIN leak_free_items AS f
        ON f.model = s.model AND f.release = s.release AND f.item_id = s.item_id AND f.target_id = s.new_object_id
    WHERE s.preference_nats IS NOT NULL AND s.release = {release}
    """,
    ("scored_changes", "leak_free_items", DYNAMIC_TEMPLAMA_CHANGES.name, DYNAMIC_TEMPLAMA_QUERIES.name),
)
_ENTITIES = _Aggregate(
    "ppl_entity_macro",
    "ecbd",
    f"SELECT release, study_from, study_to, NULL AS granularity FROM {ECBD_RELEASES.name}",
    f"""
    SELECT hash(cloze_id) AS item, origin_from AS from_day, origin_to AS to_day, false AS is_provisional
    FROM {ECBD_CLOZE.name} WHERE split = 'test' AND origin_from IS NOT NULL AND release = {{release}}
    """,
    f"""
    SELECT s.model, s.scorer, hash(s.item_id) AS item, hash(s.cluster_id) AS cluster, c.origin_from AS from_day,
           c.origin_to AS to_day, -s.log_prob_nats / s.n_tokens AS value, f.days_after
    FROM ecbd_scores AS s
    JOIN {ECBD_CLOZE.name} AS c ON c.release = s.release AND c.cloze_id = s.item_id
    LEFT JOIN leak_free_items AS f ON f.model = s.model AND f.release = s.release AND f.item_id = s.item_id
    WHERE s.status = 'scored' AND s.variant = 'original' AND s.split = 'test' AND c.origin_from IS NOT NULL
        AND s.release = {{release}}
    """,
    ("ecbd_scores", "leak_free_items", ECBD_CLOZE.name),
)
_AGGREGATES = (_CHANGES, _ENTITIES)


def read_questions(store: Store, request: KnowledgeRequest) -> Iterator[Question]:
    """Yield each aggregate of each release that is asked for, by name; nothing if the home has no scores at all."""
    models = _ready_models(store)
    if not store.lake.partitions(PROMPT_SCORES.name):
        return
    for aggregate in _AGGREGATES:
        for row in _releases(store, aggregate):
            if not request.releases or row["release"] in request.releases:
                yield _question(store, aggregate, row, request, models)


def passed_over(store: Store) -> list[str]:
    """Return why models that have scores are passed over, in words: their checkpoints could not be used since."""
    scored = {model_of(key) for key in store.lake.partitions(PROMPT_SCORES.name)}
    return [words for name, words in unusable_models(store.lake).items() if name in scored]


def _ready_models(store: Store) -> dict[str, dict[str, Any]]:
    return {row["model"]: row for row in known_models(store.lake) if row["status"] == READY}


def releases_asked(store: Store) -> list[str]:
    """Return the names of releases of which models can be asked what they know of a window."""
    return sorted(row["release"] for aggregate in _AGGREGATES for row in _releases(store, aggregate))


def _releases(store: Store, aggregate: _Aggregate) -> list[dict[str, Any]]:
    table = FACT_RELEASES if aggregate is _CHANGES else ECBD_RELEASES
    if not store.lake.partitions(table.name):
        return []
    return store.ask(f"{aggregate.releases} ORDER BY release", table.name)


def _question(
    store: Store,
    aggregate: _Aggregate,
    release: Mapping[str, Any],
    request: KnowledgeRequest,
    models: Mapping[str, Mapping[str, Any]],
) -> Question:
    window = request.window or _last(store, aggregate, release)
    earlier = request.before(window)
    name = literal(release["release"])
    within = [f"(from_day >= DATE '{first}' AND to_day <= DATE '{end}')" for first, end in (window, earlier)]
    touches = f"(from_day < DATE '{window[1]}' AND to_day > DATE '{window[0]}')"
    asked = store.ask(
        f"""
        SELECT count(*) FILTER ({within[0]}) AS n, count(*) FILTER ({touches} AND NOT {within[0]}) AS n_partly,
               count(*) FILTER ({within[1]}) AS n_earlier,
               coalesce(bool_or(is_provisional) FILTER ({within[0]}), false) AS is_provisional
        FROM ({aggregate.items.format(release=name)})
        """,
        *aggregate.needs,
    )[0]
    rows = store.query(
        f"""
        SELECT model, scorer, item, cluster, value, days_after, to_day, {within[0]} AS is_window
        FROM ({aggregate.scores.format(release=name)}) WHERE {within[0]} OR {within[1]} ORDER BY model, scorer, item
        """,
        *aggregate.needs,
    )
    found = [
        _scores_of(models[model], scorer, own, asked["n"], request, earlier)
        for (model, scorer), own in _groups(rows, "model", "scorer")
        if model in models
        and (not request.models or model in request.models)
        and _is_asked_for(scorer, models[model]["family"], aggregate.benchmark, request.template)
    ]
    return Question(
        aggregate.name,
        release["release"],
        window,
        earlier,
        asked["is_provisional"],
        asked["n"],
        asked["n_partly"],
        asked["n_earlier"],
        release["study_from"],
        found,
    )


def _last(store: Store, aggregate: _Aggregate, release: Mapping[str, Any]) -> Period:
    """The last window of a release; of changes the last one with a change, which the next window must show."""
    if aggregate is _CHANGES:
        items = aggregate.items.format(release=literal(release["release"]))
        row = store.ask(f"SELECT max(from_day) AS first, max(to_day) AS after FROM ({items})", *aggregate.needs)[0]
        if row["first"] is not None:
            return row["first"], row["after"]
    granularity = Granularity(release["granularity"] or store.home.settings.granularity)
    last = window_of(date.fromordinal(release["study_to"].toordinal() - 1), granularity)
    return last.start, last.end


def _is_asked_for(scorer: str, family: str, benchmark: str, template: str = "") -> bool:
    """Is a scorer the one that is asked for, or else the one that the benchmark names for the family?"""
    prompting = next(one.prompting for one in BENCHMARKS if one.name == benchmark)
    wanted = template or (prompting.templates[family] if prompting else "")
    return scorer.split("-")[0] == f"{family}.{wanted}"


def _groups(rows: pa.Table, *names: str) -> Iterator[tuple[tuple[str, ...], pa.Table]]:
    """The rows with equal values of some columns, which are neighbours."""
    keys = list(zip(*(rows[name].to_pylist() for name in names), strict=True))
    start = 0
    for at in range(1, len(keys) + 1):
        if at == len(keys) or keys[at] != keys[start]:
            yield keys[start], rows.slice(start, at - start)
            start = at


def _scores_of(
    model: Mapping[str, Any], scorer: str, rows: pa.Table, n_asked: int, request: KnowledgeRequest, earlier: Period
) -> ModelScores:
    all_rows = Scored(*(rows[name].to_numpy() for name in ("value", "cluster", "item")))
    in_window = rows["is_window"].to_numpy()
    known, clean = _known_and_clean(model, rows, request)
    certainly = model["knows_certainly_until"]
    # What a model can hardly have read of is no level with which to compare.
    reaches = certainly is None or earlier[1] <= certainly
    return ModelScores(
        model,
        scorer,
        all_rows.where(in_window & clean),
        all_rows.where(~in_window & reaches),
        n_asked - int(in_window.sum()),
        int((in_window & ~clean).sum()),
        int((in_window & known).sum()),
    )


def _known_and_clean(model: Mapping[str, Any], rows: pa.Table, request: KnowledgeRequest) -> tuple[Flags, Flags]:
    """Which items lie wholly in what the model may know; and which lie wholly in it or after it, as far as is known.

    An item in between, such as an appointment that was announced before the model's knowledge date, says neither what
    the model knows nor what it can infer.
    """
    n = rows.num_rows
    certainly = model["knows_certainly_until"]
    if request.takes_all or certainly is None:
        return np.zeros(n, dtype=bool), np.ones(n, dtype=bool)
    known = rows["to_day"].to_numpy() <= np.datetime64(certainly)
    after = rows["days_after"].fill_null(-1).to_numpy() >= request.buffer_days
    return np.asarray(known), np.asarray(known | after)


def read_levels_by_window(store: Store) -> list[dict[str, Any]]:
    """Return the levels of `prefers_new` and of perplexities by window of all releases, for a picture."""
    if not store.lake.partitions(PROMPT_SCORES.name):
        return []
    rows = store.ask(
        """
        SELECT g.benchmark, g.release, g.aggregate, g.model, m.family, g.scorer, g.window_start, g.value, g.low, g.high,
               g.n_clusters, m.knows_certainly_until, m.knows_possibly_until
        FROM scores_by_gap AS g JOIN models AS m USING (model)
        WHERE m.status = 'ready'
            AND ((aggregate = 'prefers_new' AND split = 'all')
                OR (aggregate = 'ppl_entity_macro' AND split = 'test' AND granularity = 'year'))
        ORDER BY ALL
        """,
        "scores_by_gap",
        "models",
    )
    return [row for row in rows if _is_asked_for(row["scorer"], row["family"], row["benchmark"])]


def usual_growth(store: Store) -> tuple[float, int] | None:
    """Return by what share the facts of a window have grown since the first dump that covered it: median, and windows.

    None if no window was covered by two dumps.
    """
    if not store.lake.partitions(LATE_EDITS.name):
        return None
    rows = store.ask(
        f"""
        SELECT median(growth) AS growth, count(*) AS n FROM (
            SELECT window_start, max_by(n_facts_now / n_facts_then - 1, dump_date) AS growth
            FROM {LATE_EDITS.name} WHERE n_facts_then > 0 AND dump_date > first_dump_date GROUP BY window_start
        )
        """,
        LATE_EDITS.name,
    )
    return (rows[0]["growth"], rows[0]["n"]) if rows[0]["n"] else None


def read_answers(store: Store, request: KnowledgeRequest) -> Iterator[Answers]:
    """Yield the scores of all changes of each release, model and scorer that is asked for."""
    if not store.lake.partitions(PROMPT_SCORES.name):
        return
    models = _ready_models(store)
    rows = store.query(
        """
        SELECT model, scorer, release, change_from AS began, change_to AS ended, hash(subject_id) AS cluster,
               hash(new_object_id) AS object, relation, (preference_nats > 0)::DOUBLE AS prefers,
               (control_preference_nats > 0)::DOUBLE AS control, new_nats, old_nats, days_after >= 0 AS is_after
        FROM scored_changes ORDER BY release, model, scorer, window_start, item_id, new_object_id, old_object_id
        """,
        "scored_changes",
    )
    for (release, model, scorer), own in _groups(rows, "release", "model", "scorer"):
        row = models.get(model)
        if row is None or (request.models and model not in request.models):
            continue
        if request.releases and release not in request.releases:
            continue
        if not _is_asked_for(scorer, row["family"], _CHANGES.benchmark, request.template):
            continue
        certainly = row["knows_certainly_until"]
        ends = own["ended"].to_numpy()
        prefers, control, new, old = (
            own[name].to_numpy(zero_copy_only=False) for name in ("prefers", "control", "new_nats", "old_nats")
        )
        yield Answers(
            release,
            model,
            scorer,
            certainly,
            row["knows_possibly_until"],
            own["began"].to_pylist(),
            own["cluster"].to_numpy(),
            own["object"].to_numpy(),
            own["relation"].to_pylist(),
            prefers,
            control,
            new,
            old,
            np.zeros(len(ends), bool) if certainly is None else ends <= np.datetime64(certainly),
            own["is_after"].fill_null(False).to_numpy(zero_copy_only=False),
        )
