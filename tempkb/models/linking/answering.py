"""Links the mentions that people mark in any text to the entities of a day, among all candidates of a cut.

Mentions stand between double brackets, and a text is read a part at a time. Of a text no more is held than is near some
thousand mentions, which are encoded together, as those of a release are.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import islice, repeat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tempkb.benchmarks.linkable.declaration import mention_sentence
from tempkb.core.errors import SettingsError
from tempkb.core.options import ODD, read_as
from tempkb.core.windows import window_ending, window_of_key
from tempkb.core.wording import counted
from tempkb.engine.steps import Look
from tempkb.models.devices import on_threads, threads_for
from tempkb.models.linking.baselines import index_of, priors_at, rank_by_links
from tempkb.models.linking.candidates import Candidates, of_cut, page_ids_among
from tempkb.models.linking.inputs import MentionText
from tempkb.models.linking.known import known_linker, known_linkers, linked_releases, require_linker
from tempkb.models.linking.nil import Nil
from tempkb.models.linking.requests import AS_OF, LinkRequest
from tempkb.models.linking.searching import top
from tempkb.models.linking.steps import STEPS
from tempkb.models.linking.tables import BASELINES, LINKERS, NIL_THRESHOLDS
from tempkb.models.linking.vectors import dtype_of, encode_missing, encoder_of, vectors_of
from tempkb.store.memory import asking, declared_rows
from tempkb.store.quoting import parquet
from tempkb.store.said import note_asked
from tempkb.store.store import Store
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS

_LONGEST = 1 << 16
"""Characters of a mention, so that brackets which nobody closes do not keep the rest of a text in memory."""
_EXAMPLE = 'such as: tempkb link "They sang of [[the old port]]." --as-of 2022-01-01'


def marked_mentions(parts: Iterable[str], n_around: int) -> Iterator[MentionText]:
    """Yield the mentions of a text, each with what precedes and follows it; other marks are read as plain text.

    Args:
        parts: the text in its order, in parts of any size, of which only those near a mention are kept.
        n_around: characters on either side of a mention.

    Raises:
        SettingsError: the text has no mention, or brackets that do not belong together.

    >>> list(marked_mentions(["At dawn [[the ", "port]] wakes."], 6))
    [MentionText(left=' dawn ', mention='the port', right=' wakes')]
    """
    near, n_found = _Near(n_around), 0
    for plain, spans in _unmarked(parts):
        near.add(plain, spans)
        for mention in near.complete():
            n_found += 1
            yield mention
    for mention in near.all():
        n_found += 1
        yield mention
    if not n_found:
        raise SettingsError(f"link: found no mention; expected at least one in double brackets, {_EXAMPLE}")


@dataclass
class _Near:
    """The text near the mentions that wait for what follows them.

    Attributes:
        plain: the text without marks, from what precedes the first mention that waits.
        spans: where the mentions are in it.
        n_lines: lines that end before it.
    """

    n_around: int
    plain: str = ""
    spans: deque[tuple[int, int]] = field(default_factory=deque)
    n_lines: int = 0

    def add(self, plain: str, spans: Iterable[tuple[int, int]]) -> None:
        begin = len(self.plain)
        self.plain += plain
        # Brackets may meet where a mark was taken out.
        for brackets in ("[[", "]]"):
            if (at := self.plain.find(brackets, max(0, begin - 1))) >= 0:
                raise SettingsError(
                    f"link: found double brackets that do not belong together in line {self._line(at)}; expected each "
                    f"mention in brackets of its own, {_EXAMPLE}"
                )
        for start, end in spans:
            if not plain[start:end].strip():
                raise SettingsError(
                    f"link: found no mention in the double brackets in line {self._line(begin + start)}; expected "
                    f"some words, {_EXAMPLE}"
                )
            self.spans.append((begin + start, begin + end))

    def complete(self) -> Iterator[MentionText]:
        """Yield the mentions behind which there is enough of the text, and let go of what no other one needs."""
        while self.spans and len(self.plain) - self.spans[0][1] >= self.n_around:
            yield self._first()
        gone = max(0, (self.spans[0][0] if self.spans else len(self.plain)) - self.n_around)
        self.n_lines += self.plain.count("\n", 0, gone)
        self.plain = self.plain[gone:]
        self.spans = deque((start - gone, end - gone) for start, end in self.spans)

    def all(self) -> Iterator[MentionText]:
        """Yield the others at the end of the text."""
        while self.spans:
            yield self._first()

    def _first(self) -> MentionText:
        start, end = self.spans.popleft()
        left = self.plain[max(0, start - self.n_around) : start]
        return MentionText(left, self.plain[start:end], self.plain[end : end + self.n_around])

    def _line(self, at: int) -> int:
        return self.n_lines + self.plain.count("\n", 0, at) + 1


def _unmarked(parts: Iterable[str]) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Parts of a text without the marks of mentions, and where mentions are in each."""
    rest = ""
    for part in parts:
        rest += part
        pieces, spans, at, length = list[str](), list[tuple[int, int]](), 0, 0
        while (start := rest.find("[[", at)) >= 0 and (end := rest.find("]]", start + 3)) >= 0:
            pieces += (rest[at:start], rest[start + 2 : end])
            length += end - at - 2
            spans.append((length - (end - start - 2), length))
            at = end + 2
        # What may be the beginning of a mention waits for the next part.
        wait = start if start >= 0 else len(rest) - rest.endswith("[", at)
        if len(rest) - wait > _LONGEST:
            wait = len(rest)
        yield "".join([*pieces, rest[at:wait]]), spans
        rest = rest[wait:]
    yield rest, []


