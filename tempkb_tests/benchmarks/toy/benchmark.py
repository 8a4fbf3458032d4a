"""What the toy benchmark declares."""

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.core.options import Option
from tempkb.engine.room import Room
from tempkb_tests.benchmarks.toy.reading import PROMPTING, READING
from tempkb_tests.benchmarks.toy.tables import TOY_COUNTS, TOY_PROMPTS, TOY_SCORES, TOY_TITLES

TOY = Benchmark(
    name="toy_letters",
    title="ToyLetters",
    room=Room("toy_letters", (TOY_TITLES, TOY_PROMPTS), (TOY_COUNTS, TOY_SCORES)),
    methods="tempkb_tests.benchmarks.toy.methods",
    meaning="Build a ToyLetters release: the titles of a snapshot that begin with a letter.",
    study=Option("letter", "The letter."),
    options=(Option("cut", "Day of the snapshot; by default the last."),),
    presets=("tempkb", "loud"),
    examples=("toy-letters I --cut 2022-01-01",),
    prompting=PROMPTING,
    reading=READING,
)
