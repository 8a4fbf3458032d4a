"""The command `tempkb score`. All else is imported when it runs."""

import click


@click.command()
@click.argument("names", nargs=-1, metavar="[MODEL]...")
@click.option("--model", "models", multiple=True, metavar="MODEL", help="The same as an argument; may be repeated.")
@click.option("--all", "is_all", is_flag=True, help="All models of the home.")
@click.option(
    "--benchmark",
    "benchmarks",
    multiple=True,
    metavar="NAME",
    help="Only ecbd, templama or dynamic-templama; may be repeated.",
)
@click.option("--release", "releases", multiple=True, metavar="NAME", help="Only this release; may be repeated.")
@click.option(
    "--windows", default="", metavar="A..B", help="Only items whose window begins on or after A and before B."
)
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="NAME",
    help="Only this form of prompts, such as no_ent; may be repeated. By default those that a benchmark names.",
)
@click.option(
    "--scorer",
    default="",
    metavar="TEMPLATE",
    help="Without its family, such as span_end; by default the one that a benchmark names.",
)
@click.option("--limit", default="", metavar="N", help="At most so many prompts of each scorer, chosen by hash.")
@click.option("--device", default="", help="By default a GPU if there is one, else cpu.")
@click.option("--dtype", default="", help="float32 (default), bfloat16 or float64.")
@click.option("--batch-tokens", default="", metavar="N", help="Tokens computed at once; by default what is fast.")
@click.option("--threads", default="", metavar="N", help="Threads of a CPU; by default one for small models.")
@click.option(
    "--fixed-shapes",
    is_flag=True,
    help="Scores that do not depend on the rest of the batch, bit for bit on one machine; slower.",
)
def score(
    names: tuple[str, ...],
    models: tuple[str, ...],
    is_all: bool,
    benchmarks: tuple[str, ...],
    releases: tuple[str, ...],
    variants: tuple[str, ...],
    fixed_shapes: bool,
    **words: str,
) -> None:
    """Score the prompts of releases with models.

    MODEL is a model of the home; or a folder or an id of the Hugging Face hub, which is
    added first. Each prompt is scored once and kept: the next time only new prompts are
    computed, and a run that was killed continues. Prompts without a score keep the reason.

    \b
    Examples:
      tempkb score --all
      tempkb score t5-large --benchmark ecbd --limit 1000
      tempkb score google-t5/t5-large ./checkpoints/mine --device cuda
      tempkb score t5-large --release demo-quarters --windows 2022-01-01..2023-01-01
    """
    from tempkb.score_runs import score as run
    from tempkb.screens.failure import fail_all, warn
    from tempkb.screens.scores import print_scores

    said = {
        **words,
        "benchmarks": ",".join(benchmarks),
        "releases": ",".join(releases),
        "variants": ",".join(variants),
        "fixed_shapes": "true" if fixed_shapes else "",
    }
    scored, summary = run((*names, *models), {key: word for key, word in said.items() if word}, is_all=is_all)
    for note in summary.notes:
        warn(note)
    print_scores(scored, {key: word for key, word in said.items() if word})
    if summary.failures:
        fail_all(summary.failures)
