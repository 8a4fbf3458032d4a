"""Which prompts a model is asked: those of releases, by benchmark, variant and window, each once."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.prompting import Prompting, Way
from tempkb.benchmarks.register import is_built, release_versions, releases_of, require_whole
from tempkb.core.errors import SettingsError
from tempkb.models.corpora.steps import keys_of
from tempkb.models.corpora.steps import names as corpora
from tempkb.models.corpora.tables import DATED_TEXT, DATED_TEXTS
from tempkb.models.corpora.tables import PROMPTING as OF_TEXTS
from tempkb.models.dating import dating_of
from tempkb.models.scores.kinds import Kind
from tempkb.models.scores.requests import AskRequest
from tempkb.store.memory import asking
from tempkb.store.quoting import literals, parquet
from tempkb.store.store import Store
from tempkb.store.versions import Version

Log = Callable[[str], None]


@dataclass(frozen=True)
class Source:
    """Prompts of one release.

    Attributes:
        variants: forms of prompts that are chosen.
        conditions: SQL that chooses among these, each of them; none for all.
        further: queries that make further variants of these prompts, by the name of their table.
    """

    benchmark: str
    release: str
    versions: tuple[Version, ...]
    variants: tuple[str, ...]
    conditions: tuple[str, ...] = ()
    further: tuple[str, ...] = ()

    @property
    def inputs(self) -> dict[str, str]:
        """Versions of the partitions, by table and partition."""
        return {f"{one.table} {one.partition}": one.version for one in self.versions}

    @cached_property
    def query(self) -> str:
        """SQL that returns the rows; verifies the checksums of their files."""
        paths = [path for version in self.versions for path in version.paths()]
        rows = parquet(paths)
        if self.further:
            table = self.versions[0].table
            every = " UNION ALL BY NAME ".join(f"FROM ({query})" for query in (f"FROM {table}", *self.further))
            rows = f"(WITH {table} AS (FROM {rows}) {every})"
        chosen = f"variant IN ({literals(self.variants)})"
        return f"FROM {rows} WHERE {' AND '.join((chosen, *self.conditions))}"

    @property
    def fillers(self) -> list[str]:
        """What a version lists in `filled_by` that has answers to all this: release, variant, and prompts' versions."""
        made_of = json.dumps(self.inputs, sort_keys=True) + "".join(self.further)
        versions = hashlib.sha256(made_of.encode()).hexdigest()[:16]
        return [" ".join((self.release, variant, versions, *self.conditions)) for variant in self.variants]


@dataclass(frozen=True)
class Wanted:
    """What a model is asked in one way.

    Attributes:
        template: of the scorer, or name of the decoder.
        sources: where the prompts are; what several have is asked once.
        limit: most that is asked; None for all.
    """

    kind: Kind
    template: str
    sources: tuple[Source, ...]
    limit: int | None

    @property
    def query(self) -> str:
        """SQL that returns the id and the texts of what is asked, each once."""
        key, names = self.kind.key, self.kind.plan_texts
        parts = " UNION ALL ".join(
            f"(SELECT {self.kind.key_sql} AS {key}, {', '.join(names)} {one.query})" for one in self.sources
        )
        # Ids are hashes, so the first ones are chosen as by chance, and of a larger limit the first ones again.
        some = "" if self.limit is None else f" ORDER BY {key} LIMIT {self.limit}"
        texts = ", ".join(f"any_value({name}) AS {name}" for name in names)
        return f"SELECT {key}, {texts} FROM ({parts}) GROUP BY {key}{some}"

    def lacking(self, answered: Sequence[Path]) -> str:
        """Return SQL, from FROM on, of what is asked and has no row in some files."""
        there = f" ANTI JOIN {parquet(answered)} USING ({self.kind.key})" if answered else ""
        return f"FROM ({self.query}){there}"

    def n_lacking(self, answered: Sequence[Path] = ()) -> int:
        """Return how much of what is asked has no row in some files."""
        with asking() as memory:
            ((n,),) = memory.execute(f"SELECT count(*) {self.lacking(answered)}").fetchall()
        return int(n)

    def by_status(self, held: Version | None) -> dict[str, int]:
        """Return the numbers of what is asked by status of its first answer in a version; what has none is left out."""
        if held is None:
            return {}
        query = (
            f"SELECT status, count(*) FROM {parquet(held.paths())} SEMI JOIN ({self.query}) USING ({self.kind.key}) "
            f"WHERE {self.kind.first} GROUP BY status ORDER BY count(*) DESC, status"
        )
        with asking() as memory:
            return dict(memory.execute(query).fetchall())

    @property
    def fillers(self) -> list[str]:
        """What a version lists in `filled_by` that has answers to all of it; nothing if there is a limit."""
        return [] if self.limit else [filler for one in self.sources for filler in one.fillers]


