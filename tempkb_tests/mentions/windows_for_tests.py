"""Building a window's mentions without Dagster: what tests share."""

from tempkb.mentions.building import WRITERS, connected


def write_window(store, window):
    """Write all tables of a window."""
    with connected(store) as connection:
        for write in WRITERS.values():
            write(store, window, connection)
