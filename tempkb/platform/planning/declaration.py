"""What a person may ask of `tempkb build`. Pure."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import click

from tempkb.core.options import Form, option


@dataclass(frozen=True)
class Request:
    """What a person asks of `tempkb build`; without windows, those that are served and missing."""

    select: tuple[str, ...] = option((), "Build this table only; may be repeated.", metavar="ASSET")
    windows: str = option("", "Windows whose first day is in [A, B), two dates.", called="window", metavar="A..B")
    all_windows: bool = option(False, "All windows that the dumps reach.", called="all")
    dump_files: tuple[Annotated[Path, Form(lambda word: Path(word).absolute(), "paths of files")], ...] = option(
        (),
        "Read this file: an export, an SQL table, or Wikidata's JSON. May be repeated; the files form one dump.",
        called="dump",
        metavar="FILE",
        click_type=click.Path(path_type=Path),
    )
    day: str = option("", "Day of the files of Wikidata's JSON; it overrides the day in their names.", metavar="DATE")
    rebuild: bool = option(
        False, "Also read a dump again for windows that are built, from it or another one, and report the changes."
    )
