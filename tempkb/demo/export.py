"""Writes the demo world in Wikimedia's formats: an export-0.11 history in two parts, SQL tables, Wikidata's JSON."""

import bz2
import gzip
import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from tempkb.core.files import own, replace_whole
from tempkb.core.titles import Site
from tempkb.demo.facts import SOMEVALUE, Bound, Item, Statement, When
from tempkb.demo.pages import NAMESPACES, USERS, WIKI, Edit, Page, World
from tempkb.demo.words import words_of
from tempkb.wiki.revisions.history import base36_sha1
from tempkb.wiki.wikitext.page_kinds import is_disambiguation, redirect_target

_SITE = Site(WIKI, NAMESPACES)


def write_dump(world: World, day: datetime, root: Path) -> list[Path]:
    """Write the dump of `day` below `root`, in the legacy layout, and return its files."""
    stamp = f"{day:%Y%m%d}"
    folder = own(root, root / WIKI / stamp)
    folder.mkdir(parents=True, exist_ok=True)
    pages = list(world.pages_at(day))
    half = len(pages) // 2
    written = []
    for number, part in enumerate((pages[:half], pages[half:]), 1):
        span = f"p{part[0].page_id}p{part[-1].page_id}"
        path = folder / f"{WIKI}-{stamp}-pages-meta-history{number}.xml-{span}.bz2"
        replace_whole(path, bz2.compress(export_xml(part, day).encode()))
        written.append(path)
    for name, sql in _tables(pages, day).items():
        path = folder / f"{WIKI}-{stamp}-{name}.sql.gz"
        replace_whole(path, gzip.compress(sql.encode(), mtime=0))
        written.append(path)
    # Last, since it declares the other files complete.
    replace_whole(folder / "dumpstatus.json", _status(written, day))
    return [*written, folder / "dumpstatus.json"]


