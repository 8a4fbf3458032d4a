"""Reads ranks of linkers and computes what they show of time."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import date
from statistics import median
from typing import Any

import pyarrow as pa

from tempkb.linking.asked import rows_of
from tempkb.linking.tables import LINKERS, LINKING_SCORES
from tempkb.results.linking_effects import (
    CONTINUAL_IN_MINUS_OUT,
    COVID_MINUS_RECURRENT,
    LINKER_MINUS_PRIOR,
    SHOCK_MINUS_SERIES,
    Effect,
    Gains,
    effect_between,
    effect_of,
)
from tempkb.results.linking_sql import KS, SETUPS
from tempkb.results.tables import LINKING_EFFECTS
from tempkb.store.store import Store

Group = tuple[str, str]
"""A release and a setup."""

_MENTIONS, _TYPES = rows_of("mentions"), rows_of("types")
# At one candidate linkers differ most; the paper's figures are at sixty-four.
_KS = (KS[0], KS[-1])
_SHOCK = 2  # times as many new entities as in the median quarter make a shock

# Seeds that do not have all training snapshots of their setup are left out, since their means are of other linkers.
_LINKED = f"""
    linked AS (
        SELECT s.release, setup, s.seed, model_cut, cut, category, target_page_id, anchor_page_id, start_char,
               coalesce(rank <= $k, false)::INTEGER AS hit
        FROM {LINKING_SCORES.name} AS s JOIN ({SETUPS}) USING (release, linker)
        WHERE subset = 'test' AND pool = 'own' AND model_cut IS NOT NULL
    ), trained AS (
        SELECT release, setup, seed, count(DISTINCT model_cut) AS n FROM linked GROUP BY release, setup, seed
        QUALIFY n = max(n) OVER (PARTITION BY release, setup)
    )
"""
_IN_MINUS_OUT = f"""
    WITH {_LINKED}, mentions AS (
        SELECT release, setup, seed, cut, category, target_page_id, anchor_page_id, start_char,
               avg(hit) FILTER (model_cut = cut) - avg(hit) FILTER (model_cut <> cut) AS gain
        FROM linked SEMI JOIN trained USING (release, setup, seed) GROUP BY ALL
    )
    SELECT release, setup, category, target_page_id AS entity, seed, avg(gain) AS gain, count(gain) AS n
    FROM mentions WHERE gain IS NOT NULL GROUP BY ALL
"""
_MINUS_PRIOR = f"""
    WITH {_LINKED}, prior AS (
        SELECT release, cut, target_page_id, anchor_page_id, start_char,
               coalesce(rank <= $k, false)::INTEGER AS prior_hit
        FROM {LINKING_SCORES.name} WHERE linker = 'prior' AND subset = 'test' AND pool = 'own'
    )
    SELECT release, setup, 'all' AS category, target_page_id AS entity, seed, avg(hit - prior_hit) AS gain,
           count(*) AS n
    FROM (FROM linked SEMI JOIN trained USING (release, setup, seed) WHERE model_cut = cut)
    JOIN prior USING (release, cut, target_page_id, anchor_page_id, start_char)
    JOIN (
        SELECT release, cut, target_page_id, anchor_page_id, start_char FROM ({_MENTIONS.query}) WHERE men_prior < 1
    ) USING (release, cut, target_page_id, anchor_page_id, start_char)
    GROUP BY ALL
"""
_GROUPS = f"""
    SELECT DISTINCT release, setup FROM ({SETUPS}) JOIN {LINKING_SCORES.name} USING (release, linker)
    WHERE model_cut IS NOT NULL ORDER BY ALL
"""
_NEW = f"""
    SELECT release, page_id, any_value(paper_type) AS paper_type,
           CAST(date_trunc('quarter', any_value(article_since) AT TIME ZONE 'UTC') AS DATE) AS quarter,
           bool_or(series_page_id IS NOT NULL) AS is_series, bool_or(coalesce(is_extract, false)) AS is_extract
    FROM ({_TYPES.query}) GROUP BY release, page_id ORDER BY release, page_id
