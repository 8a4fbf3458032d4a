"""The dataset card of a TempEL release, with the headings of the paper's datasheet (appendix A.2)."""

from tempkb.benchmarks.card import SOURCES, Card
from tempkb.benchmarks.linkable.pool_names import fixed_size
from tempkb.benchmarks.linkable.sentences import N_WORDS
from tempkb.benchmarks.methods import Options
from tempkb.benchmarks.register import partition_of
from tempkb.benchmarks.tempel.candidates import filters_of
from tempkb.benchmarks.tempel.releases import Release
from tempkb.benchmarks.tempel.retrieval import retrieval_pool
from tempkb.benchmarks.tempel.tables import TEMPEL_MENTIONS, TEMPEL_RELEASES, TEMPEL_STATISTICS
from tempkb.store.parquet import read_parquet
from tempkb.store.store import Store

_INTRO = """\
Entity linking on snapshots of {wiki}, after TempEL (Zaporojets et al., NeurIPS 2022 Datasets and Benchmarks), made with
tempkb {{version}}."""
_MOTIVATION = """\
Made to measure how much entity linking loses when texts and entities change. *Continual* entities are articles at every
snapshot; *new* entities became articles after the snapshot before."""
_COMPOSITION = """\
Each line of `train/`, `validation/` and `test/` is a mention with its context and its target; `entities/` has the
candidates of each snapshot with their texts. `parquet/` has the same as tables, with the plan and all statistics.
{equal}

{table}

Lengths (`target_len`, `anchor_len`) are in words; `*_len_chars` are in Unicode code points, as in the files of TempEL
1.0. Titles (`target_title`, `anchor_title`) have underscores in the lines, as in these files, and spaces in `parquet/`.
A mention's surface is at [`start_char`, `end_char`) in the readable text of revision `anchor_revision_id`."""
_RETRIEVAL = """\
`retrieval/` has the same for tools of retrieval: mentions are queries, and entities are documents. Each snapshot has a
folder in the layout of BEIR, which `GenericDataLoader("retrieval/2022-01-01").load(split="test")` of a day's folder
reads; other splits are train, validation, and test-continual and test-new, if there are such mentions.
`mteb_task.py` is a task of MTEB over all snapshots, whose scores are the shares of mentions whose entity is among the
first K. It needs mteb and the files beside it.

A query is the mention, and behind it the {n_words} words on either side with the mention between them. A document is
the entity's title and the first words of its article. {pool} Both tools hold all documents of a snapshot in memory."""
_OWN = """\
The documents are all entities of the snapshot; their number grows with the wiki, and among more of them fewer mentions
are found. A pool of fixed size (`--retrieval fixed`) compares snapshots fairly."""
_FIXED = """\
The documents of each snapshot are a pool of {n} entities, or of as many as the poorest snapshot has (`task.json` has
the numbers): those of the snapshot's tests, filled up with articles that are there at all snapshots. A mention whose
entity is not among them, as may happen in train and validation, cannot be found."""
_COLLECTION = """\
From these dumps. Each text is the one that was visible longest in the {days:g} days before its snapshot:

{files}"""
_PREPROCESSING = """\
Wikitext was made readable offline, with a fixed table of templates. Links were resolved at the snapshot, and redirects
were followed. The filters in their order, at the last snapshot, with the numbers of surfaces of entities and of
mentions that each dropped of what the filters before it had left:

{filters}

`design.json` has the design: every hyperparameter by its name in table 3 of the paper."""
_USES = """\
Training and evaluating entity linkers across time. Not for judging people or places, because volunteers wrote the
texts."""
_DISTRIBUTION = """\
Texts are from {wiki} and under [CC BY-SA 4.0](https://creativecommons.org/licenses/by-sa/4.0/), and so is this dataset.
The histories of the pages, which are found by page and revision number, name the authors. A program made surfaces,
spans and counts."""


def card_of(store: Store, release: Release, options: Options) -> Card:
    """Return the card of a release that is built, exported with these options."""
    (version,) = store.lake.versions(TEMPEL_RELEASES.name, [release.name])
    row = read_parquet(version.paths()).to_pylist()[0]
    (numbers,) = store.lake.versions(TEMPEL_STATISTICS.name, [release.name])
    figures = read_parquet(numbers.paths()).to_pylist()
    if row["is_equal"]:
        equal = "All snapshots have the same numbers of entities and mentions."
    elif release.design.equal_snapshots:
        equal = f"Snapshots are not equal: one falls short of the plan by {row['shortfall']:.1%}."
    else:
        equal = "Snapshots are not equal: by its design, each has all that passes the filters."
    days = release.design.stable_interval / 86_400
    return Card(
        licence="cc-by-sa-4.0",
        tasks=("entity-linking",),
        intro=_INTRO.format(wiki=row["wiki"]),
        sections=(
            ("Motivation", _MOTIVATION),
            ("Composition", _COMPOSITION.format(equal=equal, table=_counts(figures))),
            *_retrieval(options.get("retrieval", "")),
            ("Collection process", _COLLECTION.format(days=days, files=SOURCES)),
            ("Preprocessing, cleaning, labelling", _PREPROCESSING.format(filters=_filters(figures, release))),
            ("Uses", _USES),
            ("Distribution", _DISTRIBUTION.format(wiki=row["wiki"])),
        ),
        maintenance="Later snapshots are added without changing these.",
        made=store.lake.versions(TEMPEL_MENTIONS.name, [partition_of(release.name, cut) for cut in release.cuts]),
    )


def _retrieval(asked: str) -> list[tuple[str, str]]:
    """The section about the files for tools of retrieval, if they were asked for."""
    if not asked:
        return []
    pool = retrieval_pool(asked)
    n = fixed_size(pool)
    documents = _OWN if n is None else _FIXED.format(n=f"{n:,}")
    return [("Retrieval", _RETRIEVAL.format(n_words=N_WORDS, pool=documents))]


def _counts(figures: list[dict[str, object]]) -> str:
    found: dict[tuple[object, object], dict[object, object]] = {}
    for one in figures:
        if one["figure"] == "table_1":
            found.setdefault((one["cut"], one["series"]), {})[one["label"]] = one["value"]
    lines = ["| snapshot | category and subset | entities | mentions |", "| --- | --- | ---: | ---: |"]
    lines += [
        f"| {cut} | {series} | {counts['entities']:,.0f} | {counts['mentions']:,.0f} |"
        for (cut, series), counts in sorted(found.items(), key=lambda pair: (str(pair[0][0]), str(pair[0][1])))
    ]
    return "\n".join(lines)


def _filters(figures: list[dict[str, object]], release: Release) -> str:
    dropped: dict[str, dict[object, object]] = {}
    for one in figures:
        name, _, how = str(one["series"]).partition(", ")
        if one["figure"] == "figure_6" and one["cut"] == release.cuts[-1] and how == "in_order":
            dropped.setdefault(name, {})[one["label"]] = one["value"]
    lines = ["| filter | surfaces of entities | mentions |", "| --- | ---: | ---: |"]
    lines += [
        f"| {name} | {dropped[name]['surfaces of entities']:,.0f} | {dropped[name]['mentions']:,.0f} |"
        for name in (one.name for one in filters_of(release.design))
        if name in dropped
    ]
    return "\n".join(lines)