def export_xml(pages: Sequence[Page], day: datetime) -> str:
    """Return the export of some pages as of `day`."""
    late = []
    parts = [_head()]
    for page in pages:
        edits = page.known_edits(day)
        if page.in_two_elements:
            late.append(_page(page, edits[len(edits) // 2 :], day))
            edits = edits[: len(edits) // 2]
        parts.append(_page(page, edits, day))
    return "".join([*parts, *late, "</mediawiki>\n"])


def _status(paths: Sequence[Path], day: datetime) -> bytes:
    """Return the status of a dump's jobs in the form of Wikimedia's `dumpstatus.json`."""
    jobs: dict[str, Any] = {}
    for path in paths:
        rest = path.name.split("-", 2)[2]
        name = "metahistorybz2dump" if "history" in rest else rest.split(".")[0].replace("_", "") + "table"
        job = jobs.setdefault(name, {"status": "done", "updated": f"{day:%Y-%m-%d %H:%M:%S}", "files": {}})
        data = path.read_bytes()
        job["files"][path.name] = {
            "size": len(data),
            "url": f"/{path.parent.parent.name}/{path.parent.name}/{path.name}",
            "md5": hashlib.md5(data, usedforsecurity=False).hexdigest(),
            "sha1": hashlib.sha1(data, usedforsecurity=False).hexdigest(),
        }
    return json.dumps({"version": "0.8", "jobs": jobs}, indent=1).encode()


def _head() -> str:
    names = "".join(
        f'      <namespace key="{number}" case="first-letter"' + (f">{name}</namespace>\n" if name else " />\n")
        for number, name in NAMESPACES.items()
    )
    return (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">\n'
        f"  <siteinfo>\n    <sitename>Demopedia</sitename>\n    <dbname>{WIKI}</dbname>\n"
        "    <base>https://demo.example.org/wiki/Main_Page</base>\n    <generator>tempkb demo</generator>\n"
        f"    <case>first-letter</case>\n    <namespaces>\n{names}    </namespaces>\n  </siteinfo>\n"
    )


def _page(page: Page, edits: Iterable[Edit], day: datetime) -> str:
    name, text = page.full_name(day), _text_at(page, day)
    target = redirect_target(text, _SITE)
    redirect = f"    <redirect title={quoteattr(target.title)} />\n" if target else ""
    head = f"  <page>\n    <title>{escape(name)}</title>\n    <ns>{page.name_at(day).namespace}</ns>\n"
    head += f"    <id>{page.page_id}</id>\n"
    parents = _parents(page, day)
    return (
        head + redirect + "".join(_revision(edit, parents.get(edit.revision_id), day) for edit in edits) + "  </page>\n"
    )


def _parents(page: Page, day: datetime) -> dict[int, int]:
    order = sorted(page.known_edits(day), key=lambda edit: (edit.time, edit.revision_id))
    return {edit.revision_id: before.revision_id for before, edit in zip(order, order[1:], strict=False)}


def _revision(edit: Edit, parent: int | None, day: datetime) -> str:
    hidden = edit.suppressed_from is not None and edit.suppressed_from < day
    lines = ["    <revision>", f"      <id>{edit.revision_id}</id>"]
    if parent:
        lines.append(f"      <parentid>{parent}</parentid>")
    lines.append(f"      <timestamp>{edit.time:%Y-%m-%dT%H:%M:%SZ}</timestamp>")
    lines.append(_contributor(edit))
    if edit.is_minor:
        lines.append("      <minor />")
    if edit.comment:
        lines.append(f"      <comment>{escape(edit.comment)}</comment>")
    lines.append(
        f"      <origin>{edit.revision_id}</origin>\n      <model>wikitext</model>\n      <format>text/x-wiki</format>"
    )
    if hidden:
        lines.append('      <text bytes="-1" deleted="deleted" />\n      <sha1 />')
    else:
        lines.append(_text(edit.text, edit.sha1))
        whole = edit.sha1
        if edit.extra_slot is not None:
            slot = base36_sha1(edit.extra_slot.encode()).decode()
            whole = base36_sha1((edit.sha1 + slot).encode()).decode()
            lines.append(
                "      <content>\n        <role>mediainfo</role>\n        <model>wikibase-mediainfo</model>\n"
                f"        <format>application/json</format>\n  {_text(edit.extra_slot, slot)}\n      </content>"
            )
        lines.append(f"      <sha1>{whole}</sha1>")
    return "\n".join([*lines, "    </revision>\n"])


def _contributor(edit: Edit) -> str:
    if edit.hidden_user:
        return '      <contributor deleted="deleted" />'
    if edit.user is None:
        return "      <contributor>\n        <ip>192.0.2.7</ip>\n      </contributor>"
    account = f"<username>{edit.user}</username>\n        <id>{USERS.index(edit.user) + 1}</id>"
    return f"      <contributor>\n        {account}\n      </contributor>"


def _text(text: str, sha1: str) -> str:
    size = len(text.encode())
    if not text:
        return f'      <text bytes="0" sha1="{sha1}" />'
    return f'      <text bytes="{size}" sha1="{sha1}" xml:space="preserve">{escape(text)}</text>'


def _text_at(page: Page, day: datetime) -> str:
    return max(page.known_edits(day), key=lambda edit: (edit.time, edit.revision_id)).text


def _tables(pages: Sequence[Page], day: datetime) -> dict[str, str]:
    page_rows, props, redirects = [], [], []
    for page in pages:
        name, text = page.name_at(day), _text_at(page, day)
        target = redirect_target(text, _SITE)
        latest = max(page.known_edits(day), key=lambda edit: (edit.time, edit.revision_id)).revision_id
        title = _sql(name.title.replace(" ", "_"))
        page_rows.append(
            f"({page.page_id},{name.namespace},{title},{int(target is not None)},0,0.5,'{day:%Y%m%d%H%M%S}',NULL,"
            f"{latest},{len(text.encode())},'wikitext',NULL)"
        )
        if page.item_at(day):
            props.append(f"({page.page_id},'wikibase_item',{_sql(page.item_at(day) or '')},NULL)")
        if is_disambiguation(text):
            props.append(f"({page.page_id},'disambiguation','',NULL)")
        if target:
            redirects.append(f"({page.page_id},{target.namespace},{_sql(target.title.replace(' ', '_'))},'','')")
    return {
        "page": _table("page", page_rows, day),
        "page_props": _table("page_props", props, day),
        "redirect": _table("redirect", redirects, day),
    }


def _table(name: str, rows: Sequence[str], day: datetime) -> str:
    created = ",\n".join(f"  {column}" for column in words_of("tables")[name])
    inserted = f"INSERT INTO `{name}` VALUES {','.join(rows)};\n" if rows else ""
    return (
        f"-- MariaDB dump 10.19  Distrib 10.11, for debian-linux-gnu (x86_64)\n--\n-- Database: {WIKI}\n"
        f"DROP TABLE IF EXISTS `{name}`;\nCREATE TABLE `{name}` (\n{created}\n"
        f") ENGINE=InnoDB DEFAULT CHARSET=binary;\n\n{inserted}-- Dump completed on {day:%Y-%m-%d %H:%M:%S}\n"
    )


def _sql(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"').replace("\n", "\\n")
    return f"'{escaped}'"


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
