"""Columns and rules of tables, and the blocks of text in which they are declared. Pure.

A block of columns reads like a page of a data dictionary. Each line has a name, a type of DuckDB and a meaning:

    wiki, dump_id
    page_id BIGINT: number of the page
    sections SECTION[]: the lead (level 0), then each heading, with the span
        of its section
    text VARCHAR (bulk): one line per heading, paragraph and list item

An indented line goes on with the one above it. Names alone are of columns that several tables have with one meaning:
these are declared once, in `columns` below or, where only tables of one room have them, at the top of its `tables.py`.
A struct, as SECTION, has the name that `with_types` gives it.

A block of rules has a name and a meaning on one line, and below it, indented, the SQL that no row may satisfy:

    known_kind: kind is prose or list
        kind NOT IN ('prose', 'list')
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tempkb.core.errors import ContractError
from tempkb.store import types
from tempkb.store.types import ColumnType, list_of

if TYPE_CHECKING:
    import pyarrow as pa

_SCALARS = {one.sql: one for one in vars(types).values() if isinstance(one, types.Scalar)}
_COLUMN = re.compile(r"(\w+) (\w+)(\[\])?( \(bulk\))?: (\S.*)")
_NAMES = re.compile(r"\w+(?:, \w+)*")
_RULE = re.compile(r"(\w+): (\S.*)")


@dataclass(frozen=True)
class Column:
    """One column: its type and its meaning in a sentence.

    A bulk column holds long texts, for which neither a dictionary nor the smallest
    and largest value would help a reader.
    """

    name: str
    type: ColumnType
    meaning: str
    is_bulk: bool = False

    @property
    def sql_type(self) -> str:
        """DuckDB's name for the column's type."""
        return self.type.sql

    @property
    def arrow(self) -> "pa.DataType":
        """The column's type in Arrow."""
        return self.type.arrow


@dataclass(frozen=True)
class Rule:
    """A promise about each row: `broken_when` is an SQL condition that no row may satisfy."""

    name: str
    meaning: str
    broken_when: str


@dataclass(frozen=True)
class Dictionary:
    """Reads blocks of columns.

    Attributes:
        known: columns that a block may name without saying what they mean.
        types: further types than DuckDB's scalar ones, by the names that blocks have for them.
    """

    known: Mapping[str, Column]
    types: Mapping[str, ColumnType]

    def __call__(self, block: str) -> tuple[Column, ...]:
        """Return the columns of a block in order.

        Raises:
            ContractError: a line is malformed, or names a type or column that is not known or comes twice.
        """
        columns = {}
        for line, further in _entries(block):
            for one in self._read(" ".join([line, *further])):
                if one.name in columns:
                    raise ContractError(f"a block of columns has {one.name!r} twice; expected: each once")
                columns[one.name] = one
        return tuple(columns.values())

    def with_types(self, **further: ColumnType) -> "Dictionary":
        """Return a dictionary whose blocks may have further types, such as structs, by these names."""
        return Dictionary(self.known, {**self.types, **further})

    def extended(self, block: str) -> "Dictionary":
        """Return a dictionary that has further columns, which go before those of the same name that this one has."""
        return Dictionary({**self.known, **{one.name: one for one in self(block)}}, self.types)

    def _read(self, line: str) -> Iterator[Column]:
        if _NAMES.fullmatch(line):
            for name in line.split(", "):
                if name not in self.known:
                    raise ContractError(
                        f"a block of columns names {name!r} alone, which no dictionary above it has; say what it is: "
                        f"{name} TYPE: meaning"
                    )
                yield self.known[name]
            return
        parts = _COLUMN.fullmatch(line)
        if not parts:
            raise ContractError(f"a block of columns has {line!r}; expected 'name TYPE: meaning', or names alone")
        name, kind, is_list, bulk, meaning = parts.groups()
        if kind not in self.types:
            raise ContractError(f"column {name!r} has the type {kind!r}; known are {', '.join(self.types)}")
        yield Column(name, list_of(self.types[kind]) if is_list else self.types[kind], meaning, bool(bulk))


