r"""Quantities in words: `{{convert}}`, numbers in the notation of a language, and simple formulas. Pure.

Rounding follows the template's documentation: either as precise as the input, by a power of ten that depends on the
size of the factor, or two significant digits, whichever is more precise.

A formula that fits into a line has letters, digits, signs, indices and a fraction of plain terms, as in `x^2`,
`a_n = b`, `\alpha \le 1` (`formulas.toml` names the commands). Of everything else (sums, integrals, matrices, accents)
the parts in a row would have another meaning, so it is left out.
"""

import math
import re
from dataclasses import dataclass
from functools import cache, lru_cache, partial

from tempkb.core.files import toml_beside
from tempkb.wiki.wikitext.calls import Call
from tempkb.wiki.wikitext.template_tables import own_table


@dataclass(frozen=True)
class Unit:
    """A unit of `units.toml`: `size` in the base unit of its quantity."""

    code: str
    quantity: str
    size: float
    singular: str
    plural: str
    symbol: str
    beside: str


# Unit -> its other spellings.
_OTHER_NAMES = {
    "m": "metre, metres, meter, meters",
    "km": "kilometre, kilometres, kilometer, kilometers",
    "mi": "mile, miles",
    "ft": "foot, feet",
    "in": "inch, inches",
    "yd": "yard, yards",
    "acre": "acres",
    "ha": "hectare, hectares",
    "km2": "km², sqkm",
    "m2": "m², sqm",
    "sqft": "ft2, sq ft",
    "sqmi": "mi2, sq mi",
    "lb": "lbs, pound, pounds",
    "t": "tonnes",
    "ST": "tons, short ton",
    "km/h": "kph",
    "C": "°C",
    "F": "°F",
    "L": "litre, litres",
    "USgal": "gal, U.S.gal",
    "impgal": "impgal",
    "kn": "knots, knot",
    "hPa": "hectopascal",
    "LT": "long ton",
    "kg": "kilogram, kilograms",
    "um": "µm, μm",
    "lbft": "lb-ft, lb.ft, lb·ft",
    "nmi": "nautical mile",
}
_ALIASES = {name: unit for unit, names in _OTHER_NAMES.items() for name in names.split(", ")}
_BETWEEN = {
    "-": "–",
    "–": "–",
    "to": " to ",
    "and": " and ",
    "or": " or ",
    "by": " by ",
    "x": " × ",
    "×": " × ",
    "*": " × ",
    "+/-": " ± ",
    "±": " ± ",
    "to(-)": " to ",
    ",": ", ",
    "to about": " to about ",
    "xx": " × ",
}
_IN_ONE = {("ft", "in"), ("lb", "oz"), ("st", "lb"), ("mi", "yd"), ("yd", "ft")}
_NUMBER = re.compile(r"([+\-−]?)\s*(?:(\d[\d,]*(?:\.\d+)?|\.\d+)(?:[+⁄ ]?)(?:(\d+)[/⁄](\d+))?|(\d+)[/⁄](\d+))")
_LONGEST_NUMBER = 25


@dataclass(frozen=True)
class _Number:
    """A number as written: its text, its value, and its digits after the point (negative: zeros before it).

    A sum of two units (6 ft 2 in) is shown one digit more precisely.
    """

    shown: str
    value: float
    decimals: int
    is_sum: bool = False


def convert(call: Call) -> str:
    """Return the text of a `{{convert}}` call; without a known unit, the input as written.

    >>> from tempkb.wiki.wikitext.calls import Argument, read_call
    >>> convert(read_call([*map(Argument, ("37", "mm", "in")), Argument("on", "abbr")], "convert", None, language="en"))
    '37 mm (1.5 in)'
    """
    arguments = call.positional()
    numbers, between, codes, parts = _read_arguments(arguments)
    if not numbers or not codes:
        return " ".join(arguments[:2])
    unit = _unit(codes[0])
    if unit is None:
        return f"{_joined([number.shown for number in numbers], between)} {codes[0]}"
    targets = [found for code in codes[1:] if (found := _unit(code)) and found.quantity == unit.quantity]
    if not targets and (beside := _unit(unit.beside)):
        targets = [beside]
    source = _input_in_words(call, numbers, between, unit, parts)
    shown = [_output_in_words(call, numbers, between, unit, target, arguments) for target in targets]
    return _laid_out(call, source, [one for one in shown if one])


