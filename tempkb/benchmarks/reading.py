"""What is read of the scores of a benchmark's items. Plain data.

Results know no benchmark by name: they put together what each brings, its own views among them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tempkb.store.tables import Table, View

SCORES, MODELS = "prompt_scores", "models"
"""Tables of later rooms that views of scores need."""

PERPLEXITY_METRIC = "CASE WHEN scorer LIKE 'masked.%' THEN 'pseudo-perplexity' ELSE 'perplexity' END"
"""SQL: a masked model gives no probability of a text, so what is made of its scores has a name of its own."""

NUMBERS = "regexp_extract(scorer, '-(.*)$', 1) AS numbers"
"""SQL of what follows a scorer's template: version and number type."""


@dataclass(frozen=True)
class Part:
    """Rows that a benchmark brings to a view over all benchmarks.

    Attributes:
        query: SQL.
        needs: names of the tables and views that it reads, besides scores and models.
    """

    query: str
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Reading:
    """What is read of the scores of a benchmark's items. SQL of parts has the columns that are listed.

    Attributes:
        views: views of the benchmark's own scores, in the order of their needs.
        items: on which days items rest: benchmark, release, item_id, target_id, window_start, origin_day, evidence_day,
            statement_day, lacking_day (of the last source that lacks the statement; statement_day is null then) and
            having_day (of the first that has it).
        by_window: estimates by window: release, model, scorer, split, variant, granularity, window_start, metric,
            aggregate, value, standard_error, low, high, n_items and n_clusters.
        sentences: scores of sentences about entities: model, numbers, entity_id, sentence, prompt_id, window_start,
            window_end and nats (of a token).
        facts: scores of facts: model, numbers, subject_id, relation, object_id, window_start, window_end, wording, nats
            and n_tokens.
        changes: scores of changed facts: model, numbers, entity_id, relation, new_object_id, old_object_id,
            window_start, window_end and preference_nats.
        queries: the table of queries about facts, whose scores are in `fact_scores`.
    """

    views: tuple[View, ...] = ()
    items: Part | None = None
    by_window: Part | None = None
    sentences: Part | None = None
    facts: Part | None = None
    changes: Part | None = None
    queries: Table | None = None


def united(parts: Sequence[Part]) -> Part:
    """Return the rows of several parts, by name."""
    return Part(
        " UNION ALL BY NAME ".join(f"FROM ({part.query})" for part in parts),
        tuple(dict.fromkeys(name for part in parts for name in part.needs)),
    )
