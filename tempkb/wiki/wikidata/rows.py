"""Makes the rows of the room's tables from an entity. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tempkb.core.filtering import LeftOut
from tempkb.wiki.wikidata.decoding import Entity, Qualifiers, Statement, is_item, item_in
from tempkb.wiki.wikidata.scope import ANY_LANGUAGE, Scope
from tempkb.wiki.wikidata.statements import (
    Interval,
    Precision,
    Span,
    best_ranked,
    earliest,
    intervals_of,
    is_dated,
    precision_name,
    read_snak,
)

# ECBD, section 3: start time, introduced on, announcement date, time of discovery, point in time, inception.
ORIGINS = ("P580", "P9448", "P6949", "P575", "P585", "P571")
# Publication date, official opening, launch, first performance: origins of films, buildings and rockets, which the six
# properties above do not give.
MORE_ORIGINS = ("P577", "P1619", "P619", "P1191")
ENDINGS = ("P570", "P576")
INSTANCE_OF, SUBCLASS_OF = "P31", "P279"
_RANKS = ("preferred", "normal", "deprecated")
_EXAMPLES = 3


@dataclass
class Rows:
    """Rows collected so far, as tuples in the order of the columns, and what was left out.

    Attributes:
        entities, facts, undated, origins: rows of the tables `wikidata_entities`, `facts`, `undated_statements` and
            `entity_origins`.
        classes: (entity, class) by P31.
        subclasses: (class, class above) by P279.
        left_out: counts of what is not kept, by reason.
    """

    entities: list[tuple[Any, ...]] = field(default_factory=list)
    facts: list[tuple[Any, ...]] = field(default_factory=list)
    undated: list[tuple[Any, ...]] = field(default_factory=list)
    origins: list[tuple[Any, ...]] = field(default_factory=list)
    classes: list[tuple[str, str]] = field(default_factory=list)
    subclasses: list[tuple[str, str]] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=lambda: LeftOut(max_examples=_EXAMPLES))


def add_entity(rows: Rows, entity: Entity, scope: Scope) -> None:
    """Add all rows of an entity; only its edges in the class tree if it is outside the scope."""
    if not is_item(entity.id):
        rows.left_out.add("no item", entity.id)
        return
    for above in _items(entity.claims.get(SUBCLASS_OF, ())):
        rows.subclasses.append((entity.id, above))
    if not scope.all_items and scope.wiki not in entity.sitelinks:
        rows.left_out.add("has no page in the wiki", entity.id)
        return
    for above in _items(entity.claims.get(INSTANCE_OF, ())):
        rows.classes.append((entity.id, above))
    rows.entities.append(_entity_row(rows, entity, scope))
    _add_origin(rows, entity)
    for relation, statements in entity.claims.items():
        _add_facts(rows, entity.id, relation, statements)


def _items(statements: Iterable[Statement]) -> list[str]:
    """The items that statements name, each once; deprecated statements are ignored."""
    named = (item_in(one.mainsnak) for one in statements if one.rank != "deprecated")
    return list(dict.fromkeys(one for one in named if one))


def _entity_row(rows: Rows, entity: Entity, scope: Scope) -> tuple[Any, ...]:
    own = scope.languages[0]
    label = entity.labels.get(own) or entity.labels.get(ANY_LANGUAGE)
    aliases = [*entity.aliases.get(own, ()), *entity.aliases.get(ANY_LANGUAGE, ())]
    labels = [
        {"language": one, "label": entity.labels.get(one), "aliases": list(entity.aliases.get(one, ()))}
        for one in scope.languages
        if one in entity.labels or entity.aliases.get(one)
    ]
    page = entity.sitelinks.get(scope.wiki)
    n_statements = sum(len(statements) for statements in entity.claims.values())
    ended, ended_by = _ending(rows, entity)
    return (
        entity.id,
        label,
        list(dict.fromkeys(aliases)),
        labels,
        page.title if page else None,
        len(entity.sitelinks),
        n_statements,
        ended.first if ended else None,
        ended.end if ended else None,
        precision_name(ended),
        ended_by,
    )


def _ending(rows: Rows, entity: Entity) -> tuple[Span | None, str | None]:
    """When an entity died or was dissolved; several dates give the interval that contains them all."""
    for name in ENDINGS:
        spans = [span for one in best_ranked(entity.claims.get(name, ())) if (span := _date(rows, entity.id, one))]
        if spans:
            coarsest = min(span.precision for span in spans)
            return Span(min(one.first for one in spans), max(one.end for one in spans), coarsest), name
    return None, None


def _date(rows: Rows, entity_id: str, statement: Statement) -> Span | None:
    bad: list[str] = []
    span = read_snak(statement.mainsnak, bad)
    for why in bad:
        rows.left_out.add("date of an entity that cannot be read", f"{entity_id}: {why}")
    return span


def _add_origin(rows: Rows, entity: Entity) -> None:
    six, extended, any_rank = [], [], []
    for name in (*ORIGINS, *MORE_ORIGINS):
        statements = entity.claims.get(name)
        if not statements:
            continue
        dated = [(span, name) for one in best_ranked(statements) if (span := _fine(_date(rows, entity.id, one)))]
        extended += dated
        if name in ORIGINS:
            six += dated
            kept = (one for one in statements if one.rank != "deprecated")
            any_rank += [(span, name) for one in kept if (span := _fine(read_snak(one.mainsnak, [])))]
    if not extended:
        return
    whole, by_any = earliest(six), earliest(any_rank)
    rows.origins.append(
        (
            entity.id,
            *_origin_values(whole),
            len(six),
            by_any[0].first if by_any else None,
            *_origin_values(earliest(extended)),
        )
    )


def _fine(span: Span | None) -> Span | None:
    """Drop dates coarser than a year, which are too coarse for an origin."""
    return span if span is not None and span.precision >= Precision.YEAR else None


def _origin_values(found: tuple[Span, str] | None) -> tuple[Any, ...]:
    if found is None:
        return None, None, None, None
    span, name = found
    return span.first, span.end, precision_name(span), name


def _add_facts(rows: Rows, subject: str, relation: str, statements: Sequence[Statement]) -> None:
    """Add the dated statements of a property, and, if there are any, its undated ones."""
    dated = [one for one in statements if is_dated(one)]
    if not dated:
        return
    named: set[str] = set()
    for one in dated:
        named |= _add_fact(rows, subject, relation, one)
    if not named:
        return
    for one in statements:
        if one.rank == "deprecated" or is_dated(one):
            continue
        item = item_in(one.mainsnak)
        if item:
            rows.undated.append((one.id, subject, relation, item, one.rank, item not in named))


def _add_fact(rows: Rows, subject: str, relation: str, statement: Statement) -> set[str]:
    """Add a dated statement, one row per interval; return the item it names, or nothing if it is deprecated."""
    item = item_in(statement.mainsnak)
    if item is None:
        has_value = statement.mainsnak.snaktype == "value"
        reason = "dated statement whose value is no item" if has_value else "dated statement without an object"
        rows.left_out.add(reason, f"{statement.id} {relation}")
        return set()
    if statement.rank not in _RANKS or not statement.id:
        rows.left_out.add("statement without an id or with an unknown rank", f"{subject} {relation} {statement.rank}")
        return set()
    bad: list[str] = []
    assert isinstance(statement.qualifiers, Qualifiers)  # noqa: S101 - it is dated; for the type checker
    for number, one in enumerate(intervals_of(statement.qualifiers, bad), 1):
        rows.facts.append(_fact_row(statement, number, subject, relation, item, one))
    for why in bad:
        rows.left_out.add("time of a statement that cannot be read", f"{statement.id}: {why}")
    return {item} if statement.rank != "deprecated" else set()


def _fact_row(
    statement: Statement, number: int, subject: str, relation: str, item: str, held: Interval
) -> tuple[Any, ...]:
    return (
        statement.id,
        number,
        subject,
        relation,
        item,
        held.valid_from,
        held.valid_to,
        held.certain_from,
        held.certain_to,
        precision_name(held.start.span),
        precision_name(held.end.span),
        held.start.kind,
        held.end.kind,
        held.is_point,
        statement.rank,
    )
