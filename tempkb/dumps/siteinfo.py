"""What the head of an export says of its wiki: name, namespaces, first letters."""

import re
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

from tempkb.errors import SourceError
from tempkb.titles import CANONICAL_NAMESPACES, Site

_SITEINFO = re.compile(rb"<siteinfo>.*?</siteinfo>", re.DOTALL)
_PROJECTS = {"wikipedia": "wiki", "wikimedia": "wiki", "wikidata": "wiki", "mediawiki": "wiki"}


def read_siteinfo(head: bytes, file: str) -> Site:
    """Read the `<siteinfo>` in `head`, all that precedes the first page.

    Schemas before 0.10 do not give the database name; it is then derived from
    the base address. Without a `<siteinfo>` MediaWiki's own names are assumed.

    Raises:
        SourceError: a document type is declared (its entities could expand without end), or the element is broken.
    """
    if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
        raise SourceError(f"{file}: declares a document type; MediaWiki exports have none, so this file is refused")
    match = _SITEINFO.search(head)
    if not match:
        return Site()
    try:
        # No document type can be in there, so there are no entities that could expand.
        element = ET.fromstring(match[0])  # noqa: S314
    except ET.ParseError as error:
        raise SourceError(f"{file}: the <siteinfo> is not well formed ({error}); fetch the file again") from None
    by_default = element.findtext("case", "first-letter")
    names, sensitive = {}, set()
    for namespace in element.iter("namespace"):
        number = int(namespace.get("key", "0"))
        names[number] = namespace.text or ""
        if namespace.get("case", by_default) == "case-sensitive":
            sensitive.add(number)
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
