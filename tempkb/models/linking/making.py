"""Makes linkers, vectors of entities, and where linkers rank the entities of mentions; one linker a run.

What a run shows: the curves of a training, and mentions with their first candidates.
"""

from collections.abc import Sequence

import pyarrow as pa

from tempkb.benchmarks.register import release_version
from tempkb.engine.tasks import Done, Order, Picture, Rows, Shown
from tempkb.models.linking.known import linkable_of
from tempkb.models.linking.linkers import add_linker, train_linker
from tempkb.models.linking.requests import AddRequest, LinkRequest, linker_request
from tempkb.models.linking.scoring import Linked, link_mentions
from tempkb.models.linking.steps import ASKED, vectors_of_linker
from tempkb.models.linking.tables import BASELINES, LINKERS, LINKING_SCORES, NIL_THRESHOLDS, parts_of
from tempkb.models.training.making import curves
from tempkb.store.memory import asking
from tempkb.store.quoting import parquet
from tempkb.store.store import Store

_N_SAMPLE = 10
_N_BEST = 3
_AROUND = 60  # characters on either side of a mention


def sample(store: Store, partition: str) -> pa.Table:
    """Return some mentions with the entities that come first; of the same scores always the same."""
    _, release, cut, pool = parts_of(partition)
    tables = linkable_of(store.home, release)
    scores = store.lake.files(LINKING_SCORES.name, [partition])
    # A pool is named by the day of the snapshot whose candidates it has, unless it is of the mentions' own.
    places = [(tables.mentions, cut), (tables.entities, pool), (tables.entities, cut)]
    found = (release_version(store, table, release, f"{release}.{day}") for table, day in places)
    mentions, entities, *_ = (version.paths() for version in found if version is not None)
    with asking() as memory:
        return memory.sql(
            f"""
            WITH chosen AS (
                SELECT concat(right(context_left, {_AROUND}), '[', mention, ']', left(context_right, {_AROUND}))
                       AS mention, target_title AS entity, m.category, rank, s.top_page_ids[1:{_N_BEST}] AS pages,
                       list_transform(s.top_scores[1:{_N_BEST}], lambda score: round(score, 2)) AS scores,
                       md5(concat_ws(' ', target_page_id, anchor_page_id, start_char)) AS chance
                FROM {parquet(scores)} AS s JOIN {parquet(mentions)} AS m
                USING (target_page_id, anchor_page_id, start_char) ORDER BY chance LIMIT {_N_SAMPLE}
            ),
            titles AS (
                SELECT chance, list(title ORDER BY place) AS first_candidates
                FROM (SELECT chance, unnest(pages) AS page_id, generate_subscripts(pages, 1) AS place FROM chosen)
                JOIN {parquet(entities)} USING (page_id) GROUP BY chance
            )
            SELECT mention, entity, category, rank, first_candidates, scores
            FROM chosen LEFT JOIN titles USING (chance) ORDER BY chance
            """
        ).to_arrow_table()


def linkers(order: Order) -> Done:
    """Train a linker, or write down what an encoder is."""
    store, (name,), done = order.store, order.keys, Done()
    held = store.lake.current(LINKERS.name, name)
    # What needs nothing to be done is done as well: the scores follow it.
    if name in BASELINES or (held is not None and not order.said):
        order.log(f"{name} needs no training, or is there already")
        done.add(*([held] if held is not None else []))
    elif isinstance(request := linker_request(name, order.said), AddRequest):
        done.add(add_linker(store, request, order.log))
    else:
        version, course = train_linker(store, request, order.log)
        done.add(version)
        done.shows = lambda: {LINKERS.name: {what: Picture(one) for what, one in curves(course).items()}}
    return done


def link(order: Order) -> Done:
    """Encode entities, and link mentions."""
    store, (name,) = order.store, order.keys
    linked = link_mentions(store, name, LinkRequest.of(order.said), order.log)
    done = Done(facts={LINKING_SCORES.name: {ASKED: dict(order.said), **_found(linked)}})
    done.add(*vectors_of_linker(store.lake, name))
    done.add(*store.lake.versions(LINKING_SCORES.name, [one.partition for one in linked]))
    done.add(*store.lake.versions(NIL_THRESHOLDS.name, [name]))
    if linked:
        done.shows = lambda: {LINKING_SCORES.name: {"sample": Rows(sample(store, linked[0].partition), cell=200)}}
    else:
        done.notes = [f"linker {name}: no release of TempEL is built yet, so there was nothing to link"]
    return done


def _found(linked: Sequence[Linked]) -> dict[str, Shown]:
    return {
        f"{one.release}/{one.cut}/{one.pool_name}/accuracy at {k}": round(n / one.n_mentions, 4)
        for one in linked
        for k, n in one.n_found.items()
        if one.n_mentions
    }
