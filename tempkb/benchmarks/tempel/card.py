"""The dataset card of a TempEL release, with the headings of the paper's datasheet (appendix A.2)."""

from tempkb.benchmarks.card import Card, card_beside, texts_beside
from tempkb.benchmarks.linkable.pool_names import fixed_size
from tempkb.benchmarks.linkable.sentences import N_WORDS
from tempkb.benchmarks.methods import Options
from tempkb.benchmarks.register import release_files, release_versions
from tempkb.benchmarks.tempel.candidates import filters_of
from tempkb.benchmarks.tempel.releases import Release
from tempkb.benchmarks.tempel.retrieval import retrieval_pool
from tempkb.benchmarks.tempel.tables import TEMPEL_MENTIONS, TEMPEL_RELEASES, TEMPEL_STATISTICS
from tempkb.store.parquet import read_parquet
from tempkb.store.store import Store


def card_of(store: Store, release: Release, options: Options) -> Card:
    """Return the card of a release that is built, exported with these options."""
    (row,) = read_parquet(release_files(store, TEMPEL_RELEASES, release.name)).to_pylist()
    figures = read_parquet(release_files(store, TEMPEL_STATISTICS, release.name)).to_pylist()
    if row["is_equal"]:
        equal = "All snapshots have the same numbers of entities and mentions."
    elif release.design.equal_snapshots:
        equal = f"Snapshots are not equal: one falls short of the plan by {row['shortfall']:.1%}."
    else:
        equal = "Snapshots are not equal: by its design, each has all that passes the filters."
    return card_beside(
        __file__,
        release_versions(store, TEMPEL_MENTIONS, release.name),
        wiki=row["wiki"],
        equal=equal,
        table=_counts(figures),
        retrieval=_retrieval(options.get("retrieval", "")),
        days=release.design.stable_interval / 86_400,
        filters=_filters(figures, release),
    )


def _retrieval(asked: str) -> str:
    """The section about the files for tools of retrieval, if they were asked for."""
    if not asked:
        return ""
    texts, n = texts_beside(__file__)["retrieval"], fixed_size(retrieval_pool(asked))
    pool = texts["own"] if n is None else texts["fixed"].format(n=f"{n:,}")
    return str(texts["text"].format(n_words=N_WORDS, pool=pool))


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
