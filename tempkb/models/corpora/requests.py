"""What a person may ask of a corpus."""

from dataclasses import dataclass
from typing import Literal

from tempkb.core.options import Request, option
from tempkb.core.windows import Days

Choice = Literal["auto", "spacy", "textblob", "none"]


@dataclass(frozen=True)
class CorpusRequest(Request):
    """Which windows of the wiki's own corpus are to be made, and how the noun phrases of any are found."""

    command = "corpus make"
    windows: Days | None = option(
        None, "Windows whose first day is in [A, B); by default all that are built.", called="window", metavar="A..B"
    )
    chunker: Choice | None = option(
        None,
        "What finds noun phrases: spacy, textblob, none, or auto (spaCy if its model is installed). By default what "
        "found them in the windows that are made, and else auto; another one makes these anew.",
        metavar="NAME",
    )
    spacy_model: str = option("", "Name or folder of a spaCy pipeline; by default en_core_web_sm.", metavar="NAME")
