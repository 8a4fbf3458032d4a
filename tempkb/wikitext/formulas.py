r"""Reads formulas that are simple enough for a line of text. Pure.

`x^2`, `a_n = b`, `\alpha \le 1`: letters, digits, signs, indices and a fraction of
plain terms (`formulas.toml` names the commands). For everything else (sums, integrals,
matrices, accents) None is returned, since its parts in a row would have another
meaning.
"""

import re
import tomllib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

# A formula with more characters than this is never a simple term.
_LONGEST = 160
_DEEPEST = 4
_PIECE = re.compile(r"\\(?:[a-zA-Z]+|.)|\d+(?:[.,]\d+)*|\s+|.", re.DOTALL)
_PLAIN = re.compile(r"\w+(?:[.,]\d+)?")
_LONELY_BLANK = re.compile(r" (?=[,.;])")
_AROUND_SIGN = re.compile(r" ?([^\w\s]) ?")
_ORDINALS = ("st", "nd", "rd", "th")
_OPENED = (["("], ["["], ["^"], ["_"])
_CHEMICAL = re.compile(r"[A-Za-z0-9()\[\]+\-^_{}=*.\s→⇌]{1,120}")


class _NotSimpleError(Exception):
    """The formula needs more than a line."""


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "formulas.toml").read_text("utf-8"))


@lru_cache(4096)
def formula_in_words(tex: str) -> str | None:
    r"""Return a formula as a line of text; None if it is not simple.

    >>> formula_in_words(r"a_{n+1}\le\alpha x^2\,"), formula_in_words(r"\tfrac{1}{2}"), formula_in_words(r"\sum_i x_i")
    ('a_(n+1) ≤ αx^2', '1/2', None)
    """
    if len(tex) > _LONGEST:
        return None
    try:
        return _Reader(_PIECE.findall(tex)).row(0) or None
    except _NotSimpleError:
        return None


def chemical_in_words(tex: str) -> str | None:
    r"""Return what `<chem>` or `<ce>` shows, with indices on the line; None if it is not simple.

    >>> chemical_in_words("SO4^{2-}"), chemical_in_words("2H2 + O2 -> 2H2O"), chemical_in_words(r"\underset{a}{b}")
    ('SO42-', '2H2 + O2 → 2H2O', None)
    """
    shown = tex.replace("<=>", "⇌").replace("->", "→").strip()
    return re.sub(r"[\^_{}]", "", shown) if _CHEMICAL.fullmatch(shown) else None


class _Reader:
    """Reads pieces of TeX (commands, numbers, signs) from left to right."""

    def __init__(self, pieces: list[str]) -> None:
        self._pieces, self._at, self._table = pieces, 0, _table()

    def row(self, depth: int, stop: str = "") -> str:
        """Read terms up to a closing sign, or to the end."""
        if depth > _DEEPEST:
            raise _NotSimpleError
        written: list[str] = []
        while (piece := self._next()) != stop:
            if not piece:
                raise _NotSimpleError
            if shown := self._term(piece, written, depth):
                written.append(shown)
        return _LONELY_BLANK.sub("", " ".join("".join(written).split()))

    def _next(self) -> str:
        """Return the next piece; empty at the end."""
        self._at += 1
        return self._pieces[self._at - 1] if self._at <= len(self._pieces) else ""

    def _term(self, piece: str, before: list[str], depth: int) -> str:
        if piece.isspace():
            return ""
        if piece in "_^":
            return self._script(piece, depth)
        if piece == "{":
            return self.row(depth + 1, "}")
        is_command = len(piece) > 1 and piece[0] == "\\"
        name = piece[1:] if is_command else piece
        if name in self._table["between"] and (len(name) > 1) == is_command:
            return self._between(self._table["between"][name], before)
        return self._command(name, before, depth) if is_command else _written(piece)

    def _between(self, sign: str, before: list[str]) -> str:
        """Return a sign between two terms; at the beginning or after a sign or bracket it belongs to the next term."""
        is_first = before in ([], ["|"]) or before[-1].endswith((" ", "(", "[", "{", "⟨"))
        return sign if is_first and sign in "+−±∓" else f" {sign} "

    def _command(self, name: str, before: list[str], depth: int) -> str:
        table = self._table
        if name in table["looks"] or name == "!":
            return ""
        if name in table["blanks"]:
            return " "
        if name in table["signs"]:
            shown: str = table["signs"][name]
            return shown
        if name in table["names"]:
            behind = self._pieces[self._at : self._at + 1]
            return (" " if before and before[-1][-1].isalnum() else "") + name + ("" if behind in _OPENED else " ")
        return self._words() if name in table["texts"] else self._with_arguments(name, depth)

    def _with_arguments(self, name: str, depth: int) -> str:
        if name in self._table["fractions"]:
            return "/".join(self._plain(depth) for _ in range(2))
        if name == "sqrt":
            return "√" + self._plain(depth)
        if name == "mathbb":
            letter = self._argument(depth)
            shown: str = self._table["double_struck"].get(letter, letter)
            return shown
        raise _NotSimpleError

    def _script(self, sign: str, depth: int) -> str:
        """Return an index: on the line after its sign, in parentheses if it is more than a word."""
        shown = self._argument(depth)
        if shown in "°′":
            return shown
        shown = _AROUND_SIGN.sub(r"\1", shown)
        is_plain = len(shown) == 1 or shown.isdecimal() or (shown.isalnum() and (sign == "_" or shown in _ORDINALS))
        return f"{sign}{shown}" if is_plain else f"{sign}({shown})"

    def _argument(self, depth: int) -> str:
        """Read a group, or a single piece in its place."""
        while (piece := self._next()).isspace():
            pass
        if not piece:
            raise _NotSimpleError
        if piece[0].isdigit() and len(piece) > 1:  # TeX takes only the first digit of a number after a sign
            self._at -= 1
            self._pieces[self._at : self._at + 1] = [piece[0], piece[1:]]
            piece = self._next()
        shown = self._term(piece, [], depth).strip()
        if not shown:
            raise _NotSimpleError
        return shown

    def _plain(self, depth: int) -> str:
        """Read an argument that is one word or number."""
        shown = self._argument(depth)
        if not _PLAIN.fullmatch(shown):
            raise _NotSimpleError
        return shown

    def _words(self) -> str:
        """Return the words of a group as written."""
        if self._next() != "{":
            raise _NotSimpleError
        words = []
        while (piece := self._next()) != "}":
            if not piece or piece in "{$" or piece[0] == "\\":
                raise _NotSimpleError
            words.append(piece)
        return "".join(words)


def _written(piece: str) -> str:
    """Return a letter, number or bracket as written."""
    if piece == ",":
        return ", "
    if piece == "~":
        return " "
    if piece.isalnum() or piece[0].isdigit() or piece in "()[]|!/.;:'?\"":
        return piece
    raise _NotSimpleError