def _laid_out(call: Call, source: str, shown: list[str]) -> str:
    layout = call.get("disp")
    if not shown or layout in ("number", "preunit"):
        return source
    if layout in ("out", "output only", "output number only", "number"):
        return "; ".join(shown)
    if layout in ("or", "slash", "/"):
        return source + (" or " if layout == "or" else " / ") + ", ".join(shown)
    if layout in ("flip",) or call.get("order") == "flip":
        return f"{shown[0]} ({source})"
    if layout == "comma":
        return f"{source}, {', '.join(shown)}"
    return f"{source} ({'; '.join(shown)})"


def _read_arguments(arguments: list[str]) -> tuple[list[_Number], list[str], list[str], list[tuple[_Number, Unit]]]:
    """Read numbers with the words between them, then units.

    Returns:
        the numbers; the words between them; unit codes, the input's first; and,
        for 6 ft 2 in, its parts, with their sum as the only number.
    """
    rest = list(arguments)
    first = _read_number(rest.pop(0)) if rest else None
    numbers, between = [first] if first else [], []
    while numbers and len(rest) > 1 and rest[0] in _BETWEEN and (following := _read_number(rest[1])):
        between.append(_BETWEEN[rest[0]])
        numbers.append(following)
        rest = rest[2:]
    codes = rest[:1]
    small = _unit(rest[2]) if len(rest) > 2 else None
    second = _read_number(rest[1]) if small else None
    large = _unit(codes[0]) if codes else None
    if numbers and large and small and second and not between and (large.code, small.code) in _IN_ONE:
        value = numbers[0].value + second.value * small.size / large.size
        parts = [(numbers[0], large), (second, small)]
        return [_Number("", value, second.decimals, is_sum=True)], [], codes + _codes(rest[3:]), parts
    return numbers, between, codes + _codes(rest[1:]), []


def _codes(arguments: list[str]) -> list[str]:
    """Return the unit codes among the remaining arguments; `m ft` in one argument names two."""
    codes = []
    for argument in arguments:
        codes += [argument] if _unit(argument) else argument.split()
    return codes


def _input_in_words(
    call: Call, numbers: list[_Number], between: list[str], unit: Unit, parts: list[tuple[_Number, Unit]]
) -> str:
    abbreviated = _is_short(call) or call.get("abbr") in ("in", "~", "values") or unit.quantity == "temperature"
    if parts:
        return " ".join(f"{number.shown} {_name(call, one, number.value, abbreviated)}" for number, one in parts)
    quantity = _joined([number.shown for number in numbers], between)
    if call.get("abbr") == "values":
        return quantity
    if call.get("adj") in ("on", "mid") and not abbreviated:
        return f"{quantity}-{_american(call, unit.singular)}"
    return f"{quantity} {_name(call, unit, numbers[-1].value, abbreviated)}"


def _is_short(call: Call) -> bool:
    """Are both units shown by their symbols? This is the default of `{{cvt}}`."""
    return call.get("abbr") == "on" or (call.name == "cvt" and not call.get("abbr"))


def _output_in_words(
    call: Call, numbers: list[_Number], between: list[str], unit: Unit, target: Unit, arguments: list[str]
) -> str:
    spelled = call.get("abbr") in ("off", "in", "none")
    shown = []
    for number in numbers:
        value = _computed(number.value, unit, target)
        decimals = _decimals(call, number, value, unit, target, arguments)
        if not math.isfinite(value) or abs(decimals) > _LONGEST_NUMBER:
            return ""
        shown.append(_rounded(value, decimals))
    words = _joined(shown, between)
    if call.get("abbr") == "values" or call.get("disp") == "output number only":
        return words
    return f"{words} {_name(call, target, _plain(shown[-1]), not spelled)}"


def _computed(value: float, unit: Unit, target: Unit) -> float:
    if unit.quantity != "temperature":
        return value * unit.size / target.size
    kelvin = {"C": value + 273.15, "F": (value + 459.67) * 5 / 9, "K": value}[unit.code]
    return {"C": kelvin - 273.15, "F": kelvin * 9 / 5 - 459.67, "K": kelvin}[target.code]


