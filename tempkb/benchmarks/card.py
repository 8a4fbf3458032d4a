"""The dataset card of a release, from a template that all benchmarks share, and the pictures of its windows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pyarrow as pa

import tempkb
from tempkb.benchmarks.loading import Loadable, front_matter, section
from tempkb.benchmarks.sources import files_of
from tempkb.core.files import toml_beside
from tempkb.core.pictures import as_markdown, figure, label_dates
from tempkb.store.materialise import escaped, markdown
from tempkb.store.quoting import identifier, literal
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.wiki.mentions.tables import ENTITY_POPULARITY
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS

SOURCES = "{files}"
"""The placeholder in a section for the list of the dumps' files with their checksums."""
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B", "n>1B")


@dataclass(frozen=True)
class Card:
    """The parts of a card that differ between releases.

    Attributes:
        licence: the texts' licence, by its name on the hub.
        tasks: categories of tasks, by their names on the hub.
        intro: what the release is.
        sections: headings of a datasheet (Gebru et al. 2021) with their texts, in order.
        maintenance: what becomes of it.
        made: versions of its rows, whose manifests name the files of the dumps.
        language: code of the language of the texts.
        task_ids: finer tasks, by their names on the hub.
        citation: of tempkb and the benchmark's paper, in BibTeX.
        rai: responses to the fields of Croissant's vocabulary of responsible AI, by their names.
    """

    licence: str
    tasks: tuple[str, ...]
    intro: str
    sections: tuple[tuple[str, str], ...]
    maintenance: str = ""
    made: Sequence[Version] = ()
    language: str = "en"
    task_ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    citation: str = ""
    rai: Mapping[str, Any] = field(default_factory=dict)


def card_beside(module: str, made: Sequence[Version], **values: object) -> Card:
    """Return the card in `card.toml` beside the file of a module; a section in which nothing is left is left out.

    Args:
        values: what takes the places in its texts; `{files}` is `SOURCES`.
    """
    told, shared = toml_beside(module, "card.toml"), toml_beside(__file__, "card.toml")
    notice = shared["notices"].get(values.get("wiki"), "")
    values = {"version": tempkb.__version__, **values}
    filled = {name: text.format(files=SOURCES, **values) for name, text in told["sections"].items()}
    return Card(
        told["licence"],
        tuple(told["tasks"]),
        f"{notice}\n\n{told['intro'].format(**values)}".lstrip(),
        tuple((name, text) for name, text in filled.items() if text),
        f"{shared['maintenance']} {told.get('maintenance', '')}".strip(),
        made,
        str(values["language"]),
        tuple(told["task_ids"]),
        tuple(told["tags"]),
        f"{shared['citation'].format(**values)}\n\n{told['paper']}".strip(),
        {name: _filled(said, values) for name, said in told["rai"].items()},
    )


def _filled(said: Any, values: Mapping[str, object]) -> Any:
    """A text, or the texts of a list, in one line each; those of which nothing is left are left out."""
    if isinstance(said, list):
        return [text for one in said if (text := _filled(one, values))]
    return " ".join(said.format(**values).split())


def render(name: str, card: Card, loadables: Sequence[Loadable] = ()) -> str:
    """Return the card of a release in Markdown."""
    files, n_rows = _files(card), loadables[0].n_rows if loadables else 0
    sections = [f"\n## {heading}\n{text.replace(SOURCES, files)}\n" for heading, text in card.sections]
    listed = {"language": [card.language], "tasks": card.tasks, "task_ids": card.task_ids, "tags": card.tags}
    frame: str = toml_beside(__file__, "card.toml")["frame"]
    return frame.format(
        name=name,
        pretty=json.dumps(name),
        licence=card.licence,
        size=json.dumps([_SIZES[min(max(len(str(n_rows)) - 3, 0), len(_SIZES) - 1)]]),
        configs=front_matter(loadables),
        loading=section(toml_beside(__file__, "card.toml")["loading"], name, loadables),
        intro=card.intro,
        sections="".join(sections),
        maintenance=card.maintenance,
        citation=card.citation,
        **{key: json.dumps(list(words)) for key, words in listed.items()},
    )


