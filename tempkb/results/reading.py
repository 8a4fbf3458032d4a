"""Reads what models have scored of a window and of an earlier period, item by item. No Dagster here."""

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.reading import Aggregate
from tempkb.core.statistics import MIN_CLUSTERS
from tempkb.core.windows import Granularity, window_of, windows_until
from tempkb.models.known import known_models, unusable_models
from tempkb.models.scores.tables import PROMPT_SCORES, model_of
from tempkb.models.tables import NOT_LOADED
from tempkb.results.answering import Answers, Flags, Floats, Ids, ModelScores, Question, Scored
from tempkb.results.requests import KnowledgeRequest, Period
from tempkb.results.tables import ESTIMATED_CUTOFFS, FACT_DELAYS
from tempkb.store.quoting import literal
from tempkb.store.store import Store

Days = np.ndarray[Any, np.dtype[np.datetime64]]

_COMPARED = sorted(
    ((one, one.reading.aggregate) for one in BENCHMARKS if one.reading and one.reading.aggregate),
    key=lambda compared: not compared[1].is_share,
)
"""Benchmarks with the aggregates by which models are compared, shares before perplexities."""
_WITH_CHANGES = next(one for one, aggregate in _COMPARED if "scored_changes" in aggregate.needs)
_IN_NUMBERS = ", ".join(f"{name} - DATE '1970-01-01' AS {name}" for name in ("from_day", "to_day"))


def read_questions(store: Store, request: KnowledgeRequest) -> Iterator[Question]:
    """Yield each aggregate of each release that is asked for, by name; nothing if the home has no scores at all."""
    for asking in read_asked(store, request):
        yield asking.chosen


def read_windows(store: Store) -> Iterator[tuple[Question, list[Question]]]:
    """Yield each aggregate of each release in its last window, and in all windows with items, by all scorers."""
    for asking in read_asked(store, KnowledgeRequest()):
        every = [asking.question(window, by_all_scorers=True) for window in asking.windows]
        yield asking.question(asking.last), [one for one in every if one.n_asked or one.window == asking.last]


def read_asked(store: Store, request: KnowledgeRequest) -> "Iterator[Asking]":
    """Yield what asks models about each aggregate of each release that is asked for."""
    models = _ready_models(store, request.models)
    if not store.lake.partitions(PROMPT_SCORES.name):
        return
    for benchmark, aggregate in _COMPARED:
        releases = [
            row for row in _releases(store, aggregate) if not request.releases or row["release"] in request.releases
        ]
        if releases:
            with store.asking(*aggregate.needs) as answer:
                for row in releases:
                    granularity = Granularity(row["granularity"] or store.home.settings.granularity)
                    yield _asking(answer, benchmark, aggregate, row, granularity, request, models)


def passed_over(store: Store) -> list[str]:
    """Return why models that have scores are passed over, in words: their checkpoints could not be used since."""
    scored = {model_of(key) for key in store.lake.partitions(PROMPT_SCORES.name)}
    return [words for name, words in unusable_models(store.lake).items() if name in scored]


