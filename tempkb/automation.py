"""Jobs: one per family of partitions, since Dagster runs a job over one. The assets chosen tell which family."""

import dagster as dg

DUMPS_JOB = "register_dump"
WINDOWS_JOB = "build_windows"
TEMPEL_JOB = "build_tempel"

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
        TEMPEL_JOB,
        selection=dg.AssetSelection.groups("tempel"),
        description="Build a TempEL release, or what it lacks.",
    ),
)