"""
_TABLES = (LINKING_SCORES.name, LINKERS.name)


def linking_effects(store: Store) -> pa.Table:
    """Return the rows of `linking_effects`; there are none without trained linkers."""
    rows = [_row(group, k, effect) for k in _KS for group, found in read_effects(store, k).items() for effect in found]
    rows.sort(key=lambda row: [row[name] for name in LINKING_EFFECTS.key])
    return pa.Table.from_pylist(rows, LINKING_EFFECTS.schema)


def read_effects(store: Store, k: int) -> dict[Group, list[Effect]]:
    """Return what the trained linkers of each release and setup show.

    Args:
        store: of the home.
        k: number of candidates among which the entity has to be.
    """
    if not store.lake.versions(LINKING_SCORES.name):
        return {}
    groups = [(row["release"], row["setup"]) for row in store.ask(_GROUPS, *_TABLES)]
    if not groups:
        return {}
    inside = _gains(store.ask(_IN_MINUS_OUT.replace("$k", str(k)), *_TABLES))
    prior = _gains(store.ask(_MINUS_PRIOR.replace("$k", str(k)), *_TABLES, *_MENTIONS.needs))
    kinds: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in store.ask(_NEW, *_TYPES.needs):
        kinds[row["release"]].append(row)
    nothing = Gains({}, {})
    return {
        group: [
            effect_of(
                LINKER_MINUS_PRIOR,
                prior.get((group, "all"), nothing),
                "found no mention with a shared surface that both the prior and a linker of its snapshot have linked",
            ),
            effect_of(
                CONTINUAL_IN_MINUS_OUT,
                inside.get((group, "continual"), nothing),
                "found no test with linkers of its own and of another snapshot",
            ),
            *_of_new(inside.get((group, "new"), nothing), kinds[group[0]]),
        ]
        for group in groups
    }


def _gains(rows: list[dict[str, Any]]) -> dict[tuple[Group, str], Gains]:
    """Gains by group and category; an entity has as many mentions as the seed with most of them."""
    values: defaultdict[tuple[Group, str], dict[tuple[int, int], float]] = defaultdict(dict)
    n_items: defaultdict[tuple[Group, str], dict[int, int]] = defaultdict(dict)
    for row in rows:
        key, entity = ((row["release"], row["setup"]), row["category"]), row["entity"]
        values[key][entity, row["seed"]] = row["gain"]
        n_items[key][entity] = max(row["n"], n_items[key].get(entity, 0))
    return {key: Gains(values[key], n_items[key]) for key in values}


def _of_new(gains: Gains, kinds: list[Mapping[str, Any]]) -> Iterator[Effect]:
    """The contrasts between kinds of new entities."""
    quarter = shock_quarter(kinds)
    series = {row["page_id"] for row in kinds if row["is_series"]}
    shock = {row["page_id"] for row in kinds if row["quarter"] == quarter and _is_news(row)} if quarter else set()
    yield effect_between(
        SHOCK_MINUS_SERIES,
        gains.only(shock),
        gains.only(series),
        "found no mentions of both groups"
        if quarter
        else f"found no quarter with {_SHOCK} times as many new entities as the median one",
        f"the quarter begins on {quarter}" if quarter else "",
    )
    of_type = {name: {row["page_id"] for row in kinds if row["paper_type"] == name} for name in ("covid", "recurrent")}
    yield effect_between(
        COVID_MINUS_RECURRENT,
        gains.only(of_type["covid"]),
        gains.only(of_type["recurrent"]),
        "found no mentions of both groups",
        "",
    )


def _is_news(row: Mapping[str, Any]) -> bool:
    """Whether an entity continues neither a series nor the text of a page."""
    return not row["is_series"] and not row["is_extract"]


def shock_quarter(kinds: list[Mapping[str, Any]]) -> date | None:
    """Return the first day of the quarter in which most new entities became articles, if they are unusually many.

    It is chosen by births alone, and not by how well linkers do, which would find an effect by chance.

    Args:
        kinds: new entities, with `quarter`, `is_series` and `is_extract`; the last two do not count.

    Returns:
        None if no quarter has twice as many as the median one.
    """
    numbers: defaultdict[date, int] = defaultdict(int)
    for row in kinds:
        if row["quarter"] is not None and _is_news(row):
            numbers[row["quarter"]] += 1
    if len(numbers) < 2:
        return None
    best = max(sorted(numbers), key=lambda quarter: numbers[quarter])
    return best if numbers[best] >= _SHOCK * median(numbers.values()) else None


def _row(group: Group, k: int, effect: Effect) -> dict[str, Any]:
    contrast = effect.contrast
    of = {"contrast": contrast.name, "unit": contrast.unit, "expected": contrast.expected}
    return {**vars(effect), **of, "release": group[0], "setup": group[1], "k": k}