def prompts_mark(store: Store, benchmarks: Sequence[Benchmark]) -> str:
    """Return a hash of the prompts of all releases that are built, which changes when one grows; empty without any."""
    versions = [
        (name, version.partition, version.version)
        for one in benchmarks
        if one.prompting is not None
        for name in releases_of(store.home, one.name)
        if is_built(store.home, name)
        for version in release_versions(store, one.prompting.table, name)
    ]
    return hashlib.sha256(json.dumps(versions).encode()).hexdigest()[:24] if versions else ""


def wanted(
    kind: Kind, store: Store, benchmarks: Sequence[Benchmark], row: Mapping[str, Any], request: AskRequest, log: Log
) -> list[Wanted]:
    """Return what the model of a row is asked, or any of a family, in the benchmarks' own ways first.

    Args:
        row: of the model, which is asked by dates as well if it is told them; or its family alone.
        log: takes a sentence about each release that is left out.

    Raises:
        SettingsError: there is no such benchmark, variant or template; DesignError, a kind of it: no such release, or
            one that is not finished; its message says what to do.
    """
    asked, family, is_dated = _asked(kind, benchmarks, request), row["family"], dating_of(row) is not None
    if request.template:
        kind.require(family, request.template)
    named = _of_names(kind, store, [name for name, _ in asked], request)
    by_template: dict[str, list[Source]] = {}
    for name, prompting in asked:
        dated = (prompting.dated,) if is_dated and not request.variants else ()
        for release in named.get(name, []):
            versions = _versions(store, prompting, release, log)
            for way in kind.ways(prompting, family, request.template, request.variants) if versions else ():
                if variants := tuple(
                    one for one in dict.fromkeys((*dated, *way.variants)) if one in prompting.variants
                ):
                    views = dict.fromkeys(prompting.further[one] for one in variants if one in prompting.further)
                    further = tuple(view.query for view in views)
                    source = Source(name, release, versions, variants, _conditions(way, request), further)
                    by_template.setdefault(way.template, []).append(source)
    return [Wanted(kind, template, tuple(sources), request.limit) for template, sources in by_template.items()]


def _asked(kind: Kind, benchmarks: Sequence[Benchmark], request: AskRequest) -> list[tuple[str, Prompting]]:
    """The benchmarks that are asked for, with how models are asked about them; unless some are named, texts as well."""
    able = {one.name: one.prompting for one in benchmarks if one.prompting is not None}
    names = [name.replace("-", "_") for name in request.benchmarks]
    for name in names:
        if name not in able:
            known = ", ".join(able)
            raise SettingsError(
                f"{kind.request.command}: found the benchmark {name!r}; expected one that has prompts: {known}"
            )
    asked = [(name, one) for name, one in able.items() if name in names] or [*able.items(), (DATED_TEXT, OF_TEXTS)]
    known_variants = sorted({variant for _, prompting in asked for variant in prompting.variants})
    for variant in request.variants:
        if variant not in known_variants:
            known = ", ".join(known_variants)
            raise SettingsError(f"{kind.request.command}: found the variant {variant!r}; expected some of {known}")
    return asked


def _of_names(kind: Kind, store: Store, benchmarks: Sequence[str], request: AskRequest) -> dict[str, list[str]]:
    """Names of the releases, or corpora, that are asked for, by benchmark."""
    known = {name: releases_of(store.home, name) for name in benchmarks}
    if DATED_TEXT in known:
        known[DATED_TEXT] = corpora(store.lake) if {*request.variants} & {*OF_TEXTS.variants} else []
    for name in request.releases:
        if not any(name in names for names in known.values()):
            there = ", ".join(name for names in known.values() for name in names) or "none"
            raise SettingsError(
                f"{kind.request.command}: found the release {name!r}; expected a release that has prompts: {there}"
            )
        if name not in known.get(DATED_TEXT, ()):
            require_whole(store, name)
    if not request.releases:
        return known
    return {benchmark: [name for name in names if name in request.releases] for benchmark, names in known.items()}


def _versions(store: Store, prompting: Prompting, release: str, log: Log) -> tuple[Version, ...]:
    """The prompts of a release, or the texts of a corpus; nothing if it has none."""
    if prompting.table is DATED_TEXTS:
        return tuple(store.lake.versions(DATED_TEXTS.name, keys_of(store.lake, release)))
    finish = f"tempkb release finish {release}"
    if not is_built(store.home, release):
        log(f"release {release}: is not finished, so its prompts are left out; finish it: {finish}")
        return ()
    versions = release_versions(store, prompting.table, release)
    if not versions:
        log(f"release {release}: has no prompts, since they were lost to damage; add them: {finish}")
    return tuple(versions)


def _conditions(way: Way, request: AskRequest) -> tuple[str, ...]:
    """SQL that chooses among the prompts of a benchmark that are asked in a way."""
    first, end = request.windows or (None, None)
    between = f"window_start >= DATE '{first}' AND window_start < DATE '{end}'" if request.windows else ""
    return tuple(filter(None, (between, way.condition)))
