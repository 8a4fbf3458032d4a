"""What is read of the scores of a benchmark's items. Plain data.

Results know no benchmark by name: they put together what each brings, its own views among them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tempkb.core.prompts import HAS_TWO_PERIODS
from tempkb.store.tables import Table, View

SCORES, MODELS = "prompt_scores", "models"
"""Tables of later rooms that views of scores need."""

PERPLEXITY_METRIC = "CASE WHEN scorer LIKE 'masked.%' THEN 'pseudo-perplexity' ELSE 'perplexity' END"
"""SQL: a masked model gives no probability of a text, so what is made of its scores has a name of its own."""

NUMBERS = "regexp_extract(scorer, '-(.*)$', 1) AS numbers"
"""SQL of what follows a scorer's template: version and number type."""

TWO_PERIODS = "two_periods"
"""Reason why a prompt has no score: a name's own period and that of the sentence are one token (not_alignable)."""
REASONS = f"""
    max(CASE WHEN s.status = 'not_alignable' AND {HAS_TWO_PERIODS} THEN '{TWO_PERIODS}' ELSE s.status END) AS reason,
    bool_or(s.status = 'no_left_context') AS is_starting
"""
"""SQL: why an item has no score. If it is asked in another wording as well, the reason is the last by name."""


@dataclass(frozen=True)
class Part:
    """Rows that a benchmark brings to a view over all benchmarks.

    Attributes:
        needs: names of the tables and views that it reads, besides scores and models.
    """

    query: str
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Aggregate:
    """What models are compared by: an aggregate over the items of a window. SQL is of a release, `{release}`.

    Attributes:
        is_share: whether it is the share of items of which a value is 1, of which more is better; else it is a
            perplexity: exp of the mean over clusters of the mean of their values, in nats.
        clusters: what items are clustered by, in the singular, and in the plural where that has no s.
        title: what is measured, before "from A to B".
        label: the same, of the axis of a picture of levels.
        caption: the same, of the axis of a picture by window.
        coarse: how finely it is known when an item happened, after "items that may lie outside, since".
        table: name of that with the releases.
        releases: release, study_from, study_to and granularity (null: the home's) of all releases.
        items: item (hash), from_day, to_day, is_provisional and cluster_id (the entity, or the number of its page if it
            has none).
        scores: model, scorer, item, cluster, from_day, to_day, value, days_after (of `leak_free_items`) and control.
        reasons: model, scorer, item, relation, from_day, to_day, reason (why it has no score) and is_starting (whether
            nothing precedes the target).
        needs: names of the tables and views that these read.
        ends_with_items: whether the last window is that of the last item, and not that of the study's end.
        has_years: whether years are windows, too, since of some items it is only known in which year they are.
    """

    name: str
    is_share: bool
    clusters: tuple[str, ...]
    split: str
    title: str
    label: str
    caption: str
    coarse: str
    table: str
    releases: str
    items: str
    scores: str
    reasons: str
    needs: tuple[str, ...]
    ends_with_items: bool = False
    has_years: bool = False


@dataclass(frozen=True)
class Judging:
    """Which names are right answers to questions about a benchmark's items; SQL of parts has the columns listed here.

    Attributes:
        answers: release, item_id, target_id, names (label, then aliases), window_start (null if the item has none),
            subset (null if there is none) and template_no (1, or the number of a further template of its relation).
        wordings: variants of prompts that ask for the same, of which an item counts in one, the preferred first.
        changes: release, item_id, subject_id, relation, new_object_id, old_object_id, window_start, change_from,
            change_to, split, and lists of names: new_names, old_names, other_names (of what the subject has at another
            time), and placebo_new_names, placebo_old_names and placebo_other_names (of another subject's change; null
            without one).
    """

    answers: Part
    wordings: tuple[str, ...] = ()
    changes: Part | None = None


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
        texts: items about entities: release, item_id, entity_id, page_id, revision_id, dump_id, origin (in words), text
            and answer.
        sentences: scores of sentences about entities: model, numbers, release, item_id, entity_id, sentence, prompt_id,
            window_start, window_end and nats (of a token).
        facts: scores of facts: model, scorer, numbers, release, subject_id, relation, object_id, window_start,
            window_end, wording, nats and n_tokens.
        changes: scores of changed facts: model, numbers, release, item_id, entity_id, relation, new_object_id,
            new_label, old_object_id, old_label, window_start, window_end and preference_nats.
        changed: how answers changed: release, granularity, window_start, change, split, target_id, cluster_id, and an
            item_id of any window in which the target is right, since without a date all of them ask the same.
        queries: the table of queries about facts, whose scores are in `fact_scores`.
        judging: which names are right answers.
        made: views of further prompts, of which each target is right, by the name under which answers are judged; with
            subset beside the columns of prompts.
    """

    views: tuple[View, ...] = ()
    aggregate: Aggregate | None = None
    items: Part | None = None
    by_window: Part | None = None
    texts: Part | None = None
    sentences: Part | None = None
    facts: Part | None = None
    changes: Part | None = None
    changed: Part | None = None
    queries: Table | None = None
    judging: Judging | None = None
    made: Mapping[str, View] = field(default_factory=dict)


def united(parts: Sequence[Part]) -> Part:
    """Return the rows of several parts, by name."""
    return Part(
        " UNION ALL BY NAME ".join(f"FROM ({part.query})" for part in parts),
        tuple(dict.fromkeys(name for part in parts for name in part.needs)),
    )
