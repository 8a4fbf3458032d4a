"""Declares DynamicTempLAMA: queries about facts by quarter, and their changes."""

from tempkb.benchmarks.benchmark import LM_EVAL, Benchmark, Measurement
from tempkb.benchmarks.dynamic_templama.reading import PROMPTING, READING
from tempkb.benchmarks.dynamic_templama.tables import ANSWER_TOKENS, TABLES
from tempkb.benchmarks.dynamic_templama.views import VIEWS
from tempkb.benchmarks.fact_queries.options import PRESETS, STUDY, options_of
from tempkb.benchmarks.fact_queries.tables import TABLES as SHARED
from tempkb.core.options import Option
from tempkb.engine.room import Room

DYNAMIC_TEMPLAMA = Benchmark(
    name="dynamic_templama",
    title="DynamicTempLAMA",
    room=Room("dynamic_templama", TABLES, VIEWS),
    shared=SHARED,
    methods="tempkb.benchmarks.dynamic_templama.methods",
    meaning="Build a DynamicTempLAMA release: facts by quarter, and their changes, from A up to but not including B.",
    study=STUDY,
    options=options_of("quarter"),
    presets=PRESETS,
    examples=(
        "dynamic-templama 2019-01-01..2022-07-01",
        "dynamic-templama 2019-01-01..2022-07-01 --granularity month --set max_subjects=100",
        "dynamic-templama 2019-01-01..2022-07-01 --templates dynamic --templates dynamic_improved",
    ),
    measurements=(
        Measurement(
            name="tokens",
            table=ANSWER_TOKENS,
            meaning="Count the tokens of the answers of release NAME by a TOKENIZER, a tokenizer.json. The views "
            "dynamic_templama_single_token, dynamic_templama_multi_token and dynamic_templama_token_losses show which "
            "answers models with this tokenizer can fill in.",
            arguments=(Option("tokenizer", "Path of a tokenizer.json.", is_file=True),),
            examples=("tokens demo-quarters roberta-base/tokenizer.json",),
            done="The tokens of the answers of release {name} are counted.",
            view="dynamic_templama_token_losses",
        ),
    ),
    own_export_options=(LM_EVAL,),
    prompting=PROMPTING,
    reading=READING,
)
