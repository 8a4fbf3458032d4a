"""Builds a release of ECBD from the tables of a cut and of a Wikidata dump, and its prompts. Does not use Dagster.

A release is frozen: once its row in `ecbd_releases` is written, nothing of it is written again. Tables of a run that
ended before that are made again, so that no release has two chunkers.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from tempkb.benchmarks.chunking import Chunker, open_chunker, spacy_splitter
from tempkb.benchmarks.ecbd.design import Design
from tempkb.benchmarks.ecbd.entities import choose_entities, n_too_short
from tempkb.benchmarks.ecbd.harvest import Harvest, Harvester
from tempkb.benchmarks.ecbd.matching import KINDS, RELEASED_KINDS, Name, NameFinder, Sighting, names_of
from tempkb.benchmarks.ecbd.popular import count_elsewhere, is_risky
from tempkb.benchmarks.ecbd.released import released_filters
from tempkb.benchmarks.ecbd.selection import select_items, spans_of, within_caps
from tempkb.benchmarks.ecbd.sentence_filters import filters_of
from tempkb.benchmarks.ecbd.sources import (
    STAGED_ENTITIES,
    STAGED_NAMES,
    STAGED_PHRASES,
    STAGED_SENTENCES,
    STAGED_SPANS,
    read_articles,
    staged,
    titles_that_lead_to,
    view_sources,
)
from tempkb.benchmarks.ecbd.tables import (
    ECBD_CLOZE,
    ECBD_ENTITIES,
    ECBD_PROMPTS,
    ECBD_RELEASES,
    ECBD_SENTENCES,
    TABLES,
    TARGET_ID,
)
from tempkb.benchmarks.ecbd.variants import VARIANTS, prompt_of
from tempkb.benchmarks.sentences import Place, Splitter, first_seen, is_whole, sentencex_splitter
from tempkb.benchmarks.work import ReleaseWork
from tempkb.core.errors import DesignError
from tempkb.core.files import open_parquet
from tempkb.core.filtering import Chain, LeftOut
from tempkb.core.prompts import Prompt
from tempkb.engine.progress import Meter
from tempkb.store.plain import plain_rows
from tempkb.store.quoting import identifier
from tempkb.store.versions import Version
from tempkb.wiki.wikidata.scope import language_of_wiki
from tempkb.wiki.wikitext.counting import count_words

_LEAST_WORDS_OF_DEFINITION = 5
_NO_DEFINITION = "no definition that is a whole sentence"


def write_release(work: ReleaseWork) -> None:
    """Write the tables of a release, unless they are written.

    The caller undoes what was written if this fails, or if a promise is broken.

    Raises:
        DesignError: the design does not fit the home, or no item is left.
        ContractError: a source is not built.
        SettingsError: the design needs a spaCy model that is missing.
    """
    # The release's row is written last. Other tables are checked as well, because one may be lost to damage.
    if all(work.stands(table, work.release.name) for table in TABLES):
        work.log(f"{work.release.name}: is built already")
    else:
        _Builder(work).build()


class _Builder:
    """Builds one release; intermediate results are files of its folder, which one connection reads."""

    def __init__(self, work: ReleaseWork) -> None:
        self.work, self.connection = work, work.connection
        self.design: Design = work.release.design
        self._left_out = {table: LeftOut() for table in (ECBD_ENTITIES.name, ECBD_SENTENCES.name, ECBD_CLOZE.name)}
        self._language = language_of_wiki(work.store.home.settings)

    def build(self) -> None:
        """Build the release."""
        # The chunker is opened first, so that a missing model is reported at once and not after hours.
        design, warn = self.design, self.work.warnings.append
        chunker = open_chunker(design.noun_chunker, design.spacy_model, self._language, warn)
        view_sources(self.work)
        self._left_out[ECBD_ENTITIES.name].merge(choose_entities(self.connection, design, self._language))
        finder, names = self._name_entities()
        self._harvest(finder, names)
        self._parse(chunker)
        self._span()
        select_items(self.work, self._left_out[ECBD_CLOZE.name])
        self._refuse_nothing()
        self._write(chunker)

    def _name_entities(self) -> tuple[NameFinder, dict[int, dict[str, Name]]]:
        """Return an automaton of all names, and the names of each entity, without those that are too risky."""
        redirects = titles_that_lead_to(self.connection) if self.design.redirect_names else {}
        rows = self.connection.execute("SELECT page_id, title, label, aliases FROM chosen ORDER BY page_id").fetchall()
        kinds = RELEASED_KINDS if self.design.rules == "released" else KINDS
        names = {
            page: {
                name.text: name
                for name in names_of(title, label, aliases, redirects.get(page, ()), kinds, self._language)
            }
            for page, title, label, aliases in rows
        }
        if not names:
            n, least = n_too_short(self.connection) if self.design.popular else 0, self.design.min_words
            cause = f"min_words {least} left none of {n:,} popular articles; lower it: --set min_words=N. By origin: "
            raise DesignError(f"{self.work.release.name}: no entity is left: {cause if n else ''}{self._reasons()}")
        finder = NameFinder(sorted({name for own in names.values() for name in own}), self._language)
        counts, n = count_elsewhere(self.connection, finder, names, self.design.alias_sample, self.design.seed)
        self.work.log(
            f"{len(names):,} entities have {len(finder.names):,} names; {n:,} articles searched for risky ones"
        )
        rated: list[dict[str, Any]] = []
        for page, own in names.items():
            for name in list(own.values()):
                elsewhere = counts.get((page, name.text), 0)
                risky = is_risky(name, elsewhere, n, self.design.risky_share)
                rated.append(
                    {
                        "page_id": page,
                        "name": name.text,
                        "kind": name.kind,
                        "n_articles_elsewhere": elsewhere,
                        "is_risky": risky,
                    }
                )
                if risky and self.design.risky_aliases == "drop":
                    del own[name.text]
                    left_out = self._left_out[ECBD_SENTENCES.name]
                    left_out.add("risky alias, not looked for", f"{name.text} (page {page})")
        with staged(self.work, "names", STAGED_NAMES) as extend:
            extend(rated)
        return finder, names

    def _harvest(self, finder: NameFinder, names: Mapping[int, Mapping[str, Name]]) -> None:
        """Read every article, and stage its definition and the sentences that are kept."""
        design = self.design
        harvester = Harvester(finder, self._splitter(), self._filters(), design.lists, design.rules)
        (earliest,) = self.connection.execute("SELECT min(window_start) FROM snapshots").fetchall()[0]
        (total,) = self.connection.execute(
            "SELECT coalesce(sum(n_chars), 0) FROM texts SEMI JOIN chosen USING (page_id, revision_id)"
        ).fetchall()[0]
        done = 0
        with (
            Meter("reading articles", total, self.work.log) as meter,
            staged(self.work, "entities_read", STAGED_ENTITIES) as entities,
            staged(self.work, "sentences", STAGED_SENTENCES) as sentences,
        ):
            for article, earlier in read_articles(self.connection, names):
                found = harvester.harvest(article)
                done += len(article.text)
                meter.at(done)
                if not _is_definition(found.definition):
                    example = f"{article.title} (page {article.page_id})"
                    self._left_out[ECBD_ENTITIES.name].add(_NO_DEFINITION, example)
                    continue
                self._left_out[ECBD_SENTENCES.name].merge(found.left_out)
                page, (definition, *_) = article.page_id, found.definition
                entities([{"page_id": page, "definition": definition, "definition_sentences": found.definition}])
                sentences(_sentence_rows(page, found, earlier, earliest))

    def _filters(self) -> Chain[Sighting]:
        design = self.design
        if design.rules == "released":
            return released_filters(design.min_sentence_words)
        return filters_of(design.min_sentence_words, self._language, strict=design.strict_answers)

    def _splitter(self) -> Splitter:
        if self.design.sentences == "spacy":
            return spacy_splitter(self.design.spacy_model, self._language)
        return sentencex_splitter(self._language)

    def _parse(self, chunker: Chunker) -> None:
        """Stage the noun phrases of each distinct sentence."""
        distinct = "FROM (SELECT DISTINCT sentence FROM sentences)"
        query = f"SELECT coalesce(sum(strlen(sentence)), 0), count(*) {distinct}"
        total, n = self.connection.execute(query).fetchall()[0]
        self.work.log(f"{n:,} distinct sentences; noun phrases by {chunker.name}")
        done = 0
        with (
            Meter("parsing sentences", total, self.work.log) as meter,
            staged(self.work, "phrases", STAGED_PHRASES) as extend,
        ):
            for batch in self.work.rows(f"SELECT sentence {distinct} ORDER BY sentence"):
                texts = batch.column(0).to_pylist()
                for sentence, chunks in zip(texts, chunker.chunks(texts), strict=True):
                    done += len(sentence.encode())
                    meter.at(done)
                    extend([{"sentence": sentence, "chunks": [one._asdict() for one in chunks]}])

    def _span(self) -> None:
        """Stage the spans of each sentence, up to the limit of each entity."""
        batches = self.work.rows(
            """
            SELECT page_id, sentence_start_char, sentence, mention_start_char, mention_end_char, chunks
            FROM sentences JOIN phrases USING (sentence) ORDER BY page_id, sentence_start_char
            """
        )
        rows = (row for batch in batches for row in plain_rows(batch))
        with staged(self.work, "spans", STAGED_SPANS) as extend:
            for page_id, own in groupby(rows, key=itemgetter("page_id")):
                found = [span for row in own for span in spans_of(row, self.design, self._language)]
                kept, n_over = within_caps(found, self.design)
                self._left_out[ECBD_CLOZE.name].add("beyond max_spans_per_entity", f"page {page_id}", n_over)
                extend(kept)

    def _refuse_nothing(self) -> None:
        (n,) = self.connection.execute("SELECT count(*) FROM items").fetchall()[0]
        if not n:
            raise DesignError(
                f"{self.work.release.name}: no item is left ({self._reasons()}). Take another cut or study, or lower "
                f"min_words (now {self.design.min_words})"
            )
        subsets = {*self.connection.execute("SELECT DISTINCT subset FROM items JOIN chosen USING (page_id)").fetchall()}
        if self.design.dump_id and ("odie",) not in subsets:
            self.work.warnings.append(
                f"{self.work.release.name} has only popular entities, which say nothing of time: none that began from "
                f"{self.design.first} to {self.design.end} has an item ({self._reasons()}). Take another study or cut"
            )

    def _reasons(self) -> str:
        counted = [pair for one in self._left_out.values() for pair in one.counts.items()]
        return "; ".join(f"{n} x {reason}" for reason, n in counted) or "no article at all"

    def _write(self, chunker: Chunker) -> None:
        release, design = self.work.release, self.design
        self.work.settings["chunker"] = chunker.name
        values = {"release": release.name, "cut": design.cut, "chunker": chunker.name}
        for table, query in ((ECBD_ENTITIES, _ENTITIES), (ECBD_SENTENCES, _SENTENCES), (ECBD_CLOZE, _CLOZE)):
            columns = ", ".join(map(identifier, table.column_names()))
            used = {name: value for name, value in values.items() if f"${name}" in query}
            rows = self.work.rows(f"SELECT {columns} FROM ({query}) ORDER BY {', '.join(table.key)}", **used)
            self.work.write(table, release.name, rows, self._left_out[table.name])
        dump_ids = self.connection.execute("SELECT DISTINCT dump_id FROM chosen ORDER BY dump_id").fetchall()
        row = {
            "wiki": self.work.store.home.wiki,
            "release": release.name,
            "preset": release.preset,
            "cut": design.cut,
            "study_from": design.first,
            "study_to": design.end,
            "wikidata_dump_id": design.dump_id or None,
            "dump_ids": [one for (one,) in dump_ids],
            "chunker": chunker.name,
            "n_parsed": chunker.n_parsed,
            "design": json.dumps(design.to_json(), sort_keys=True),
        }
        self.work.write(ECBD_RELEASES, release.name, [row])


def _is_definition(sentences: list[str]) -> bool:
    return (
        bool(sentences)
        and count_words(sentences[0]) >= _LEAST_WORDS_OF_DEFINITION
        and is_whole(sentences[0], Place(0, 0))
    )


def _sentence_rows(
    page_id: int, found: Harvest, earlier: Iterable[tuple[date, str]], earliest: date
) -> Iterator[dict[str, Any]]:
    if not found.kept:
        return
    since = first_seen([one.text for one in found.kept], earlier)
    for one, day in zip(found.kept, since, strict=True):
        yield {
            "page_id": page_id,
            "sentence_start_char": one.place.start,
            "sentence_end_char": one.place.end,
            "sentence": one.text,
            "sentence_since": day,
            "is_since_first_window": day == earliest,
            "mention": one.text[one.mention.start : one.mention.end],
            "mention_start_char": one.mention.start,
            "mention_end_char": one.mention.end,
            "mention_kind": one.kind,
        }


_ENTITIES = """
    SELECT c.* EXCLUDE (label, aliases), $release AS release, $cut AS cut, coalesce(n.names, []) AS names, e.definition,
           e.definition_sentences, s.split, coalesce(k.n_sentences, 0) AS n_sentences,
           coalesce(i.n_np, 0) AS n_np_spans, coalesce(i.n_random, 0) AS n_random_spans
    FROM chosen AS c JOIN entities_read AS e USING (page_id)
    LEFT JOIN (
        SELECT page_id, list({name: name, kind: kind, n_articles_elsewhere: n_articles_elsewhere, is_risky: is_risky}
                             ORDER BY kind <> 'title', name) AS names
        FROM names GROUP BY page_id
    ) AS n USING (page_id)
    LEFT JOIN (SELECT page_id, count(*) AS n_sentences FROM sentences GROUP BY page_id) AS k USING (page_id)
    LEFT JOIN splits AS s USING (page_id)
    LEFT JOIN (
        SELECT page_id, count(*) FILTER (WHERE span_kind = 'np') AS n_np,
               count(*) FILTER (WHERE span_kind = 'random') AS n_random
        FROM items GROUP BY page_id
    ) AS i USING (page_id)
