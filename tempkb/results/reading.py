"""Reads what models have scored of a window and of an earlier period, item by item. No Dagster here."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.reading import Aggregate
from tempkb.models.known import known_models, unusable_models
from tempkb.models.tables import READY
from tempkb.results.answering import Answers
from tempkb.results.questions import Flags, Ids, ModelScores, Question, Scored
from tempkb.results.requests import KnowledgeRequest, Period
from tempkb.scores.tables import PROMPT_SCORES, model_of
from tempkb.statistics import MIN_CLUSTERS
from tempkb.store.quoting import literal
from tempkb.store.store import Store
from tempkb.wikidata.tables import LATE_EDITS
from tempkb.windows import Granularity, window_of, windows_until

_COMPARED = [(one, one.reading.aggregate) for one in BENCHMARKS if one.reading and one.reading.aggregate]
"""Benchmarks with the aggregates by which models are compared."""
_WITH_CHANGES = next(one for one, aggregate in _COMPARED if "scored_changes" in aggregate.needs)


def read_questions(store: Store, request: KnowledgeRequest) -> Iterator[Question]:
    """Yield each aggregate of each release that is asked for, by name; nothing if the home has no scores at all."""
    models = {name: row for name, row in _ready_models(store).items() if not request.models or name in request.models}
    if not store.lake.partitions(PROMPT_SCORES.name):
        return
    for benchmark, aggregate in _COMPARED:
        for row in _releases(store, aggregate):
            if not request.releases or row["release"] in request.releases:
                yield _Asking(store, benchmark, aggregate, row, request, models).question()


def passed_over(store: Store) -> list[str]:
    """Return why models that have scores are passed over, in words: their checkpoints could not be used since."""
    scored = {model_of(key) for key in store.lake.partitions(PROMPT_SCORES.name)}
    return [words for name, words in unusable_models(store.lake).items() if name in scored]


def _ready_models(store: Store) -> dict[str, dict[str, Any]]:
    return {row["model"]: row for row in known_models(store.lake) if row["status"] == READY}


def releases_asked(store: Store) -> list[str]:
    """Return the names of releases of which models can be asked what they know of a window."""
    return sorted(row["release"] for _, aggregate in _COMPARED for row in _releases(store, aggregate))


def _releases(store: Store, aggregate: Aggregate) -> list[dict[str, Any]]:
    if not store.lake.partitions(aggregate.table):
        return []
    return store.ask(f"{aggregate.releases} ORDER BY release", aggregate.table)


@dataclass(frozen=True)
class _Asking:
    """Asks the models about an aggregate of a release."""

    store: Store
    benchmark: Benchmark
    aggregate: Aggregate
    release: Mapping[str, Any]
    request: KnowledgeRequest
    models: Mapping[str, Mapping[str, Any]]

    def question(self) -> Question:
        """What is asked. Where no model can be compared with some years before, it is with the first period it can."""
        window = self.request.window or _last(self.store, self.aggregate, self.release)
        asked = self._compared(window, self.request.before(window))
        is_usable = any(len(np.unique(one.earlier.clusters)) >= MIN_CLUSTERS for one in asked.models)
        if is_usable or not asked.n_asked or not isinstance(self.request.earlier, int):
            return asked
        first = self._first_usable(window)
        return asked if first is None else replace(self._compared(window, first), is_fallback=True)

    def _first_usable(self, window: Period) -> Period | None:
        """The first period of as many windows that a model certainly knows, with scores of enough subjects."""
        granularity = _granularity(self.store, self.release)
        n = len(windows_until(*window, granularity))
        before = windows_until(self.release["study_from"], window[0], granularity)
        periods = [(before[at].start, before[at + n - 1].end) for at in range(len(before) - n + 1)] if n else []
        if not periods:
            return None
        days = ", ".join(f"(DATE '{first}', DATE '{end}')" for first, end in periods)
        rows = self.store.ask(
            f"""
            SELECT first_day, end_day, model, scorer FROM (VALUES {days}) AS periods(first_day, end_day)
            JOIN ({self._narrowed(self.aggregate.scores)}) ON from_day >= first_day AND to_day <= end_day
            GROUP BY ALL HAVING count(DISTINCT cluster) >= {MIN_CLUSTERS} ORDER BY first_day
            """,
            *self.aggregate.needs,
        )
        found = (
            (row, (row["first_day"], row["end_day"])) for row in rows if self._is_asked(row["model"], row["scorer"])
        )
        return next((period for row, period in found if _reaches(self.models[row["model"]], period)), None)

    def _compared(self, window: Period, earlier: Period) -> Question:
        within = [f"(from_day >= DATE '{first}' AND to_day <= DATE '{end}')" for first, end in (window, earlier)]
        touches = f"(from_day < DATE '{window[1]}' AND to_day > DATE '{window[0]}')"
        asked = self.store.ask(
            f"""
            SELECT count(*) FILTER ({within[0]}) AS n, count(*) FILTER ({touches} AND NOT {within[0]}) AS n_partly,
                   count(*) FILTER ({within[1]}) AS n_earlier,
                   coalesce(bool_or(is_provisional) FILTER ({within[0]}), false) AS is_provisional
            FROM ({self._narrowed(self.aggregate.items)})
            """,
            *self.aggregate.needs,
        )[0]
        rows = self._grouped(
            f"""
            SELECT model, scorer, item, cluster, value, days_after, to_day, control, {within[0]} AS is_window
            FROM ({self._narrowed(self.aggregate.scores)}) WHERE {within[0]} OR {within[1]}
            """
        )
        reasons = self._grouped(
            f"""
            SELECT model, scorer, item, relation, reason, is_starting
            FROM ({self._narrowed(self.aggregate.reasons)}) WHERE {within[0]}
            """
        )
        return Question(
            self.aggregate,
            self.release["release"],
            window,
            earlier,
            asked["is_provisional"],
            asked["n"],
            asked["n_partly"],
            asked["n_earlier"],
            self.release["study_from"],
            [
                _scores_of(self.models[key[0]], key[1], own, reasons.get(key), asked["n"], self.request, earlier)
                for key, own in rows.items()
                if self._is_asked(*key)
            ],
        )

    def _grouped(self, query: str) -> dict[tuple[str, ...], pa.Table]:
        """The rows of a query by model and scorer."""
        rows = self.store.query(f"{query} ORDER BY model, scorer, item", *self.aggregate.needs)
        return dict(_groups(rows, "model", "scorer"))

    def _narrowed(self, query: str) -> str:
        return query.format(release=literal(self.release["release"]))

    def _is_asked(self, model: str, scorer: str) -> bool:
        """Is a model asked for, by this scorer?"""
        family = self.models[model]["family"] if model in self.models else ""
        return bool(family) and _is_asked_for(scorer, family, self.benchmark, self.request.scorer)


def _last(store: Store, aggregate: Aggregate, release: Mapping[str, Any]) -> Period:
    """The last window of a release, or of its items, such as changes, which the next window must show."""
    if aggregate.ends_with_items:
        items = aggregate.items.format(release=literal(release["release"]))
        row = store.ask(f"SELECT max(from_day) AS first, max(to_day) AS after FROM ({items})", *aggregate.needs)[0]
        if row["first"] is not None:
            return row["first"], row["after"]
    last = window_of(date.fromordinal(release["study_to"].toordinal() - 1), _granularity(store, release))
    return last.start, last.end


def _granularity(store: Store, release: Mapping[str, Any]) -> Granularity:
    return Granularity(release["granularity"] or store.home.settings.granularity)


def _reaches(model: Mapping[str, Any], period: Period) -> bool:
    """Does a model certainly know what happened in a period? What it can hardly have read of is no level to compare."""
    certainly = model["knows_certainly_until"]
    return certainly is None or period[1] <= certainly


def _is_asked_for(scorer: str, family: str, benchmark: Benchmark, template: str = "") -> bool:
    """Is a scorer the one that is asked for, or else the one that the benchmark names for the family?"""
    wanted = template or (benchmark.prompting.templates[family] if benchmark.prompting else "")
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
    model: Mapping[str, Any],
    scorer: str,
    rows: pa.Table,
    reasons: pa.Table | None,
    n_asked: int,
    request: KnowledgeRequest,
    earlier: Period,
) -> ModelScores:
    all_rows = Scored(*(rows[name].to_numpy() for name in ("value", "cluster", "item", "control")))
    in_window = rows["is_window"].to_numpy()
    known, clean = _known_and_clean(model, rows, request)
    return ModelScores(
        model,
        scorer,
        all_rows.where(in_window & clean),
        all_rows.where(~in_window & _reaches(model, earlier)),
        n_asked - int(in_window.sum()),
        int((in_window & ~clean).sum()),
        int((in_window & known).sum()),
        *(() if reasons is None else _lacking(reasons, all_rows.where(in_window))),
    )


def _lacking(reasons: pa.Table, scored: Scored) -> tuple[Counter[tuple[str, str]], Ids]:
    """Why items of the window have no score, by reason and relation; and which of the scored begin with the object."""
    items = reasons["item"].to_numpy()
    has_score = np.isin(items, scored.items)
    is_starting = reasons["is_starting"].to_numpy(zero_copy_only=False)
    unscored = reasons.filter(pa.array(~has_score)).select(["reason", "relation"]).to_pylist()
    return Counter((row["reason"], row["relation"]) for row in unscored), items[has_score & is_starting]


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
    """Return the levels of aggregates by window of all releases, for a picture; of perplexities by year."""
    if not store.lake.partitions(PROMPT_SCORES.name):
        return []
    wanted = " OR ".join(
        f"g.benchmark = {literal(benchmark.name)} AND aggregate = {literal(one.name)} AND split = {literal(one.split)}"
        + ("" if one.is_share else " AND granularity = 'year'")
        for benchmark, one in _COMPARED
    )
    rows = store.ask(
        f"""
        SELECT g.benchmark, g.release, g.aggregate, g.model, m.family, g.scorer, g.window_start, g.value, g.low, g.high,
               g.n_clusters, m.knows_certainly_until, m.knows_possibly_until
        FROM scores_by_gap AS g JOIN models AS m USING (model)
        WHERE m.status = 'ready' AND ({wanted}) ORDER BY ALL
        """,
        "scores_by_gap",
        "models",
    )
    by_name = {one.name: one for one, _ in _COMPARED}
    return [row for row in rows if _is_asked_for(row["scorer"], row["family"], by_name[row["benchmark"]])]


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
        if not _is_asked_for(scorer, row["family"], _WITH_CHANGES, request.scorer):
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
