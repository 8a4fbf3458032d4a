"""The step of the room: sentences of the wiki follow from snapshots and texts; what was added from files stands.

What is imported here is little: commands that ask what is current split no text.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tempkb.core.options import Option
from tempkb.engine.steps import Look, Source, Step
from tempkb.engine.tasks import Task, said_in
from tempkb.models.corpora.requests import CorpusRequest
from tempkb.models.corpora.tables import DATED_TEXTS, HOME, partition_of, parts_of
from tempkb.store.lake import Lake
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.wiki.mentions.tables import PAGE_LINKS, PAGE_TEXTS
from tempkb.wiki.revisions.tables import PAGE_WIKITEXTS, STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.scope import language_of_wiki


def versions_of(lake: Lake, corpus: str) -> list[Version]:
    """Return the texts of a corpus that are whole, by window."""
    return lake.versions(DATED_TEXTS.name, [key for key in lake.keys(DATED_TEXTS.name) if parts_of(key)[0] == corpus])


def names(lake: Lake) -> list[str]:
    """Return the names of the corpora of which something is there, or was lost."""
    return sorted({parts_of(key)[0] for key in lake.keys(DATED_TEXTS.name)})


def is_all_there(lake: Lake, version: Version) -> bool:
    """Are all windows of a user's corpus there, from the same files and with the same phrases as a version?"""
    corpus, _ = parts_of(version.partition)
    held = [lake.current(DATED_TEXTS.name, partition_of(corpus, one)) for one in version.settings["windows"]]
    made = version.inputs, version.settings["phrases"]
    return all(one is not None and (one.inputs, one.settings["phrases"]) == made for one in held)


def command_of(lake: Lake, corpus: str) -> str:
    """Return the command that makes a corpus again."""
    if corpus == HOME:
        return f"tempkb {CorpusRequest.command}"
    files = next((one.settings["files"] for one in versions_of(lake, corpus)), ())
    return f"tempkb corpus add {corpus} {shlex.join(files) or 'FILE...'}"


def windows_up_to(store: Store, key: str) -> Sequence[str]:
    """Return the windows, built or lost, in which a sentence of a window of the wiki's corpus may be older."""
    corpus, last = parts_of(key)
    return [window for window in store.lake.keys(STABLE_SNAPSHOTS.name) if window <= last] if corpus == HOME else ()


def _quarters(store: Store, key: str) -> Sequence[str]:
    snapshots = store.lake.versions(STABLE_SNAPSHOTS.name, windows_up_to(store, key))
    return sorted({quarter for one in snapshots for quarter in one.fills.get(PAGE_WIKITEXTS.name, ())})


def _grown(table: Table, name: str) -> Source:
    return Source(table, _quarters, name, lambda version: [version.rules, version.settings], grows=True)


def _settings(store: Store) -> Mapping[str, Any]:
    return {"language": language_of_wiki(store.home.settings)}


@dataclass(frozen=True)
class Corpora(Step):
    """Those of the wiki are derived from its snapshots; those of a user's own stand as they were read."""

    def is_current(self, look: Look, version: Version) -> bool:
        """See `Step`."""
        if parts_of(version.partition)[0] == HOME:
            return super().is_current(look, version)
        return is_all_there(look.store.lake, version)


CORPORA = Corpora(
    (DATED_TEXTS,),
    (
        Source(STABLE_SNAPSHOTS, windows_up_to, "snapshots"),
        _grown(PAGE_TEXTS, "texts"),
        _grown(PAGE_LINKS, "links"),
    ),
    settings=_settings,
)
STEPS = (CORPORA,)
TASKS = (
    Task(
        "dated_texts",
        STEPS,
        "models.corpora.making.make",
        how=f"A run for {HOME} dates the sentences of the wiki; for any other name it reads the files of its "
        "configuration.",
        options=(
            *said_in(CorpusRequest),
            Option("files", "Texts of a user's own: JSON lines or Parquet with text and date.", (), many=True),
        ),
        known=lambda store: [HOME, *names(store.lake)],
    ),
)
