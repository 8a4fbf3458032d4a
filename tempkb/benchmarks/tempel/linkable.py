"""What TempEL brings to linkers."""

from tempkb.benchmarks.linkable.methods import LinkableMethods, Snapshots
from tempkb.benchmarks.tempel.entity_texts import write_described
from tempkb.benchmarks.tempel.releases import Release, read_entry
from tempkb.benchmarks.tempel.tables import LINKABLE


def snapshots_of(release: Release) -> Snapshots:
    """Return the snapshots of a release."""
    return Snapshots(release.name, release.cuts, release.design.seed, LINKABLE)


LINKABLE_METHODS = LinkableMethods(lambda entry: snapshots_of(read_entry(entry)), write_described)
