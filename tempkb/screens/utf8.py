"""Words on the command line and data on standard output are UTF-8, whatever the locale says."""

import io
import os
import sys


def as_utf8(word: str) -> str:
    """Return a word of the command line as text that can be stored and asked for: what is not UTF-8 becomes U+FFFD."""
    # If the locale is not UTF-8, or the bytes are not, Python passes them on without decoding them.
    return os.fsencode(word).decode("utf-8", "replace")


def speak_utf8() -> None:
    """Make standard output UTF-8, so that data are the same with every terminal."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
