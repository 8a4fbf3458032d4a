"""Screens of what models said: by window, of one fact, what was asked; and how long one must wait for facts."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tempkb.benchmarks.register import release_names
from tempkb.commands.screens.console import print_next, print_sheet, say, show, write_file, write_picture
from tempkb.commands.screens.failure import as_utf8
from tempkb.commands.screens.scores import print_asked
from tempkb.core.errors import SettingsError
from tempkb.core.options import Words, nearest
from tempkb.core.statistics.estimates import proportion
from tempkb.core.wording import percent, rounded
from tempkb.models.generations.kind import SAID
from tempkb.models.generations.measures import NEW, NONE, OLD
from tempkb.models.generations.tables import GENERATIONS, STATUSES
from tempkb.models.known import require_model
from tempkb.models.scores.tables import model_of
from tempkb.platform.api import open_store
from tempkb.results.facts import Fact, read_fact
from tempkb.results.judged_tables import JUDGED_CHANGES
from tempkb.results.knowing import Known
from tempkb.results.plots import fact_figure
from tempkb.results.requests import AnswersRequest
from tempkb.results.steps import are_due
from tempkb.results.tables import FACT_DELAYS
from tempkb.results.tabling import CHANGES, ITEMS, read_named
from tempkb.store.listings import Across, Listing, Sheet, as_csv, estimate, in_order
from tempkb.store.quoting import literal, literals
from tempkb.store.store import Store

if TYPE_CHECKING:
    import pyarrow as pa


def _share(column: str, kind: str, row: Sequence[Any]) -> str:
    """The share of the changes of a row in which a kind is named, with its interval, in per cent."""
    told = [(one[column], one["subject_id"]) for one in row[-1] if one[column] is not None]
    is_named = [name == kind or (not kind and name not in (NEW, OLD, NONE)) for name, _ in told]
    return estimate(vars(proportion(is_named, [subject for _, subject in told]))) if told else ""


_NAMED = Listing(
    {
        "model": 0,
        "decoder": 1,
        "changes": lambda row: len(row[-1]),
        "new, %": partial(_share, "names", NEW),
        "placebo new, %": partial(_share, "placebo_names", NEW),
        "stale, %": partial(_share, "names", OLD),
        "placebo stale, %": partial(_share, "placebo_names", OLD),
        "other, %": partial(_share, "names", ""),
        "none, %": partial(_share, "names", NONE),
    },
    "generated answers",
    "new, stale: the share of the changes counted above whose answer names the new object, or the old one, by any of "
    "its names; placebo: the same answers by another subject's change, so what models name that do not know the "
    "subjects; other: anything else; none: no answer. Intervals are 95 %, clustered by subject",
)


def print_names(store: Store, known: Sequence[Known]) -> None:
    """Print whom models name in the changes by which it was measured what they know; nothing if none was asked."""
    asked: dict[str, set[int]] = {}
    for one in known:
        asked.setdefault(one.scores.model["model"], set()).update(one.scores.window.items.tolist())
    named = read_named(store, known[0].question.release)
    rows = [(*key, [row for row in every if row["item"] in asked.get(key[0], ())]) for key, every in named.items()]
    if rows := [row for row in rows if row[-1]]:
        show(_NAMED, rows)
        say(are_due(store, (JUDGED_CHANGES.name,)))


def print_answers(model: str, request: AnswersRequest, csv_file: Path | None) -> None:
    """Print what a model said beside what is right.

    Raises:
        SettingsError: it was not asked, or its answers were not judged yet.
    """
    store = open_store()
    found = _judged(store, model, request, f"LIMIT {request.limit}")
    shown = [(listing, rows) for listing in found if (rows := listing.rows(store))]
    for listing, rows in shown:
        show(listing, rows)
    if not shown:
        say(f"Found no such answers of {model}.")
    say(are_due(store, (JUDGED_CHANGES.name,)))
    if csv_file:
        every = read_judged(store, model, request)
        write_file(csv_file, as_csv(every.to_pylist(), every.column_names))
    print_next(*(() if request.kind else (f"answers {model} --kind stale",)), "knows")


def read_judged(store: Store, model: str, request: AnswersRequest) -> "pa.Table":
    """Return all that a model said beside what is right: rows of changes and of items, told apart by `kind`.

    Raises:
        SettingsError: it was not asked, or its answers were not judged yet.
    """
    import pyarrow as pa

    found = []
    for one in _judged(store, model, request):
        rows = store.query(one.query, *one.needs)
        found.append(rows.add_column(0, "kind", pa.array([one.title.partition(":")[0]] * len(rows), pa.string())))
    return pa.concat_tables(found, promote_options="default")


def _judged(store: Store, model: str, request: AnswersRequest, limit: str = "") -> list[Listing]:
    """The tables of a model's answers."""
    asked = sorted({model_of(key) for key in store.lake.partitions(GENERATIONS.name)})
    if model not in asked:
        require_model(store.lake, model)
        raise SettingsError(
            f"answers: found no answers of a model {model!r}; there: {', '.join(asked) or 'none'}. Let it answer: "
            f"tempkb generate {model}"
        )
    there = release_names(store.home)
    if odd := sorted({*request.releases} - {*there}):
        raise SettingsError(f"answers: release {odd[0]!r}: no such release{nearest(odd[0], there)}")
    if not store.lake.partitions(JUDGED_CHANGES.name):
        raise SettingsError(f"answers: those of {model} were not judged yet; judge them: tempkb results")
    words = {"model": model, "conditions": " AND ".join(_conditions(model, request)), "limit": limit}
    return [one.filled(**words) for one in ((CHANGES,) if request.kind else (CHANGES, ITEMS))]


