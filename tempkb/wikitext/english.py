"""Templates of the English wiki whose words follow rules: ships, authors, etymologies, gauges, nuclides. Pure."""

import re

from tempkb.wikitext.calls import Call
from tempkb.wikitext.template_tables import common_table, own_table
from tempkb.wikitext.wikis import words_table

_YEAR = re.compile(r"\d{4}[a-z]?(?:, \d{4})*|n\.d\.")


def ship(call: Call) -> str | None:
    """`{{HMS|Ajax|22|6}}`: a link to HMS Ajax (22), shown as HMS Ajax.

    The last argument chooses what is shown: 1 the number, 2 the name, 3 both,
    5 prefix and number, 6 prefix and name; without it all three.
    Source: Module:WPSHIPS utilities.
    """
    values = [*call.positional(), "", "", "", ""]
    if call.name != "ship":
        values.insert(0, own_table("en")["ships"][call.name])
    prefix, name, number, choice = values[:4]
    beside = f" ({number})" if number else ""
    before = f"{prefix} " if prefix else ""
    shown = {
        "": f"{before}{name}{beside}",
        "1": number,
        "2": name,
        "3": name + beside,
        "5": prefix + beside,
        "6": before + name,
    }.get(choice)
    return f"[[{before}{name}{beside}|{shown}]]" if name and shown else None


def ship_class(call: Call) -> str | None:
    """`{{sclass|Nimitz|aircraft carrier}}`: Nimitz-class aircraft carrier; other formats return None."""
    name, kind, choice = [*call.positional(), "", "", ""][:3]
    if not name or not kind or choice not in ("", "0", "1"):
        return None
    return f"[[{name}-class {kind}|{name}-class {kind}]]"


def interlanguage_link(call: Call) -> str:
    """`{{ill|Arthur Kaan|de}}`: a link; in the old order, `{{ill|de|Kaan|Arthur Kaan}}`, the code comes first."""
    values = [value for value in call.positional() if value]
    if len(values) > 1 and values[0] in words_table()["languages"] and values[1] not in words_table()["languages"]:
        target, shown = values[2] if len(values) > 2 else values[1], values[-1] if len(values) > 2 else values[1]
    else:
        target, shown = (values or [""])[0], call.get("lt", "1")
    return f"[[{target}|{shown}]]" if target else ""


def authors_and_year(call: Call) -> str | None:
    """`{{harvtxt|Gray|Li|1990|p=3}}`: Gray & Li (1990, p. 3); `{{harvnb}}` without the parenthesis."""
    values = [value for value in call.positional() if value]
    at = next((at for at, value in enumerate(values) if _YEAR.fullmatch(value)), None)
    if not at:
        return None
    names = values[:at]
    who = f"{names[0]} et al." if len(names) > 3 else " & ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    pages = f"p. {call.get('p')}" if call.get("p") else f"pp. {call.get('pp')}" if call.get("pp") else call.get("loc")
    when = ", ".join(filter(None, (values[at], pages)))
    return f"{who} {when}" if call.name.endswith("nb") else f"{who} ({when})"


def etymology(call: Call) -> str | None:
    """`{{etymology|grc|ἀ-|without||γνῶσις|knowledge}}`: from Ancient Greek ἀ- 'without' and γνῶσις 'knowledge'."""
    values = [value.strip() for value in call.unnamed]
    steps = []
    for at in range(0, len(values), 3):
        code, word, meaning = [*values[at : at + 3], "", ""][:3]
        name = common_table()["languages"].get(code, "") if code else ""
        if code and not name:
            return None
        steps.append(" ".join(filter(None, (name, word, f"'{meaning}'" if meaning else ""))))
    return f"from {' and '.join(steps)}" if steps else None


def gauge(call: Call) -> str | None:
    """`{{track gauge|1435mm}}`: 1,435 mm (4 ft 8+1⁄2 in), from the rows of `[gauges]`."""
    width = call.get("1").lower().replace(" ", "")
    row = own_table("en")["gauges"].get(f"{width}mm" if width.isdigit() else width)
    if row is None:
        return None
    metric, imperial, name = row
    first, second = (imperial, metric) if width.endswith(("in", "ft")) else (metric, imperial)
    text = first if call.get("disp") == "1" else f"{first} ({second})"
    is_named = call.get("al", "allk") == "on" or not call.get("1")[:1].isdigit()
    return f"{text} {name}" if is_named and name else text


def nuclide(call: Call) -> str | None:
    """`{{nuclide|helium|4}}`: 4He; the charge is not shown."""
    values = [value for value in call.positional() if value.lower() != "link"]
    if call.name in common_table()["elements"]:
        values.insert(0, call.name)
    element = values[0].lower() if values else ""
    symbol = common_table()["elements"].get(element)
    mass = values[1] if len(values) > 1 else ""
    return f"{mass}{symbol}" if symbol else None


def money(call: Call) -> str | None:
    """`{{currency|13 billion|USD}}`: US$13 billion, with the currency's sign."""
    sign = common_table()["currencies"].get(call.get("2", "type").upper())
    return f"{sign}{call.get('1', 'amount')}" if sign and call.get("1", "amount") else None


def amount(call: Call) -> str:
    """`{{US$|2 billion}}`: US$2 billion; without an amount the sign alone."""
    return f"{common_table()['currencies'][call.name.removesuffix('$').upper()]}{call.get('1')}"


def list_items(call: Call) -> str:
    """`{{ordered list|a|b}}`: one line each."""
    return "".join(f"\n* {value}" for value in call.positional() if value) + "\n"


def lines(call: Call) -> str | None:
    """`{{columns-list|...}}`: its last argument, on separate lines."""
    values = call.positional()
    return f"\n{values[-1]}\n" if values else None
