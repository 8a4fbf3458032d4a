"""Reads what models have scored of a window and of an earlier period, item by item. No Dagster here."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tempkb.benchmarks.dynamic_templama.tables import (
    DYNAMIC_TEMPLAMA_CHANGES,
    DYNAMIC_TEMPLAMA_PROMPTS,
    DYNAMIC_TEMPLAMA_QUERIES,
)
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_PROMPTS, ECBD_RELEASES
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES
from tempkb.models.known import known_models, unusable_models
from tempkb.models.tables import READY
from tempkb.prompts import HAS_TWO_PERIODS
from tempkb.results.answering import Answers
from tempkb.results.fragments import end_of_window
from tempkb.results.questions import Flags, Floats, Ids, ModelScores, Question, Scored
from tempkb.results.requests import KnowledgeRequest, Period
from tempkb.results.statistics import MIN_CLUSTERS
from tempkb.rooms import BENCHMARKS
from tempkb.scores.tables import PROMPT_SCORES, model_of
from tempkb.store.quoting import literal
from tempkb.store.store import Store
from tempkb.wikidata.tables import LATE_EDITS
from tempkb.windows import Granularity, window_of, windows_until

Days = np.ndarray[Any, np.dtype[np.datetime64]]

TWO_PERIODS = "two_periods"
"""Reason why a prompt has no score: a name's own period and that of the sentence are one token (not_alignable)."""
# The reason that remains if a query that begins with the object is asked in another wording is the last one by name.
_REASONS = f"""
    max(CASE WHEN s.status = 'not_alignable' AND {HAS_TWO_PERIODS} THEN '{TWO_PERIODS}' ELSE s.status END) AS reason,
    bool_or(s.status = 'no_left_context') AS is_starting
"""


@dataclass(frozen=True)
class _Aggregate:
    """How an aggregate is read: SQL of items, scores and reasons why there is none, of a release `{release}`.

    Of some items it is known only in which year they are: then years are windows, too.
    """

    name: str
    benchmark: str
    releases: str
    items: str
    scores: str
    reasons: str
    needs: tuple[str, ...]
    has_years: bool = False


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
           s.change_from AS from_day, s.change_to AS to_day, (s.preference_nats > 0)::DOUBLE AS value, f.days_after,
           (s.control_preference_nats > 0)::DOUBLE AS control
    FROM scored_changes AS s
    LEFT JOIN leak_free_items AS f
        ON f.model = s.model AND f.release = s.release AND f.item_id = s.item_id AND f.target_id = s.new_object_id
    WHERE s.preference_nats IS NOT NULL AND s.release = {release}
    """,
    f"""
    SELECT s.model, s.scorer, i.item, i.relation, i.from_day, i.to_day, {_REASONS}
    FROM (
        SELECT hash(q.query_id, c.paired_object_id, c.object_id) AS item, q.release, q.query_id, q.relation,
               [c.paired_object_id, c.object_id] AS objects,
               coalesce(c.paired_window_start, c.window_start) AS from_day,
               greatest(c.window_start, {end_of_window("from_day", "q.granularity")}) AS to_day
        FROM {DYNAMIC_TEMPLAMA_CHANGES.name} AS c
        JOIN {DYNAMIC_TEMPLAMA_QUERIES.name} AS q USING (release, window_start, subject_id, relation)
        WHERE c.role = 'leaving' AND q.template_no = 1 AND q.release = {{release}}
    ) AS i
    JOIN {DYNAMIC_TEMPLAMA_PROMPTS.name} AS p
        ON p.release = i.release AND p.item_id = i.query_id AND list_contains(i.objects, p.target_id)
    JOIN {PROMPT_SCORES.name} AS s USING (prompt_id)
    WHERE p.role <> 'control' AND p.variant <> 'dated' AND s.status <> 'scored' GROUP BY ALL
    """,
    (
        "scored_changes",
        "leak_free_items",
        DYNAMIC_TEMPLAMA_CHANGES.name,
        DYNAMIC_TEMPLAMA_QUERIES.name,
        DYNAMIC_TEMPLAMA_PROMPTS.name,
        PROMPT_SCORES.name,
    ),
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
           c.origin_to AS to_day, -s.log_prob_nats / s.n_tokens AS value, f.days_after, NULL::DOUBLE AS control
    FROM ecbd_scores AS s
    JOIN {ECBD_CLOZE.name} AS c ON c.release = s.release AND c.cloze_id = s.item_id
    LEFT JOIN leak_free_items AS f ON f.model = s.model AND f.release = s.release AND f.item_id = s.item_id
    WHERE s.status = 'scored' AND s.variant = 'original' AND s.split = 'test' AND c.origin_from IS NOT NULL
        AND s.release = {{release}}
    """,
    f"""
    SELECT s.model, s.scorer, hash(c.cloze_id) AS item, '' AS relation, c.origin_from AS from_day,
           c.origin_to AS to_day, {_REASONS}
    FROM {ECBD_CLOZE.name} AS c
    JOIN {ECBD_PROMPTS.name} AS p ON p.release = c.release AND p.item_id = c.cloze_id
    JOIN {PROMPT_SCORES.name} AS s USING (prompt_id)
    WHERE p.variant = 'original' AND c.split = 'test' AND c.origin_from IS NOT NULL AND s.status <> 'scored'
        AND c.release = {{release}} GROUP BY ALL
    """,
    ("ecbd_scores", "leak_free_items", ECBD_CLOZE.name, ECBD_PROMPTS.name, PROMPT_SCORES.name),
    has_years=True,
)
_AGGREGATES = (_CHANGES, _ENTITIES)
_IN_NUMBERS = ", ".join(f"{name} - DATE '1970-01-01' AS {name}" for name in ("from_day", "to_day"))


