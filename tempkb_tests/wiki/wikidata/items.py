"""Small Wikidata entities for tests, in the dump's own form, and homes that have read them."""

import json
from datetime import date

from tempkb.platform.api import open_store
from tempkb.wiki.dumps.entities import name_entities
from tempkb.wiki.wikidata.building import read_dump

GREGORIAN, JULIAN = "http://www.wikidata.org/entity/Q1985727", "http://www.wikidata.org/entity/Q1985786"


def time(text, precision=None, calendar=GREGORIAN):
    """A snak of `2019`, `2019-05`, `2019-05-03`, `somevalue` or `novalue`."""
    if text in ("somevalue", "novalue"):
        return {"snaktype": text}
    if "T" not in text:
        parts = text.split("-")
        precision = precision or 8 + len(parts)
        text = f"+{parts[0]}-{'-'.join((*parts[1:], '00', '00')[:2])}T00:00:00Z"
    value = {"time": text, "precision": precision, "calendarmodel": calendar, "timezone": 0, "before": 0, "after": 0}
    return {"snaktype": "value", "datavalue": {"type": "time", "value": value}}


def item_value(name):
    return {
        "snaktype": "value",
        "datavalue": {
            "type": "wikibase-entityid",
            "value": {"entity-type": "item", "numeric-id": int(name[1:]), "id": name},
        },
    }


def said(guid, value, start=(), end=(), point=(), rank="normal"):
    """A statement; start, end and point are texts as `time` takes them, or several."""
    qualifiers = {
        name: [time(one) for one in ([given] if isinstance(given, str) else given)]
        for name, given in (("P580", start), ("P582", end), ("P585", point))
        if given
    }
    main = item_value(value) if isinstance(value, str) and value[:1] == "Q" else value
    return {"mainsnak": main, "id": guid, "rank": rank, "qualifiers": qualifiers or []}


def item(name, label="", page="", aliases=(), links=None, **claims):
    """An item of the wiki `xwiki`; claims are lists of statements by property."""
    label = {"en": label} if isinstance(label, str) and label else label or {}
    sites = {"xwiki": {"title": page}} if page else {}
    return {
        "type": "item",
        "id": name,
        "labels": {code: {"language": code, "value": text} for code, text in label.items()} or [],
        "aliases": {"en": [{"language": "en", "value": text} for text in aliases]} if aliases else [],
        "claims": claims or [],
        "sitelinks": {**sites, **(links or {})} or [],
    }


def write_lines(path, entities):
    """A dump: a list with an entity a line."""
    lines = ",\n".join(one if isinstance(one, str) else json.dumps(one) for one in entities)
    path.write_text(f"[\n{lines}\n]\n", "utf-8")
    return path


def read_home(folder, monkeypatch, dumps, **settings):
    """Make a home of xwiki and read dumps into it: {day: entities}; return its store."""
    monkeypatch.setenv("TEMPKB_HOME", str(folder / "home"))
    monkeypatch.setenv("TEMPKB_WIKI", "xwiki")
    monkeypatch.setenv("TEMPKB_FIRST_WINDOW", "2018-01-01")
    for name, value in settings.items():
        monkeypatch.setenv(f"TEMPKB_{name.upper()}", value)
    for day, entities in dumps.items():
        path = write_lines(folder / f"wikidata-{day.replace('-', '')}-all.json", entities)
        read_dump(open_store(), name_entities([path], date.fromisoformat(day)), lambda _line: None)
    return open_store()
