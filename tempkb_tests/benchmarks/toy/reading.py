"""How models are asked about the toy benchmark's items, and what is read of their scores."""

from tempkb.benchmarks.prompting import Prompting
from tempkb.benchmarks.reading import REASONS, SCORES, Aggregate, Reading
from tempkb_tests.benchmarks.toy.tables import TOY_PROMPTS, TOY_TITLES

PROMPTING = Prompting(
    TOY_PROMPTS,
    ("plain",),
    n_default=1,
    templates={"masked": "answer_l2r", "seq2seq": "span", "causal": "span"},
    view="toy_scores",
)
_DAYS = "t.since AS from_day, CAST(t.since + 1 AS DATE) AS to_day"
READING = Reading(
    aggregate=Aggregate(
        name="letter_perplexity",
        is_share=False,
        clusters=("title",),
        split="all",
        title="perplexity of first letters",
        label="perplexity of first letters",
        caption="Perplexity of first letters",
        coarse="the day of each is known",
        table=TOY_TITLES.name,
        releases="SELECT release, min(since) AS study_from, max(cut) AS study_to, NULL AS granularity FROM toy_titles GROUP BY release",
        items=f"SELECT hash(t.page_id) AS item, {_DAYS}, false AS is_provisional FROM toy_titles AS t WHERE release = {{release}}",
        scores=f"""
        SELECT s.model, s.scorer, hash(t.page_id) AS item, hash(t.page_id) AS cluster, {_DAYS},
               -s.log_prob_nats / s.n_tokens AS value, NULL::INTEGER AS days_after, NULL::DOUBLE AS control
        FROM toy_scores AS s JOIN toy_titles AS t ON t.release = s.release AND t.page_id = s.item_id::BIGINT
        WHERE s.status = 'scored' AND s.release = {{release}}
        """,
        reasons=f"""
        SELECT s.model, s.scorer, hash(t.page_id) AS item, '' AS relation, {_DAYS}, {REASONS}
        FROM {TOY_PROMPTS.name} AS p JOIN {SCORES} AS s USING (prompt_id)
        JOIN toy_titles AS t ON t.release = p.release AND t.page_id = p.item_id::BIGINT
        WHERE s.status <> 'scored' AND p.release = {{release}} GROUP BY ALL
        """,
        needs=("toy_scores", "toy_titles", TOY_PROMPTS.name, SCORES),
    )
)