def rules(block: str) -> tuple[Rule, ...]:
    """Return the rules of a block in order.

    Raises:
        ContractError: a rule is malformed or has no condition.
    """
    found = []
    for line, condition in _entries(block):
        parts = _RULE.fullmatch(line)
        if not parts or not condition:
            raise ContractError(
                f"a block of rules has {line!r}; expected 'name: meaning', and below it, indented, when it is broken"
            )
        found.append(Rule(parts[1], parts[2], " ".join(condition)))
    return tuple(found)


def _entries(block: str) -> list[tuple[str, list[str]]]:
    """Return each line that is as little indented as the first, with the further indented lines below it."""
    entries: list[tuple[str, list[str]]] = []
    margin = None
    for line in filter(str.strip, block.splitlines()):
        text, depth = line.strip(), len(line) - len(line.lstrip())
        margin = depth if margin is None else margin
        if depth < margin:
            raise ContractError(f"a block has {text!r} further to the left than its first line")
        if depth > margin:
            entries[-1][1].append(text)
        else:
            entries.append((text, []))
    return entries


columns = Dictionary({}, _SCALARS).extended("""
    wiki VARCHAR: database name of the wiki, such as simplewiki
    dump_id VARCHAR: dump from which the row comes: <wiki>-<YYYYMMDD>, or <wiki>-<hash> if its date is unknown
    quarter DATE: first day of the quarter in which the revision was saved
    window_start DATE: first day of the window that ends at the cut
    cut DATE: midnight UTC of this day: the first instant not in the snapshot
    is_provisional BOOLEAN: true if the dump is less than 90 days past the window's end

    page_id BIGINT: number of the page; a move does not change it
    title VARCHAR: title at the cut, with spaces and without namespace prefix
    page_created_at TIMESTAMPTZ: instant of the page's first revision, whatever its content
    article_since TIMESTAMPTZ: instant of the first text in the main namespace, neither redirect nor blank; null if none
    revision_id BIGINT: number of the revision
    revision_timestamp TIMESTAMPTZ: instant at which the revision was saved
    n_revisions BIGINT: number of revisions saved before the cut
    n_contributors BIGINT: number of distinct known contributors before the cut
    n_inlinks BIGINT: number of its mentions in other articles
    n_chars INTEGER: number of code points of the text

    entity_id VARCHAR: Wikidata item (QID) linked on the dump's day; null if none or unknown
    entity_id_source VARCHAR: source of the item: page_props, or sitelink (of the Wikidata dump nearest in time); null
        without an item
    subject_id VARCHAR: Wikidata item (QID) of the subject
    relation VARCHAR: Wikidata property, such as P54
    object_id VARCHAR: Wikidata item (QID) of the object
    valid_from DATE: first day on which it may hold; null if the start is not known
    valid_to DATE: first day on which it can no longer hold; null if the end is not known
    start_precision VARCHAR: precision of the start: day, month, year, decade or century; null without one
    end_precision VARCHAR: precision of the end: day, month, year, decade or century; null without one
    origin_precision VARCHAR: precision of that date: day, month or year
    origin_to DATE: the day after the last such day

    release VARCHAR: name of the release
    preset VARCHAR: preset from which the design was made
    design VARCHAR: the design as JSON
    anchor_page_id BIGINT: article with the mention
    query VARCHAR: text of the query, with _X_ in place of the answer

    model VARCHAR: name of the model
    scorer VARCHAR: family, template, version and number type, such as causal.span-1.f32; or lm_eval: imported
    decoder VARCHAR: family, name, version and number type, such as causal.greedy-1.f32
    token_log_probs DOUBLE[] (bulk): natural logarithms, one for each of them
    linker VARCHAR: name of the linker
    hub_revision VARCHAR: commit on the hub; null for a folder
    weights_sha256 VARCHAR: SHA-256 of the weights; of several files, that of their names and digests
    tokenizer_sha256 VARCHAR: SHA-256 of the names and digests of the tokenizer's files
    knows_certainly_until DATE: day before which its training texts certainly reach; null if unknown
    knows_possibly_until DATE: day from which on none of its training texts is; null if unknown
    n_absent BIGINT: number of those whose entity is none
    high DOUBLE: upper end
""")
"""The dictionary of columns that mean the same in tables of several rooms."""
