"""The windows that are built, and what to do about one that is not."""

from datetime import date

from tempkb.core.errors import ContractError
from tempkb.core.windows import Window, window_ending, window_of_key
from tempkb.store.store import Store
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS


def read_windows(store: Store) -> list[Window]:
    """Return the windows that have a snapshot, oldest first."""
    granularity = store.home.settings.granularity
    return [window_of_key(key, granularity) for key in store.lake.partitions(STABLE_SNAPSHOTS.name)]


def not_built(store: Store, table: str, cut: date) -> ContractError:
    """Return the error about a table that lacks the window of a cut: how to build it, or why it cannot be built."""
    window = window_ending(cut, store.home.settings.granularity)
    answer = how_to_build(store, window)
    return ContractError(f"{table} of the window {window.label}, which ends at snapshot {cut}, is not built; {answer}")


def how_to_build(store: Store, window: Window) -> str:
    """Return in words how a window is built, or why it cannot be built."""
    # A window that is there is not planned, and who finds it needs no dumps.
    from tempkb.wiki.revisions.making import plan_windows

    first = store.home.settings.first_window
    answer = f"build it first: tempkb build --window {window.start}..{window.end}"
    if window.start < first:
        return f"the home's windows begin on {first} (first_window), so only later snapshots can be built"
    if window in read_windows(store):
        return answer
    _, _, missing = plan_windows(store.home, [window])
    return missing.get(window.key, answer)
