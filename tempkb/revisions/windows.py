"""The windows that are built. Separate from planning, which also looks at dumps."""

from tempkb.revisions.tables import STABLE_SNAPSHOTS
from tempkb.store.store import Store
from tempkb.windows import Window, window_of_key


def read_windows(store: Store) -> list[Window]:
    """Return the windows that have a snapshot, oldest first."""
    granularity = store.home.settings.granularity
    return [window_of_key(key, granularity) for key in store.lake.partitions(STABLE_SNAPSHOTS.name)]
