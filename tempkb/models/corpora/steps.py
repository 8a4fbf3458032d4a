"""The step of the room: sentences of the wiki follow from snapshots and texts; what was added from files stands.

What is imported here is little: commands that ask what is current split no text.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from tempkb.core.errors import SettingsError
from tempkb.core.model_words import NAME_PATTERN
from tempkb.core.options import Option
from tempkb.core.wording import counted
from tempkb.engine.steps import Look, Source, Step
from tempkb.engine.tasks import Task, said_in
from tempkb.models.corpora.requests import CorpusRequest
from tempkb.models.corpora.tables import DATED_TEXTS, HOME, parts_of
from tempkb.store.lake import Lake
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wiki.mentions.steps import grown, quarters_in
from tempkb.wiki.mentions.tables import PAGE_LINKS, PAGE_TEXTS
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.scope import language_of_wiki

MEMORY = "1GB"
"""What DuckDB may take; the rest it writes to a folder."""


def require_fit(name: str, files: Sequence[str]) -> None:
    """Raise a SettingsError for a name that is not allowed, files for the wiki's corpus, or none for another."""
    if not re.fullmatch(NAME_PATTERN, name) or (name == HOME) == bool(files):
        raise SettingsError(
            f"corpus {name!r}: found {counted(len(files), 'file')}; expected none for {HOME}, which is made of the "
            "wiki, and some for another name, of lower-case letters, digits, dots, underscores and single hyphens"
        )


def keys_of(lake: Lake, corpus: str) -> list[str]:
    """Return the partitions of a corpus, whole or lost, by window."""
    return [key for key in lake.keys(DATED_TEXTS.name) if parts_of(key)[0] == corpus]


def names(lake: Lake) -> list[str]:
    """Return the names of the corpora of which something is there, or was lost."""
    return sorted({parts_of(key)[0] for key in lake.keys(DATED_TEXTS.name)})


def is_whole(lake: Lake, corpus: str) -> bool:
    """Are all windows of a user's corpus there, from the same files and with the same phrases, and no others?"""
    held = lake.versions(DATED_TEXTS.name, keys_of(lake, corpus))
    windows = [parts_of(one.partition)[1] for one in held]
    return all((one.inputs, one.settings) == (held[0].inputs, {**held[0].settings, "windows": windows}) for one in held)


def command_of(lake: Lake, corpus: str) -> str:
    """Return the command that makes a corpus again."""
    if corpus == HOME:
        return f"tempkb {CorpusRequest.command}"
    held = lake.versions(DATED_TEXTS.name, keys_of(lake, corpus))
    return f"tempkb corpus add {corpus} {shlex.join(held[0].settings['files']) if held else 'FILE...'}"


def versions_in(lake: Lake, corpus: str, first: date, end: date) -> list[Version]:
    """Return the texts of the windows that begin on or after `first` and before `end`, oldest first.

    Raises:
        SettingsError: there is no such corpus or window; or one was lost, or the corpus was not read to its end.
    """
    keys = keys_of(lake, corpus)
    if not keys:
        there = ", ".join(names(lake)) or "none"
        make = command_of(lake, corpus) if corpus == HOME else "tempkb corpus list"
        raise SettingsError(f"corpus {corpus!r}: no such corpus; there: {there}. Make it, or see what is there: {make}")
    wanted = [key for key in keys if f"{first}" <= parts_of(key)[1] < f"{end}"]
    if not wanted:
        raise SettingsError(
            f"corpus {corpus!r}: found no window that begins on or after {first} and before {end}; there: "
            f"{parts_of(keys[0])[1]} to {parts_of(keys[-1])[1]}. See what is there: tempkb corpus show {corpus}"
        )
    held = lake.versions(DATED_TEXTS.name, wanted)
    if len(held) < len(wanted) or not (corpus == HOME or is_whole(lake, corpus)):
        found = f"{len(held)} of {len(wanted)} windows" if len(held) < len(wanted) else "a part of its files"
        raise SettingsError(f"corpus {corpus!r}: found {found}; make it whole: {command_of(lake, corpus)}")
    return held


def windows_up_to(store: Store, key: str) -> Sequence[str]:
    """Return the windows, built or lost, in which a sentence of a window of the wiki's corpus may be older."""
    corpus, last = parts_of(key)
    return [window for window in store.lake.keys(STABLE_SNAPSHOTS.name) if window <= last] if corpus == HOME else ()


def _quarters(store: Store, key: str) -> Sequence[str]:
    return sorted({quarter for window in windows_up_to(store, key) for quarter in quarters_in(store, window)})


@dataclass(frozen=True)
class Corpora(Step):
    """Those of the wiki are derived from its snapshots; those of a user's own stand as they were read."""

    def is_current(self, look: Look, version: Version) -> bool:
        """See `Step`."""
        corpus, _ = parts_of(version.partition)
        return super().is_current(look, version) if corpus == HOME else is_whole(look.store.lake, corpus)


CORPORA = Corpora(
    (DATED_TEXTS,),
    (
        Source(STABLE_SNAPSHOTS, windows_up_to, "snapshots"),
        grown(PAGE_TEXTS, "texts", _quarters),
        grown(PAGE_LINKS, "links", _quarters),
    ),
    settings=lambda store: {"language": language_of_wiki(store.home.settings)},
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
