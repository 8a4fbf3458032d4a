"""What a person may ask of a corpus."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tempkb.core.errors import SettingsError
from tempkb.core.options import Request, option
from tempkb.core.windows import Days
from tempkb.core.wording import counted

Choice = Literal["auto", "spacy", "textblob", "none"]


@dataclass(frozen=True)
class CorpusRequest(Request):
    """Which windows of the wiki's own corpus are to be made, and how the noun phrases of any are found."""

    command = "corpus make"
    windows: Days | None = option(
        None, "Windows whose first day is in [A, B); by default all that are built.", metavar="A..B"
    )
    chunker: Choice | None = option(
        None,
        "What finds noun phrases: spacy, textblob, none, or auto (spaCy if its model is installed). By default what "
        "found them in the windows that are made, and else auto; another one makes these anew.",
        metavar="NAME",
    )
    spacy_model: str = option("", "Name or folder of a spaCy pipeline; by default en_core_web_sm.", metavar="NAME")


def require_fit(name: str, files: Sequence[str]) -> None:
    """Raise a SettingsError for a name that is not allowed, files for the wiki's corpus, or none for another."""
    # Tables are no business of a command that only says what may be asked for.
    from tempkb.models.corpora.tables import HOME
    from tempkb.models.tables import NAME_PATTERN

    if not re.fullmatch(NAME_PATTERN, name) or (name == HOME) == bool(files):
        raise SettingsError(
            f"corpus {name!r}: found {counted(len(files), 'file')} for it; expected none for {HOME}, which is made of "
            "the wiki, and some for any other name, of lower-case letters, digits, dots, underscores and single "
            "hyphens: tempkb corpus add NAME FILE..."
        )
