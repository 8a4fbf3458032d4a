"""The platform on one page: its rooms, in the order of the data.

    dumps -> revisions -> wikitext, mentions -> benchmarks -> models
    dumps -> wikidata --------------------------^

Dagster loads `defs`. What does not belong here: anything but putting together.
"""

from types import ModuleType

import dagster as dg

from tempkb.api import TABLES, VIEWS
from tempkb.automation import JOBS, SCHEDULES, SENSORS, kept_fresh
from tempkb.benchmarks.assets import with_releases_explained
from tempkb.benchmarks.dynamic_templama import assets as dynamic_templama
from tempkb.benchmarks.dynamic_templama import checks as dynamic_templama_checks
from tempkb.benchmarks.ecbd import assets as ecbd
from tempkb.benchmarks.ecbd import checks as ecbd_checks
from tempkb.benchmarks.fact_queries import assets as fact_queries
from tempkb.benchmarks.fact_queries import checks as fact_queries_checks
from tempkb.benchmarks.tempel import assets as tempel
from tempkb.benchmarks.tempel import checks as tempel_checks
from tempkb.benchmarks.templama import assets as templama
from tempkb.benchmarks.templama import checks as templama_checks
from tempkb.dumps import assets as dumps
from tempkb.mentions import assets as mentions
from tempkb.mentions import checks as mentions_checks
from tempkb.revisions import assets as revisions
from tempkb.revisions import checks as revisions_checks
from tempkb.store.assets import with_columns
from tempkb.store.resource import store_resource
from tempkb.store.tables import by_name
from tempkb.wikidata import assets as wikidata
from tempkb.wikidata import checks as wikidata_checks

ROOMS: dict[str, tuple[ModuleType, ...]] = {
    "dumps": (dumps,),
    "revisions": (revisions, revisions_checks),
    "mentions": (mentions, mentions_checks),
    "tempel": (tempel, tempel_checks),
    "wikidata": (wikidata, wikidata_checks),
    "ecbd": (ecbd, ecbd_checks),
    "fact_queries": (fact_queries, fact_queries_checks),
    "templama": (templama, templama_checks),
    "dynamic_templama": (dynamic_templama, dynamic_templama_checks),
}

# Starting a step is dear: fork from a process that has imported everything, one step at a time.
_EXECUTOR = dg.multiprocess_executor.configured(
    {"max_concurrent": 1, "start_method": {"forkserver": {"preload_modules": ["tempkb.definitions"]}}}
)

_ASSETS = [
    asset
    for modules in ROOMS.values()
    for asset in dg.load_assets_from_modules(modules)
    if isinstance(asset, dg.AssetsDefinition)
]

_DECLARED = by_name(TABLES)


def _shown(spec: dg.AssetSpec) -> dg.AssetSpec:
    """An asset as the UI shows it: with its columns, a warning when it is late, and what its partitions are."""
    return with_releases_explained(with_columns(kept_fresh(spec), _DECLARED))


defs = dg.Definitions(
    assets=dg.map_asset_specs(_shown, _ASSETS),
    asset_checks=[check for modules in ROOMS.values() for check in dg.load_asset_checks_from_modules(modules)],
    jobs=JOBS,
    sensors=SENSORS,
    schedules=SCHEDULES,
    resources={"store": store_resource(TABLES, VIEWS)},
    executor=_EXECUTOR,
)
