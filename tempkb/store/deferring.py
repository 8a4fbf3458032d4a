"""Publication at the end of a command, where readers are in the way: once, however many steps the command has.

Steps of runs that no command started, those of the web UI and the daemon, publish for themselves.
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_HELD_BACK: ContextVar[list[str] | None] = ContextVar("held_back", default=None)


@contextlib.contextmanager
def deferring() -> Iterator[list[str]]:
    """Leave to the caller what readers hold back inside the block.

    Yields:
        why each publication in the block left something pending.
    """
    held: list[str] = []
    token = _HELD_BACK.set(held)
    try:
        yield held
    finally:
        _HELD_BACK.reset(token)


def held_back() -> list[str] | None:
    """Return the list of the innermost `deferring`, to be added to; None outside of any."""
    return _HELD_BACK.get()
