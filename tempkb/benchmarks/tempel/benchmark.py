"""Declares TempEL: entity linking on snapshots."""

from tempkb.benchmarks.benchmark import Action, Benchmark
from tempkb.benchmarks.tempel.tables import ENTITY_TEXTS, LINKABLE, TABLES, TEMPEL_NEW_ENTITIES
from tempkb.core.options import Option
from tempkb.engine.room import Room

TEMPEL = Benchmark(
    name="tempel",
    title="TempEL",
    room=Room("tempel", TABLES),
    methods="tempkb.benchmarks.tempel.methods",
    meaning="Build a TempEL release over SNAPSHOTS, cuts that are built.",
    details="SNAPSHOTS are days, or a span with an interval: weekly, monthly, quarterly, yearly, or seconds.",
    study=Option("snapshots", "Days, or a span with an interval, both ends included."),
    options=(),
    presets=("tempkb", "paper", "small"),
    examples=(
        "tempel 2013-01-01..2022-01-01/yearly --preset paper",
        "tempel 2022-01-01,2023-01-01,2024-01-01 --preset small --set min_nr_inlinks=2",
    ),
    own_export_options=(
        Option(
            "tokenizer",
            "A tokenizer.json or a BERT vocab.txt: adds the released files' token fields (TempEL only).",
            metavar="FILE",
            is_file=True,
        ),
        Option(
            "retrieval",
            "Adds the layout of BEIR and a task of MTEB, with the entities of each snapshot as documents: all of them "
            "(own), or as many at each (fixed-N, such as fixed-1000; fixed has 50,000) (TempEL only).",
            metavar="POOL",
        ),
    ),
    actions=(
        Action(
            "extend",
            "Add SNAPSHOTS to the release NAME; its existing files keep their bytes.",
            (Option("snapshots"),),
            ("extend tempel-20130101-20220101-0a1b2c3d 2023-01-01",),
        ),
        Action(
            "balance",
            "Make a release from an extended one with only those entities that are articles at all of its snapshots.",
            (),
            ("balance tempel-20130101-20220101-0a1b2c3d",),
        ),
    ),
    linkable=LINKABLE,
    derivations=(
        ENTITY_TEXTS,
        TEMPEL_NEW_ENTITIES,
    ),
)