"""
_SENTENCES = """
    SELECT c.wiki, c.dump_id, $release AS release, $cut AS cut, c.revision_id, c.entity_id, s.*, $chunker AS chunker,
           list_transform(p.chunks, lambda one: {
               start_char: one."start", end_char: one."end", is_proper: one.is_proper, is_cut: one.is_cut}) AS chunks
    FROM sentences AS s JOIN chosen AS c USING (page_id) JOIN phrases AS p USING (sentence)
"""
_CLOZE = """
    SELECT c.wiki, c.dump_id, $release AS release, $cut AS cut, i.* EXCLUDE (rank_hash, stratum), c.entity_id,
           c.revision_id, c.title, c.subset, c.origin_window, c.origin_granularity, c.origin_from, c.origin_to,
           c.origin_precision, c.origin_property, c.category, c.suspect_old_entity,
           s.* EXCLUDE (page_id, sentence_start_char, mention_kind),
           concat(substring(s.sentence, 1, i.span_start_char), '<extra_id_0>',
                  substring(s.sentence, i.span_end_char + 1)) AS masked_sentence,
           contains(e.definition, i.answer) AS answer_in_definition, e.definition,
           other.definition AS random_definition, r.random_definition_page_id,
           other_chosen.category AS random_definition_category, $chunker AS chunker
    FROM items AS i JOIN chosen AS c USING (page_id) JOIN entities_read AS e USING (page_id)
    JOIN sentences AS s USING (page_id, sentence_start_char)
    LEFT JOIN random_definitions AS r USING (cloze_id)
    LEFT JOIN entities_read AS other ON other.page_id = r.random_definition_page_id
    LEFT JOIN chosen AS other_chosen ON other_chosen.page_id = r.random_definition_page_id
