"""The commands that `tempkb demo --all` runs after it has written the dumps of the demo world."""

_STUDY = "2021-01-01..2024-01-01"
# In which entities that came later are not there yet.
_EARLIER = ("--pool", "2022-01-01", "--pool", "2023-01-01")

STEPS = (
    ("build",),
    ("release", "tempel", "2022-01-01..2024-01-01/yearly", "--preset", "small", "--name", "demo"),
    ("release", "templama", _STUDY, "--name", "demo-years"),
    ("release", "dynamic-templama", _STUDY, "--name", "demo-quarters"),
    ("release", "ecbd", _STUDY, "--preset", "small", "--popular", "3", "--name", "demo-cloze"),
    ("show", "Harbour Clock", "--cut", "2021-10-01"),
    ("model", "demo"),
    ("score", "--all", "--benchmark", "ecbd", "--variant", "original"),
    ("score", "--all", "--benchmark", "dynamic-templama"),
    ("generate", "--all", "--benchmark", "dynamic-templama", "--decoder", "greedy"),
    ("generate", "--all", "--benchmark", "ecbd", "--limit", "100"),
    ("linker", "train", "demo", "--cut", "2022-01-01", "--cut", "2023-01-01", "--preset", "demo"),
    ("linker", "score", "--all", "--release", "demo"),
    ("linker", "score", "--all", "--release", "demo", *_EARLIER, "--subset", "validation"),
    ("linker", "score", "--all", "--release", "demo", *_EARLIER),
    ("results",),
    ("linking", "--release", "demo"),
    # At the end, since what models name is judged by the results.
    ("knows", "--answers", "--window", "2022-01-01..2023-07-01", "--earlier", "2021-01-01..2022-01-01"),
)
"""The arguments of each command, in order. They are meant for the world of the default seed and size."""
