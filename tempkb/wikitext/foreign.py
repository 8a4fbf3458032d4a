"""Templates of wikis other than the English one, where a pattern does not suffice. Pure."""

import re

from tempkb.wikitext.calls import Call
from tempkb.wikitext.numbers import grouped
from tempkb.wikitext.template_tables import own_table

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
