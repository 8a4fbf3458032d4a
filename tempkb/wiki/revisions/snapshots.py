"""One page's rows: its chosen revision at each cut with everything derived from it. Pure except for where rows go."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tempkb.core.titles import Site, Title
from tempkb.wiki.dumps.elements import unescape
from tempkb.wiki.revisions.history import (
    ABSENT,
    BLANK,
    REDIRECT,
    SUPPRESSED,
    Naming,
    PageHistory,
    TextStore,
    names_over_time,
    naming_at,
)
from tempkb.wiki.revisions.stable import Stable, describe, select_stable, select_tempel
from tempkb.wiki.wikitext.page_kinds import Redirect, is_disambiguation, read_redirect


class TextMissingError(Exception):
    """The text of a chosen revision was dropped too early; the page must be read again without pruning."""


@dataclass(frozen=True)
class Cut:
    """A cut in a worker: window key and second."""

    window: str
    second: int


@dataclass(frozen=True)
class Winner:
    """A page's chosen revision at a cut, before its text is read."""

    cut: Cut
    stable: Stable
    naming: Naming


@dataclass(frozen=True)
class Reading:
    """What was read from the text of a chosen revision."""

    has_text: bool
    redirect: Redirect | None
    is_disambiguation: bool


_NO_READING = Reading(has_text=False, redirect=None, is_disambiguation=False)


class PageSnapshots:
    """Chosen revisions of one settled page at all cuts to build.

    Args:
        today: title in the newest dump.
        cuts: in time order.
        lookback: seconds.
        namespaces: numbers to keep, by the namespace at the cut; None keeps all.
        rule: `standing`, or `tempel`, which looks past the cut and so needs all cuts together.

    Attributes:
        winners: one per cut at which the page is kept.
        elsewhere: positions in `cuts` at which the page was in another namespace.
        not_utf8: (revision, source file) of chosen revisions whose text had to be repaired; filled by `texts`.
    """

    def __init__(
        self,
        page: PageHistory,
        today: Title,
        site: Site,
        cuts: Sequence[Cut],
        lookback: int,
        namespaces: frozenset[int] | None,
        rule: str = "standing",
    ) -> None:
        self._page, self._site, self._lookback = page, site, lookback
        self._namings = names_over_time(page.possible_moves(), today, site)
        self.winners: list[Winner] = []
        self.elsewhere: list[int] = []
        self.not_utf8: list[tuple[int, int]] = []
        weak = bytes(1 if flags & (BLANK | SUPPRESSED) else 0 for flags in page.flags)
        chosen = _chosen_by_tempel(page, weak, cuts, lookback) if rule == "tempel" else None
        first = page.times[0]
        for at, cut in enumerate(cuts):
            if cut.second <= first and chosen is None:
                continue
            naming = naming_at(self._namings, cut.second)
            if namespaces is not None and naming.title.namespace not in namespaces:
                self.elsewhere.append(at)
                continue
            if chosen is None:
                stable = select_stable(page.times, page.contents, weak, cut.second, lookback)
            else:
                stable = chosen[at]
            if stable is not None:
                self.winners.append(Winner(cut, stable, naming))

    def texts(self, store: TextStore) -> Iterator[tuple[int, str]]:
        """Yield (position, wikitext) of each distinct chosen revision whose text the dump holds.

        Raises:
            TextMissingError: a text was dropped too early; raised before anything is yielded.
        """
        page = self._page
        positions: dict[int, list[int]] = {}
        empty, absent = [], []
        for index in sorted({winner.stable.index for winner in self.winners}):
            number = page.text_numbers.get(page.contents[index])
            if number is not None:
                positions.setdefault(number, []).append(index)
            elif page.flags[index] & BLANK and page.sizes[index] == 0:
                empty.append(index)
            elif not page.flags[index] & SUPPRESSED:
                absent.append(index)
        if absent and page.once_had_text(absent):
            raise TextMissingError
        yield from ((index, "") for index in empty)
        for number, raw in store.get(positions):
            try:
                text = unescape(raw).decode()
            except UnicodeDecodeError:
                text = unescape(raw).decode("utf-8", "replace")
                index = positions[number][0]
                self.not_utf8.append((page.ids[index], page.sources[index]))
            for index in positions[number]:
                yield index, text

    def rows(self, readings: dict[int, Reading]) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Yield (window key, row of `staging.SNAPSHOT_COLUMNS`) for each winner."""
        page = self._page
        people = _distinct_so_far(page.people) if self.winners else []
        article_since = self._article_since() if self.winners else None
        for winner in self.winners:
            stable, cut = winner.stable, winner.cut
            index, title = stable.index, winner.naming.title
            reading = readings.get(index, _NO_READING)
            yield (
                cut.window,
                (
                    page.page_id,
                    title.namespace,
                    title.title,
                    winner.naming.source,
                    page.ids[index],
                    page.times[index],
                    page.times[0],
                    article_since if article_since is not None and article_since < cut.second else None,
                    stable.standing_seconds,
                    stable.standing_seconds / self._lookback,
                    stable.last_stood_at,
                    stable.n_inside,
                    stable.n_before,
                    people[stable.n_before - 1],
                    page.sha1_at(index),
                    reading.has_text,
                    bool(page.flags[index] & BLANK),
                    reading.redirect.target.namespace if reading.redirect else None,
                    reading.redirect.target.title if reading.redirect else None,
                    reading.redirect.section if reading.redirect else None,
                    reading.is_disambiguation,
                    page.sources[index],
                ),
            )

    def read(self, text: str) -> Reading:
        """Read redirect and disambiguation from the wikitext of a chosen revision."""
        return Reading(True, read_redirect(text, self._site), is_disambiguation(text))

    def _article_since(self) -> int | None:
        """Return the first second at which the main namespace had a known text that is neither redirect nor blank."""
        page = self._page
        if all(naming.title.namespace != 0 for naming in self._namings):
            return None
        not_article = SUPPRESSED | BLANK | ABSENT | REDIRECT
        for index, flags in enumerate(page.flags):
            if flags & not_article:
                continue
            end = page.times[index + 1] if index + 1 < len(page) else None
            for at, naming in enumerate(self._namings):
                if naming.title.namespace != 0:
                    continue
                start = max(page.times[index], naming.since) if naming.since is not None else page.times[index]
                until = self._namings[at + 1].since if at + 1 < len(self._namings) else None
                if (end is None or start < end) and (until is None or start < until):
                    return start
        return None


def _chosen_by_tempel(page: PageHistory, weak: bytes, cuts: Sequence[Cut], lookback: int) -> list[Stable | None]:
    """Return the choice of the rule `tempel` at each cut; it reads revisions in the order of the file."""
    order = page.arrival or range(len(page))
    seconds = [cut.second for cut in cuts]
    found = select_tempel([page.times[at] for at in order], [weak[at] for at in order], seconds, lookback // 86_400)
    return [
        None if at is None else describe(page.times, page.contents, order[at], second, lookback)
        for at, second in zip(found, seconds, strict=True)
    ]


def _distinct_so_far(people: Sequence[int]) -> list[int]:
    """Return for each position how many distinct known people there are up to it."""
    seen: set[int] = {0}
    counts = []
    for number in people:
        seen.add(number)
        counts.append(len(seen) - 1)
    return counts
