"""Reads one entity through all benchmarks: when it was born, what asks about it, and what models make of that."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.fact_queries.tables import FACT_SPELLS, FACT_SUBJECTS
from tempkb.benchmarks.reading import Part, united
from tempkb.core.errors import SettingsError
from tempkb.core.wording import rounded, shortened
from tempkb.models.linking.known import rows_of
from tempkb.models.linking.tables import LINKING_SCORES
from tempkb.results.judged_tables import JUDGED_ANSWERS, JUDGED_CHANGES
from tempkb.store.listings import Across, Listing, named
from tempkb.store.quoting import literal
from tempkb.store.store import Store
from tempkb.wiki.mentions.tables import ENTITY_POPULARITY
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.tables import ENTITY_ORIGINS, WIKIDATA_ENTITIES

_NEAR, _LONGEST = 5, 30


class Entity(NamedTuple):
    """An entity of a home.

    Attributes:
        name: title of its page, or its label.
        entity_id: Wikidata item (QID); None if its page has none.
        page_id: number of its page in the newest snapshot; None without one.
        born: what is known of its page, origin and popularity, in words, by what it is; empty if nothing is.
    """

    name: str
    entity_id: str | None
    page_id: int | None
    born: Mapping[str, str]


class Section(NamedTuple):
    """A kind of items that may be about an entity; there is a row for each item and model.

    Attributes:
        name: what the items are.
        part: their rows, in which $entity and $page stand for the entity and its page; equal `place` is one item.
        listing: their columns, besides those of models.
        cell: what a model made of an item.
        command: by which a release with such items is made.
    """

    name: str
    part: Part
    listing: Listing
    cell: Callable[[Any], str]
    command: str

    def shown(self, rows: Sequence[Mapping[str, Any]], n: int) -> tuple[Listing, list[Mapping[str, Any]]]:
        """Return the table of the first items, with a column for each model that made something of the items."""
        models = sorted({row["model"] for row in rows if row["model"]})
        columns = {**self.listing.columns, "models": Across("model", self.cell, dict(zip(models, models, strict=True)))}
        n_items = rows[-1]["place"]
        title = f"{self.name} ({n_items:,}{f', the first {n}' if n < n_items else ''})"
        return replace(self.listing, title=title, columns=columns), [row for row in rows if row["place"] <= n]

    def why_none(self, store: Store) -> str:
        """Return in words why there are none: no release has any, or none is about the entity."""
        if any(store.lake.partitions(name) for name in self.part.needs[:1]):
            return f"{self.name}: none of the releases asks about it"
        return f"{self.name}: no release is built that has any; make one: {self.command}"


def _all(name: str) -> Part:
    return united([part for one in BENCHMARKS if one.reading and (part := getattr(one.reading, name))])


def _part(name: str) -> str:
    return f"({_all(name).query})"


def _proposed(brings: Callable[[Benchmark], object]) -> str:
    """The command that makes a release of the first benchmark that brings something."""
    return next(one.proposed for one in BENCHMARKS if brings(one))


def _places(keys: str, query: str, *needs: str) -> Part:
    """Items with their numbers, by which they are sorted."""
    return Part(f"SELECT dense_rank() OVER (ORDER BY {keys}) AS place, * FROM ({query}) ORDER BY place, model", needs)


_MENTIONS = rows_of("mentions")
_IN_ORDER = "ORDER BY anchor_page_id, start_char"
_ANCHOR = "concat('page ', anchor_page_id, ' revision ', m.anchor_revision_id)"
_LABELS = f"labels AS (SELECT subject_id, min(label) AS subject FROM {FACT_SUBJECTS.name} GROUP BY ALL)"
_OF_FACT = "subject_id, relation, new_object_id, old_object_id"
SECTIONS = (
    Section(
        "mentions",
        _places(
            "release, cut, category, subset",
            f"""
            SELECT m.release, m.cut, m.category, m.subset, count(*) AS n_mentions,
                   string_agg(DISTINCT m.mention, ', ' ORDER BY m.mention) AS surfaces,
                   string_agg(DISTINCT {_ANCHOR}, ', ' ORDER BY {_ANCHOR}) AS sources,
                   s.linker AS model, string_agg(coalesce(s.rank::VARCHAR, '-'), ' ' {_IN_ORDER}) AS ranks
            FROM ({_MENTIONS.query}) AS m
            LEFT JOIN (FROM {LINKING_SCORES.name} WHERE pool = 'own') AS s
                USING (release, cut, subset, target_page_id, anchor_page_id, start_char)
            WHERE m.target_qid = $entity OR target_page_id = $page GROUP BY ALL
            """,
            *_MENTIONS.needs,
            LINKING_SCORES.name,
        ),
        Listing(
            named("release", "cut", "category", "subset", mentions="n_mentions", surfaces="surfaces")
            | {"in": lambda row: shortened(row["sources"], _LONGEST)},
            remark="of linkers: the rank of the entity among the candidates, mention by mention (-: not among them)",
        ),
        lambda row: row["ranks"],
        _proposed(lambda one: one.linkable),
    ),
    Section(
        "cloze sentences",
        _places(
            "release, item_id",
            f"""
            WITH own AS (FROM {_part("texts")} WHERE entity_id = $entity OR page_id = $page), made AS (
                SELECT release, item_id, model, exp(min(nats)) AS perplexity, NULL AS said
                FROM {_part("sentences")} WHERE entity_id = $entity GROUP BY ALL
                UNION ALL SELECT release, item_id, model, NULL, text
                FROM {JUDGED_ANSWERS.name} SEMI JOIN own USING (release, item_id)
            )
            SELECT own.*, model, min(perplexity) AS perplexity, min(said) AS said
            FROM own LEFT JOIN made USING (release, item_id) GROUP BY ALL
            """,
            *_all("texts").needs,
            *_all("sentences").needs,
            JUDGED_ANSWERS.name,
        ),
        Listing(
            named("release", "origin", "text", "answer")
            | {"source": lambda row: f"page {row['page_id']} revision {row['revision_id']}"},
            remark="of models: the perplexity of the answer, and in brackets what it said",
        ),
        lambda row: _of_model(row["perplexity"], row["said"]),
        _proposed(lambda one: one.reading and one.reading.texts),
    ),
    Section(
        "facts",
        _places(
            "relation, coalesce(valid_from, DATE '0001-01-01'), subject_id, object_id, valid_to",
            f"""
            WITH {_LABELS}, made AS (
                SELECT model, subject_id, relation, object_id, max_by(nats / n_tokens, wording) AS nats_per_token
                FROM {_part("facts")} WHERE $entity IN (subject_id, object_id) GROUP BY ALL
            )
            SELECT string_agg(DISTINCT release, ', ' ORDER BY release) AS releases, relation, subject_id, subject,
                   object_id, object_label AS object, valid_from, valid_to, dump_id, model, nats_per_token,
                   array_to_string(list_sort(list_distinct(list_transform(members, lambda one: one.fact_id))), ', ')
                       AS statements
            FROM {FACT_SPELLS.name} LEFT JOIN labels USING (subject_id)
            LEFT JOIN made USING (subject_id, relation, object_id)
            WHERE $entity IN (subject_id, object_id) GROUP BY ALL
            """,
            FACT_SPELLS.name,
            FACT_SUBJECTS.name,
            *_all("facts").needs,
        ),
        Listing(
            named("releases", "relation", "subject", "object", **{"from": "valid_from", "to": "valid_to"})
            | {"statements": "statements"},
            remark="of models: negative log-probability of a token of the object (nats)",
        ),
        lambda row: rounded(row["nats_per_token"], 1),
        _proposed(lambda one: one.reading and one.reading.facts),
    ),
    Section(
        "changes",
        _places(
            f"change_from, {_OF_FACT}, release",
            f"""
            WITH {_LABELS}, own AS (
                FROM {_part("changed")} WHERE $entity IN (subject_id, new_object_id, old_object_id)
            ), made AS (
                SELECT model, entity_id AS subject_id, relation, new_object_id, old_object_id,
                       window_start AS change_from, preference_nats, NULL AS said, NULL AS names
                FROM {_part("changes")}
                UNION ALL SELECT model, {_OF_FACT}, change_from, NULL, text, names FROM {JUDGED_CHANGES.name}
            ), names AS (SELECT release, object_id, min(object_label) AS name FROM {FACT_SPELLS.name} GROUP BY ALL)
            SELECT own.*, subject, old.name AS old, new.name AS new, model, min(preference_nats) AS preference_nats,
                   min(said) AS said, min(names) AS names
            FROM own LEFT JOIN labels USING (subject_id) LEFT JOIN made USING ({_OF_FACT}, change_from)
            LEFT JOIN names AS old ON old.release = own.release AND old.object_id = old_object_id
            LEFT JOIN names AS new ON new.release = own.release AND new.object_id = new_object_id
            GROUP BY ALL
            """,
            *_all("changed").needs,
            *_all("changes").needs,
            JUDGED_CHANGES.name,
            FACT_SPELLS.name,
            FACT_SUBJECTS.name,
        ),
        Listing(
            named("release", "relation", "subject", "old", "new") | {"from": "change_from", "to": "change_to"},
            remark="of models: by how much more the subject adds to the new object than to the old one (nats), and in "
            "brackets which object its answer names",
        ),
        lambda row: _of_model(row["preference_nats"], row["names"]),
        _proposed(lambda one: one.reading and one.reading.changed),
    ),
)
"""In the order in which they are shown."""


def _of_model(number: float | None, said: str | None) -> str:
    """A number, and behind it what the model said."""
    return " ".join((rounded(number, 1), f"({shortened(said, _LONGEST)})" if said else "")).strip()


def read_entity(store: Store, asked: str) -> Entity:
    """Return the entity that an item, a page's title in the newest snapshot, or else a label names.

    Raises:
        SettingsError: there is none, or there are several; the message has names that are near, or their items.
    """
    name, newest = literal(asked), max(store.lake.partitions(STABLE_SNAPSHOTS.name), default="0001-01-01")
    known = f"""
        SELECT entity_id, page_id, title AS name, 2 AS way FROM {STABLE_SNAPSHOTS.name}
        WHERE window_start = DATE '{newest}' AND namespace = 0
        UNION ALL SELECT entity_id, NULL, label, 3 FROM {WIKIDATA_ENTITIES.name}
        UNION ALL SELECT subject_id, NULL, label, 4 FROM {FACT_SUBJECTS.name}
    """
    with store.asking(*_OF_NAMES) as answer:
        found = answer(
            f"""
            SELECT DISTINCT entity_id, CASE WHEN entity_id IS NULL THEN page_id END AS page_id
            FROM ({known}) WHERE {name} IN (entity_id, name)
            QUALIFY dense_rank() OVER (ORDER BY CASE entity_id WHEN {name} THEN 1 ELSE way END) = 1 ORDER BY ALL
            """
        ).to_pylist()
        if len(found) > 1:
            items = ", ".join(row["entity_id"] or f"page {row['page_id']}" for row in found)
            raise SettingsError(f"--entity {asked}: {len(found)} entities have that name: {items}; name the item")
        if not found:
            column = "entity_id" if re.fullmatch(r"Q[1-9]\d*", asked) else "name"
            near = answer(
                f"""
                SELECT near FROM (SELECT {column} AS near FROM ({known})) WHERE near IS NOT NULL GROUP BY near
                ORDER BY jaro_winkler_similarity(lower(near), lower({name})) DESC, near LIMIT {_NEAR}
                """
            )["near"].to_pylist()
            raise SettingsError(
                f"--entity {asked}: found no such item, title or label; near it: {', '.join(near) or 'nothing'}; "
                "expected an item (Q42), the title of an article in the newest snapshot, or a label"
            )
        ((entity_id, page_id),) = (row.values() for row in found)
        (told,) = answer(_about(_BORN, entity_id, page_id).replace("$newest", newest)).to_pylist()
    page_id = told.pop("page_id")
    return Entity(told.pop("name") or asked, entity_id, page_id, {what: words for what, words in told.items() if words})


def read_sections(store: Store, entity: Entity) -> Iterator[tuple[Section, list[dict[str, Any]]]]:
    """Yield the kinds of items with those that are about an entity."""
    with store.asking(*(name for one in SECTIONS for name in one.part.needs)) as answer:
        for one in SECTIONS:
            yield one, answer(_about(one.part.query, entity.entity_id, entity.page_id)).to_pylist()


def _about(query: str, entity_id: str | None, page_id: int | None) -> str:
    """SQL in which an entity and its page are in their places."""
    own = literal(entity_id) if entity_id else "NULL::VARCHAR"
    return query.replace("$entity", own).replace("$page", str(page_id or "NULL"))


_OF_NAMES = tuple(
    one.name for one in (STABLE_SNAPSHOTS, WIKIDATA_ENTITIES, FACT_SUBJECTS, ENTITY_ORIGINS, ENTITY_POPULARITY)
)
_BORN = f"""
    WITH page AS (
        FROM {STABLE_SNAPSHOTS.name}
        WHERE window_start = DATE '$newest' AND namespace = 0 AND (entity_id = $entity OR page_id = $page)
        ORDER BY page_id LIMIT 1
    )
    SELECT any_value(page_id) AS page_id, coalesce(any_value(title), (
               SELECT max_by(label, dump_date) FROM {WIKIDATA_ENTITIES.name} WHERE entity_id = $entity
           )) AS name,
           $entity AS item,
           any_value(concat(page_id, ' at the cut ', cut, ', revision ', revision_id, ', ', dump_id)) AS page,
           any_value(strftime(page_created_at, '%Y-%m-%d')) AS "page since",
           any_value(strftime(article_since, '%Y-%m-%d')) AS "article since", (
               SELECT max_by(concat(origin_from, ' to ', origin_to - 1, ' (', origin_property, ', known to the ',
                                    origin_precision, '), ', dump_id), dump_date)
               FROM {ENTITY_ORIGINS.name} WHERE entity_id = $entity AND origin_from IS NOT NULL
           ) AS origin, (
               SELECT max_by(concat(n_inlinks, ' mentions in other articles by ', n_surfaces, ' surfaces, ',
                                    n_revisions, ' revisions by ', n_contributors, ' contributors'), cut)
               FROM {ENTITY_POPULARITY.name}
               WHERE window_start = DATE '$newest' AND page_id = (SELECT page_id FROM page)
           ) AS popularity
    FROM page
"""
