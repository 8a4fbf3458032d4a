"""Functions that show templates of words, quantities and names; the tables assign template names to them. Pure."""

import re

from tempkb.wikitext.calls import Call
from tempkb.wikitext.numbers import grouped
from tempkb.wikitext.template_tables import common_table


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