def read_questions(store: Store, request: KnowledgeRequest) -> Iterator[Question]:
    """Yield each aggregate of each release that is asked for, by name; nothing if the home has no scores at all."""
    for asking in _read(store, request):
        yield asking.question(request.window or asking.last)


def read_all_windows(store: Store) -> Iterator[tuple[Question, bool]]:
    """Yield each aggregate of each release in each window that has items, and whether that is the last one."""
    for asking in _read(store, KnowledgeRequest()):
        for window in asking.windows:
            question = asking.question(window)
            if question.n_asked or window == asking.last:
                yield question, window == asking.last


def _read(store: Store, request: KnowledgeRequest) -> "Iterator[_Asking]":
    models = {name: row for name, row in _ready_models(store).items() if not request.models or name in request.models}
    if not store.lake.partitions(PROMPT_SCORES.name):
        return
    for aggregate in _AGGREGATES:
        releases = [
            row for row in _releases(store, aggregate) if not request.releases or row["release"] in request.releases
        ]
        if releases:
            with store.asking(*aggregate.needs) as answer:
                for row in releases:
                    granularity = Granularity(row["granularity"] or store.home.settings.granularity)
                    yield _asking(answer, aggregate, row, granularity, request, models)


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


@dataclass(frozen=True)
class _Days:
    """When items may have happened: first days, and the days after the last ones."""

    first: Days
    end: Days

    def within(self, period: Period) -> Flags:
        """Which lie wholly in a period?"""
        return (self.first >= np.datetime64(period[0])) & (self.end <= np.datetime64(period[1]))

    def touching(self, period: Period) -> Flags:
        """Which lie in a period at least in part?"""
        return (self.first < np.datetime64(period[1])) & (self.end > np.datetime64(period[0]))


@dataclass(frozen=True)
class _Given:
    """What a model gave for the items of a release, by one scorer."""

    days: _Days
    scored: Scored
    days_after: Floats


@dataclass(frozen=True)
class _Reasons:
    """Why prompts about items have no score; of which reason and relation each is."""

    days: _Days
    items: Ids
    is_starting: Flags
    words: list[tuple[str, str]]

    def lacking(self, window: Period, scored: Ids) -> tuple[Counter[tuple[str, str]], Ids]:
        """Why items of a window have no score, by reason and relation; and which of the scored begin with the object."""
        within, has_score = self.days.within(window), np.isin(self.items, scored)
        unscored = Counter(self.words[at] for at in np.flatnonzero(within & ~has_score))
        return unscored, self.items[within & has_score & self.is_starting]


@dataclass(frozen=True)
class _Asking:
    """Asks models about an aggregate of a release, of which all items, scores and reasons were read."""

    aggregate: _Aggregate
    release: Mapping[str, Any]
    granularity: Granularity
    request: KnowledgeRequest
    models: Mapping[str, Mapping[str, Any]]
    days: _Days
    is_provisional: Flags
    given: Mapping[tuple[str, ...], _Given]
    reasons: Mapping[tuple[str, ...], _Reasons]

    @cached_property
    def last(self) -> Period:
        """The last window; of changes the last one with a change, which the next window must show."""
        if self.aggregate is _CHANGES and len(self.days.first):
            return self.days.first.max().item(), self.days.end.max().item()
        last = window_of(date.fromordinal(self.release["study_to"].toordinal() - 1), self.granularity)
        return last.start, last.end

    @property
    def windows(self) -> list[Period]:
        """All windows of the release, and the years to which some items are known."""
        first, end = self.release["study_from"], self.release["study_to"]
        found = {(one.start, one.end) for one in windows_until(first, end, self.granularity)} | {self.last}
        if self.aggregate.has_years:
            found |= {(date(year, 1, 1), date(year + 1, 1, 1)) for year in range(first.year, end.year + 1)}
        return sorted(found)

    def question(self, window: Period) -> Question:
        """What is asked. Where no model can be compared with some years before, it is with the first period it can."""
        asked = self._compared(window, self.request.before(window))
        is_usable = any(len(np.unique(one.earlier.clusters)) >= MIN_CLUSTERS for one in asked.models)
        if is_usable or not asked.n_asked or self.request.earlier is not None:
            return asked
        first = self._first_usable(window)
        return asked if first is None else replace(self._compared(window, first), is_fallback=True)

    def _first_usable(self, window: Period) -> Period | None:
        """The first period of as many windows that a model certainly knows, with scores of enough subjects."""
        n = len(windows_until(*window, self.granularity))
        before = windows_until(self.release["study_from"], window[0], self.granularity)
        periods = [(before[at].start, before[at + n - 1].end) for at in range(len(before) - n + 1)] if n else []
        return next((one for one in periods if self._is_usable(one)), None)

    def _is_usable(self, period: Period) -> bool:
        return any(
            len(np.unique(one.scored.clusters[one.days.within(period)])) >= MIN_CLUSTERS
            for (model, _), one in self.given.items()
            if _reaches(self.models[model], period)
        )

    def _compared(self, window: Period, earlier: Period) -> Question:
        within = self.days.within(window)
        return Question(
            self.aggregate.name,
            self.release["release"],
            window,
            earlier,
            bool(self.is_provisional[within].any()),
            int(within.sum()),
            int((self.days.touching(window) & ~within).sum()),
            int(self.days.within(earlier).sum()),
            self.release["study_from"],
            [
                self._scores_of(key, one, window, earlier, int(within.sum()))
                for key, one in self.given.items()
                if one.days.within(window).any() or one.days.within(earlier).any()
            ],
        )

    def _scores_of(
        self, key: tuple[str, ...], given: _Given, window: Period, earlier: Period, n_asked: int
    ) -> ModelScores:
        model = self.models[key[0]]
        in_window, is_earlier = given.days.within(window), given.days.within(earlier)
        known, clean = _known_and_clean(model, given, self.request)
        reasons = self.reasons.get(key)
        lacking = () if reasons is None else reasons.lacking(window, given.scored.items[in_window])
        return ModelScores(
            model,
            key[1],
            given.scored.where(in_window & clean),
            given.scored.where(is_earlier & ~in_window & _reaches(model, earlier)),
            n_asked - int(in_window.sum()),
            int((in_window & ~clean).sum()),
            int((in_window & known).sum()),
            *lacking,
        )


