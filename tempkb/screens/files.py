"""Files that a command is asked to write: whole or not at all, and never over something else unasked."""

import os
from pathlib import Path
from typing import Any

from tempkb.errors import SettingsError
from tempkb.pictures import as_png
from tempkb.screens.console import say

_DOTS_PER_INCH = 150


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file, replacing an older one.

    Raises:
        SettingsError: the folder is missing or cannot be written to.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    try:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise SettingsError(
            f"{path}: cannot be written: {error.strerror}; name a file in a folder that exists"
        ) from None
    say(f"written: {path}")


def write_picture(path: Path, figure: Any) -> None:
    """Write a figure as a PNG file.

    Raises:
        SettingsError: as `write_file`.
    """
    write_file(path, as_png(figure, _DOTS_PER_INCH))