def _decimals(call: Call, number: _Number, value: float, unit: Unit, target: Unit, arguments: list[str]) -> int:
    """Return the digits after the point of a computed value; negative: zeros before it."""
    precision = arguments[-1] if len(arguments) > 2 else ""
    if re.fullmatch(r"-?\d", precision) and _unit(arguments[-2]) is not None:
        return int(precision)
    significant = call.get("sigfig")
    if re.fullmatch(r"[1-9]", significant) and value:
        return int(significant) - 1 - math.floor(math.log10(abs(value)))
    if unit.quantity == "temperature":
        return max(number.decimals, 0)
    factor = unit.size / target.size
    like_input = number.decimals - math.floor(math.log10(factor / 0.2)) - 1 if factor else 0
    two_digits = 1 + number.is_sum - math.floor(math.log10(abs(value))) if value else like_input
    return max(like_input, two_digits)


def _rounded(value: float, decimals: int) -> str:
    scaled = value * 10.0**decimals
    if not math.isfinite(scaled):
        return f"{value:.3g}"
    whole = math.floor(abs(scaled) + 0.5) / 10.0**decimals
    return ("−" if value < 0 and whole else "") + f"{whole:,.{max(decimals, 0)}f}"


def _plain(shown: str) -> float:
    return float(shown.replace(",", "").replace("−", "-"))


def _read_number(text: str) -> _Number | None:
    text = text.strip()
    if len(text) > _LONGEST_NUMBER:
        return None
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    sign, whole, over, under, only_over, only_under = found.groups()
    over, under = over or only_over, under or only_under
    if under is not None and not int(under):
        return None
    plain = (whole or "0").replace(",", "")
    value = float(plain) + (int(over) / int(under) if over else 0.0)
    decimals = len(plain.partition(".")[2])
    if not decimals and not over:
        decimals = -(len(plain) - len(plain.rstrip("0"))) if plain.strip("0") else 0
    shown = f"{float(plain):,.{max(decimals, 0)}f}" if whole else ""
    if over:
        decimals = max(decimals, 1)
        shown += f"{' ' if shown else ''}{over}/{under}"
    negative = sign in ("-", "−") and sign != ""
    return _Number(("−" if negative else "") + shown, -value if negative else value, decimals)


def _joined(shown: list[str], between: list[str]) -> str:
    text = shown[0]
    for at, one in enumerate(shown[1:]):
        text += (between[at] if at < len(between) else " ") + one
    return text


def _name(call: Call, unit: Unit, value: float, abbreviated: bool) -> str:
    if abbreviated:
        return unit.symbol
    return _american(call, unit.singular if abs(value) == 1 else unit.plural)


def _american(call: Call, name: str) -> str:
    return name.replace("metre", "meter").replace("litre", "liter") if call.get("sp") == "us" else name


def _unit(code: str) -> Unit | None:
    return units().get(_ALIASES.get(code, code))


@cache
def units() -> dict[str, Unit]:
    """Return the table of units by code."""
    return {code: Unit(code, *row) for code, row in toml_beside(__file__, "units.toml").items()}


_MOST_DIGITS = 30


def grouped(number: str, language: str) -> str:
    """Return a number with its digits in groups of three; any other text unchanged.

    Args:
        number: digits with a point before the decimals; blanks and commas between its groups are ignored.
        language: whose signs are used (`[numbers]` of its table); English ones if it has none.

    >>> grouped("1234567.5", "en"), grouped("-1234", "xx"), grouped("about 5", "en")
    ('1,234,567.5', '-1,234', 'about 5')
    """
    sign, digits = (number[:1], number[1:]) if number[:1] in ("-", "−", "+") else ("", number)
    whole, point, rest = digits.replace(" ", "").replace(",", "").partition(".")
    signs = own_table(language).get("numbers", {"group": ",", "decimal": "."})
    if not whole.isascii() or not whole.isdigit() or len(whole) > _MOST_DIGITS or not (rest.isdigit() or not rest):
        return number
    shown = f"{int(whole):,}".replace(",", signs["group"]) if len(whole) > 3 else whole
    return f"{sign}{shown}{signs['decimal'] if point else ''}{rest}"


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


_table = partial(toml_beside, __file__, "formulas.toml")


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
