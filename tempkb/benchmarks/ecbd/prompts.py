"""Makes the prompts of ECBD: each item in each of its variants. Does not use Dagster."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from tempkb.benchmarks.ecbd.sentences import Place
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_PROMPTS, TARGET_ID
from tempkb.benchmarks.ecbd.variants import VARIANTS, prompt_of
from tempkb.benchmarks.work import ReleaseWork
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
