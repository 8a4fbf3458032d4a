"""Writes the demo world's items as Wikidata's JSON dump: a list with one entity per line."""

import gzip
import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from tempkb.demo.facts import SOMEVALUE, Bound, Item, Statement, When
from tempkb.demo.pages import WIKI, World
from tempkb.store.files import replace_whole
from tempkb.store.owned import own

_CALENDAR = "http://www.wikidata.org/entity/Q1985727"


def write_entities(world: World, day: datetime, root: Path) -> list[Path]:
    """Write the dump of `day` below `root`, in Wikimedia's layout, and return its file and its checksum list."""
    stamp = f"{day:%Y%m%d}"
    folder = own(root, root / "wikidatawiki" / "entities" / stamp)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"wikidata-{stamp}-all.json.gz"
    lines = ",\n".join(json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in entities(world, day))
    data = gzip.compress(f"[\n{lines}\n]\n".encode(), mtime=0)
    replace_whole(path, data)
    sums = folder / f"wikidata-{stamp}-sha1sums.txt"
    replace_whole(sums, f"{hashlib.sha1(data, usedforsecurity=False).hexdigest()}  {path.name}\n".encode())
    return [path, sums]


def entities(world: World, day: datetime) -> Iterable[dict[str, Any]]:
    """Yield the entities in a dump of `day`: those of the facts, then one for every other page."""
    facts = world.facts
    by_subject: dict[str, list[Statement]] = {}
    for one in facts.statements:
        if one.is_known(day):
            by_subject.setdefault(one.subject, []).append(one)
    for item in facts.items.values():
        yield _entity(item, by_subject.get(item.entity_id, []))
    for page in world.pages_at(day):
        known = page.item_at(day)
        if known and known == page.entity_id and known not in facts.items and page.name_at(day).namespace == 0:
            title = page.name_at(day).title
            yield _entity(Item(known, title, title), [])
    yield {"type": "property", "datatype": "wikibase-item", "id": "P54", "labels": {}, "claims": []}


def _entity(item: Item, statements: Iterable[Statement]) -> dict[str, Any]:
    labels = {code: name for code, name in (("en", item.label), ("de", item.german)) if name}
    claims: dict[str, list[dict[str, Any]]] = {}
    for name, above in (("P31", item.instance_of), ("P279", item.subclass_of)):
        for at, class_id in enumerate(above):
            claims.setdefault(name, []).append(_plain(item, name, at, _value(class_id)))
    if item.died:
        claims["P570"] = [_plain(item, "P570", 0, _snak("P570", item.died, long_years=False))]
    for number in range(item.n_more):
        site = {"snaktype": "value", "datavalue": {"value": f"https://demo.example.org/{number}", "type": "string"}}
        claims.setdefault("P856", []).append(_plain(item, "P856", number, site))
    for at, origin in enumerate(item.origins):
        claim = _plain(item, origin.relation, at, _snak(origin.relation, origin.when, long_years=False))
        claims.setdefault(origin.relation, []).append(claim | {"rank": origin.rank})
    for one in statements:
        claims.setdefault(one.relation, []).append(_statement(one))
    links = {WIKI: {"site": WIKI, "title": item.title, "badges": []}} if item.title else {}
    return {
        "type": "item",
        "id": item.entity_id,
        # Empty maps are written as empty lists, as in PHP.
        "labels": {code: {"language": code, "value": name} for code, name in labels.items()} or [],
        "descriptions": [],
        "aliases": {"en": [{"language": "en", "value": name} for name in item.aliases]} if item.aliases else [],
        "claims": claims or [],
        "sitelinks": links or [],
        "lastrevid": 1,
    }


def _statement(one: Statement) -> dict[str, Any]:
    qualifiers = {
        name: [_snak(name, bound, one.long_years) for bound in bounds]
        for name, bounds in (("P580", one.starts), ("P582", one.ends), ("P585", [one.point] if one.point else []))
        if bounds
    }
    main = {"snaktype": SOMEVALUE} if one.object == SOMEVALUE else _value(one.object)
    claim = {"mainsnak": {"property": one.relation, **main}, "type": "statement", "id": one.guid, "rank": one.rank}
    return claim | ({"qualifiers": qualifiers, "qualifiers-order": list(qualifiers)} if qualifiers else {})


def _plain(item: Item, name: str, at: int, snak: dict[str, Any]) -> dict[str, Any]:
    guid = f"{item.entity_id}$1{at:07}-{name}-4000-8000-000000000000"
    return {"mainsnak": {"property": name, **snak}, "type": "statement", "id": guid, "rank": "normal"}


def _value(item: str) -> dict[str, Any]:
    value = {"entity-type": "item", "numeric-id": int(item[1:]), "id": item}
    return {"snaktype": "value", "datavalue": {"value": value, "type": "wikibase-entityid"}}


def _snak(name: str, bound: Bound, long_years: bool) -> dict[str, Any]:  # noqa: FBT001 - a field of the statement
    if not isinstance(bound, When):
        return {"snaktype": str(bound), "property": name}
    time = f"{bound.time[0]}0000000{bound.time[1:]}" if long_years else bound.time
    value = {
        "time": time,
        "timezone": 0,
        "before": 0,
        "after": 0,
        "precision": bound.precision,
        "calendarmodel": _CALENDAR,
    }
    return {"snaktype": "value", "property": name, "datavalue": {"value": value, "type": "time"}}
