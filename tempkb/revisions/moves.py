"""Titles over time: a dump gives today's title, and the summaries of moves give the earlier ones. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tempkb.titles import Site, Title

TitleSource = Literal["move_comment", "today"]

_LINK = r"\[\[:?([^\[\]|]+)(?:\|[^\[\]]*)?\]\]"
_ENGLISH = re.compile(rf"(?:^|\s)moved (?:page )?{_LINK} to {_LINK}|{_LINK} moved to {_LINK}")
_UNLINKED = re.compile(r"^([^\[\]]+?) moved to ([^\[\]]+?)(?: over redirect)?(?::.*)?$", re.DOTALL)
_TWO_LINKS = re.compile(rf"{_LINK}.*?{_LINK}", re.DOTALL)


@dataclass(frozen=True)
class Remark:
    """An edit summary that may describe a move.

    Attributes:
        time: seconds since 1970 of the revision.
        comment: the summary, unescaped.
        is_null_edit: did the revision leave the text unchanged, as every move does?
    """

    time: int
    comment: str
    is_null_edit: bool


@dataclass(frozen=True)
class Naming:
    """A title that a page had from some second on."""

    since: int | None
    title: Title
    source: TitleSource


def may_be_move(comment: bytes) -> bool:
    """Test cheaply whether a summary may be a move; never misses one that `names_over_time` would use."""
    return b"moved" in comment or comment.count(b"]]") > 1


def names_over_time(remarks: Sequence[Remark], today: Title, site: Site) -> list[Naming]:
    """Return the titles that a page had, oldest first; the first has no beginning.

    English summaries are recognised by their words. A summary in another language
    counts as a move if the edit changed nothing and its second link is the
    title that the page had next. Summaries that people typed are ignored
    unless they fit the chain of titles, read backwards from today's.

    The source of a title is `move_comment` if a summary says that the page was moved to it
    or from it, else `today`.

    Args:
        remarks: candidate summaries of one page, oldest first.
    """
    moves: list[tuple[int, Title, Title]] = []
    expected = today
    for remark in reversed(remarks):
        pair = _read_move(remark, site, expected)
        if pair is not None:
            moves.append((remark.time, *pair))
            expected = pair[0]
    moves.reverse()
    if not moves:
        return [Naming(None, today, "today")]
    namings = [Naming(None, moves[0][1], "move_comment")]
    namings += [Naming(time, after, "move_comment") for time, _, after in moves]
    last = namings[-1]
    if last.title != today:
        # The page was moved once more without a summary, at an unknown time.
        namings[-1] = Naming(last.since, today, "today")
    return namings


def naming_at(namings: Sequence[Naming], cut: int) -> Naming:
    """Return the title that the page had just before the second `cut`."""
    borne = namings[0]
    for naming in namings[1:]:
        if naming.since is not None and naming.since >= cut:
            break
        borne = naming
    return borne


def _read_move(remark: Remark, site: Site, expected: Title) -> tuple[Title, Title] | None:
    match = _ENGLISH.search(remark.comment)
    if match:
        before, after = (site.normalize(part) for part in match.groups() if part is not None)
        return (before, after) if before != after and (remark.is_null_edit or after == expected) else None
    match = _UNLINKED.match(remark.comment)
    if match is None and remark.is_null_edit:
        match = _TWO_LINKS.search(remark.comment)
    if match is None:
        return None
    before, after = site.normalize(match[1]), site.normalize(match[2])
    return (before, after) if before != after and after == expected else None
