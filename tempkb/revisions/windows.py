"""Which windows were read. Apart from the planning of builds, which looks at dumps as well."""

from tempkb.revisions.tables import STABLE_SNAPSHOTS
from tempkb.store.store import Store
from tempkb.windows import Window, window_of_key


def read_windows(store: Store) -> list[Window]:
    """Return the windows of which there is a snapshot, oldest first."""
    granularity = store.home.settings.granularity
    return [window_of_key(key, granularity) for key in store.lake.partitions(STABLE_SNAPSHOTS.name)]
