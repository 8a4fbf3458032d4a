"""Reads texts in which people mark mentions with double brackets, a part at a time. Pure."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tempkb.core.errors import SettingsError
from tempkb.models.linking.inputs import MentionText

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