def _asking(
    answer: Callable[[str], pa.Table],
    aggregate: _Aggregate,
    release: Mapping[str, Any],
    granularity: Granularity,
    request: KnowledgeRequest,
    models: Mapping[str, Mapping[str, Any]],
) -> _Asking:
    """Read the items of a release, what models gave for them, and why others have no score."""
    items, scores, reasons = (
        answer(
            f"SELECT * REPLACE ({_IN_NUMBERS}, {replaced}) FROM ({query.format(release=literal(release['release']))}) "
            "ORDER BY ALL"
        )
        for query, replaced in (
            (aggregate.items, "is_provisional::TINYINT AS is_provisional"),
            (aggregate.scores, "coalesce(control, 'nan') AS control, coalesce(days_after, -1) AS days_after"),
            (aggregate.reasons, "is_starting::TINYINT AS is_starting"),
        )
    )

    def is_asked(model: str, scorer: str) -> bool:
        family = models[model]["family"] if model in models else ""
        return bool(family) and _is_asked_for(scorer, family, aggregate.benchmark, request.template)

    return _Asking(
        aggregate,
        release,
        granularity,
        request,
        models,
        _days(items),
        _numbers(items, "is_provisional").astype(bool),
        {key: _given(rows) for key, rows in _groups(scores, "model", "scorer") if is_asked(*key)},
        {key: _reasons(rows) for key, rows in _groups(reasons, "model", "scorer") if is_asked(*key)},
    )


def _days(rows: pa.Table) -> _Days:
    first, end = (_numbers(rows, name).astype("datetime64[D]") for name in ("from_day", "to_day"))
    return _Days(first, end)


def _given(rows: pa.Table) -> _Given:
    scored = Scored(*(_numbers(rows, name) for name in ("value", "cluster", "item", "control")))
    return _Given(_days(rows), scored, _numbers(rows, "days_after"))


def _reasons(rows: pa.Table) -> "_Reasons":
    words = list(zip(rows["reason"].to_pylist(), rows["relation"].to_pylist(), strict=True))
    return _Reasons(_days(rows), _numbers(rows, "item"), _numbers(rows, "is_starting").astype(bool), words)


def _numbers(rows: pa.Table, name: str) -> np.ndarray[Any, Any]:
    """A column of numbers without nulls. Arrow's own way imports pandas, which takes as long as all else."""
    return np.from_dlpack(rows[name].combine_chunks())


def _reaches(model: Mapping[str, Any], period: Period) -> bool:
    """Does a model certainly know what happened in a period? What it can hardly have read of is no level to compare."""
    certainly = model["knows_certainly_until"]
    return certainly is None or period[1] <= certainly


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


def _known_and_clean(model: Mapping[str, Any], given: _Given, request: KnowledgeRequest) -> tuple[Flags, Flags]:
    """Which items lie wholly in what the model may know; and which lie wholly in it or after it, as far as is known.

    An item in between, such as an appointment that was announced before the model's knowledge date, says neither what
    the model knows nor what it can infer.
    """
    n = len(given.days_after)
    certainly = model["knows_certainly_until"]
    if request.takes_all or certainly is None:
        return np.zeros(n, dtype=bool), np.ones(n, dtype=bool)
    known = given.days.end <= np.datetime64(certainly)
    return known, known | (given.days_after >= request.buffer_days)


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
