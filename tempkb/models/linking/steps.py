"""The steps and promises of the room: linkers stand, vectors grow; where linkers rank entities follows releases.

What is imported here is little: commands that ask what is current do not load an encoder.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from tempkb.benchmarks.linkable.declaration import OWN_POOL, fixed_size
from tempkb.benchmarks.register import partition_of, release_version
from tempkb.core.errors import ModelError
from tempkb.core.windows import window_ending
from tempkb.core.wording import counted
from tempkb.engine.steps import Look, Source, Standing, Step
from tempkb.engine.tasks import Task, said_in
from tempkb.models.linking.known import LINKED, known_linker, known_linkers, linkable_of, snapshots_of
from tempkb.models.linking.requests import AddRequest, LinkRequest, TrainRequest
from tempkb.models.linking.tables import (
    BASELINES,
    ENTITY_VECTORS,
    LINKERS,
    LINKING_SCORES,
    NIL_THRESHOLDS,
    earlier_pools,
    linker_of,
    parts_of,
)
from tempkb.store.lake import Lake
from tempkb.store.memory import asking
from tempkb.store.promises import Finder, Promise, Subject, versions_of
from tempkb.store.quoting import literal, parquet
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wiki.mentions.tables import MENTION_PRIORS


def vectors_of_linker(lake: Lake, linker: str) -> list[Version]:
    """Return the vectors of a linker, by the snapshots that needed them first."""
    keys = [key for key in lake.partitions(ENTITY_VECTORS.name) if linker_of(key) == linker]
    return lake.versions(ENTITY_VECTORS.name, keys)


def telling_scores(store: Store, linker: str) -> list[str]:
    """Return the keys of the scores from which the thresholds of a linker are chosen.

    Of a linker that was trained here those pools count that are not before its training: it has read of entities that
    came before.
    """
    row = known_linker(store.lake, linker)
    trained = row["cut"].isoformat() if row is not None and row["cut"] is not None else ""
    earlier = earlier_pools(store.lake.partitions(LINKING_SCORES.name), linker)
    return [key for key in earlier if parts_of(key)[3] >= trained]


def present_mentions(store: Store, release: str, cut: date) -> Version | None:
    """Return the mentions of a release at a cut; None if there are none."""
    return release_version(store, linkable_of(store.home, release).mentions, release, partition_of(release, cut))


def is_trained_on_present(store: Store, row: Mapping[str, Any]) -> bool:
    """Return whether a linker was trained on the present mentions of the release of that name."""
    version, mentions = (
        store.lake.current(LINKERS.name, row["linker"]),
        present_mentions(store, row["release"], row["cut"]),
    )
    trained_on = version.inputs if version is not None else {}
    return mentions is not None and trained_on.get(f"{mentions.table} {mentions.partition}") == mentions.version


def are_thresholds_due(look: Look, linker: str) -> bool:
    """Return whether the thresholds of a linker do not follow from its present scores; not if it has, and had, none."""
    is_there = look.store.lake.current(NIL_THRESHOLDS.name, linker) is not None
    return not look.is_current(NIL_THRESHOLDS.name, linker) and (is_there or bool(telling_scores(look.store, linker)))


def fills_of(vectors: Iterable[Version]) -> dict[str, Sequence[str]]:
    """Return what scores keep of the vectors with which they were computed: what had filled each partition."""
    return {f"{one.table} {one.partition}": one.filled_by for one in vectors}


def _has_vectors(store: Store, scores: Version) -> bool:
    """Are the vectors there with which scores were computed, and not only some of those that were lost?"""
    vectors = {place: store.lake.current(*place.split(" ")) for place in scores.fills}
    return all(
        held is not None
        and held.settings.get("dtype") == scores.settings.get("dtype")
        and set(scores.fills[place]) <= set(held.filled_by)
        for place, held in vectors.items()
    )


def _own(_store: Store, key: str) -> Sequence[str]:
    """The linker of scores or of their thresholds; a baseline has no row."""
    return (linker_of(key),) if linker_of(key) not in BASELINES else ()


def candidates_of(key: str) -> str:
    """Return the release and snapshot of which the candidates in the pool of scores are."""
    _, release, cut, pool = parts_of(key)
    return f"{release}.{cut if pool == OWN_POOL or fixed_size(pool) is not None else pool}"


def _mentions(_store: Store, key: str) -> Sequence[str]:
    _, release, cut, _ = parts_of(key)
    return (f"{release}.{cut}",)


def _of_fixed_pool(store: Store, key: str) -> Sequence[str]:
    """All snapshots of a release, from which pools of fixed size are chosen."""
    _, release, _, pool = parts_of(key)
    snapshots = snapshots_of(store.home, release) if fixed_size(pool) is not None else None
    return [partition_of(release, cut) for cut in snapshots.cuts] if snapshots is not None else ()


def _window_of_prior(store: Store, key: str) -> Sequence[str]:
    cut = date.fromisoformat(candidates_of(key).rpartition(".")[2])
    return [window_ending(cut, store.home.settings.granularity).key] if linker_of(key) == "prior" else []


class _OfRelease(Source):
    """A table of a release, of which the versions are those in its list."""

    def versions(self, store: Store, key: str) -> list[Version]:
        """Return the listed versions of the partitions that scores are made from."""
        release, places = parts_of(key)[1], self.keys(store, key) or ()
        found = (release_version(store, self.table, release, place) for place in sorted(places))
        return [version for version in found if version is not None]


def _of_each(part: str, keys: Callable[[Store, str], Sequence[str]]) -> tuple[Source, ...]:
    """A table of each benchmark that has mentions; a release is of one of them."""
    return tuple(_OfRelease(getattr(linkable, part), keys) for _, linkable in LINKED.values())


_LINKER = Source(
    LINKERS, _own, stamped=lambda version: [version.inputs.get(one) for one in ("weights", "config", "tokenizer")]
)
SCORES = Step(
    (LINKING_SCORES,),
    (
        _LINKER,
        *_of_each("mentions", _mentions),
        *_of_each("entities", lambda _store, key: [candidates_of(key)]),
        # The similarity of the first candidates follows from their texts, also for a baseline.
        *_of_each("texts", lambda _store, key: [candidates_of(key)]),
        *_of_each("mentions", _of_fixed_pool),
        *_of_each("entities", _of_fixed_pool),
        Source(MENTION_PRIORS, _window_of_prior, grows=True),
    ),
    is_complete=_has_vectors,
)
# Scores of other releases may be stale, without which the thresholds are as they are.
NIL = Step(
    (NIL_THRESHOLDS,), (_LINKER, Source(LINKING_SCORES, telling_scores, grows=True)), "models.linking.nil.thresholds"
)
_LINKERS = Standing((LINKERS,), (*_of_each("mentions", _mentions), *_of_each("texts", _mentions)))
_VECTORS = Standing((ENTITY_VECTORS,), (_LINKER, *_of_each("texts", _mentions)))
STEPS = (_LINKERS, _VECTORS, SCORES, NIL)


ASKED = "asked"
"""Name of the metadata with what a run was asked for."""


def faults_of_linkers(lake: Lake, linkers: Collection[str] | None = None) -> Iterator[tuple[str, str, list[Path]]]:
    """Read the files of linkers, and compare them with those that were trained or added.

    Args:
        linkers: names of those that are read; None for all.

    Yields:
        name, what was found and what to type, if they differ, and the files that were read.
    """
    from tempkb.models.linking.checkpoints import layout_of

    for row in known_linkers(lake):
        if row["linker"] not in BASELINES and (linkers is None or row["linker"] in linkers):
            try:
                yield row["linker"], "", [file for group in layout_of(row).files() for file in group]
            except ModelError as error:
                yield row["linker"], str(error), []


def _changed(store: Store, subject: Subject) -> list[tuple[str, str]] | None:
    """Linkers whose files are not those that were trained or added, with what was found; None if there is none."""
    found = list(faults_of_linkers(store.lake, subject.partitions))
    return [(name, fault) for name, fault, _ in found if fault] if found else None


_UNLINKED = """
    SELECT min(target_page_id), count(*) FROM {mentions} AS asked
    ANTI JOIN {scores} USING (target_page_id, anchor_page_id, start_char) WHERE list_contains([{subsets}], asked.subset)
