"""What may be asked of a release of facts, whichever of the two benchmarks it is of. Plain data."""

from tempkb.benchmarks.benchmark import Option

STUDY = Option("windows", "The study, as 2010-01-01..2021-01-01.", metavar="A..B")
PRESETS = ("tempkb", "paper", "small")


def options_of(granularity: str) -> tuple[Option, ...]:
    """Return the options of a benchmark whose windows are of some granularity by default."""
    return (
        Option("granularity", "week, month, quarter or year.", default=granularity),
        Option("dump_id", "Wikidata dump; by default the newest that was read."),
        Option(
            "templates",
            "templama, dynamic, dynamic_improved, or a CSV (relation,language,wording); may repeat.",
            many=True,
            metavar="NAME|FILE.csv",
        ),
    )
