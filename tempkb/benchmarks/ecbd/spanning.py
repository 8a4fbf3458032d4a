"""Makes the spans of a sentence that may be masked, and limits their number for each entity. Pure."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.ecbd.chunking import Chunk
from tempkb.benchmarks.ecbd.design import Design
from tempkb.benchmarks.ecbd.released_spans import Tokens, released_noun_spans, released_random_spans
from tempkb.benchmarks.ecbd.sentences import Place
from tempkb.benchmarks.ecbd.spans import NP, RANDOM, Reach, Span, noun_spans, random_spans

Row = dict[str, Any]


def spans_of(row: Mapping[str, Any], design: Design, language: str) -> Iterator[Row]:
    """Yield the spans of a sentence as rows.

    Args:
        row: page_id, sentence_start_char, sentence, the mention's offsets and the chunks.
    """
    sentence = row["sentence"]
    mention = Place(row["mention_start_char"], row["mention_end_char"])
    chunks = [Chunk(**one) for one in row["chunks"]]
    key = (row["page_id"], sentence)
    if design.rules == "released":
        tokens = Tokens(sentence, language)
        spans = [
            *released_noun_spans(tokens, mention, chunks),
            *released_random_spans(tokens, mention, design.seed, *key),
        ]
    else:
        reach = Reach(sentence, mention, design.limits, language)
        spans = [*noun_spans(reach, chunks), *random_spans(reach, design.seed, *key)]
    around = _chunk_around(mention, chunks)
    for span in spans:
        yield {
            "page_id": row["page_id"],
            "sentence_start_char": row["sentence_start_char"],
            "cloze_id": cloze_id(row["page_id"], sentence, span),
            "span_kind": span.kind,
            "np_type": span.np_type,
            "n_span_words": span.n_words,
            "n_words_after_mention": span.distance,
            "span_start_char": span.start,
            "span_end_char": span.end,
            "answer": sentence[span.start : span.end],
            "mention_chunk_start_char": around.start if around else None,
            "mention_chunk_end_char": around.end if around else None,
            "rank_hash": draw(design.seed, "span", row["page_id"], sentence, span.kind, span.start, span.end),
        }


def cloze_id(page_id: int, sentence: str, span: Span) -> str:
    """Return the id of an item, made of its page, kind, sentence and span, so that it is the same in every release."""
    content = f"{sentence}\x1f{span.start}\x1f{span.end}"
    digest = hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{page_id}-{span.kind}-{digest}"


def within_caps(spans: Sequence[Row], design: Design) -> tuple[list[Row], int]:
    """Return the spans of an entity that are kept, in the order of their hashes, and how many are dropped.

    If the design balances the kinds, spans are taken from both in turn, so that neither uses up the places.
    """
    ordered = sorted(spans, key=lambda one: (one["rank_hash"], one["cloze_id"]))
    most = design.max_spans_per_entity
    by_kind = [[one for one in ordered if one["span_kind"] == kind] for kind in (NP, RANDOM)]
    if design.caps == "separate":
        kept = [one for own in by_kind for one in own[:most]]
    elif design.balance_kinds:
        kept = [one for pair in zip_longest(*by_kind) for one in pair if one is not None][:most]
    else:
        kept = ordered[:most]
    return kept, len(ordered) - len(kept)


def _chunk_around(mention: Place, chunks: Sequence[Chunk]) -> Chunk | None:
    """The shortest noun phrase that contains the whole mention."""
    around = [one for one in chunks if one.start <= mention.start and mention.end <= one.end]
    return min(around, key=lambda one: (one.end - one.start, one.start), default=None)