def _ready_models(store: Store, names: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    ready = {row["model"]: row for row in known_models(store.lake) if row["status"] != NOT_LOADED}
    return {name: row for name, row in ready.items() if not names or name in names}


def releases_asked(store: Store) -> list[str]:
    """Return the names of releases of which models can be asked what they know of a window."""
    return sorted(row["release"] for _, aggregate in _COMPARED for row in _releases(store, aggregate))


def _releases(store: Store, aggregate: Aggregate) -> list[dict[str, Any]]:
    return store.ask(f"{aggregate.releases} ORDER BY release", aggregate.table)


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
        """Why items of a window have no score, by reason and relation; and which scored ones begin with the object."""
        within, has_score = self.days.within(window), np.isin(self.items, scored)
        unscored = Counter(self.words[at] for at in np.flatnonzero(within & ~has_score))
        return unscored, self.items[within & has_score & self.is_starting]


@dataclass(frozen=True)
class Asking:
    """Asks models about an aggregate of a release, of which all items, scores and reasons were read."""

    aggregate: Aggregate
    release: Mapping[str, Any]
    granularity: Granularity
    request: KnowledgeRequest
    models: Mapping[str, Mapping[str, Any]]
    days: _Days
    is_provisional: Flags
    given: Mapping[tuple[str, ...], _Given]
    asked: Container[tuple[str, ...]]
    reasons: Mapping[tuple[str, ...], _Reasons]

    @property
    def chosen(self) -> Question:
        """What is asked about the window that is asked for, or else the last one."""
        return self.question(self.request.window or self.last)

    @property
    def backwards(self) -> Iterator[Question]:
        """What is asked about the window that is asked for, or else about all that can be, the newest first."""
        windows = [one for one in reversed(self.windows) if self.request.is_comparable(one)]
        return map(self.question, [self.request.window] if self.request.window else windows)

    @cached_property
    def last(self) -> Period:
        """The last window of the release, or of its items, such as changes, which the next window must show."""
        if self.aggregate.ends_with_items and len(self.days.first):
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

    def question(self, window: Period, *, by_all_scorers: bool = False) -> Question:
        """What is asked. Where no model can be compared with some years before, it is with the first period it can."""
        within = self.days.within(window)
        earlier, first = self.request.before(window), None
        if isinstance(self.request.baseline, int) and within.any() and not self._is_usable(earlier):
            first = self._first_usable(window)
            earlier = first or earlier
        return Question(
            self.aggregate,
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
                if (by_all_scorers or key in self.asked)
                and (one.days.within(window).any() or one.days.within(earlier).any())
            ],
            is_fallback=first is not None,
        )

    def _first_usable(self, window: Period) -> Period | None:
        """The first period of as many windows that can be compared with."""
        n = len(windows_until(*window, self.granularity))
        before = windows_until(self.release["study_from"], window[0], self.granularity)
        periods = [(before[at].start, before[at + n - 1].end) for at in range(len(before) - n + 1)] if n else []
        return next((one for one in periods if self._is_usable(one)), None)

    def _is_usable(self, period: Period) -> bool:
        """Is there a model that certainly knows a period, and has scores of enough subjects in it?"""
        return any(
            len(np.unique(one.scored.clusters[one.days.within(period)])) >= MIN_CLUSTERS
            for key, one in self.given.items()
            if key in self.asked and _reaches(self.models[key[0]], period)
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
    benchmark: Benchmark,
    aggregate: Aggregate,
    release: Mapping[str, Any],
    granularity: Granularity,
    request: KnowledgeRequest,
    models: Mapping[str, Mapping[str, Any]],
) -> Asking:
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

    given = {key: _given(rows) for key, rows in _groups(scores, "model", "scorer") if key[0] in models}
    return Asking(
        aggregate,
        release,
        granularity,
        request,
        models,
        _days(items),
        _numbers(items, "is_provisional").astype(bool),
        given,
        {key for key in given if _is_asked_for(key[1], models[key[0]]["family"], benchmark, request.scorer)},
        {key: _reasons(rows) for key, rows in _groups(reasons, "model", "scorer")},
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


def _known_and_clean(model: Mapping[str, Any], given: _Given, request: KnowledgeRequest) -> tuple[Flags, Flags]:
    """Which items lie wholly in what the model may know; and which lie wholly in it or after it, as far as is known.

    An item in between, such as an appointment that was announced before the model's training cutoff, says neither what
    the model knows nor what it can infer.
    """
    n = len(given.days_after)
    certainly = model["knows_certainly_until"]
    if request.takes_all or certainly is None:
        return np.zeros(n, dtype=bool), np.ones(n, dtype=bool)
    known = given.days.end <= np.datetime64(certainly)
    return known, known | (given.days_after >= request.buffer_days)


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
        WHERE m.status <> 'not_loaded' AND ({wanted}) ORDER BY ALL
        """,
        "scores_by_gap",
        "models",
    )
    by_name = {one.name: one for one, _ in _COMPARED}
    return [row for row in rows if _is_asked_for(row["scorer"], row["family"], by_name[row["benchmark"]])]


def usual_delay(store: Store) -> Mapping[str, Any] | None:
    """Return the row of `fact_delays` about 95 % of the facts that begin in a window; None if it was not computed."""
    condition = "facts = 'begun' AND relation = 'all' AND share = 0.95"
    rows = store.ask(f"FROM {FACT_DELAYS.name} WHERE {condition}", FACT_DELAYS.name)
    return rows[0] if rows else None


def read_cutoffs(store: Store, request: KnowledgeRequest) -> list[dict[str, Any]]:
    """Return the rows of `estimated_cutoffs` of each release, model and scorer that is asked for."""
    models = _ready_models(store, request.models)
    return [
        row
        for row in store.ask(f"FROM {ESTIMATED_CUTOFFS.name} ORDER BY release, model, scorer", ESTIMATED_CUTOFFS.name)
        if row["model"] in models
        and (not request.releases or row["release"] in request.releases)
        and _is_asked_for(row["scorer"], models[row["model"]]["family"], _WITH_CHANGES, request.scorer)
    ]


def read_answers(store: Store, *, by_all_scorers: bool = False) -> Iterator[Answers]:
    """Yield the scores of all changes of each release and model, by the scorer of the benchmark or by all."""
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
        if row is None or not (by_all_scorers or _is_asked_for(scorer, row["family"], _WITH_CHANGES)):
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
