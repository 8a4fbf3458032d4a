"""The packages of the extra `linking`, which not everybody needs."""

from collections.abc import Sequence
from importlib.util import find_spec

from tempkb.errors import SettingsError

_ALL = ("bm25s", "sentence_transformers", "datasets", "accelerate")


def require_extra(what: str, needed: Sequence[str] = _ALL) -> None:
    """Refuse what needs packages of the extra `linking`, unless they are installed.

    Raises:
        SettingsError: names those that are not.
    """
    if absent := [name for name in needed if find_spec(name) is None]:
        raise SettingsError(
            f"{what} needs {', '.join(absent)}, which {'are' if len(absent) > 1 else 'is'} not installed; install the "
            'extra linking: pip install "tempkb[linking]"'
        )
