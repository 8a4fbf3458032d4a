"""Functions that show templates, by the names in the tables, and parser functions and magic words. Pure.

Ages are those of the day on which the revision was saved. Parser functions are shown as far as they depend only on the
text.
"""

import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Any

from tempkb.wiki.wikitext.calls import Call
from tempkb.wiki.wikitext.quantities import grouped
from tempkb.wiki.wikitext.template_tables import common_table


def foreign_words(call: Call) -> str:
    """`{{lang-fr|Paris}}` and `{{langx|fr|Paris}}`: French: Paris."""
    if call.name == "langx":
        code, text = call.get("1"), call.get("2", "text")
    else:
        code, text = call.name.removeprefix("lang-"), call.get("1", "text")
    name = common_table()["languages"].get(code.partition("-")[0].lower())
    labelled = call.language == "en" and name and call.get("label") != "none" and call.get("links") != "none"
    return f"{name}: {text}" if labelled and text else text


# An index of `{{chem2}}`.
_INDEX = re.compile(r"[_^]\{([^{}]*)\}")


def chemistry(call: Call) -> str:
    """`{{chem|H|2|O}}`: H2O."""
    return _INDEX.sub(r"\1", "".join(call.positional()).replace("<sub>", "").replace("</sub>", ""))


def fraction(call: Call) -> str:
    """`{{frac|1|2}}`: 1/2; `{{frac|3|1|2}}`: 3 1/2."""
    values = call.positional()
    if len(values) >= 3:
        return f"{values[0]} {values[1]}/{values[2]}"
    return "/".join(values) if len(values) == 2 else f"1/{values[0]}" if values else ""


def value(call: Call) -> str:
    """`{{val|1234.5|0.3|u=km}}`: 1,234.5±0.3 km."""
    values = call.positional()
    text = grouped(values[0], call.language) if values else ""
    if len(values) == 2:
        text += f"±{values[1]}" if not values[1].startswith("(") else values[1]
    elif len(values) > 2:
        text += f" +{values[1].lstrip('+')} −{values[2].lstrip('-−')}"
    exponent, unit = call.get("e"), call.get("u", "ul", "up")
    return f"{text}{f' × 10{exponent}' if exponent else ''}{f' {unit}' if unit else ''}{call.get('s')}"


def index(call: Call) -> str:
    """`{{sub|2}}` and `{{e|6}}`: the index on the line; a power of ten with its own sign."""
    if call.name in ("e", "e-sp"):
        return f" × 10{call.get('1')}"
    return "".join(call.positional())


def particle(call: Call) -> str:
    """`{{SubatomicParticle|electron}}`: e−."""
    name = call.get("1")
    symbol: str = common_table()["particles"].get(name.lower(), name)
    return symbol


def nihongo(call: Call) -> str:
    """`{{nihongo|Tokyo Tower|東京タワー|Tōkyō tawā}}`: Tokyo Tower (東京タワー, Tōkyō tawā)."""
    values = [*call.positional(), "", "", ""]
    if call.name == "nihongo2":
        return values[0]
    if call.name == "nihongo3":
        values = [values[2], values[1], values[0]] if values[2] else [values[0], values[1], "", ""]
    inside = ", ".join(one for one in values[1:3] if one)
    return f"{values[0]} ({inside})" if values[0] and inside else values[0] or inside


def chinese(call: Call) -> str:
    """`{{zh|t=漢字|p=hànzì}}`: the characters, then their reading."""
    names = ("c", "s", "t", "l", "p", "hp", "w", "j", "y", "poj")
    given = [call.get(name) for name in names] or call.positional()
    return ", ".join(dict.fromkeys(one for one in (*given, *call.positional()) if one))


def korean(call: Call) -> str:
    """`{{korean|hangul=...|rr=...}}`: the words, then their reading."""
    given = [call.get(name) for name in ("hangul", "hanja", "rr", "mr")]
    return ", ".join(dict.fromkeys(one for one in (*given, *call.positional()) if one))


