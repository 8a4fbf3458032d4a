"""What the toy benchmark does with a release."""

from dataclasses import asdict, dataclass
from datetime import date

import pyarrow as pa

from tempkb.benchmarks.card import SOURCES, Card
from tempkb.benchmarks.methods import Closing, Made, Methods, Step
from tempkb.benchmarks.register import Release
from tempkb.benchmarks.sources import newest_cut
from tempkb.core.errors import DesignError
from tempkb.core.prompts import Prompt
from tempkb.store.listings import Sheet
from tempkb.store.promises import Promise
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb_tests.benchmarks.toy.tables import TOY_PROMPTS, TOY_TITLES


@dataclass(frozen=True)
class Design:
    letter: str
    cut: str
    is_loud: bool = False

    def days(self):
        return (date.fromisoformat(self.cut),)

    def to_json(self):
        return asdict(self)


def design(store, options):
    if len(options["letter"]) != 1:
        raise DesignError(f"letter: found {options['letter']!r}; expected one letter")
    return Design(options["letter"], options["cut"] or newest_cut(store), options["preset"] == "loud")


def read_entry(said):
    return Release(said["name"], said["benchmark"], said["preset"], Design(**said["design"]))


def build(work):
    release = work.release
    snapshot = work.store.read(STABLE_SNAPSHOTS.name, cut=release.design.cut).to_pylist()
    # A loud release is at fault: its titles are not those of the snapshot.
    rows = [
        {
            **row,
            "release": release.name,
            "since": row["article_since"].date(),
            "title": row["title"].upper() if release.design.is_loud else row["title"],
        }
        for row in sorted(snapshot, key=lambda row: row["page_id"])
        if row["title"].startswith(release.design.letter)
    ]
    kept = [{name: row[name] for name in TOY_TITLES.column_names()} for row in rows]
    work.write(TOY_TITLES, release.name, pa.Table.from_pylist(kept, TOY_TITLES.schema))


def build_prompts(work):
    release, rows = work.release, []
    for row in work.store.read(TOY_TITLES.name, release=release.name).to_pylist():
        prompt = Prompt(f"The first letter of {row['title']} is ", row["title"][0], ".")
        rows.append(
            {
                **dict.fromkeys(TOY_PROMPTS.column_names()),
                "release": release.name,
                "window_start": row["since"],
                "item_id": str(row["page_id"]),
                "target_id": row["title"][0],
                "variant": "plain",
                "prompt_id": prompt.prompt_id,
                "left_context": prompt.left,
                "target": prompt.target,
                "right_context": prompt.right,
                "role": "current",
                "cluster_id": str(row["page_id"]),
            }
        )
    rows.sort(key=lambda row: row["item_id"])
    work.write(TOY_PROMPTS, release.name, pa.Table.from_pylist(rows, TOY_PROMPTS.schema))


def files(store, release, out, options):
    titles = store.read(TOY_TITLES.name, release=release.name)["title"].to_pylist()
    out.write_json_lines("titles.jsonl", ({"title": title} for title in titles))


def card(store, release, options):
    sections = (("Collection process", f"From these files:\n\n{SOURCES}"),)
    return Card("cc-by-sa-4.0", ("other",), "Titles, made with tempkb for a test.", sections)


def closing(store, release):
    titles = store.read(TOY_TITLES.name, release=release.name)["title"].to_pylist()
    return Closing(f"{len(titles)} titles", (Sheet(("title",), [(title,) for title in titles]),), "title", "toy_titles")


TITLES_ARE_TITLES = Promise(
    "titles_are_titles",
    "Every title is one of the snapshot.",
    TOY_TITLES,
    "SELECT title FROM toy_titles ANTI JOIN stable_snapshots USING (cut, page_id, title)",
    (STABLE_SNAPSHOTS,),
)
METHODS = Methods(
    design=design,
    read_entry=read_entry,
    partitions=lambda release: {table.name: [release.name] for table in (TOY_TITLES, TOY_PROMPTS)},
    steps=(
        Step(
            "toy_letters",
            (Made(TOY_TITLES, (STABLE_SNAPSHOTS,)),),
            build,
            (TITLES_ARE_TITLES,),
        ),
        Step(TOY_PROMPTS.name, (Made(TOY_PROMPTS, (TOY_TITLES,)),), build_prompts),
    ),
    files=files,
    card=card,
    closing=closing,
)
