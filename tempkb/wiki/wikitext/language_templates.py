"""Templates of single wikis whose words follow rules, and of pronunciations. Pure.

Pronunciations are left out where they are alone in a parenthesis, and shown elsewhere.
"""

import re

from tempkb.wiki.wikitext.calls import Call
from tempkb.wiki.wikitext.page_kinds import words_table
from tempkb.wiki.wikitext.quantities import grouped
from tempkb.wiki.wikitext.template_tables import common_table, own_table

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


_DAY = re.compile(r"\d{1,2}(?:er|º|ª)?")


def quantity(call: Call) -> str:
    """`{{unité|25000|km|2}}`: 25 000 km2; `{{unité|350 km}}` as written, with its digits grouped."""
    values = call.positional()
    if not values:
        return ""
    number, blank, rest = values[0].partition(" ")
    if blank and rest[:1].isdigit():
        number, rest = values[0], ""
    units = "".join(f" {unit}" if at % 2 == 0 else unit for at, unit in enumerate(values[1:]) if unit)
    return f"{grouped(number, call.language)}{f' {rest}' if rest else ''}{units}"


def si_quantity(call: Call) -> str:
    """Italian `{{M|61.000||km/h}}` and `{{M|100|ul=km}}`: number, prefix and unit."""
    number, prefix, unit = [*call.positional(), "", "", ""][:3]
    unit = call.get("u", "ul") or prefix + unit
    return f"{number}{f' {unit}' if unit else ''}"


def day_in_order(call: Call) -> str:
    """French `{{date|1|mars|1879|en sciences}}`, `{{date-|14 mars 1879}}`: day, month and year; 1er for the first."""
    values = call.positional()
    is_whole = bool(values and values[0] and not _DAY.fullmatch(values[0]))
    date_text = values[0] if is_whole else " ".join(value for value in values[:3] if value)
    return f"1er{date_text[1:]}" if date_text.startswith("1 ") else date_text


def day_in_words(call: Call) -> str | None:
    """`{{fecha|14|3|1879}}`: 14 de marzo de 1879, by `[dates]` of the language's table."""
    row = own_table(call.language).get("dates")
    values = [*call.positional(), "", "", ""][:3]
    if row is None or not values[0].isdigit() or not values[2].lstrip("-").isdigit():
        return " ".join(value for value in values if value) or None
    number = int(values[1]) if values[1].isdigit() else 0
    month = row["months"][number - 1] if 0 < number <= 12 else values[1]
    shown: str = row["written"].format(day=int(values[0]), month=month, year=values[2])
    return shown if month else None


def roman_century(call: Call) -> str:
    """French `{{s|XII}}`: XIIe siècle; `{{-s|IV}}`: IVe siècle av. J.-C.; `{{s2|XII|XIII}}`: XIIe et XIIIe siècles."""
    numbers = [value for value in call.positional() if value and not value.islower()]
    shown = [f"{number}{'er' if number == 'I' else 'e'}" for number in numbers[:2]]
    if not shown:
        return ""
    joint = {"s2": " et ", "sp": " – "}.get(call.name.strip("-"))
    words = joint.join(shown) + " siècles" if joint and len(shown) > 1 else f"{shown[0]} siècle"
    return f"{words} av. J.-C." if call.name.startswith("-") else words


def worded_century(call: Call) -> str:
    """`{{siglo|XX||s}}`: siglo XX; without the last argument the number alone."""
    number, era, word = [*call.positional(), "", "", ""][:3]
    name = own_table(call.language)["century"]
    shown = f"{number} {era}. C." if era in ("a", "d") else number
    given = word or (era if era in ("s", "S") else "")
    return f"{name.capitalize() if given == 'S' else name} {shown}" if given else shown


def ordinal(call: Call) -> str:
    """French `{{84e|Congrès}}`: 84e Congrès; `{{XXe siècle}}`: XXe siècle."""
    number = re.sub(r"^[ivxlc]+(?=er?\b|re\b|ère\b)", lambda found: found[0].upper(), call.name)
    return f"{number} {call.get('1')}".strip()


def between_dashes(call: Call) -> str:
    """French `{{incise|ainsi}}`: between dashes; with `stop` the last is left out."""
    return f"– {call.get('1')}" + ("" if call.get("2").startswith("sto") else " –")


def flag_with_name(call: Call) -> str:
    """Italian `{{bandiera|Francia|nome}}`: Francia; without the word only the flag, which shows nothing."""
    return call.get("1") if "nome" in call.positional()[1:] else ""


def catalan_century(call: Call) -> str | None:
    """`{{segle|XIII|s}}`: segle XIII; None for years before Christ."""
    number, *marks = [*call.positional(), ""]
    return f"segle {number}" if number and not any(mark.startswith("-") for mark in marks) else None


def age_at_death(call: Call) -> str | None:
    """Japanese `{{没年齢|1935|1|8|1977|8|16}}`: 42歳没."""
    values = [int(value) if value.isdigit() else 0 for value in call.positional()[:6]]
    if len(values) < 6 or not all(values):
        return None
    birth, death = tuple(values[:3]), tuple(values[3:])
    return f"{death[0] - birth[0] - (death[1:] < birth[1:])}歳没"


def language_mark(call: Call) -> str | None:
    """`{{de}}`: marks a link's language and shows no words; with arguments it has another meaning."""
    return None if call.positional() else ""


