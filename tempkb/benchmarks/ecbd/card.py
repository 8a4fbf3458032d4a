"""The dataset card of an ECBD release."""

from tempkb.benchmarks.card import SOURCES, Card
from tempkb.benchmarks.ecbd.releases import Release
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_RELEASES, TABLES
from tempkb.benchmarks.ecbd.views import CATEGORIES, DATA_STATISTICS, ORIGIN_YEARS
from tempkb.benchmarks.methods import Options
from tempkb.store.materialise import markdown
from tempkb.store.memory import asking, view_files
from tempkb.store.plain import plain_rows
from tempkb.store.store import Store

_INTRO = """\
Entity Cloze By Date, made with tempkb {{version}}: {n_items:,} cloze items about {n_entities:,} entities that
originated from {study_from} to {study_to} (not included){popular}. All texts are from {wiki}, at the cut {cut}."""
_COMPOSITION = """\
`<year>/np_spans_<split>.json` and `<year>/random_spans_<split>.json`, and the same files in `popular/`, have one item
per line with the released nine fields. `ekp/<kind>_<split>.json` has the same items with the fields of the follow-up
paper. An `ex_id` is unique among the items of one kind of spans, as in the released data; `cloze_id` in `parquet/` is
unique among all items. `parquet/` has the tables with dates, offsets, revisions and all intermediate choices, and
`design.json` the design. All items of an entity are in the same split.

{years}

{statistics}

Percentages of the entities by category:

{categories}"""
_COLLECTION = """\
Rules: preset `{preset}`. Noun phrases: {chunker}. From these files:

{files}

Origins keep the precision that they have in Wikidata; no part of a date is filled in. A sentence is what the article
said at the cut, which may be more than was known when the entity was new; `sentence_since` says since when the article
has it."""
_USES = """\
To measure what a model infers about entities that are newer than its training data. `parquet/` has the interval of days
of each entity's origin, so that each model can be tested with entities that are newer. `answer_in_definition` marks
items whose answer is in the definition."""
_DISTRIBUTION = """\
The texts are from Wikipedia, under [CC BY-SA 4.0](https://creativecommons.org/licenses/by-sa/4.0/). The page and
revision of every sentence are given, so that its authors can be found. Dates, classes and names are Wikidata's
(CC0)."""


def card_of(store: Store, release: Release, _options: Options) -> Card:
    """Return the card of a release that is built."""
    (row,) = plain_rows(store.read(ECBD_RELEASES.name, release=release.name))
    with asking() as connection:
        for table in TABLES:
            view_files(connection, table.name, store.lake.files(table.name, [release.name]))
        n_items, n_entities, n_popular = connection.execute(
            "SELECT count(*), count(DISTINCT page_id) FILTER (WHERE subset = 'odie'), "
            f"count(DISTINCT page_id) FILTER (WHERE subset = 'popular') FROM {ECBD_CLOZE.name}"
        ).fetchall()[0]

        def table_of(query: str) -> str:
            return markdown(connection.sql(query).to_arrow_table())

        every = "CASE WHEN origin_year = 0 THEN 'all' ELSE origin_year::VARCHAR END AS origin_year"
        years = table_of(
            f"SELECT {every}, n_dev, n_test, n_entities FROM ({ORIGIN_YEARS.query}) AS y ORDER BY y.origin_year"
        )
        statistics = table_of(
            "SELECT * EXCLUDE (release) REPLACE (round(mean_span_words, 2) AS mean_span_words, "
            f"round(proper_share, 3) AS proper_share) FROM ({DATA_STATISTICS.query}) ORDER BY subset"
        )
        categories = table_of(
            f"SELECT {every}, category, n_entities, round(per_cent, 1) AS per_cent "
            f"FROM ({CATEGORIES.query}) AS c ORDER BY c.origin_year, place"
        )
    return Card(
        licence="cc-by-sa-4.0",
        tasks=("fill-mask",),
        intro=_INTRO.format(
            n_items=n_items,
            n_entities=n_entities,
            study_from=row["study_from"],
            study_to=row["study_to"],
            wiki=row["wiki"],
            cut=row["cut"],
            popular=f", and {n_popular:,} popular ones" if n_popular else "",
        ),
        sections=(
            ("Composition", _COMPOSITION.format(years=years, statistics=statistics, categories=categories)),
            (
                "Collection process",
                _COLLECTION.format(preset=row["preset"], chunker=row["chunker"], files=SOURCES),
            ),
            ("Uses", _USES),
            ("Distribution", _DISTRIBUTION),
        ),
        made=store.lake.versions(ECBD_CLOZE.name, [release.name]),
    )