Log = Callable[[str], None]
Row = dict[str, Any]

Best = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]
"""Page_ids and scores of the best candidates of a mention."""
Search = Callable[[Sequence[MentionText], int], list[Best]]
"""Finds so many candidates of each of some mentions, at most."""

_AROUND = 1_000  # characters on either side of a mention that baselines are given; BM25 reads twenty words of them
# Mentions that are linked at once, and characters of what is around them. An encoder sorts as many texts at a time, so
# that each is encoded in the same company as if all were given to it.
_MENTIONS, _CHARS = 8_192, 1 << 26


@dataclass(frozen=True)
class Found:
    """An entity that a mention may mean."""

    page_id: int
    entity_id: str | None
    title: str
    score: float


@dataclass(frozen=True)
class AsOf:
    """The last cut that is built and not after a day.

    Attributes:
        n_since: how many pages became articles from the cut to the end of the day, and were so at the next cut that is
            built; None if there is no such cut.
    """

    day: date
    cut: date
    n_since: int | None

    def in_words(self) -> str:
        """Say how far the cut is, and what it lacks; empty if it is of that day."""
        if self.day == self.cut:
            return ""
        away = f"{self.cut} is the last cut at or before {self.day}, by {counted((self.day - self.cut).days, 'day')}"
        if self.n_since is None:
            return f"{away}; how many articles came since is not known, as no later cut is built"
        return f"{away}; {counted(self.n_since, 'article')} came since, and cannot be found"


@dataclass(frozen=True)
class Answer:
    """What a mention may mean.

    Attributes:
        mention: as written.
        entities: the best ones, best first.
        p: of the hypothesis that its entity is among the candidates; None if it cannot be told.
        is_nil: whether p is not above the threshold; None without one.
    """

    mention: str
    entities: list[Found]
    p: float | None = None
    is_nil: bool | None = None


@dataclass(frozen=True)
class Links:
    """What some mentions of a text may mean.

    Attributes:
        as_of: whose entities are the candidates.
        nil: how the linker tells that a mention has no entity among them; or why it cannot.
    """

    linker: str
    as_of: AsOf
    n_candidates: int
    nil: Nil | str
    mentions: list[Answer]


