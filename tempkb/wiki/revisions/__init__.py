"""The text of every page at each cut: the log of revisions, and the stable snapshots chosen from it."""
