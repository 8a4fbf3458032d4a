"""The options of releases of facts, for both benchmarks. Plain data."""

from tempkb.core.options import Option
from tempkb.core.windows import Granularity

STUDY = Option("windows", "The study, such as 2010-01-01..2021-01-01.", metavar="A..B")
PRESETS = ("tempkb", "paper", "small")


def options_of(granularity: str) -> tuple[Option, ...]:
    """Return the options of a benchmark with a default granularity."""
    return (
        Option("granularity", "week, month, quarter or year.", default=granularity, kind=Granularity),
        Option("dump_id", "Wikidata dump; the default is the newest that was read."),
        Option(
            "templates",
            "templama, dynamic, dynamic_improved, or a CSV (relation,language,wording); can be given several times.",
            many=True,
            metavar="NAME|FILE.csv",
        ),
    )
