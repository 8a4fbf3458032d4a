"""What a run shows of the scores of a model: a sample of prompts, and a picture by window and role."""

from collections.abc import Sequence

import pyarrow as pa

from tempkb.benchmarks.plots import plot_means
from tempkb.scores.running import Answered
from tempkb.scores.selecting import Source
from tempkb.scores.tables import PROMPT_SCORES
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
    return plot_means(title, places, {what: [means.get(one) for one in places] for what, means in series.items()})


def _asked(store: Store, partition: str, source: Source, query: str) -> pa.Table:
    (version,) = store.lake.versions(PROMPT_SCORES.name, [partition])
    with asking() as memory:
        memory.execute(f"CREATE TEMP VIEW prompts AS {source.query}")
        memory.execute(f"CREATE TEMP VIEW scores AS FROM {parquet(version.paths())}")
        return memory.sql(query).to_arrow_table()
