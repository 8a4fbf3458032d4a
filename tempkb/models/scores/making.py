"""Makes answers of language models to the prompts of releases, one model a run. No Dagster here.

What a run shows: a sample of prompts with their scores, and a picture by window and role.
"""

from collections.abc import Callable, Sequence

import pyarrow as pa

from tempkb.benchmarks.card import plot_lines
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.engine.tasks import Done, Order, Picture, Rows, Shown
from tempkb.models.scores.kinds import SCORES, Kind
from tempkb.models.scores.running import Answered, ask_model
from tempkb.models.scores.selecting import Source
from tempkb.models.scores.steps import ASKED
from tempkb.models.scores.tables import PROMPT_SCORES, partition_of
from tempkb.store.memory import asking
from tempkb.store.quoting import parquet
from tempkb.store.store import Store

_N_SAMPLE = 10
# A picture takes a third of a second, and a home may have hundreds of releases.
_N_SHOWN = 4


def to_show(store: Store, done: Sequence[Answered]) -> tuple[list[tuple[str, Source]], int]:
    """Return the releases that a run shows, the newest first: some with new scores, or if none has, the newest of all.

    Returns:
        the first scorer that has prompts of the release, and those; and the number of releases that are not shown.
    """
    asked: dict[str, tuple[str, Source]] = {}
    for one in done:
        for source in one.sources if one.n_prompts else ():
            asked.setdefault(source.release, (one.name, source))
    newest = sorted(asked.values(), key=lambda one: _written(store, one[1]), reverse=True)
    with_new = {source.release for one in done for source in one.new_sources}
    shown = [one for one in newest if one[1].release in with_new][:_N_SHOWN] or newest[:1]
    return shown, len(newest) - len(shown)


def _written(store: Store, source: Source) -> int:
    """When the prompts of a release were written last, in nanoseconds since 1970."""
    return max((store.lake.written_at(one.table, one.partition) or 0 for one in source.versions), default=0)


def sample(store: Store, partition: str, source: Source) -> pa.Table:
    """Return some prompts of a release with their scores; of the same release always the same."""
    return _asked(
        store,
        partition,
        source,
        f"""
        SELECT concat(left_context, '[', target, ']', right_context) AS prompt, target AS answer, role, variant, status,
               round(log_prob_nats, 3) AS log_prob_nats, n_tokens
        FROM prompts JOIN scores USING (prompt_id) ORDER BY md5(concat(item_id, target_id, variant)) LIMIT {_N_SAMPLE}
        """,
    )


def picture(store: Store, partition: str, source: Source) -> str:
    """Return a Markdown image: the mean log-probability of a token, by window and role, of each variant's first."""
    rows = _asked(
        store,
        partition,
        source,
        """
        SELECT coalesce(CAST(date_trunc('quarter', window_start) AS DATE)::VARCHAR, 'none') AS place,
               concat(role, ', ', variant) AS what, avg(log_prob_nats / n_tokens) AS mean
        FROM prompts JOIN scores USING (prompt_id) WHERE status = 'scored' GROUP BY ALL ORDER BY ALL
        """,
    ).to_pylist()
    places = sorted({row["place"] for row in rows})
    series: dict[str, dict[str, float]] = {}
    for row in rows:
        series.setdefault(row["what"], {})[row["place"]] = row["mean"]
    title = f"{source.release}, {partition}: mean log-probability of a token (nats)"
    means = {what: [own.get(one) for one in places] for what, own in series.items()}
    return plot_lines(title, places, means, bottom=None)


def _asked(store: Store, partition: str, source: Source, query: str) -> pa.Table:
    (version,) = store.lake.versions(PROMPT_SCORES.name, [partition])
    with asking() as memory:
        memory.execute(f"CREATE TEMP VIEW prompts AS {source.query}")
        memory.execute(f"CREATE TEMP VIEW scores AS FROM {parquet(version.paths())}")
        return memory.sql(query).to_arrow_table()


def prompt_scores(order: Order) -> Done:
    """Score what has no score yet."""
    return answers(SCORES, order, _shown)


def answers(kind: Kind, order: Order, shown: Callable[[Store, str, Sequence[Answered]], dict[str, Shown]]) -> Done:
    """Ask a model what it has not answered yet.

    Args:
        shown: returns what the UI shows of what was asked, by title.
    """
    store, (name,) = order.store, order.keys
    answered = ask_model(kind, store, BENCHMARKS, name, kind.request.of(order.said), order.log)
    facts: dict[str, Shown] = {ASKED: dict(order.said)}
    for one in answered:
        numbers = {"prompts": one.n_prompts, "new": one.n_new, **one.by_status}
        facts |= {f"{one.name}/{what}": n for what, n in numbers.items()}
    done = Done(facts={kind.table.name: facts}, shows=lambda: {kind.table.name: shown(store, name, answered)})
    done.add(*store.lake.versions(kind.table.name, [partition_of(name, one.name) for one in answered]))
    if not answered:
        done.notes = [f"model {name}: no release has prompts for it yet, so there was nothing to ask"]
    return done


def _shown(store: Store, name: str, done: Sequence[Answered]) -> dict[str, Shown]:
    """A sample and a picture of a few releases, and how many others there are."""
    sources, n_others = to_show(store, done)
    shown: dict[str, Shown] = {"releases not shown": n_others} if n_others else {}
    for scorer, source in sources:
        partition = partition_of(name, scorer)
        shown[f"{source.release}/sample"] = Rows(sample(store, partition, source), cell=200)
        shown[f"{source.release}/scores by window and role"] = Picture(picture(store, partition, source))
    return shown
