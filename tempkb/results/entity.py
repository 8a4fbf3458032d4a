"""Reads one entity through all benchmarks: when it originated, what asks about it, and what models make of that."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.fact_queries.tables import FACT_SPELLS, FACT_SUBJECTS
from tempkb.benchmarks.reading import united
from tempkb.core.errors import SettingsError
from tempkb.core.wording import rounded, shortened
from tempkb.models.linking.known import rows_of
from tempkb.models.linking.tables import LINKING_SCORES
from tempkb.models.scores.tables import PROMPT_SCORES
from tempkb.results.judged_tables import JUDGED_ANSWERS, JUDGED_CHANGES
from tempkb.store.listings import Across, Listing, named
from tempkb.store.quoting import literal
from tempkb.store.store import Store
from tempkb.wiki.mentions.tables import ENTITY_POPULARITY
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.tables import ENTITY_ORIGINS, WIKIDATA_ENTITIES

_N_NEAR, _LONGEST = 5, 30
_MENTIONS = rows_of("mentions")
_TEXTS, _SENTENCES, _FACTS, _CHANGES = (
    united([part for one in BENCHMARKS if one.reading and (part := getattr(one.reading, name))])
    for name in ("texts", "sentences", "facts", "changes")
)


class Entity(NamedTuple):
    """An entity by its Wikidata item (QID), its page in the newest snapshot, and that snapshot's window; or None."""

    entity_id: str | None
    page_id: int | None
    newest: str

    def about(self, query: str) -> str:
        """Return SQL with the entity in the place of $entity, $page and $newest."""
        values = {"$entity": self.entity_id and literal(self.entity_id), "$page": self.page_id, "$newest": self.newest}
        for name, value in values.items():
            query = query.replace(name, str(value or "NULL"))
        return query


def _answered(number: float | None, said: str | None) -> str:
    """A number, and behind it what a model said."""
    return " ".join((rounded(number, 1), f"({shortened(said, _LONGEST)})" if said else "")).strip()


_ANCHOR = "concat('page ', anchor_page_id, ' revision ', m.anchor_revision_id)"
_MODELS = "models"
LISTINGS = (
    Listing(
        title="origin",
        query=f"""
        WITH page AS (
            FROM {STABLE_SNAPSHOTS.name} WHERE window_start = '$newest' AND namespace = 0
            AND (entity_id = $entity OR page_id = $page) ORDER BY page_id LIMIT 1
        ), origins AS (
            SELECT max_by(concat(origin_from, ' to ', origin_to - 1, ' (', origin_property, ', ', origin_precision,
                                 '), ', dump_id), dump_date) AS origin
            FROM {ENTITY_ORIGINS.name} WHERE entity_id = $entity AND origin_from IS NOT NULL
        ), labels AS (
            SELECT max_by(label, dump_date) AS label FROM {WIKIDATA_ENTITIES.name} WHERE entity_id = $entity
        )
        SELECT coalesce(title, label) AS name, $entity AS item, origin, page.article_since::DATE AS "article since",
               'page ' || page.page_id || ' revision ' || revision_id || ', ' || page.dump_id AS page, page.cut,
               n_inlinks AS "mentions", n_surfaces AS "surfaces", p.n_contributors AS "contributors"
        FROM origins CROSS JOIN labels LEFT JOIN page ON true
        LEFT JOIN (FROM {ENTITY_POPULARITY.name} WHERE window_start = '$newest') AS p ON p.page_id = page.page_id
        """,
        remark="mentions in other articles at the cut of the newest snapshot, and by how many surfaces",
        needs=(STABLE_SNAPSHOTS.name, ENTITY_ORIGINS.name, WIKIDATA_ENTITIES.name, ENTITY_POPULARITY.name),
    ),
    Listing(
        named("release", "cut", "category", "subset", mentions="n_mentions", surfaces="surfaces")
        | {
            "in": lambda row: shortened(row["sources"], _LONGEST),
            _MODELS: Across("model", "ranks", {}),
        },
        title="mentions",
        remark="of linkers: the rank of the entity among the candidates, mention by mention (-: not among them)",
        query=f"""
        SELECT m.release, m.cut, m.category, m.subset, count(*) AS n_mentions,
               string_agg(DISTINCT m.mention, ', ' ORDER BY m.mention) AS surfaces,
               string_agg(DISTINCT {_ANCHOR}, ', ' ORDER BY {_ANCHOR}) AS sources, s.linker AS model,
               string_agg(coalesce(s.rank::VARCHAR, '-'), ' ' ORDER BY anchor_page_id, start_char) AS ranks
        FROM ({_MENTIONS.query}) AS m
        LEFT JOIN (FROM {LINKING_SCORES.name} WHERE pool = 'own') AS s
            USING (release, cut, subset, target_page_id, anchor_page_id, start_char)
        WHERE m.target_qid = $entity OR target_page_id = $page GROUP BY ALL ORDER BY ALL
        """,
        needs=(*_MENTIONS.needs, LINKING_SCORES.name),
    ),
    Listing(
        named("release", "origin", "text", "answer")
        | {
            "source": lambda row: f"page {row['page_id']} revision {row['revision_id']}",
            _MODELS: Across("model", lambda row: _answered(row["perplexity"], row["said"]), {}),
        },
        title="cloze sentences",
        remark="of models: the perplexity of the answer, and in brackets what it said",
        query=f"""
        WITH own AS (FROM ({_TEXTS.query}) WHERE entity_id = $entity OR page_id = $page), made AS (
            SELECT release, item_id, model, exp(min(nats)) AS perplexity, NULL AS said
            FROM ({_SENTENCES.query}) WHERE entity_id = $entity GROUP BY ALL
            UNION ALL SELECT release, item_id, model, NULL, text FROM {JUDGED_ANSWERS.name}
        )
        SELECT own.*, model, min(perplexity) AS perplexity, min(said) AS said
        FROM own LEFT JOIN made USING (release, item_id) GROUP BY ALL ORDER BY release, item_id, model
        """,
        needs=(*_TEXTS.needs, *_SENTENCES.needs, PROMPT_SCORES.name, JUDGED_ANSWERS.name),
    ),
    Listing(
        named("releases", "relation", "subject", "object", **{"from": "valid_from", "to": "valid_to"})
        | {
            "statements": lambda row: shortened(row["statements"], _LONGEST),
            _MODELS: Across("model", lambda row: rounded(row["nats_per_token"], 1), {}),
        },
        title="facts",
        remark="of models: negative log-probability of a token of the object (nats)",
        query=f"""
        WITH made AS (
            SELECT model, subject_id, relation, object_id, max_by(nats / n_tokens, wording) AS nats_per_token
            FROM ({_FACTS.query}) WHERE $entity IN (subject_id, object_id) GROUP BY ALL
        )
        SELECT string_agg(DISTINCT release, ', ' ORDER BY release) AS releases, relation, subject_id,
               min(s.label) AS subject, object_id, object_label AS object, valid_from, valid_to, f.dump_id,
               array_to_string(list_transform(members, lambda one: one.fact_id), ', ') AS statements, model,
               nats_per_token
        FROM {FACT_SPELLS.name} AS f LEFT JOIN {FACT_SUBJECTS.name} AS s USING (release, relation, subject_id)
        LEFT JOIN made USING (subject_id, relation, object_id) WHERE $entity IN (subject_id, object_id)
        GROUP BY ALL ORDER BY relation, subject_id, valid_from, object_id, model
        """,
        needs=(FACT_SPELLS.name, FACT_SUBJECTS.name, *_FACTS.needs, PROMPT_SCORES.name),
    ),
    Listing(
        named("release", "relation", "item_id", old="old_label", new="new_label")
        | {
            "from": "window_start",
            "to": "window_end",
            _MODELS: Across("model", lambda row: _answered(row["preference_nats"], row["names"]), {}),
        },
        title="changes that models were asked about",
        remark="of models: by how much more the subject adds to the new object than to the old one (nats), and in "
        "brackets which of them its answer names",
        query=f"""
        SELECT s.* EXCLUDE (numbers, preference_nats), min(preference_nats) AS preference_nats, min(j.text) AS said,
               min(j.names) AS names
        FROM ({_CHANGES.query}) AS s LEFT JOIN {JUDGED_CHANGES.name} AS j
            USING (model, release, item_id, new_object_id, old_object_id)
        WHERE $entity IN (s.entity_id, new_object_id, old_object_id)
        GROUP BY ALL ORDER BY release, s.window_start, item_id, new_object_id, old_object_id, model
        """,
        needs=(*_CHANGES.needs, JUDGED_CHANGES.name),
    ),
)
"""What is known of an entity: a row for each item and model, in which $entity, $page and $newest are to be replaced."""