def biography(call: Call) -> str | None:
    """Italian `{{Bio|Nome=...}}`: the first sentence of an article, made from its facts.

    Source: the documentation of Template:Bio.
    """
    name = " ".join(filter(None, (call.get("Titolo"), call.get("Nome"), call.get("Cognome"))))
    if not call.get("Nome") or call.get("Sesso") not in ("M", "F"):
        return None
    brackets = "; ".join(filter(None, (call.get("PreData"), _life(call))))
    sentence = _joined(f"'''{name}'''", call.get("PostCognome")) + (f" ({brackets})" if brackets else "")
    if call.get("FineIncipit"):
        return _joined(sentence, call.get("FineIncipit"))
    is_dead = bool(call.get("AnnoMorte"))
    article = "una" if call.get("Sesso") == "F" else "uno" if _OF_UNO.match(call.get("Attività")) else "un"
    article = "un'" if article == "una" and call.get("Attività")[:1].lower() in "aeiou" else f"{article} "
    was = ("è stata" if call.get("Sesso") == "F" else "è stato") if is_dead else "è"
    return _joined(f"{sentence} {was} {article}{_occupations(call)}", call.get("PostNazionalità").rstrip(".")) + "."


# Words before which the Italian article is uno.
_OF_UNO = re.compile(r"s[^aeiouh]|sch|z|gn|ps|x|y", re.IGNORECASE)


def _life(call: Call) -> str:
    """Return place and day of birth and of death."""
    ends = []
    for end in ("Nascita", "Morte"):
        day, year, place = (call.get(key + end) for key in ("GiornoMese", "Anno", "Luogo"))
        place = call.get(f"Luogo{end}Alt") or place
        ends.append(", ".join(filter(None, (place, " ".join(filter(None, (day, year)))))))
    return " – ".join(filter(None, ends))


def _occupations(call: Call) -> str:
    """Return the occupations, up to three and others, and the nationality."""
    given = [call.get("Attività"), call.get("Attività2"), call.get("Attività3")]
    named = [one for one in given if one]
    last = "".join(named[-1:])
    occupations = ", ".join(named[:-1]) + (f" {'ed' if last[:1] in 'eE' else 'e'} " if len(named) > 1 else "") + last
    if call.get("AttivitàAltre"):
        others = call.get("AttivitàAltre")
        occupations = _joined(", ".join(named), others)
    return f"{occupations} {call.get('Nazionalità')}".strip()


def _joined(left: str, right: str) -> str:
    """Join two pieces with a blank, unless the second begins with punctuation that follows without one."""
    return left + ("" if not right or right[0] in ",;." else " ") + right


def euros(call: Call) -> str:
    """French `{{euro|77.80}}`: 77,80 €."""
    return f"{grouped(call.get('1'), call.language)} €".strip()


# The output of `{{IPAc-en}}` for these pieces; others are shown as they are.
_PIECES = {"'": "ˈ", ",": "ˌ", "_": " ", "-": ""}
# Pieces that choose a label or a voice.
_LABELS = frozenset(("", "lang", "pron", "local", "uk", "us", "en", "icon", "audio", "also", "alsouk", "alsous", "ipa"))


def pronunciation(call: Call) -> str:
    """`{{IPA|/a/}}`: /a/; `{{IPA|de|aʊ}}` and `{{MSAPI|a|ʊ|.}}`: in brackets; empty if it is aside."""
    values = call.positional()
    if call.aside or not values:
        return ""
    if len(values) > 1 and values[0].isascii() and values[0].isalpha() and 1 < len(values[0]) < 4:
        return f"[{values[1]}]"
    is_in_pieces = len(values) > 2 and all(len(value) < 4 for value in values)
    return f"[{''.join(values)}]" if is_in_pieces else values[0]


def pronunciation_of_language(call: Call) -> str:
    """`{{IPA-de|aʊ|lang}}`: German: [aʊ]; `{{IPA-de|aʊ|}}`: [aʊ]."""
    values = call.positional()
    if call.aside or not values:
        return ""
    name = common_table()["languages"].get(call.name.rpartition("-")[2], "") if call.language == "en" else ""
    sound = f"[{values[0].strip('[]')}]"
    label = values[1] if len(values) > 1 else "pronunciation"
    if label == "pron" and name:
        return f"pronounced {sound}"
    shown = {"lang": name, "pronunciation": f"{name} pronunciation"}.get(label) if name else ""
    return f"{shown}: {sound}" if shown else sound


def pronunciation_in_pieces(call: Call) -> str | None:
    """`{{IPAc-en|ˈ|b|iː}}`: /ˈbiː/; None for other languages, whose pieces only their own templates can read."""
    if call.aside:
        return ""
    if call.name != "ipac-en":
        return None
    pieces = [piece for piece in call.positional() if piece.lower() not in _LABELS]
    return f"/{''.join(_PIECES.get(piece, piece) for piece in pieces)}/" if pieces else ""


def phone(call: Call) -> str:
    """`{{IPAblink|ʒ}}`: [ʒ]; `{{IPAslink|ʒ}}`: /ʒ/."""
    left, right = ("/", "/") if call.name in ("ipaslink", "ipas link") else ("[", "]")
    sound = call.get("2", "1")
    return f"{left}{sound}{right}" if sound else ""