def link_text(
    store: Store, parts: Iterable[str], day: str, linker: str, n: int, log: Log, nil_threshold: float | None = None
) -> Iterator[Links]:
    """Link the mentions of a text, which are in double brackets, some thousand at a time.

    Args:
        parts: the text in its order, with at least one mention.
        day: YYYY-MM-DD; the candidates are those of the last cut that is built and not after it.
        linker: its name, or that of a baseline; empty for the one that `encoder_row` chooses.
        nil_threshold: p up to which a mention has no entity; None for what was chosen for the linker.

    Raises:
        SettingsError: the text has no mention, nothing is built up to that day, there is no such linker, or there is a
            threshold for a linker of which nothing is known that p could be computed from.
        ContractError: the linker is the prior, and those of the cut are not built.
        ModelError: the linker cannot be loaded.
    """
    as_of = as_of_day(store, day)
    if linker in BASELINES:
        row = known_linker(store.lake, linker) or {}
    else:
        row = encoder_row(store, linker, as_of.cut, f"tempkb link TEXT --as-of {day}")
    nil = nil_of(store, row, nil_threshold)
    n_around = _AROUND if linker in BASELINES else encoder_of(row, request_for(store, row)).n_around
    mentions = marked_mentions(parts, n_around)
    at_once = max(1, min(_MENTIONS, _CHARS // n_around))
    some = list(islice(mentions, at_once))
    with store.lake.staging() as folder:
        search, candidates, n_candidates = _search(store, row, as_of.cut, folder, log)
        while some:
            # The lead of the best needs the second one, even if one alone is wanted.
            ranked = search(some, max(n, 2))
            about = _about(candidates.digests, np.unique(np.concatenate([pages for pages, _ in ranked])))
            told = nil.told(scores for _, scores in ranked) if isinstance(nil, Nil) else repeat((None, None), len(some))
            answers = []
            for mention, (pages, scores), (p, is_nil) in zip(some, ranked, told, strict=True):
                best = zip(pages.tolist()[:n], scores.tolist()[:n], strict=True)
                answers.append(
                    Answer(mention.mention, [Found(one, *about[one], score) for one, score in best], p, is_nil)
                )
            yield Links(row["linker"], as_of, n_candidates, nil, answers)
            some = list(islice(mentions, at_once))


def _search(store: Store, row: Row, cut: date, folder: Path, log: Log) -> tuple[Search, Candidates, int]:
    """What finds the best candidates of mentions; the candidates; and their number."""
    if row["linker"] not in BASELINES:
        candidates = candidates_at(store, row, cut, folder, log)
        own, vectors = vectors_of(store, row, candidates, folder)
        encoder = encoder_of(row, request_for(store, row))

        def encoded(some: Sequence[MentionText], k: int) -> list[Best]:
            with on_threads(threads_for(row["n_parameters"])):
                queries = encoder.mentions(some)
            return list(zip(*top(queries, vectors, own, k, log), strict=True))

        return encoded, candidates, len(own)
    candidates = of_cut(store, cut, folder / "candidates.parquet")
    if row["linker"] == "prior":
        own, priors = page_ids_among(candidates), priors_at(store, cut)

        def linked(some: Sequence[MentionText], k: int) -> list[Best]:
            return [best[:2] for best in rank_by_links(priors, [one.mention for one in some], own, k)]

        return linked, candidates, len(own)
    own, index = index_of(store, candidates, folder / "described.parquet")

    def found(some: Sequence[MentionText], k: int) -> list[Best]:
        return [
            best[:2] for best in index.rank((mention_sentence(one.left, one.mention, one.right) for one in some), k)
        ]

    return found, candidates, len(own)


def candidates_at(store: Store, row: Row, cut: date, folder: Path, log: Log) -> Candidates:
    """Return all candidates of a cut, of which no release needs to know, after encoding what has no vector yet."""
    candidates = of_cut(store, cut, folder / "candidates.parquet")
    if any(encode_missing(store, row, [candidates], request_for(store, row), log).values()):
        note_asked(store.home.linkers, row["linker"], {AS_OF: cut.isoformat()})
        store.publish()
    return candidates


def request_for(store: Store, row: Row) -> LinkRequest:
    """Return how a linker computes for a text: as its vectors were made, with which it is compared."""
    return LinkRequest(dtype=dtype_of(store, row["linker"]))


def nil_of(store: Store, row: Row, threshold: float | None = None) -> Nil | str:
    """Return how a linker tells that a mention has no entity, by the measure with the larger AUC; or why it cannot.

    Args:
        threshold: in place of the one that was chosen.

    Raises:
        SettingsError: there is a threshold, but nothing that p can be computed from.
    """
    # Those of scores that were removed since are no longer of mentions that anyone can look at.
    is_present = Look(store, STEPS).is_current(NIL_THRESHOLDS.name, row["linker"])
    files = store.lake.files(NIL_THRESHOLDS.name, [row["linker"]]) if is_present else []
    rows = declared_rows(files, NIL_THRESHOLDS)
    if not rows:
        why = (
            f"{row['linker']} has linked no validation mentions with and without an entity among the candidates of an "
            f"earlier snapshot; {_mend(store, row)}"
        )
        if threshold is not None:
            raise SettingsError(f"--nil-threshold {threshold}: {why}")
        return why
    best = max(rows, key=lambda one: (one["threshold"] is not None, one["auc"], one["measure"]))
    chosen, reason = (best["threshold"], best["reason"]) if threshold is None else (threshold, None)
    return Nil(best["measure"], np.array(best["present_values"]), chosen, reason)


def _mend(store: Store, row: Row) -> str:
    """What to type so that a linker has a threshold."""
    trained = row["cut"]
    for name, release in linked_releases(store.home).items():
        if pools := [cut for cut in sorted(release.cuts)[:-1] if trained is None or cut >= trained]:
            typed = f"tempkb linker score {row['linker']} --release {name} --pool {pools[0]} --subset validation"
            return f"link some: {typed}"
    return (
        f"no release of TempEL has a snapshot after {trained or 'another one'}; make one, or add a later snapshot: "
        "tempkb release extend --help"
    )


def as_of_day(store: Store, day: str) -> AsOf:
    """Return the last cut that is built and not after a day, with how many articles came since.

    Raises:
        SettingsError: the day is no date, or no window is built that ends by then.
    """
    try:
        asked = read_as(date, day)
    except ODD:
        raise SettingsError(f"--as-of: found {day!r}; expected a day, YYYY-MM-DD") from None
    granularity = store.home.settings.granularity
    cuts = sorted(window_of_key(key, granularity).cut for key in store.lake.partitions(STABLE_SNAPSHOTS.name))
    before = [cut for cut in cuts if cut <= asked]
    if not before:
        there = f"the first cut that is built is {cuts[0]}" if cuts else "nothing is built yet; build it: tempkb build"
        raise SettingsError(f"--as-of {asked}: found no cut that is built and not after that day; {there}")
    after = [cut for cut in cuts if cut > asked]
    return AsOf(asked, before[-1], _n_since(store, before[-1], asked, after[0]) if after else None)


def _n_since(store: Store, cut: date, day: date, after: date) -> int:
    """Return how many articles of a later cut became articles from a cut to the end of a day."""
    window = window_ending(after, store.home.settings.granularity)
    with asking() as memory:
        rows = memory.execute(
            f"""
            SELECT count(*) FROM {parquet(store.lake.files(STABLE_SNAPSHOTS.name, [window.key]))}
            WHERE namespace = 0 AND redirect_title IS NULL AND NOT is_blank AND NOT is_disambiguation
              AND article_since >= $cut::TIMESTAMPTZ AND article_since < $end::TIMESTAMPTZ
            """,
            {"cut": cut.isoformat(), "end": (day + timedelta(days=1)).isoformat()},
        ).fetchall()
    return int(rows[0][0])


def encoder_row(store: Store, name: str, cut: date, command: str) -> Row:
    """Return the row of an encoder: of that name, else of the one that was trained on the newest snapshot up to a cut.

    Of several it is the one with the lowest seed, of the preset with which one of them was trained last.

    Args:
        command: which `--linker` would complete.

    Raises:
        SettingsError: there is no such encoder; or the newest snapshot has linkers of several releases.
    """
    there = [row for row in known_linkers(store.lake) if row["linker"] not in BASELINES]
    listed = ", ".join(row["linker"] for row in there) or "none"
    how = "train one: tempkb linker train RELEASE, or add one: tempkb linker add NAME CHECKPOINT"
    if name:
        if name in BASELINES:
            raise SettingsError(f"--linker {name}: a baseline has no vectors; expected one of: {listed}; {how}")
        return require_linker(store.lake, name)
    trained = [row for row in there if row["cut"] is not None and row["cut"] <= cut]
    if not trained:
        raise SettingsError(
            f"found no linker that was trained on a snapshot up to {cut}; name one with --linker; there: {listed}; "
            f"{how}"
        )
    snapshot = max(row["cut"] for row in trained)
    newest = [row for row in trained if row["cut"] == snapshot]
    if len({row["release"] for row in newest}) > 1:
        named = (f"{command} --linker {row['linker']} (trained on {row['release']})" for row in newest)
        raise SettingsError(
            f"found linkers of several releases that were trained on {snapshot}, the newest snapshot up to {cut}; "
            f"expected the name of one; type one of: {'; '.join(named)}"
        )
    made = {row["linker"]: store.lake.written_at(LINKERS.name, row["linker"]) or 0 for row in newest}
    last = max(newest, key=lambda row: (made[row["linker"]], row["linker"]))
    return min(
        (row for row in newest if row["preset"] == last["preset"]),
        key=lambda row: (row["seed"], -made[row["linker"]], row["linker"]),
    )


def _about(described: Sequence[Path], pages: npt.NDArray[np.int64]) -> dict[int, tuple[str | None, str]]:
    """Wikidata item and title of pages."""
    with asking() as memory:
        memory.register("asked", pa.table({"page_id": pages}))
        rows = memory.execute(
            f"SELECT page_id, entity_id, title FROM {parquet(described)} SEMI JOIN asked USING (page_id)"
        ).fetchall()
    return {page: (entity, title) for page, entity, title in rows}