def read_entity(store: Store, asked: str) -> Entity:
    """Return the entity that an item, a page's title in the newest snapshot, or else a label names.

    Raises:
        SettingsError: there is none, or there are several; the message has names that are near, or their items.
    """
    name, newest = literal(asked), max(store.lake.partitions(STABLE_SNAPSHOTS.name), default="0001-01-01")
    known = f"""
        SELECT entity_id, page_id, title AS name, 2 AS way FROM {STABLE_SNAPSHOTS.name}
        WHERE window_start = '{newest}' AND namespace = 0
        UNION ALL SELECT entity_id, NULL, label, 3 FROM {WIKIDATA_ENTITIES.name}
        UNION ALL SELECT subject_id, NULL, label, 4 FROM {FACT_SUBJECTS.name}
    """
    with store.asking(STABLE_SNAPSHOTS.name, WIKIDATA_ENTITIES.name, FACT_SUBJECTS.name) as answer:
        found = answer(
            f"""
            SELECT DISTINCT entity_id, CASE WHEN entity_id IS NULL THEN page_id END AS page_id
            FROM ({known}) WHERE {name} IN (entity_id, name)
            QUALIFY dense_rank() OVER (ORDER BY CASE entity_id WHEN {name} THEN 1 ELSE way END) = 1 ORDER BY ALL
            """
        ).to_pylist()
        if len(found) == 1:
            return Entity(found[0]["entity_id"], found[0]["page_id"], newest)
        if found:
            items = ", ".join(row["entity_id"] or f"page {row['page_id']}" for row in found)
            raise SettingsError(f"--entity {asked}: {len(found)} entities have that name: {items}; name the item")
        near = answer(
            f"""
            SELECT near FROM (SELECT unnest([entity_id, name]) AS near FROM ({known})) WHERE near IS NOT NULL
            GROUP BY near ORDER BY jaro_winkler_similarity(lower(near), lower({name})) DESC, near LIMIT {_N_NEAR}
            """
        )["near"].to_pylist()
    raise SettingsError(
        f"--entity {asked}: found no such item, title or label; near it: {', '.join(near) or 'nothing'}; expected an "
        "item (Q42), the title of an article in the newest snapshot, or a label"
    )


def read_items(store: Store, entity: Entity) -> Iterator[tuple[Listing, list[Mapping[str, Any]]]]:
    """Yield each kind of what is known of an entity with its rows."""
    with store.asking(*(name for one in LISTINGS for name in one.needs)) as answer:
        for one in LISTINGS:
            yield one, answer(entity.about(one.query)).to_pylist()
