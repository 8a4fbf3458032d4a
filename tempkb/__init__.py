"""tempkb turns Wikimedia's dumps into benchmarks of what language models know about when.

From Python, read any table of a home as Arrow::

    import tempkb
    tempkb.read("stable_snapshots", cut="2021-01-01")
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tempkb.platform.api import read as read

__all__ = ["__version__", "read"]


def __getattr__(name: str) -> Any:
    """Import `read` on first use, so that workers which never read do not pay for it."""
    if name == "read":
        from tempkb.platform.api import read

        return read
    raise AttributeError(f"module 'tempkb' has no attribute {name!r}")
