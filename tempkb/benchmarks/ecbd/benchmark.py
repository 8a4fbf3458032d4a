"""Declares ECBD: cloze sentences about entities by their date of origin."""

from tempkb.benchmarks.benchmark import LM_EVAL, Benchmark
from tempkb.benchmarks.ecbd.reading import PROMPTING, READING
from tempkb.benchmarks.ecbd.tables import ECBD_PROMPTS, TABLES, VIEWS
from tempkb.core.options import Option
from tempkb.engine.room import Room

ECBD = Benchmark(
    name="ecbd",
    title="ECBD",
    room=Room("ecbd", (*TABLES, ECBD_PROMPTS), VIEWS),
    methods="tempkb.benchmarks.ecbd.methods",
    meaning="Build an ECBD release: cloze sentences about entities that originated from A up to but not including B.",
    study=Option("windows", "Dates of origin, such as 2017-01-01..2022-01-01.", metavar="A..B"),
    options=(
        Option("cut", "Cut whose snapshot has the texts; the default is the newest."),
        Option("dump_id", "Wikidata dump; the default is the newest that was read; none for popular entities only."),
        Option(
            "popular",
            "Popular entities as well: their number, or a file of page IDs (one per line, or CREAK's JSON).",
            metavar="N|FILE",
        ),
    ),
    presets=("tempkb", "paper", "paper_2021", "ecbd_compat", "small"),
    examples=(
        "ecbd 2017-01-01..2022-01-01 --cut 2022-01-01 --preset paper --popular 2000",
        "ecbd 2022-01-01..2024-01-01 --set min_words=300 --set noun_chunker=spacy",
        "ecbd 2017-01-01..2022-01-01 --dump-id none --popular creak/train.json",
    ),
    own_export_options=(LM_EVAL,),
    prompting=PROMPTING,
    reading=READING,
)
