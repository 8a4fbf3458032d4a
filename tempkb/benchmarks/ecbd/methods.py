"""The methods of ECBD, which the code that all benchmarks share calls."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

import pyarrow as pa

from tempkb.benchmarks.chunking import FALLBACK
from tempkb.benchmarks.ecbd.building import write_prompts, write_release
from tempkb.benchmarks.ecbd.card import card_of, items_by_window, plot_categories, plot_windows
from tempkb.benchmarks.ecbd.design import Design, Release, make_design, read_entry
from tempkb.benchmarks.ecbd.exporting import YEAR, write_files
from tempkb.benchmarks.ecbd.reading import PROMPTING
from tempkb.benchmarks.ecbd.tables import (
    ECBD_CLOZE,
    ECBD_ENTITIES,
    ECBD_PROMPTS,
    ECBD_RELEASES,
    ECBD_SENTENCES,
    TABLES,
)
from tempkb.benchmarks.lm_eval import LmEvalTask
from tempkb.benchmarks.loading import config_of_table
from tempkb.benchmarks.methods import (
    Closing,
    Made,
    Methods,
    Options,
    Step,
    Versions,
)
from tempkb.benchmarks.prompt_steps import shows_of_prompts
from tempkb.benchmarks.register import release_files
from tempkb.benchmarks.sources import newest_cut, newest_wikidata
from tempkb.core.files import read_parquet
from tempkb.core.windows import refuse_future_cuts, refuse_unended, windows_between
from tempkb.core.wording import counted
from tempkb.engine.tasks import Picture, Rows, Shows
from tempkb.store.listings import Sheet
from tempkb.store.materialise import glance
from tempkb.store.memory import asking, view_files
from tempkb.store.plain import plain_rows
from tempkb.store.promises import Promise
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wiki.mentions.tables import ENTITY_POPULARITY, MENTIONS, PAGE_LINKS, PAGE_TEXTS
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.tables import ENTITY_CLASSES, ENTITY_ORIGINS, SUBCLASSES, WIKIDATA_ENTITIES

PROMISES = (
    Promise(
        "no_entity_is_in_both_splits",
        "No entity has items in both dev and test: every item is in the split of its entity.",
        ECBD_CLOZE,
        """
        SELECT i.release, i.cloze_id FROM ecbd_cloze AS i LEFT JOIN ecbd_entities AS e USING (release, page_id)
        WHERE e.split IS DISTINCT FROM i.split
        """,
        (ECBD_ENTITIES,),
    ),
    Promise(
        "origins_are_in_the_study",
        "The origins of the items of the subset odie are in the study.",
        ECBD_CLOZE,
        """
        SELECT release, cloze_id FROM ecbd_cloze JOIN ecbd_releases AS r USING (release)
        WHERE subset = 'odie' AND (origin_from < r.study_from OR origin_to > r.study_to)
        """,
        (ECBD_RELEASES,),
    ),
    Promise(
        "one_chunker_per_release",
        "All noun phrases of a release were found by the same program.",
        ECBD_CLOZE,
        """
        SELECT release, o.chunker FROM (
            SELECT release, chunker FROM ecbd_cloze UNION SELECT release, chunker FROM ecbd_sentences
        ) AS o JOIN ecbd_releases AS r USING (release) WHERE o.chunker <> r.chunker
        """,
        (ECBD_SENTENCES, ECBD_RELEASES),
    ),
    Promise(
        "chunker_is_spacy",
        "Warning: the bundled chunker, which is cruder than a spaCy model, found the noun phrases of these releases.",
        ECBD_RELEASES,
        "SELECT release, chunker FROM ecbd_releases WHERE contains(chunker, '(fallback)')",
        is_warning=True,
    ),
)
OF_PROMPTS = (
    Promise(
        "every_item_is_asked",
        "Every item, and nothing else, has a prompt of the variant original.",
        ECBD_PROMPTS,
        """
        SELECT coalesce(i.release, p.release), coalesce(i.cloze_id, p.item_id)
        FROM ecbd_cloze AS i FULL JOIN (FROM ecbd_prompts WHERE variant = 'original') AS p
        ON p.release = i.release AND p.item_id = i.cloze_id WHERE i.cloze_id IS NULL OR p.item_id IS NULL
        """,
        (ECBD_CLOZE,),
    ),
)


_SHOWN_ITEMS = 5


def _design(store: Store, options: Options) -> Design:
    dump_id = "" if options["dump_id"] == "none" else options["dump_id"] or newest_wikidata(store)
    cut = options["cut"] or newest_cut(store)
    design = make_design(options["preset"], options["windows"], cut, dump_id, options["popular"], options["changes"])
    today = datetime.now(UTC).date()
    refuse_future_cuts(f"--cut {design.cut}", [design.cut], today, store.home.settings.granularity, "--cut ")
    if design.end > today:
        origins = list(windows_between(design.first, design.end, design.origin_granularity))
        refuse_unended(options["windows"], origins, today, "{first}..{end}")
    return design


def _partitions(release: Release) -> Mapping[str, Sequence[str]]:
    return {table.name: [release.name] for table in (*TABLES, ECBD_PROMPTS)}


def _shows(_store: Store, _release: Release, versions: Versions) -> Shows:
    (entities,), (items,) = versions[ECBD_ENTITIES.name], versions[ECBD_CLOZE.name]
    chunker = _chunker(versions[ECBD_RELEASES.name][0])
    return {
        ECBD_ENTITIES.name: {"chunker": chunker, "picture": Picture(plot_categories(entities))},
        ECBD_SENTENCES.name: {"chunker": chunker},
        ECBD_CLOZE.name: {
            "chunker": chunker,
            "glance": Picture(glance(*items_by_window(items))),
            "picture": Picture(plot_windows(items)),
            "items": Rows(_items(items), cell=300),
        },
        ECBD_RELEASES.name: {"chunker": chunker},
    }


def _chunker(version: Version) -> str:
    row = plain_rows(read_parquet(version.paths()))[0]
    name: str = row["chunker"]
    return name if FALLBACK not in name else name.upper()


def _items(version: Version) -> pa.Table:
    """Ten items for the UI."""
    with asking() as connection:
        view_files(connection, "items", version.paths())
        return connection.sql(
            """
            SELECT title, coalesce(origin_window, 'popular') AS origin, span_kind AS kind, masked_sentence, answer
            FROM items ORDER BY md5(cloze_id) LIMIT 10
            """
        ).to_arrow_table()


def _closing(store: Store, release: Release) -> Closing:
    """Entities and items by window of origin, and some items."""
    (row,) = plain_rows(store.read(ECBD_RELEASES.name, release=release.name))
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for one in plain_rows(store.read("ecbd_balance", release=release.name)):
        by_what = counts.setdefault((one["origin_window"], one["split"]), {})
        by_what[one["span_kind"]] = one["n_items"]
        by_what["entities"] = max(by_what.get("entities", 0), one["n_entities"])
    whats = ("entities", "np", "random")
    rows = [(*key, *(by_what.get(what, 0) for what in whats)) for key, by_what in sorted(counts.items())]
    items = store.read(ECBD_CLOZE.name, release=release.name)
    # Items are in the order of their articles, so these are from different entities.
    some = range(0, items.num_rows, max(1, items.num_rows // _SHOWN_ITEMS))[:_SHOWN_ITEMS]
    shown = items.select(["masked_sentence", "answer", "origin_window"]).take(list(some))
    return Closing(
        f"{counted(items.num_rows, 'item')}, origins from {row['study_from']} to {row['study_to']}, "
        f"texts at {row['cut']}, noun phrases by {row['chunker']}",
        (
            Sheet(("origin", "split", *whats), rows),
            Sheet(("sentence", "answer", "origin"), [tuple(one.values()) for one in plain_rows(shown)]),
        ),
        "masked_sentence, answer, origin_window",
        ECBD_CLOZE.name,
    )


_STEP = Step(
    "ecbd",
    (
        Made(
            ECBD_ENTITIES,
            (STABLE_SNAPSHOTS, ENTITY_POPULARITY, WIKIDATA_ENTITIES, ENTITY_ORIGINS, ENTITY_CLASSES, SUBCLASSES),
        ),
        Made(ECBD_SENTENCES, (ECBD_ENTITIES, PAGE_TEXTS, PAGE_LINKS, MENTIONS)),
        Made(ECBD_CLOZE, (ECBD_SENTENCES,)),
        Made(ECBD_RELEASES, (ECBD_CLOZE,)),
    ),
    write_release,
    PROMISES,
    _shows,
)
_PROMPTS_STEP = Step(
    ECBD_PROMPTS.name,
    (Made(ECBD_PROMPTS, (ECBD_CLOZE, ECBD_RELEASES)),),
    write_prompts,
    OF_PROMPTS,
    shows_of_prompts(ECBD_PROMPTS),
)


def _spans(variant: str, store: Store, release: Release) -> pa.Table:
    """The spans that causal models are asked for in a variant: those that something precedes."""
    with asking() as connection:
        view_files(connection, "prompts", release_files(store, ECBD_PROMPTS, release.name))
        view_files(connection, "items", release_files(store, ECBD_CLOZE, release.name))
        return connection.sql(
            f"""
            SELECT {YEAR} AS date, item_id, p.cluster_id AS subject_id, p.split, [prompt_id] AS prompt_ids,
                   left_context, right_context, target
            FROM prompts AS p JOIN items ON cloze_id = item_id
            WHERE variant = $variant AND trim(left_context) <> '' ORDER BY date, item_id, target_id
            """,
            params={"variant": variant},
        ).to_arrow_table()


METHODS = Methods(
    design=_design,
    read_entry=read_entry,
    partitions=_partitions,
    steps=(_STEP, _PROMPTS_STEP),
    files=write_files,
    card=card_of,
    closing=_closing,
    configs=(config_of_table("cloze", ECBD_CLOZE, "a sentence with one masked span", "split", YEAR),),
    lm_eval=tuple(LmEvalTask(one, "loglikelihood", partial(_spans, one)) for one in PROMPTING.defaults),
)
