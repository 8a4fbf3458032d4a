"""Makes the prompts of ECBD: each item in each of its variants. Does not use Dagster."""

import re
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from tempkb.benchmarks.ecbd.exporting import ClozeRecord, ProbeRecord
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_PROMPTS, TARGET_ID
from tempkb.benchmarks.ecbd.variants import VARIANTS, Variant, prompt_of
from tempkb.benchmarks.sentences import MASK, Place
from tempkb.benchmarks.work import ReleaseWork
from tempkb.core.errors import ContractError
from tempkb.core.files import open_parquet
from tempkb.core.filtering import LeftOut
from tempkb.core.prompts import Prompt
from tempkb.store.versions import Version

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
# Around names of the entity in the definitions of the nine fields.
_MARKS = re.compile(r"\[ENT_(?:START|END)\]")
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


def prompts_of_record(record: ClozeRecord | ProbeRecord, others: str | None = None) -> Mapping[Variant, Prompt]:
    """Return a released record in its variants; without the noun phrases of the release, there is no `no_ent_chunk`.

    Args:
        others: first sentence about another entity, for `random_definition`; None if there is none.

    Raises:
        ContractError: the record has several answers, or its sentence does not have one mask and its mention.
    """
    masked = record.masked_sentence if isinstance(record, ClozeRecord) else record.probe
    answers = record.answer if isinstance(record, ClozeRecord) else record.labels
    parts = masked.split(MASK)
    if not isinstance(answers, str) or len(parts) != 2:
        raise ContractError(
            f"record {record.ex_id!r}: found {len(parts) - 1} masks and the answer {answers!r}; expected one of each"
        )
    sentence = answers.join(parts)
    answer = Place(len(parts[0]), len(parts[0]) + len(answers))
    mention = _mention(record, sentence, answer)
    definition = _definition(record)
    found = {one: prompt_of(one, sentence, mention, answer, definition, others) for one in VARIANTS}
    return {variant: prompt for variant, prompt in found.items() if prompt is not None}


def _mention(record: ClozeRecord | ProbeRecord, sentence: str, answer: Place) -> Place:
    """The first place of the mention as words of its own, outside the answer."""
    for found in re.finditer(rf"(?<!\w){re.escape(record.mention)}(?!\w)", sentence):
        if found.end() <= answer.start or answer.end <= found.start():
            return Place(*found.span())
    raise ContractError(f"record {record.ex_id!r}: its sentence has no {record.mention!r} outside the answer")


def _definition(record: ClozeRecord | ProbeRecord) -> str:
    if isinstance(record, ClozeRecord):
        return _MARKS.sub("", record.definition[0])
    return record.definition.replace(MASK, record.definition_answer)


def _batches(items: Version) -> Iterator[pa.RecordBatch]:
    columns: Sequence[str] = (*_ABOUT, *_TEXTS, *_PLACES)
    for path in items.paths():
        with open_parquet(path) as file:
            yield from file.iter_batches(_BATCH_ROWS, columns=list(columns))