"""
_STRANGERS = """
    SELECT min(page_id), count(DISTINCT page_id) FROM (SELECT unnest(top_page_ids) AS page_id FROM {scores})
    ANTI JOIN {entities} USING (page_id)
"""


def _against_the_release(query: str) -> Finder:
    """Return what finds scores that differ from the mentions of their release and the candidates of their pool.

    Args:
        query: SQL that returns a page and the number of differences. `subsets` are those that were asked for whole.
    """

    def differing(store: Store, subject: Subject) -> list[tuple[str, int, int]] | None:
        """Partitions with a page and the number of differences; None if no scores are current."""
        look, broken, compared = Look(store, STEPS), [], 0
        for version in versions_of(store, LINKING_SCORES, subject):
            _, release, cut, _ = parts_of(version.partition)
            if not look.is_current(version.table, version.partition):
                continue
            tables, limits = linkable_of(store.home, release), version.settings["subsets"]
            mentions = release_version(store, tables.mentions, release, f"{release}.{cut}")
            entities = release_version(store, tables.entities, release, candidates_of(version.partition))
            if mentions is not None and entities is not None:
                compared += 1
                whole = ", ".join(literal(name) for name, limit in limits.items() if limit is None)
                read = {"scores": version, "mentions": mentions, "entities": entities}
                files = {name: parquet(one.paths()) for name, one in read.items()}
                with asking() as memory:
                    ((page, n),) = memory.execute(query.format(**files, subsets=whole)).fetchall()
                broken += [(version.partition, page, n)] if n else []
        return broken if compared else None

    return differing


PROMISES = (
    Promise(
        "files_are_those_of_the_linker",
        "The files of a linker have the digests to which its name is bound.",
        LINKERS,
        finds=_changed,
        shown=lambda row: str(row[1]),
    ),
    Promise(
        "vectors_have_the_length_of_the_linkers",
        "A vector has as many numbers as its linker gives.",
        ENTITY_VECTORS,
        """
        SELECT linker, text_sha256, octet_length(vector), 2 * dim FROM entity_vectors JOIN linkers AS l USING (linker)
        WHERE octet_length(vector) <> 2 * l.dim ORDER BY text_sha256
        """,
        (LINKERS,),
        shown=lambda row: f"{row[0]}: the vector of text {row[1]} has {row[2]} bytes, expected {row[3]}",
    ),
    Promise(
        "every_mention_is_linked",
        "Every mention that a run was asked to link has a row, whether or not its entity is a candidate.",
        LINKING_SCORES,
        finds=_against_the_release(_UNLINKED),
        shown=lambda row: f"{row[0]}: no row for {counted(row[2], 'mention')} of its snapshot",
    ),
    Promise(
        "best_candidates_are_candidates",
        "The candidates that a linker ranks are candidates of the snapshot to which their pool belongs.",
        LINKING_SCORES,
        finds=_against_the_release(_STRANGERS),
        shown=lambda row: f"{row[0]}: {counted(row[2], 'page')}, such as {row[1]}, not among the candidates",
    ),
)
TASKS = (
    Task(
        "linkers",
        (_LINKERS,),
        "models.linking.making.linkers",
        how="A run for a new partition says in its configuration what it is trained on, or names a checkpoint; a run "
        "that was killed is continued by the next one. Baselines have no row.",
        promises=PROMISES,
        options=said_in(TrainRequest, AddRequest),
    ),
    Task(
        "link",
        (_VECTORS, SCORES, NIL),
        "models.linking.making.link",
        how="A run links the mentions of all releases, or of those that its configuration names; what is there already "
        "is not computed again.",
        promises=PROMISES,
        options=said_in(LinkRequest),
        is_skippable=True,
    ),
)
