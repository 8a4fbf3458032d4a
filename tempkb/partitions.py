"""Dagster's partitions: dumps and models come as they appear, windows follow the clock.

Assets do not name their partitions: these follow from the family of the table that an asset writes.
"""

import dagster as dg

from tempkb.settings import Settings
from tempkb.store.tables import Family
from tempkb.windows import Granularity, epoch_seconds, instant

_CRON = {
    Granularity.WEEK: "0 0 * * 1",
    Granularity.MONTH: "0 0 1 * *",
    Granularity.QUARTER: "0 0 1 1,4,7,10 *",
    Granularity.YEAR: "0 0 1 1 *",
}


def partitions_of(settings: Settings) -> dict[Family, dg.PartitionsDefinition[str]]:
    """Return the partitions of each family of tables; which windows there are depends on the home's settings.

    Releases are partitions of their benchmark (`tempkb.definitions`). Results have no partitions.
    """
    windows = dg.TimeWindowPartitionsDefinition(
        start=instant(epoch_seconds(settings.first_window)),
        fmt="%Y-%m-%d",
        cron_schedule=_CRON[settings.granularity],
        timezone="UTC",
    )
    return {
        Family.DUMP: DUMPS,
        Family.ENTITIES: DUMPS,
        Family.WINDOW: windows,
        Family.MODEL: MODELS,
        Family.LINKER: LINKERS,
    }


DUMPS = dg.DynamicPartitionsDefinition(name="dumps")
"""One partition per dump that was registered; the key is its `dump_id`."""

MODELS = dg.DynamicPartitionsDefinition(name="models")
"""One partition per language model; the key is its name."""

LINKERS = dg.DynamicPartitionsDefinition(name="linkers")
"""One partition per linker; the key is its name."""

CHAINED = ".dagster/tempkb_chained"
"""Tag of the runs that automation has asked for. Dagster's UI hides tags that begin with `.dagster/`."""
