"""The dataset card of a TempEL release, by the paper's datasheet (appendix A.2), and its figures 3, 4c, 6 and 7."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tempkb.benchmarks.card import Card, card_beside, popularity_in_words, popularity_of
from tempkb.benchmarks.linkable.declaration import N_WORDS, fixed_size
from tempkb.benchmarks.methods import Options
from tempkb.benchmarks.register import release_files, release_versions
from tempkb.benchmarks.tempel.candidates import filters_of
from tempkb.benchmarks.tempel.design import Release
from tempkb.benchmarks.tempel.exporting import retrieval_pool
from tempkb.benchmarks.tempel.tables import TEMPEL_MENTIONS, TEMPEL_RELEASES, TEMPEL_STATISTICS
from tempkb.core.files import read_parquet, toml_beside
from tempkb.core.pictures import as_markdown, figure
from tempkb.store.store import Store
from tempkb.wiki.wikidata.scope import language_of_wiki


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
        language=language_of_wiki(store.home.settings),
        n_mentions=sum(one["value"] for one in figures if one["figure"] == "table_1" and one["label"] == "mentions"),
        n_snapshots=len(release.cuts),
        first=release.cuts[0],
        last=release.cuts[-1],
        **popularity_in_words(
            popularity_of(store, release.name, release.cuts[-1], TEMPEL_MENTIONS, ("target_page_id", "s.page_id"))
        ),
    )


def _retrieval(asked: str) -> str:
    """The section about the files for tools of retrieval, if they were asked for."""
    if not asked:
        return ""
    texts, n = toml_beside(__file__, "card.toml")["retrieval"], fixed_size(retrieval_pool(asked))
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


def plot_figures(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown image of the rows of `tempel_statistics` of one release."""
    with figure(2, 2, width=11, height=7) as (canvas, axes):
        _drift(axes[0][0], rows)
        _lines(axes[0][1], rows, "figure_4c", "Candidates (fig. 4c)")
        _picture_of_filters(axes[1][0], rows)
        _distribution(axes[1][1], rows)
        return as_markdown(canvas, "figures")


def _drift(axes: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    names = {"figure_3a": "pages, overlap", "figure_3b": "pages, edit distance", "figure_3c": "contexts, overlap"}
    for name, label in names.items():
        points = sorted((row["cut"], row["value"]) for row in rows if row["figure"] == name)
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", label=label)
            axes.legend(fontsize=8)
    axes.set_title("Drift from the first snapshot (fig. 3)", fontsize=10)
    axes.set_ylim(0, 1.02)
    axes.tick_params(labelsize=7, axis="x", rotation=30)


def _lines(axes: Any, rows: Sequence[Mapping[str, Any]], figure: str, title: str) -> None:
    points = sorted((row["cut"], row["value"]) for row in rows if row["figure"] == figure)
    if points:
        axes.plot(*zip(*points, strict=True), marker="o")
    axes.set_title(title, fontsize=10)
    axes.set_ylim(bottom=0)
    axes.tick_params(labelsize=7, axis="x", rotation=30)


def _picture_of_filters(axes: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """The share of the last snapshot's mentions that each filter drops, alone and in the order of the filters."""
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    last = max((row["cut"] for row in rows if row["figure"] == "figure_6"), default=None)
    for row in rows:
        if row["figure"] == "figure_6" and row["cut"] == last and row["label"] == "mentions":
            name, _, how = row["series"].partition(", ")
            found[name][how] = row["value"]
    offered = found.pop("all", {}).get("offered", 0) or 1
    names = [name for name, by_how in found.items() if by_how.get("alone")]
    for offset, how in ((-0.2, "alone"), (0.2, "in_order")):
        axes.barh(
            [at + offset for at in range(len(names))],
            [found[name].get(how, 0) / offered for name in names],
            0.4,
            label=how.replace("_", " "),
        )
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_title("Share of mentions dropped by filter (fig. 6)", fontsize=10)
    if names:
        axes.legend(fontsize=8)


def _distribution(axes: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Number of entities by their training mentions, one line per snapshot; the lines should coincide."""
    lines: defaultdict[Any, list[tuple[int, float]]] = defaultdict(list)
    for row in rows:
        if row["figure"] == "figure_7" and row["series"] == "continual train":
            lines[row["cut"]].append((int(row["label"].split()[2]), row["value"]))
    for cut, points in sorted(lines.items()):
        axes.step(*zip(*sorted(points), strict=True), where="post", label=str(cut))
    axes.set_title("Continual entities with at most n training mentions (fig. 7)", fontsize=10)
    if 0 < len(lines) <= 12:
        axes.legend(fontsize=7)
