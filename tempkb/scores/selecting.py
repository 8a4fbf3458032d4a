"""Which prompts a model is asked: those of releases, by benchmark, variant and window, each once."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.prompting import Prompting
from tempkb.benchmarks.register import is_built, partitions_of_release, releases_of, require_whole
from tempkb.errors import SettingsError
from tempkb.models.names import Family
from tempkb.models.scorers import require_template
from tempkb.scores.requests import ScoreRequest
from tempkb.store.lake import Version
from tempkb.store.memory import asking
from tempkb.store.quoting import literal, parquet
from tempkb.store.store import Store

Log = Callable[[str], None]


@dataclass(frozen=True)
class Source:
    """Prompts of one release.

    Attributes:
        condition: SQL that chooses among their rows.
    """

    benchmark: str
    release: str
    versions: tuple[Version, ...]
    condition: str

    @property
    def inputs(self) -> dict[str, str]:
        """Versions of the partitions, by table and partition."""
        return {f"{one.table} {one.partition}": one.version for one in self.versions}

    @cached_property
    def query(self) -> str:
        """SQL that returns the rows; verifies the checksums of their files."""
        paths = [path for version in self.versions for path in version.paths()]
        return f"FROM {parquet(paths)} WHERE {self.condition}"


@dataclass(frozen=True)
class Wanted:
    """The prompts that one scorer of a model is asked.

    Attributes:
        sources: where they are; a prompt that several have is asked once.
        limit: most prompts; None for all.
    """

    template: str
    sources: tuple[Source, ...]
    limit: int | None

    @property
    def query(self) -> str:
        """SQL that returns prompt_id, left_context, target and right_context, each prompt once."""
        parts = " UNION ALL ".join(
            f"(SELECT prompt_id, left_context, target, right_context {one.query})" for one in self.sources
        )
        # Ids are hashes, so the first ones are chosen as by chance, and of a larger limit the first ones again.
        some = "" if self.limit is None else f" ORDER BY prompt_id LIMIT {self.limit}"
        texts = "any_value(left_context) AS left_context, any_value(target) AS target"
        return (
            f"SELECT prompt_id, {texts}, any_value(right_context) AS right_context FROM ({parts}) "
            f"GROUP BY prompt_id{some}"
        )

    @property
    def n_prompts(self) -> int:
        """Number of prompts."""
        with asking() as memory:
            ((n,),) = memory.execute(f"SELECT count(*) FROM ({self.query})").fetchall()
        return int(n)

    @property
    def inputs(self) -> dict[str, str]:
        """Versions of the partitions, by table and partition."""
        return {name: version for source in self.sources for name, version in source.inputs.items()}

    @property
    def digest(self) -> str:
        """A hash of everything that decides which prompts these are."""
        said = [self.template, self.limit, [(one.inputs, one.condition) for one in self.sources]]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:24]


def prompts_mark(store: Store, benchmarks: Sequence[Benchmark]) -> str:
    """Return a hash of the prompts of all releases that are built, which changes when one grows; empty without any."""
    versions = [
        (name, key, version.version)
        for one in benchmarks
        if one.prompting is not None
        for name in releases_of(store.home, one.name)
        if is_built(store.home, name)
        for key in partitions_of_release(store.lake, one.prompting.table, name)
        if (version := store.lake.current(one.prompting.table.name, key)) is not None
    ]
    return hashlib.sha256(json.dumps(versions).encode()).hexdigest()[:24] if versions else ""


def wanted(
    store: Store, benchmarks: Sequence[Benchmark], family: Family, request: ScoreRequest, log: Log
) -> list[Wanted]:
    """Return what the scorers of a family are asked, those of the benchmarks' own templates first.

    Args:
        log: takes a sentence about each release that is left out.

    Raises:
        SettingsError: there is no such benchmark, variant or template; DesignError, a kind of it: no such release, or
            one that is not finished; its message says what to do.
    """
    asked = _asked(benchmarks, request)
    if request.scorer:
        require_template(family, request.scorer)
    named = _of_names(store, [benchmark for benchmark, _ in asked], request)
    by_template: dict[str, list[Source]] = {}
    for benchmark, prompting in asked:
        for release in named.get(benchmark.name, []):
            source = _source(store, benchmark, prompting, release, request, log)
            if source is None:
                continue
            template = request.scorer or prompting.templates[family]
            by_template.setdefault(template, []).append(source)
            instead = prompting.without_left.get(family)
            if instead and not request.scorer:
                bare = Source(
                    source.benchmark,
                    source.release,
                    source.versions,
                    f"{source.condition} AND trim(left_context) = ''",
                )
                by_template.setdefault(instead, []).append(bare)
    return [Wanted(template, tuple(sources), request.limit) for template, sources in by_template.items()]


def _asked(benchmarks: Sequence[Benchmark], request: ScoreRequest) -> list[tuple[Benchmark, Prompting]]:
    """The benchmarks that are asked for, with how models are asked about them."""
    able = {one.name: one for one in benchmarks if one.prompting is not None}
    names = [name.replace("-", "_") for name in request.benchmarks]
    for name in names:
        if name not in able:
            known = ", ".join(able)
            raise SettingsError(f"score: found the benchmark {name!r}; expected one that has prompts: {known}")
    chosen = [one for name, one in able.items() if not names or name in names]
    asked = [(one, one.prompting) for one in chosen if one.prompting is not None]
    known_variants = sorted({variant for _, prompting in asked for variant in prompting.variants})
    for variant in request.variants:
        if variant not in known_variants:
            raise SettingsError(f"score: found the variant {variant!r}; expected some of {', '.join(known_variants)}")
    return asked


def _of_names(store: Store, benchmarks: Sequence[Benchmark], request: ScoreRequest) -> dict[str, list[str]]:
    """Names of the releases that are asked for, by benchmark."""
    known = {one.name: releases_of(store.home, one.name) for one in benchmarks}
    for name in request.releases:
        if not any(name in names for names in known.values()):
            there = ", ".join(name for names in known.values() for name in names) or "none"
            raise SettingsError(f"score: found the release {name!r}; expected a release that has prompts: {there}")
        require_whole(store.home, store.lake, name)
    if not request.releases:
        return known
    return {benchmark: [name for name in names if name in request.releases] for benchmark, names in known.items()}


def _source(
    store: Store, benchmark: Benchmark, prompting: Prompting, release: str, request: ScoreRequest, log: Log
) -> Source | None:
    """The prompts of a release; None if it has none of the variants, or none at all."""
    finish = f"tempkb release finish {release}"
    if not is_built(store.home, release):
        log(f"release {release}: is not finished, so its prompts are left out; finish it: {finish}")
        return None
    partitions = partitions_of_release(store.lake, prompting.table, release)
    if not partitions:
        log(f"release {release}: has no prompts, since they were lost to damage; add them: {finish}")
        return None
    variants = [name for name in request.variants or prompting.defaults if name in prompting.variants]
    if not variants:
        return None
    conditions = [f"variant IN ({', '.join(map(literal, variants))})"]
    if request.windows is not None:
        first, end = request.windows
        conditions.append(f"window_start >= DATE '{first}' AND window_start < DATE '{end}'")
    versions = tuple(store.lake.versions(prompting.table.name, partitions))
    return Source(benchmark.name, release, versions, " AND ".join(conditions))