def gaps(call: Call) -> str:
    """`{{gaps|1|234|567}}`: 1234567."""
    return "".join(call.positional()) + call.get("e")


def format_number(call: Call) -> str:
    """`{{formatnum:1234567}}`: 1,234,567."""
    if "r" in call.positional()[1:] or "R" in call.positional()[1:]:
        return call.get("1")
    return grouped(call.get("1"), call.language)


def lower_case(call: Call) -> str:
    """`{{lc:USA}}`: usa."""
    return call.get("1").lower()


def upper_case(call: Call) -> str:
    """`{{uc:usa}}`: USA."""
    return call.get("1").upper()


def sortname(call: Call) -> str:
    """`{{sortname|Jane|Doe}}`: a link to the article with this name."""
    shown = " ".join(call.positional()[:2])
    return shown if call.get("nolink") else f"[[{call.get('3') or shown}|{shown}]]"


def born_in(call: Call) -> str:
    """`{{b.|1900}}`: b. 1900."""
    return f"b. {call.get('1')}"


def died_in(call: Call) -> str:
    """`{{d.|1900}}`: d. 1900."""
    return f"d. {call.get('1')}"


def first_quote(_call: Call) -> str:
    """Return quotation marks beside an apostrophe."""
    return "\"'s"


def music(call: Call) -> str:
    """`{{music|flat}}`: ♭; `{{music|time|4|4}}`: 4/4; other text unchanged."""
    name, *rest = [*call.positional(), ""]
    if name == "time" and len(rest) > 2:
        return f"{rest[0]}/{rest[1]}"
    symbol: str = common_table()["music"].get(name, name)
    return symbol


_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_NUMBER = re.compile(r"\d{1,4}")


def date_in_words(call: Call) -> str:
    """`{{birth date|1879|3|14}}` and similar templates."""
    return _in_words(call, _parts(call, 0)) or " ".join(call.positional()[:1])


def birth_date_and_age(call: Call) -> str:
    """`{{birth date and age|1950|1|2}}`: January 2, 1950 (age 63)."""
    parts = _parts(call, 0)
    return _with(_in_words(call, parts) or call.get("1"), "age", _age(parts, _today(call)))


def death_date_and_age(call: Call) -> str:
    """`{{death date and age|1955|4|18|1879|3|14}}`: April 18, 1955 (aged 76)."""
    died, born = _parts(call, 0), _parts(call, 3)
    return _with(_in_words(call, died) or call.get("1"), "aged", _age(born, died))


def start_date_and_age(call: Call) -> str:
    """`{{start date and age|1976|4|1}}`: April 1, 1976; 37 years ago."""
    parts = _parts(call, 0)
    years, date_text = _age(parts, _today(call)), _in_words(call, parts) or call.get("1")
    if years is None:
        return date_text
    return f"{date_text}; {years} year{'' if years == 1 else 's'} ago" if years else date_text


def age(call: Call) -> str:
    """`{{age|1950|1|2}}`, or with a second date the age on that day."""
    until = _parts(call, 3)
    years = _age(_parts(call, 0), until if until[0] else _today(call))
    return "" if years is None else str(years)


def as_of(call: Call) -> str:
    """`{{as of|2013|5}}`: As of May 2013."""
    date_text = _in_words(call, _parts(call, 0), day_first=call.get("df") not in ("us", "US", "mdy"))
    if call.get("alt"):
        return call.get("alt")
    word = "since" if call.get("since") else "as of"
    if call.get("lc") not in ("y", "yes", "on", "true"):
        word = word.capitalize()
    return f"{word} {date_text}{call.get('post')}" if date_text else ""


def circa(call: Call) -> str:
    """`{{circa|1500}}`: c. 1500."""
    years = call.positional()[:2]
    return " – ".join(f"c. {year}" for year in years if year) or "c."


def floruit(call: Call) -> str:
    """`{{floruit|1500|1520}}`: fl. 1500–1520."""
    return f"fl. {'–'.join(year for year in call.positional()[:2] if year)}".strip()


