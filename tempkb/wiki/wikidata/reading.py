"""Reads entities from Wikidata's JSON files, one after another, with bounded memory.

Three forms are read: a list with one entity per line (the dumps), one entity per
line without a list, and one document (`Special:EntityData`, an answer of the API, a
single entity). A line that is not an entity is counted with its number.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tempkb.core.errors import SourceError
from tempkb.wiki.dumps.files import DamageError, Progress, open_dump
from tempkb.wiki.dumps.looking import no_entity_in, what_it_is
from tempkb.wiki.wikidata.decoding import BAD_JSON, Entity, entity_decoder

# In bytes. The largest entity today has some 5 MB, so a line as long as this is not from a dump.
LONGEST_LINE = 1 << 28
# In bytes. An answer or a list over many lines is read into memory as a whole.
LONGEST_DOCUMENT = 1 << 28
_EXAMPLES = 5


@dataclass
class Tally:
    """Counts of what was found in a file.

    Attributes:
        lines: lines, or documents, that are not empty.
        passed_over: of these, entities that the prefilter skipped.
        damaged: lines that are not an entity: (number, what is wrong), the first few.
        missing: ids that do not exist, according to the file.
        redirects: requested id -> id of the entity that was returned.
        modified: time of the newest change of the decoded entities; empty if none is given.
        damage: where the file itself breaks off; empty if it is complete.
    """

    lines: int = 0
    passed_over: int = 0
    damaged: list[tuple[int, str]] = field(default_factory=list)
    n_damaged: int = 0
    missing: list[str] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    modified: str = ""
    damage: str = ""

    @property
    def reason(self) -> str:
        """Where the file is damaged, in words; empty if it is intact."""
        lines = ", ".join(str(line) for line, _ in self.damaged)
        more = ", ..." if self.n_damaged > len(self.damaged) else ""
        in_lines = f"{self.n_damaged} damaged lines ({lines}{more})" if self.n_damaged else ""
        return "; ".join(one for one in (self.damage, in_lines) if one)

    def spoil(self, line: int, why: str) -> None:
        """Count a damaged line."""
        self.n_damaged += 1
        if len(self.damaged) < _EXAMPLES:
            self.damaged.append((line, why))


def read_entities(
    path: Path, languages: Sequence[str], wanted: Sequence[bytes], tally: Tally, progress: Progress | None = None
) -> Iterator[Entity]:
    """Yield the entities of a file, with the parts that the tables need.

    Args:
        path: `.json`, also compressed (`.gz`, `.bz2`, `.zst`, ...), under any name.
        languages: codes of the languages whose labels and aliases are decoded.
        wanted: an entity is decoded only if its line contains one of these; empty for all.
        tally: is updated while reading; `damage` says where a file ended early.

    Raises:
        SourceError: the file does not exist, or contains no entity.
    """
    given = 0
    for entity in _read(path, languages, wanted, tally, progress):
        given += 1
        yield entity
    if not given and not tally.passed_over:
        why = (
            what_it_is(path)
            or tally.reason
            or (
                f"line 1: {', '.join(tally.missing[:3])} is marked as missing"
                if tally.missing
                else "an empty list, there is no entity in it"
            )
        )
        raise no_entity_in(path, why)


def _read(
    path: Path, languages: Sequence[str], wanted: Sequence[bytes], tally: Tally, progress: Progress | None
) -> Iterator[Entity]:
    decode = entity_decoder(languages)
    pieces = open_dump(path, progress)
    with closing(pieces):
        lines = _lines(_whole(pieces, tally), path.name)
        first = next(lines, b"").strip()
        if not first:
            if not tally.damage:
                raise no_entity_in(path, what_it_is(path) or "nothing is packed in it")
            return
        yield from _entities(first, lines, path, decode, wanted, tally)


def _entities(
    first: bytes,
    lines: Iterator[bytes],
    path: Path,
    decode: Callable[[bytes], Entity],
    wanted: Sequence[bytes],
    tally: Tally,
) -> Iterator[Entity]:
    opened = first[:1] == b"[" and not first.strip(b"[,]")
    second = next((line.strip() for line in lines if line.strip()), b"") if opened else first.removeprefix(b"[")
    # An entity that is written over many lines begins with a brace alone on a line; a line of a dump is much longer.
    if second != b"{" and (opened or _is_json(second.rstrip(b",]")) or _is_json(second.rstrip(b","))):
        yield from _by_line(_chain(second, lines), decode, wanted, tally, first_number=2 if opened else 1)
        if tally.n_damaged and tally.n_damaged == tally.lines and not tally.damage:
            line, why = tally.damaged[0]
            raise SourceError(f"{path}: not Wikidata's JSON (line {line}: {why}); expected one entity per line")
        return
    if first[:1] not in (b"{", b"["):
        raise SourceError(
            f"{path}: line 1 begins with {first[:30]!r}; expected Wikidata's JSON: a list with one entity per line, or "
            "a single entity"
        )
    whole = _chain(first, _chain(second, lines) if opened else lines)
    yield from _of_document(_joined(whole, path), path, decode, tally)


def _joined(lines: Iterable[bytes], path: Path) -> bytes:
    kept, size = [], 0
    for number, line in enumerate(lines, 1):
        size += len(line) + _LINE_COSTS
        if size > LONGEST_DOCUMENT:
            raise SourceError(
                f"{path}: neither one entity per line nor a document of less than {LONGEST_DOCUMENT >> 20} MB (read up "
                f"to line {number}); expected Wikidata's JSON. If the first line is damaged, fetch the file again"
            )
        kept.append(line)
    return b"\n".join(kept)


_LINE_COSTS = 64  # bytes of memory that a line takes in addition to its text


def _by_line(
    lines: Iterable[bytes],
    decode: Callable[[bytes], Entity],
    wanted: Sequence[bytes],
    tally: Tally,
    first_number: int,
) -> Iterator[Entity]:
    is_list, is_closed, number = first_number > 1, False, first_number
    for number, line in enumerate(lines, first_number):
        text = line.strip().rstrip(b",")
        if not text or text == b"]":
            is_closed = is_closed or text == b"]"
            continue
        # The last line of a list may end with its bracket. An entity that is cut off after a list of statements ends in
        # the same way, so the text before the bracket must be complete JSON.
        if text.endswith(b"}]") and _is_json(text[:-1]):
            text, is_closed = text[:-1], True
        tally.lines += 1
        if wanted and not any(one in text for one in wanted):
            if not _looks_whole(text):
                tally.spoil(number, "the line is no whole entity")
            else:
                tally.passed_over += 1
            continue
        try:
            if text.startswith(b'{"entities"'):
                yield from _of_answer(text, decode, tally)
            else:
                yield from _kept(decode(text), tally)
        except BAD_JSON as error:
            tally.spoil(number, str(error))
    if is_list and not is_closed and not tally.damage:
        tally.damage = f"the list is not closed: the file may be cut off after line {number}"


def _of_document(text: bytes, path: Path, decode: Callable[[bytes], Entity], tally: Tally) -> Iterator[Entity]:
    """Yield the entities of one document: an answer of `Special:EntityData` or the API, an entity, or a list."""
    tally.lines += 1
    try:
        if text.lstrip().startswith(b"["):
            for one in msgspec.json.decode(text, type=list[msgspec.Raw]):
                yield from _kept(decode(bytes(one)), tally)
        elif "entities" in msgspec.json.decode(text, type=dict[str, msgspec.Raw]):
            yield from _of_answer(text, decode, tally)
        else:
            yield from _kept(decode(text), tally)
    except BAD_JSON as error:
        if tally.damage:
            return
        raise SourceError(
            f"{path}: not Wikidata's JSON, read from line 1 to byte {len(text)} as one document ({error}); expected an "
            "entity, or a list of entities"
        ) from None


class _Answer(msgspec.Struct):
    entities: dict[str, msgspec.Raw]


def _of_answer(text: bytes, decode: Callable[[bytes], Entity], tally: Tally) -> Iterator[Entity]:
    for requested, one in msgspec.json.decode(text, type=_Answer).entities.items():
        entity = decode(bytes(one))
        if entity.id != requested and not entity.is_missing:
            tally.redirects[requested] = entity.id
        yield from _kept(entity, tally)


def _kept(entity: Entity, tally: Tally) -> Iterator[Entity]:
    if entity.is_missing:
        tally.missing.append(entity.id)
    else:
        # Times are in ISO 8601 and can be compared as text.
        tally.modified = max(tally.modified, entity.modified)
        yield entity


def _whole(pieces: Iterator[bytes], tally: Tally) -> Iterator[bytes]:
    """Yield the pieces; if the file is damaged, record where and stop, without an error."""
    try:
        yield from pieces
    except DamageError as error:
        tally.damage = f"byte {error.position} ({error.of}): {error.reason}"


def _lines(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield the lines; a line may extend over many pieces."""
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        begin = 0
        while (at := piece.find(b"\n", begin)) >= 0:
            if waiting:
                waiting.append(piece[begin:at])
                yield b"".join(waiting)
                waiting, size = [], 0
            else:
                yield piece[begin:at]
            begin = at + 1
        if begin < len(piece):
            waiting.append(piece[begin:])
            size += len(piece) - begin
            if size > LONGEST_LINE:
                raise SourceError(f"{name}: a line of more than {LONGEST_LINE >> 20} MB; expected one entity per line")
    if waiting:
        yield b"".join(waiting)


def _chain(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _looks_whole(text: bytes) -> bool:
    """Return whether a skipped line begins and ends like an entity; parsing it would take three times as long."""
    return text.startswith(b"{") and text.endswith(b"}")


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except BAD_JSON:
        return False
    return text[:1] == b"{"
