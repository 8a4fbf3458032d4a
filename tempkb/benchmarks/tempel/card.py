"""The dataset card of a release: the headings of the paper's datasheet (appendix A.2), filled from the data."""

from tempkb.benchmarks.card import SOURCES, Card
from tempkb.benchmarks.tempel.candidates import filters_of
from tempkb.benchmarks.tempel.releases import Release
from tempkb.benchmarks.tempel.tables import TEMPEL_RELEASES, TEMPEL_STATISTICS
from tempkb.store.parquet import read_parquet
from tempkb.store.store import Store

_INTRO = """\
Entity linking on snapshots of {wiki}, after TempEL (Zaporojets et al., NeurIPS 2022 Datasets and Benchmarks), made with
tempkb {{version}}."""
_MOTIVATION = """\
Made to measure how linking of mentions to entities suffers when texts and entities change: *continual* entities are
articles at every snapshot, *new* ones came to be since the snapshot before."""
_COMPOSITION = """\
Each line of `train/`, `validation/` and `test/` is a mention with its context and its target; `entities/` holds the
candidates of each snapshot with their texts. `parquet/` holds the same as tables, with the plan and all statistics.
{equal}

{table}

Lengths (`target_len`, `anchor_len`) are in words between white space; `*_len_chars` in Unicode code points, which is
what the files of TempEL 1.0 hold. Titles (`target_title`, `anchor_title`) have underscores for blanks in the lines, as
there, and blanks in `parquet/`. A mention's surface stands at
[`start_char`, `end_char`) in the readable text of revision `anchor_revision_id`."""
_COLLECTION = """\
From these dumps, by revision; each text is the one that stood longest in the {days:g} days before its snapshot:

{files}"""
_PREPROCESSING = """\
Wikitext was made readable offline, with a fixed table of templates; links were followed through redirects as of the
snapshot. Filters, in order, for the last snapshot (surfaces of entities, and mentions, that each dropped of what those
before had left):

{filters}

The design, every hyperparameter by its name in table 3 of the paper, is in `design.json`."""
_USES = """\
Training and evaluating entity linkers across time. Not for judging people or places: texts are as volunteers wrote
them."""
_DISTRIBUTION = """\
Texts are from {wiki} and under [CC BY-SA 4.0](https://creativecommons.org/licenses/by-sa/4.0/), and so is this dataset;
authors are named by the histories of the pages, found by page and revision number. Surfaces, spans and counts were
made by a program."""


def card_of(store: Store, release: Release) -> Card:
    """Return what the card of a release that is built says."""
    (version,) = store.lake.versions(TEMPEL_RELEASES.name, [release.name])
    row = read_parquet(version.paths()).to_pylist()[0]
    (numbers,) = store.lake.versions(TEMPEL_STATISTICS.name, [release.name])
    figures = read_parquet(numbers.paths()).to_pylist()
    equal = (
        "All snapshots have as many entities and mentions."
        if row["is_equal"]
        else f"Snapshots are not equal: one falls short of the plan by {row['shortfall']:.1%}."
    )
    days = release.design.stable_interval / 86_400
    return Card(
        licence="cc-by-sa-4.0",
        tasks=("entity-linking",),
        intro=_INTRO.format(wiki=row["wiki"]),
        sections=(
            ("Motivation", _MOTIVATION),
            ("Composition", _COMPOSITION.format(equal=equal, table=_counts(figures))),
            ("Collection process", _COLLECTION.format(days=days, files=SOURCES)),
            ("Preprocessing, cleaning, labelling", _PREPROCESSING.format(filters=_filters(figures, release))),
            ("Uses", _USES),
            ("Distribution", _DISTRIBUTION.format(wiki=row["wiki"])),
        ),
        dump_ids=row["dump_ids"],
        maintenance="Later snapshots are added without a change to these.",
    )


def _counts(figures: list[dict[str, object]]) -> str:
    found: dict[tuple[object, object], dict[object, object]] = {}
    for one in figures:
        if one["figure"] == "table_1":
            found.setdefault((one["cut"], one["series"]), {})[one["label"]] = one["value"]
    lines = ["| snapshot | category and subset | entities | mentions |", "| --- | --- | ---: | ---: |"]
    lines += [
        f"| {cut} | {series} | {told['entities']:,.0f} | {told['mentions']:,.0f} |"
        for (cut, series), told in sorted(found.items(), key=lambda pair: (str(pair[0][0]), str(pair[0][1])))
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
