"""The commands `tempkb linker`, `tempkb link` and `tempkb index`. All else is imported when they run."""

from functools import partial
from pathlib import Path
from typing import Any, TextIO

import click

from tempkb.commands.declared import add_upkeep, close, options, words_typed
from tempkb.models.linking.requests import AddRequest, LinkRequest, TrainRequest

_PART = 1 << 16  # characters of a file that are read at once
_LINKER = click.option(
    "--linker",
    "name",
    default="",
    metavar="NAME",
    help="By default the one trained on the newest snapshot up to the cut: of several the one with the lowest seed, of "
    "the preset that was trained last; if they are of several releases, name one.",
)


@click.group()
def linker() -> None:
    """Train, add, list, score and remove linkers of mentions to entities."""


@linker.command()
@click.argument("release")
@click.option("--cut", "cuts", multiple=True, metavar="DATE", help="A snapshot; may be repeated. By default all.")
@click.option(
    "--seed", "seeds", multiple=True, type=click.IntRange(1, 2**31 - 1), help="May be repeated. By default 1."
)
@options(TrainRequest, "preset", "base", "settings", "hard_negatives", "negatives_of")
@click.option(
    "--name",
    default="",
    help="Its name, if only one is trained; by default made of release, snapshot, preset and seed.",
)
@options(TrainRequest, "device")
def train(release: str, cuts: tuple[str, ...], seeds: tuple[int, ...], name: str, **asked: Any) -> None:
    """Train bi-encoders on the mentions of RELEASE, a release of TempEL: one for each snapshot and seed.

    Each becomes a linker of the home; its checkpoint is in the folder linkers there, in
    the layout of sentence-transformers. A linker that is there is not trained again, and
    a training that was killed continues. Needs the extra linking, which make demo installs.

    \b
    Examples:
      tempkb linker train demo --preset demo --cut 2022-01-01
      tempkb linker train tempel-20130101-20220101-0a1b2c3d --preset paper --seed 1 --seed 2
      tempkb linker train demo --base ./bert --set epochs=3 --set batch_size=32
    """
    from tempkb.commands.runs.linkers import train as run
    from tempkb.commands.screens.linking import print_linkers

    names, summary = run(release, cuts, seeds, name, words_typed(asked))
    close(summary, print_linkers, names)


@linker.command()
@click.argument("name")
@click.argument("checkpoint")
@options(AddRequest, "revision")
def add(name: str, **asked: Any) -> None:
    """Add the linker NAME from CHECKPOINT, an encoder of sentences that is used as it is.

    CHECKPOINT is a folder or an id of the Hugging Face hub, in the layout of
    sentence-transformers with weights as safetensors. Code of a checkpoint is never run.

    \b
    Examples:
      tempkb linker add minilm sentence-transformers/all-MiniLM-L6-v2
      tempkb linker add mine ./checkpoints/mine
    """
    from tempkb.commands.runs.linkers import add as run
    from tempkb.commands.screens.linking import print_linkers

    close(run(name, words_typed(asked)), print_linkers, [name])


add_upkeep(
    linker,
    "linker",
    ("linking", "print_linkers", "print_linker"),
    "demo-2022-01-01-demo",
    "List the linkers of the home, with the baselines that every home has.",
    "Show all that is known about the linker NAME.",
    "Remove the linker NAME with its vectors and scores, and with its checkpoint if it was trained here.",
)


@linker.command()
@click.argument("names", nargs=-1, metavar="[LINKER]...")
@click.option("--all", "is_all", is_flag=True, help="All linkers of the home, and the baselines prior and bm25.")
@options(LinkRequest)
def score(names: tuple[str, ...], is_all: bool, **asked: Any) -> None:
    """Link the mentions of releases of TempEL with linkers, and keep where each ranks the right entity.

    Entities are encoded first, each distinct title and description once for all
    snapshots. Search is exact. What is there already is not computed again. Then the tables
    of results that follow are brought up to date.

    \b
    Examples:
      tempkb linker score --all
      tempkb linker score demo-2022-01-01-demo prior bm25 --release demo
      tempkb linker score --all --pool own --pool fixed-10000 --pool 2013-01-01
    """
    from tempkb.commands.runs.linkers import score as run
    from tempkb.commands.screens.linking import print_scores

    words = words_typed(asked)
    scored, summary = run(names, words, is_all=is_all)
    close(summary, print_scores, scored, words)


@click.command()
@click.argument("text", required=False)
@click.option(
    "--file",
    type=click.File(encoding="utf-8-sig", errors="replace"),
    metavar="FILE",
    help="Read the text from this file instead; - is standard input.",
)
@click.option(
    "--as-of",
    "day",
    required=True,
    metavar="DATE",
    help="Link to what was an article as of the last cut at or before this day.",
)
@_LINKER
@click.option("-k", "n", type=click.IntRange(1, 64), default=5, show_default=True, help="Entities of each mention.")
@click.option(
    "--nil-threshold",
    type=click.FloatRange(0, 1),
    metavar="P",
    help="Say that there is no such article for a p up to this one; 0: never. By default what was chosen for the "
    "linker on validation mentions.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per mention, to standard output.")
def link(
    text: str | None, file: TextIO | None, day: str, name: str, n: int, nil_threshold: float | None, as_json: bool
) -> None:
    """Link the mentions in TEXT, which are in double brackets, to the entities of a day.

    The candidates are all articles as of the last cut at or before that day that is built;
    how many came since is said. Their vectors are kept, so that the next text is linked at
    once. A file may be of any length: it is read as one text, and linked some thousand
    mentions at a time. The baselines prior and bm25 link, too.

    \b
    Examples:
      tempkb link "They sang of [[the old port]] at dawn." --as-of 2022-03-01
      tempkb link "The [[Mejlis]] was banned." --as-of 2021-12-31 --linker minilm -k 10
      tempkb link "They sang of [[the old port]] at dawn." --as-of 2022-03-01 --linker prior
      tempkb link --file chronicle.txt --as-of 2022-03-01 --json > links.jsonl
      zcat chronicle.txt.gz | tempkb link --file - --as-of 2022-03-01 --json
    """
    if (text is None) == (file is None):
        raise click.UsageError("expected a TEXT in quotation marks or --file FILE, and not both.")
    if text is not None and "[[" not in text:  # before anything is loaded
        raise click.UsageError(f"found no mention in double brackets, such as [[the old port]], in {text[:60]!r}.")
    from tempkb.commands.screens.failure import as_utf8
    from tempkb.commands.screens.linking_texts import print_links

    parts = [as_utf8(text)] if text is not None else iter(partial(file.read, _PART), "")  # type: ignore[union-attr]
    print_links(parts, day, name, n, as_json=as_json, nil_threshold=nil_threshold)


@click.command()
@click.option(
    "--as-of",
    "day",
    required=True,
    metavar="DATE",
    help="The entities that were articles as of the last cut at or before this day.",
)
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder that is written; an earlier index there is replaced.",
)
@_LINKER
def index(day: str, out: Path, name: str) -> None:
    """Write an index of all entities of a day: numbers, titles, descriptions, vectors, and the encoder for mentions.

    The folder is complete in itself: its card shows the ten lines that search it with
    FAISS and sentence-transformers, without tempkb.

    \b
    Example:
      tempkb index --as-of 2022-03-31 --out entities-2022
    """
    from tempkb.commands.screens.linking_texts import print_index

    print_index(day, out, name)