def reign(call: Call) -> str:
    """`{{reign|1509|1547}}`: r. 1509–1547."""
    return f"r. {'–'.join(year for year in call.positional()[:2] if year)}".strip()


_Parts = tuple[int | None, int | None, int | None]


def _parts(call: Call, at: int) -> _Parts:
    """Read year, month and day from three arguments that begin at position `at`."""
    found: list[int | None] = []
    for text in (call.positional() + [""] * 6)[at : at + 3]:
        number = int(text) if _NUMBER.fullmatch(text) else _month(text)
        found.append(number)
    year, month, day = found
    if month is None or not 1 <= month <= 12:
        month = day = None
    return year, month, day if day and 1 <= day <= 31 else None


def _month(text: str) -> int | None:
    names = [name.lower() for name in _MONTHS]
    short = [name[:3] for name in names]
    word = text.lower().rstrip(".")
    return names.index(word) + 1 if word in names else short.index(word) + 1 if word in short else None


def _in_words(call: Call, parts: _Parts, *, day_first: bool | None = None) -> str:
    year, month, day = parts
    if year is None:
        return ""
    if month is None:
        return str(year)
    name = _MONTHS[month - 1]
    if day is None:
        return f"{name} {year}"
    if day_first is None:
        day_first = call.get("df") in ("y", "yes", "on", "true", "1")
    return f"{day} {name} {year}" if day_first else f"{name} {day}, {year}"


def _today(call: Call) -> _Parts:
    return (call.day.year, call.day.month, call.day.day) if call.day else (None, None, None)


def _age(born: _Parts, until: _Parts) -> int | None:
    """Return whole years between two days; None unless both years are known and the result is certain."""
    if born[0] is None or until[0] is None or until[0] < born[0]:
        return None
    years = until[0] - born[0]
    if born[1] is None or until[1] is None:
        return None
    earlier = (until[1], until[2] or 1) < (born[1], born[2] or 1)
    return years - int(earlier)


def _with(date_text: str, word: str, years: int | None) -> str:
    return f"{date_text} ({word} {years})" if date_text and years is not None else date_text


_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_SUM = re.compile(r"[\d.()+*/\s-]{1,200}")
_MOST_DIGITS = 12


def this_year(call: Call) -> str | None:
    """`{{CURRENTYEAR}}`: the year in which the revision was saved."""
    return str(call.day.year) if call.day else None


def if_given(call: Call) -> str:
    """`{{#if:a|b|c}}`: b, or c if there is nothing before the first pipe."""
    test, yes, no = [*call.positional(), "", "", ""][:3]
    return yes if test else no


def if_equal(call: Call) -> str:
    """`{{#ifeq:a|b|c|d}}`: c if a is b, else d."""
    left, right, yes, no = [*call.positional(), "", "", "", ""][:4]
    return yes if left == right else no


def calculated(call: Call) -> str | None:
    """`{{#expr:2400/100 round 1}}`: 24; None for anything but arithmetic on numbers."""
    expression, _, digits = call.get("1").partition("round")
    if (
        not _SUM.fullmatch(expression)
        or "**" in expression
        or "//" in expression
        or not re.fullmatch(r"\s*-?\d?\s*", digits)
    ):
        return None
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ZeroDivisionError, OverflowError):
        return None
    if value is None or not math.isfinite(value):
        return None
    value = round(value, int(digits)) if digits.strip() else round(value, _MOST_DIGITS)
    return str(int(value)) if value == int(value) else str(value)


def _value(node: ast.expr) -> float | None:
    """Return the value of an expression; None if it has more than numbers and the four operations."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _value(node.operand)
        return inner if inner is None or isinstance(node.op, ast.UAdd) else -inner
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        left, right = _value(node.left), _value(node.right)
        return None if left is None or right is None else float(_OPERATIONS[type(node.op)](left, right))
    return None