"""


NO_CHUNK = "no_ent_chunk: no noun phrase was found around the mention, or it overlaps the answer"
NO_DEFINITION = "random_definition: no other entity's definition fits the item"
_BATCH_ROWS = 1 << 12
_PLACES = (
    "mention_start_char",
    "mention_end_char",
    "span_start_char",
    "span_end_char",
    "mention_chunk_start_char",
    "mention_chunk_end_char",
)
_TEXTS = ("sentence", "definition", "random_definition")
_ABOUT = ("release", "origin_from", "cloze_id", "entity_id", "page_id", "split")


def write_prompts(work: ReleaseWork) -> None:
    """Write the prompts of a release's items, unless they stand.

    Raises:
        ContractError: the release's items are not built.
    """
    name, left_out = work.release.name, LeftOut()
    if not work.stands(ECBD_PROMPTS, name):
        (items,) = work.read(ECBD_CLOZE, name)
        work.write(ECBD_PROMPTS, name, (prompt_rows(batch, left_out) for batch in _batches(items)), left_out)


def prompt_rows(items: pa.RecordBatch, left_out: LeftOut) -> pa.Table:
    """Return the prompts of items in key order.

    Args:
        items: rows of `ecbd_cloze` in key order.
    """
    names = items.column("cloze_id").to_pylist()
    columns = [items.column(name).to_pylist() for name in (*_TEXTS, *_PLACES)]
    of_item: list[int] = []
    variants: list[str] = []
    prompts: list[Prompt] = []
    for at, (sentence, definition, other, *ends) in enumerate(zip(*columns, strict=True)):
        mention, answer, chunk = (Place(*ends[n : n + 2]) for n in (0, 2, 4))
        around = None if chunk.start is None else chunk
        for variant in sorted(VARIANTS):
            prompt = prompt_of(variant, sentence, mention, answer, definition, other, around)
            if prompt is None:
                left_out.add(NO_CHUNK if variant == "no_ent_chunk" else NO_DEFINITION, names[at])
                continue
            of_item.append(at)
            variants.append(variant)
            prompts.append(prompt)
    about = {name: items.column(name).take(pa.array(of_item, pa.int64())) for name in _ABOUT}
    n = len(prompts)
    pages = about["page_id"].cast(pa.string())
    return ECBD_PROMPTS.conform(
        pa.table(
            {
                "release": about["release"],
                "window_start": about["origin_from"],
                "item_id": about["cloze_id"],
                "target_id": pa.repeat(TARGET_ID, n),
                "variant": pa.array(variants, pa.string()),
                "prompt_id": pa.array([one.prompt_id for one in prompts], pa.string()),
                "left_context": pa.array([one.left for one in prompts], pa.string()),
                "target": pa.array([one.target for one in prompts], pa.string()),
                "right_context": pa.array([one.right for one in prompts], pa.string()),
                "role": pa.repeat("current", n),
                "stands_for_id": pa.nulls(n, pa.string()),
                "cluster_id": about["entity_id"].fill_null(pages) if n else about["entity_id"],
                "split": about["split"],
            }
        )
    )


def _batches(items: Version) -> Iterator[pa.RecordBatch]:
    columns: Sequence[str] = (*_ABOUT, *_TEXTS, *_PLACES)
    for path in items.paths():
        with open_parquet(path) as file:
            yield from file.iter_batches(_BATCH_ROWS, columns=list(columns))
