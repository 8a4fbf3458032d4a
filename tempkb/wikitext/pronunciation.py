"""Templates of pronunciations: left out where they are alone in a parenthesis, shown elsewhere. Pure."""

from tempkb.wikitext.calls import Call
from tempkb.wikitext.template_tables import common_table

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
