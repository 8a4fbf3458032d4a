"""Reads the header of an export, which describes its wiki: name, language, namespaces, case of first letters."""

import re
from dataclasses import replace
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

from tempkb.errors import SourceError
from tempkb.titles import CANONICAL_NAMESPACES, Site

_LANGUAGE = re.compile(rb"""<mediawiki\b[^>]*\sxml:lang=["']([A-Za-z]{2,}(?:-[A-Za-z0-9]+)*)["']""")
_SITEINFO = re.compile(rb"<siteinfo>.*?</siteinfo>", re.DOTALL)
_MAX_BYTES = 1 << 20
_TAGS = {"sitename", "dbname", "base", "generator", "case", "namespaces"}
_LARGEST_NAMESPACE = 1 << 30
_PROJECTS = {"wikipedia": "wiki", "wikimedia": "wiki", "wikidata": "wiki", "mediawiki": "wiki"}


def read_siteinfo(head: bytes, file: str) -> Site:
    """Read the language and the `<siteinfo>` in `head`, the bytes before the first page.

    Schemas before 0.10 do not give the database name; it is then derived from
    the base address. Without a `<siteinfo>`, MediaWiki's default namespaces are assumed.

    Raises:
        SourceError: a document type is declared (its entities could expand without end), or the element is broken.
    """
    for word in (b"<!DOCTYPE", b"<!ENTITY"):
        if word in head:
            raise SourceError(
                f"{file}: declares a document type at byte {head.find(word)}; MediaWiki exports have none, so this "
                "file is refused"
            )
    match, language = _SITEINFO.search(head), _LANGUAGE.search(head)
    stated = language[1].decode().lower() if language else ""
    if not match:
        _refuse_half(head, file)
        return Site(language=stated)
    try:
        return replace(_site_of(_parsed(match[0])), language=stated)
    except (ET.ParseError, ValueError) as error:
        raise SourceError(
            f"{file}: the <siteinfo> at byte {match.start()} cannot be read ({error}); fetch the file again"
        ) from None


def _refuse_half(head: bytes, file: str) -> None:
    """Refuse a cut `<siteinfo>`: MediaWiki's default namespaces must not replace those that were lost."""
    places = [place for tag in (b"<siteinfo", b"<namespace", b"</siteinfo>") if (place := head.find(tag)) >= 0]
    if places:
        raise SourceError(
            f"{file}: the <siteinfo> at byte {min(places)} is not whole, in a head of {len(head)} bytes; "
            "fetch the file again"
        )


def _parsed(text: bytes) -> ET.Element:
    if len(text) > _MAX_BYTES:
        raise ValueError(f"it has {len(text)} bytes; expected some thousands")
    # The head declares no document type, so there are no entities that could expand.
    return ET.fromstring(text)  # noqa: S314


def _site_of(element: ET.Element) -> Site:
    by_default = element.findtext("case", "first-letter")
    names, sensitive = {}, set()
    for namespace in element.iter("namespace"):
        number = int(namespace.get("key", "0"))
        if abs(number) > _LARGEST_NAMESPACE or number in names:
            raise ValueError(f"namespace {number}: out of range, or given twice")
        names[number] = namespace.text or ""
        if namespace.get("case", by_default) == "case-sensitive":
            sensitive.add(number)
    strange = [child.tag for child in element if child.tag not in _TAGS]
    if strange and not names:
        raise ValueError(f"it names no namespaces, but has <{strange[0]}>")
    dbname = element.findtext("dbname") or _from_address(element.findtext("base", ""))
    return Site(dbname, names or {0: "", **CANONICAL_NAMESPACES}, frozenset(sensitive))


def _from_address(base: str) -> str | None:
    """Derive a database name from the main page's address: en.wikipedia.org -> enwiki."""
    parts = (urlsplit(base).hostname or "").removeprefix("www.").split(".")
    if len(parts) < 2 or parts[-1] != "org":
        return None
    language, project = (parts[-3] if len(parts) > 2 else ""), parts[-2]
    if project == "wikimedia" and language:
        return language.replace("-", "_") + "wiki"
    if not language:
        return f"{project}wiki" if project in _PROJECTS else None
    return language.replace("-", "_") + _PROJECTS.get(project, project)
