"""Declares TempLAMA: queries about facts by year."""

from tempkb.benchmarks.benchmark import LM_EVAL, Benchmark
from tempkb.benchmarks.fact_queries.options import PRESETS, STUDY, options_of
from tempkb.benchmarks.fact_queries.tables import TABLES as SHARED
from tempkb.benchmarks.templama.later import LATER_PROMPTS, WHEN_PROMPTS
from tempkb.benchmarks.templama.reading import PROMPTING, READING
from tempkb.benchmarks.templama.tables import TABLES, VIEWS
from tempkb.engine.room import Room

TEMPLAMA = Benchmark(
    name="templama",
    title="TempLAMA",
    room=Room("templama", TABLES, (*VIEWS, LATER_PROMPTS, WHEN_PROMPTS)),
    shared=SHARED,
    methods="tempkb.benchmarks.templama.methods",
    meaning="Build a TempLAMA release: which fact held in which year, from A up to but not including B.",
    study=STUDY,
    options=options_of("year"),
    presets=PRESETS,
    examples=(
        "templama 2010-01-01..2021-01-01",
        "templama 2010-01-01..2021-01-01 --preset paper --name templama-2010s",
        "templama 2021-01-01..2024-01-01 --templates mine.csv --set answers=certain",
    ),
    own_export_options=(LM_EVAL,),
    prompting=PROMPTING,
    reading=READING,
)
