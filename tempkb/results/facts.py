"""Reads one fact through time: when each of its objects held, and what models give for them. No Dagster here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import fmean
from typing import Any

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS, FACT_SUBJECTS
from tempkb.core.errors import SettingsError
from tempkb.models.tables import MODELS
from tempkb.store.quoting import literal, literals
from tempkb.store.store import Store

_QUERIES = {one.name: one.reading.queries.name for one in BENCHMARKS if one.reading and one.reading.queries}
_FORMS = ("object_last", "undated")
"""Forms of a query without its date; the preferred one is the last in the alphabet."""


@dataclass(frozen=True)
class FactScore:
    """What a model gave for an object of a fact.

    Attributes:
        model: its name.
        scorer: by which it was asked.
        object: the object's name.
        nats: log-probability.
        day: of a dated query the first day of its window, otherwise the day until which the model certainly knows;
            None if that is not known.
        is_dated: whether the query names its date.
    """

    model: str
    scorer: str
    object: str
    nats: float
    day: date | None
    is_dated: bool


@dataclass(frozen=True)
class Fact:
    """A fact through time.

    Attributes:
        release: from which its queries are.
        subject: the subject's name.
        relation: such as P39.
        query: the text of the query, with _X_ for the object.
        spells: by object, in the order of their starts: first possible day, and the day after the last.
        scores: what models gave, in the order of models, scorers and objects.
    """

    release: str
    subject: str
    relation: str
    query: str
    spells: Mapping[str, Sequence[tuple[date, date]]]
    scores: Sequence[FactScore]

    def series(self) -> dict[str, dict[str, list[tuple[date, float]]]]:
        """Return points by panel and object: by scorer over the models' days, by model and scorer over dated windows.

        Models that know until the same day, such as several seeds, make one point: their mean.
        """
        points: dict[str, dict[str, dict[date, list[float]]]] = {}
        for one in self.scores:
            if one.day is not None:
                panel = f"{one.model}, {one.scorer}, by the date in the query" if one.is_dated else one.scorer
                points.setdefault(panel, {}).setdefault(one.object, {}).setdefault(one.day, []).append(one.nats)
        return {
            panel: {name: [(day, fmean(nats)) for day, nats in sorted(days.items())] for name, days in objects.items()}
            for panel, objects in points.items()
        }


def read_fact(store: Store, subject: str, relation: str, releases: Sequence[str] = ()) -> Fact:
    """Return a fact with its scores, of the first release that has it, or of the first that is named.

    Args:
        store: the home's store.
        subject: item (QID) or name.
        relation: property, such as P39.
        releases: names; empty for all.

    Raises:
        SettingsError: no release asks about it, several subjects have the name, or no model has scores of it.
    """
    release, benchmark, subject_id, name = _subject(store, subject, relation, releases)
    queries = _QUERIES[benchmark]
    of_fact = f"release = {literal(release)} AND subject_id = {literal(subject_id)} AND relation = {literal(relation)}"
    spells: dict[str, list[tuple[date, date]]] = {}
    for row in store.ask(
        f"""
        SELECT object_label, greatest(coalesce(valid_from, r.study_from), r.study_from) AS first_day,
               least(coalesce(valid_to, r.study_to), r.study_to) AS end_day
        FROM {FACT_SPELLS.name} JOIN {FACT_RELEASES.name} AS r USING (release)
        WHERE {of_fact} AND first_day < end_day ORDER BY answer_order
        """,
        FACT_SPELLS.name,
        FACT_RELEASES.name,
    ):
        spells.setdefault(row["object_label"], []).append((row["first_day"], row["end_day"]))
    asked = store.ask(f"SELECT query FROM {queries} WHERE {of_fact} ORDER BY template_no LIMIT 1", queries)
    scores = _scores(store, queries, of_fact)
    if not scores:
        raise SettingsError(
            f"--fact {subject} {relation}: no model has scores of it; score it: tempkb score --all --release {release}"
        )
    return Fact(release, name, relation, asked[0]["query"], spells, scores)


def _subject(store: Store, subject: str, relation: str, releases: Sequence[str]) -> tuple[str, str, str, str]:
    """Release, benchmark, item and name of the subject that is meant."""
    narrowed = f"AND release IN ({literals(releases)})" if releases else ""
    found = store.ask(
        f"""
        SELECT release, benchmark, subject_id, label FROM {FACT_SUBJECTS.name} JOIN {FACT_RELEASES.name} USING (release)
        WHERE relation = {literal(relation)} AND {literal(subject)} IN (subject_id, label, asked_as) {narrowed}
        ORDER BY benchmark, release, subject_id
        """,
        FACT_SUBJECTS.name,
        FACT_RELEASES.name,
    )
    if not found:
        none = f"none of the releases {', '.join(releases)}" if releases else "no release"
        raise SettingsError(
            f"--fact {subject} {relation}: {none} asks about it; expected the item (Q42) or the name of a subject "
            'and its relation; tempkb sql "SELECT DISTINCT relation, subject_id, label FROM fact_subjects" lists them'
        )
    own = [row for row in found if row["release"] == found[0]["release"]]
    if len(own) > 1:
        items = ", ".join(row["subject_id"] for row in own)
        raise SettingsError(f"--fact {subject} {relation}: {len(own)} subjects have that name: {items}; name the item")
    release, benchmark, subject_id, label = own[0].values()
    return release, benchmark, subject_id, label


def _scores(store: Store, queries: str, of_fact: str) -> list[FactScore]:
    rows: list[dict[str, Any]] = store.ask(
        f"""
        SELECT DISTINCT s.model, s.scorer, s.target AS object, s.log_prob_nats AS nats,
               CASE WHEN s.variant = 'dated' THEN s.window_start ELSE m.knows_certainly_until END AS day,
               s.variant = 'dated' AS is_dated
        FROM fact_scores AS s
        JOIN (SELECT release, query_id AS item_id FROM {queries} WHERE template_no = 1 AND {of_fact}) AS q
            USING (release, item_id)
        JOIN {MODELS.name} AS m USING (model)
        WHERE s.status = 'scored' AND s.role IN ('current', 'previous')
            AND (s.variant = 'dated' OR s.variant IN {_FORMS})
        QUALIFY s.variant = 'dated' OR s.variant = max(s.variant) FILTER (WHERE s.variant <> 'dated') OVER (
            PARTITION BY s.model, s.scorer
        )
        ORDER BY model, scorer, is_dated, object, day
        """,
        "fact_scores",
        queries,
        MODELS.name,
    )
    return [FactScore(**row) for row in rows]