def _conditions(model: str, request: AnswersRequest) -> Iterator[str]:
    yield f"model = {literal(model)}"
    if request.kind:
        yield f"names = {literal(request.kind)}"
    if request.releases:
        yield f"release IN ({literals(request.releases)})"
    if request.window:
        yield f"window_start >= DATE '{request.window[0]}' AND window_start < DATE '{request.window[1]}'"
    if request.decoder:
        yield f"decoder LIKE {literal(f'%.{request.decoder}-%')}"


_WHAT = {"begun": "begin in the window", "holding": "hold in the window"}


def delay_in_words(row: Mapping[str, Any]) -> str:
    """Return days with their interval, if there is one, such as `140 [110, 190]`."""
    return estimate(row, ("days", "days_low", "days_high"), str)


_DELAYS = Listing(
    {
        "facts that": lambda row: _WHAT[row["facts"]],
        "relation": "relation",
        "facts": "n_facts",
        "subjects": "n_subjects",
        "after": Across("share", delay_in_words, {one: f"{percent(one)} % after, days" for one in (0.5, 0.9, 0.95)}),
        "there after 90 days, %": lambda row: f"{percent(row['least_at_90'])} to {percent(row['most_at_90'])}",
    },
    "reporting lag: how long after a window its facts are in Wikidata",
    query=f"FROM {FACT_DELAYS.name} ORDER BY facts, relation <> 'all', relation, share",
    needs=(FACT_DELAYS.name,),
)


def print_delays(csv_file: Path | None) -> None:
    """Print after how many days which share of a window's facts was there, by relation.

    Raises:
        SettingsError: it was not computed yet.
    """
    store = open_store()
    if not store.lake.partitions(FACT_DELAYS.name):
        raise SettingsError(f"{FACT_DELAYS.name} is not built; compute it: tempkb results")
    rows = _DELAYS.rows(store)
    if csv_file:
        write_file(csv_file, as_csv(rows))
    if rows[0]["reason"]:
        say(f"The reporting lag is not known: {rows[0]['reason']}.")
    else:
        show(_DELAYS, rows)
        shown = next(row for row in rows if row["share"] == 0.95)
        say(
            f"95 % of the facts that begin in a window are there {delay_in_words(shown)} days after its end; in "
            "brackets the 95 % interval, by subject. Counted are the facts that the dump of "
            f"{shown['newest_dump_date']} has, of {shown['n_windows']} windows that ended at least two years before "
            "it; what is still to come of younger windows is not seen. A fact was entered between two dumps, so that "
            "days and shares have bounds: the days are those by which it was there for certain. 90 days after its end "
            "a window no longer counts as provisional."
        )
    say(are_due(store, (FACT_DELAYS.name,)))


def print_fact(subject: str, relation: str, releases: Sequence[str], picture: Path | None) -> None:
    """Print the log-probabilities of the objects of a fact, and draw them if a file is named.

    Raises:
        SettingsError: no release asks about the fact, no model has scores of it, or none of them belongs to a day at
            which it can be drawn.
    """
    fact = read_fact(open_store(), as_utf8(subject), as_utf8(relation), [as_utf8(name) for name in releases])
    say(f"{fact.query} ({fact.subject}, {fact.relation}, release {fact.release})")
    spells = [(name, ", ".join(f"{a} to {b}" for a, b in held)) for name, held in fact.spells.items()]
    show(Listing(in_order("object", "validity interval (within the release)")), spells)
    _print_scores(fact)
    if not picture:
        say("As a picture: add --picture FILE.png")
        return
    series = fact.series()
    if not series:
        raise SettingsError(
            f"--picture {picture}: no model with scores of this fact has a stated training cutoff, and none has scores "
            "of its dated queries, so there is no day at which to draw them; name it: tempkb model add MODEL "
            "CHECKPOINT --knows-until DATE, or score those queries: tempkb score MODEL --variant dated"
        )
    with fact_figure(f"{fact.subject}, {fact.relation}: {fact.query}", series, fact.spells) as figure:
        write_picture(picture, figure)


def _print_scores(fact: Fact) -> None:
    """A row for each model, scorer and, of queries with a date, window; a column for each object."""
    rows: dict[tuple[str, ...], dict[str, float]] = {}
    for one in sorted(fact.scores, key=lambda one: (one.model, one.scorer, one.is_dated, one.is_dated and one.day)):
        when = str(one.day) if one.is_dated else ""
        rows.setdefault((one.model, one.scorer, when), {})[one.object] = one.nats
    heads = ("model", "scorer", "date in the query")[: 2 + any(one.is_dated for one in fact.scores)]
    # An object may be named as a column is.
    cells = [
        (
            *key[: len(heads)],
            *(rounded(nats.get(name), 1) for name in fact.spells),
            max(nats, key=lambda name: nats[name]) if len(nats) > 1 else "",
        )
        for key, nats in rows.items()
    ]
    print_sheet(Sheet((*heads, *fact.spells, "most probable"), cells, "log-probabilities (nats)"))
    say(
        "most probable: by the log-probability itself, which is lower for longer and rarer names, whoever they belong "
        "to; without --fact, what the subject adds to it is compared. A query with a date asks only for the objects of "
        "its own window and for those that have just left."
    )


def print_generations(models: Sequence[str], words: Words) -> None:
    """Print what models were asked.

    Args:
        models: names of models that were asked.
        words: what was asked for.
    """
    if print_asked(SAID, STATUSES, models, words)[0]:
        # Not all families are asked about each benchmark.
        answered = {model_of(key) for key in open_store().lake.partitions(GENERATIONS.name)}
        print_next(*(f"answers {name}" for name in [one for one in models if one in answered][:1]), "knows")
