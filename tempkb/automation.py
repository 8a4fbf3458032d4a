"""Jobs: one per family of partitions, since Dagster runs a job over one. The assets chosen tell which family."""

import dagster as dg

DUMPS_JOB = "register_dump"
WINDOWS_JOB = "build_windows"
WIKIDATA_JOB = "read_wikidata"
TEMPEL_JOB = "build_tempel"
TEMPLAMA_JOB = "build_templama"
DYNAMIC_TEMPLAMA_JOB = "build_dynamic_templama"
TOKENS_JOB = "count_answer_tokens"
ECBD_JOB = "build_ecbd"

_TOKENS = dg.AssetSelection.assets("answer_tokens")

JOBS = (
    dg.define_asset_job(
        DUMPS_JOB,
        selection=dg.AssetSelection.groups("dumps"),
        description="Write down the files of a dump, and the pages its SQL tables know.",
    ),
    dg.define_asset_job(
        WINDOWS_JOB,
        selection=dg.AssetSelection.groups("revisions", "mentions"),
        description="Read the histories that serve a range of windows, each once; write what stood at each cut, "
        "and who is mentioned where.",
    ),
    dg.define_asset_job(
        WIKIDATA_JOB,
        selection=dg.AssetSelection.groups("wikidata"),
        description="Read a dump of Wikidata's entities, once; write what was true when.",
    ),
    dg.define_asset_job(
        TEMPEL_JOB,
        selection=dg.AssetSelection.groups("tempel"),
        description="Build a TempEL release, or what it lacks.",
    ),
    dg.define_asset_job(
        TEMPLAMA_JOB,
        selection=dg.AssetSelection.groups("fact_queries", "templama"),
        description="Build a TempLAMA release, or what it lacks.",
    ),
    dg.define_asset_job(
        DYNAMIC_TEMPLAMA_JOB,
        selection=dg.AssetSelection.groups("fact_queries", "dynamic_templama") - _TOKENS,
        description="Build a DynamicTempLAMA release, or what it lacks.",
    ),
    dg.define_asset_job(
        ECBD_JOB,
        selection=dg.AssetSelection.groups("ecbd"),
        description="Build an ECBD release, unless it stands.",
    ),
    dg.define_asset_job(
        TOKENS_JOB,
        selection=_TOKENS,
        description="Count the tokens of a release's answers by a tokenizer, so that its losses can be told.",
    ),
)