def _files(card: Card) -> str:
    files = {(*name.split("/", 1), digest) for one in card.made for name, digest in files_of(one).items()}
    lines = ["| dump | file | sha256 |", "| --- | --- | --- |"]
    lines += [
        f"| {dump} | {escaped(name) or 'not known any more'} | {digest} |" for dump, name, digest in sorted(files)
    ]
    return "\n".join(lines)


_MEASURED = {"mentions in other articles": "n_inlinks", "contributors": "n_contributors", "revisions": "n_revisions"}


def popularity_of(store: Store, release: str, end: date, rows: Table, asked: tuple[str, str]) -> pa.Table:
    """Return how popular the articles are that a release asks about, beside all articles.

    Args:
        end: the first day after the release; of the cuts that are built the last one up to it counts.
        rows: a table of the release.
        asked: its column with what it asks about, and the column of the snapshot (s) which is that: item or page.

    Returns:
        a row for each of both, those asked about first; none if there is no such cut.
    """
    column, own = asked
    is_asked = f"{own} IN (SELECT {column} FROM {rows.name} WHERE release = {literal(release)})"
    quartiles = ", ".join(
        f"array_to_string(quantile_disc(p.{name}, [0.25, 0.5, 0.75]), ', ') AS {identifier(title)}"
        for title, name in _MEASURED.items()
    )
    return store.query(
        f"""
        SELECT unnest(CASE WHEN {is_asked} THEN ['asked about', 'all'] ELSE ['all'] END) AS articles, count(*) AS n,
               {quartiles}, p.cut
        FROM {ENTITY_POPULARITY.name} AS p JOIN {STABLE_SNAPSHOTS.name} AS s USING (cut, page_id)
        WHERE p.cut = (SELECT max(cut) FROM {ENTITY_POPULARITY.name} WHERE cut <= DATE '{end}')
        GROUP BY articles, p.cut ORDER BY n
        """,
        *(table.name for table in (ENTITY_POPULARITY, STABLE_SNAPSHOTS, rows)),
    )


def popularity_in_words(found: pa.Table) -> dict[str, str]:
    """Return what a card says of popularity: a table in Markdown, and a sentence; both empty if it is not known."""
    if not found.num_rows:
        return {"popularity": "", "popular_articles": ""}
    told = (
        "How popular the articles are that it asks about, beside all: of each number the 25 %, 50 % and 75 % quantile."
    )
    medians = [{title: str(row[title]).split(", ")[1] for title in _MEASURED} for row in found.to_pylist()]
    own, every = (", ".join(f"{title} {n}" for title, n in one.items()) for one in (medians[0], medians[-1]))
    sentence = f"Medians of the articles that it asks about: {own}; of all articles: {every}."
    return {"popularity": f"{told}\n\n{markdown(found)}", "popular_articles": sentence}


_COLOURS = {
    "unchanged": "#b8c4ce",
    "updated": "#2f6f9f",
    "new": "#4fa35b",
    "deleted": "#c2563f",
    "undatable": "#e0b84c",
}


def plot_lines(
    title: str, dates: Sequence[str], series: Mapping[str, Sequence[float | None]], bottom: float | None = 0
) -> str:
    """Return a Markdown image of numbers over windows, a line per series; a window without a number has no mark."""
    with figure() as (canvas, axes):
        for name, numbers in series.items():
            known = [at for at, number in enumerate(numbers) if number is not None]
            axes.plot(known, [numbers[at] for at in known], marker="o", markersize=3, label=name)
        return _picture(canvas, axes, title, dates, bottom)


def plot_bars(title: str, dates: Sequence[str], series: Mapping[str, Sequence[int]]) -> str:
    """Return a Markdown image of counts over windows, stacked, in the order of the series."""
    with figure() as (canvas, axes):
        below = [0] * max((len(counts) for counts in series.values()), default=0)
        for name, counts in series.items():
            axes.bar(range(len(counts)), counts, bottom=below, label=name, color=_COLOURS.get(name))
            below = [low + count for low, count in zip(below, counts, strict=True)]
        return _picture(canvas, axes, title, dates)


def _picture(canvas: Any, axes: Any, title: str, dates: Sequence[str], bottom: float | None = 0) -> str:
    axes.set_title(title, fontsize=10)
    axes.set_ylim(bottom=bottom)
    label_dates(axes, dates)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7, ncols=2)
    return as_markdown(canvas, title)
