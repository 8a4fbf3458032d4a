"""tempkb turns Wikimedia's dumps into benchmarks of what language models know about when.

From Python, open a home and ask it; `help(tempkb.open)` says how::

    import tempkb

    kb = tempkb.open("data/demo")
    kb.tables.to_pandas()
    kb.read("stable_snapshots", columns=["title", "standing_seconds"], cut="2021-01-01")
    kb.sql("SELECT cut, count(*) AS pages FROM stable_snapshots GROUP BY cut ORDER BY cut")
    kb.knows()
"""

from typing import TYPE_CHECKING

from tempkb.core.errors import SettingsError, TempkbError

if TYPE_CHECKING:
    from os import PathLike

    from tempkb.commands.python import KnowledgeBase

__version__ = "0.1.0"
__all__ = ["SettingsError", "TempkbError", "__version__", "open"]


def open(home: "str | PathLike[str] | None" = None) -> "KnowledgeBase":  # noqa: A001 - as files are opened
    """Open a home, which holds all data of one wiki, to read its tables and to do what the commands do.

    Args:
        home: its folder; by default the one that `TEMPKB_HOME` names, or else data/demo. It may be empty, for `build`.

    Raises:
        SettingsError: there is no such folder, it is no home, or a setting is not allowed.

    Example: `kb = tempkb.open("data/demo")`
    """
    from tempkb.commands.python import KnowledgeBase  # what it imports takes longer than most who import tempkb need

    return KnowledgeBase(home)


def __dir__() -> list[str]:
    return __all__
