"""Decodes the parts of an entity's JSON that the tables need. Pure.

msgspec checks the types while it reads. Labels in other languages, descriptions,
references and most qualifiers are skipped without becoming objects.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

# PHP writes an empty map as an empty list.
_Nothing: TypeAlias = list[Any]


class Snak(Struct, frozen=True, gc=False):
    """A property's value; `somevalue` if it exists but is unknown, `novalue` if there is none."""

    snaktype: str
    datavalue: Raw | UnsetType = UNSET


class Qualifiers(Struct, frozen=True, gc=False):
    """The qualifiers that give the times at which a statement holds."""

    start: list[Snak] | UnsetType = field(name="P580", default=UNSET)
    end: list[Snak] | UnsetType = field(name="P582", default=UNSET)
    point: list[Snak] | UnsetType = field(name="P585", default=UNSET)


class Statement(Struct, frozen=True, gc=False):
    """A statement with its value, rank and qualifiers; `id` is its GUID."""

    mainsnak: Snak
    rank: str = "normal"
    id: str = ""
    qualifiers: Qualifiers | _Nothing | UnsetType = UNSET


class Text(Struct, frozen=True, gc=False):
    """A label or an alias."""

    value: str


class SiteLink(Struct, frozen=True, gc=False):
    """The page of a wiki that describes an entity."""

    title: str


class TimeValue(Struct, frozen=True, gc=False):
    """A point in time as Wikidata writes it."""

    time: str
    precision: int
    calendarmodel: str = ""


class _Time(Struct, tag="time", tag_field="type", frozen=True, gc=False):
    value: TimeValue


class _ItemValue(Struct, frozen=True, gc=False):
    id: str | UnsetType = UNSET
    number: int | UnsetType = field(name="numeric-id", default=UNSET)
    kind: str = field(name="entity-type", default="item")


class _Item(Struct, tag="wikibase-entityid", tag_field="type", frozen=True, gc=False):
    value: _ItemValue


class _Kind(Struct, frozen=True, gc=False):
    type: str


class Entity(Struct, frozen=True):
    """The parts of an entity that the tables need.

    Attributes:
        id: QID or P-number.
        labels: by language; only the requested languages.
        aliases: by language; only the requested languages.
        claims: property -> statements.
        sitelinks: wiki -> page.
        is_missing: whether the answer says that the entity does not exist.
        modified: when it was last changed, as `2022-06-30T23:59:59Z`; empty if not given.
    """

    id: str
    labels: Mapping[str, str]
    aliases: Mapping[str, Sequence[str]]
    claims: Mapping[str, list[Statement]]
    sitelinks: Mapping[str, SiteLink]
    is_missing: bool = False
    modified: str = ""


# Items, properties, lexemes and media files, with numbers of at most ten digits, as Wikibase gives them. Other
# collections of JSON lines have ids too, which must not be accepted.
_ENTITY = re.compile(r"[QPLM]\d{1,10}", re.ASCII)
_KIND = msgspec.json.Decoder(_Kind)
_TIME = msgspec.json.Decoder(_Time)
_ITEM = msgspec.json.Decoder(_Item)

BAD_JSON = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
"""What decoding raises if the input is not JSON, not UTF-8, nested too deeply, or not an entity."""


def entity_decoder(languages: Sequence[str]) -> Callable[[bytes], Entity]:
    """Return a function that decodes one entity's JSON.

    The function raises one of `BAD_JSON` if the input is not an entity.

    Args:
        languages: codes of the languages whose labels and aliases are decoded.
    """
    names = [f"language_{number}" for number in range(len(languages))]
    renamed = dict(zip(names, languages, strict=True))
    labels = msgspec.defstruct(
        "Labels", [(name, Text | None, None) for name in names], rename=renamed, gc=False, frozen=True
    )
    aliases = msgspec.defstruct(
        "Aliases", [(name, list[Text], field(default_factory=list)) for name in names], rename=renamed, frozen=True
    )
    raw = msgspec.defstruct(
        "Raw",
        [
            ("id", str),
            ("labels", labels | _Nothing, field(default_factory=list)),
            ("aliases", aliases | _Nothing, field(default_factory=list)),
            ("claims", dict[str, list[Statement]] | _Nothing, field(default_factory=list)),
            ("sitelinks", dict[str, SiteLink] | _Nothing, field(default_factory=list)),
            ("missing", Any, UNSET),
            ("modified", Any, ""),
        ],
    )
    decoder = msgspec.json.Decoder(raw)

    def decode(data: bytes) -> Entity:
        read: Any = decoder.decode(data)
        if not _ENTITY.fullmatch(read.id):
            raise msgspec.ValidationError(f"{read.id[:40]!r} is the id of no entity")
        texts = {} if isinstance(read.labels, list) else read.labels
        others = {} if isinstance(read.aliases, list) else read.aliases
        found = {renamed[name]: text.value for name in names if (text := getattr(texts, name, None)) is not None}
        more = {renamed[name]: [one.value for one in getattr(others, name, ())] for name in names}
        return Entity(
            read.id,
            found,
            more,
            read.claims or {},
            read.sitelinks or {},
            read.missing is not UNSET,
            read.modified if isinstance(read.modified, str) else "",
        )

    return decode


def time_in(snak: Snak) -> TimeValue | None:
    """Return the time in a snak; None if its value has another type or cannot be decoded."""
    try:
        if snak.datavalue is UNSET or _KIND.decode(snak.datavalue).type != "time":
            return None
        return _TIME.decode(snak.datavalue).value
    except BAD_JSON:
        return None


def item_in(snak: Snak) -> str | None:
    """Return the item in a snak; None if its value is something else (a string, a property) or cannot be decoded."""
    try:
        if snak.datavalue is UNSET or _KIND.decode(snak.datavalue).type != "wikibase-entityid":
            return None
        value = _ITEM.decode(snak.datavalue).value
    except BAD_JSON:
        return None
    if value.id is not UNSET:
        name = value.id
    elif value.kind == "item" and value.number is not UNSET:
        name = f"Q{value.number}"
    else:
        return None
    return name if is_item(name) else None


def is_item(name: str) -> bool:
    """Return whether an id is that of an item: a Q and at most ten digits."""
    return name[:1] == "Q" and _ENTITY.fullmatch(name) is not None
