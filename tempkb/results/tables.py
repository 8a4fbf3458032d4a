"""The tables of results: what follows from scores, computed anew from all that a home has."""

from tempkb.store.tables import Column, Family, Rule, Table
from tempkb.store.types import DATE, FLOAT64, INT64, STRING

DEMO_EFFECT = Table(
    name="demo_effect",
    meaning="What tiny models of two cuts know of the changes between them, and contrasts that have to be zero.",
    columns=(
        Column("family", STRING, "kind of models: masked, seq2seq or causal"),
        Column("benchmark", STRING, "benchmark whose scores are compared"),
        Column(
            "contrast",
            STRING,
            "new_minus_removed is the headline, with new_minus_kept and the contrasts of ECBD beside it; the others "
            "are placebos",
        ),
        Column("unit", STRING, "what the estimate is, in words"),
        Column("expected", STRING, "positive for an effect, zero for a placebo"),
        Column("estimate", FLOAT64, "mean over subjects or entities, and over seeds; null without scores"),
        Column("low", FLOAT64, "lower end of the 95 % interval, for which subjects and seeds count as drawn; or null"),
        Column("high", FLOAT64, "upper end of the interval; null with one seed, or with fewer than ten clusters"),
        Column("n_items", INT64, "number of changes, objects or spans that all compared models have scored"),
        Column("n_clusters", INT64, "number of subjects or entities; of two groups, that of the smaller one"),
        Column("n_seeds", INT64, "number of seeds of each cut"),
        Column("p_value", FLOAT64, "of the hypothesis that it is zero, two-sided; null without an interval"),
        Column("p_holm", FLOAT64, "of a placebo: adjusted for all placebos of the family by Holm's method"),
        Column(
            "p_permuted_cuts",
            FLOAT64,
            "of the headline: share of all ways to call half of the models the later ones in which the effect is at "
            "least as large",
        ),
        Column(
            "verdict",
            STRING,
            "of an effect, shown (the interval is above zero) or not shown; of a placebo, zero is included (p_holm is "
            "at least 0.05) or not zero; or no claim, with fewer than five seeds or ten clusters",
        ),
        Column("note", STRING, "why there is no claim, or what else there is to say; or null"),
        Column("release", STRING, "release of the benchmark from which the items are; null without scores"),
        Column("first_cut", DATE, "cut of the earlier models"),
        Column("second_cut", DATE, "cut of the later models"),
    ),
    key=("family", "benchmark", "contrast"),
    family=Family.RESULT,
    partitioned_by="nothing: it has one partition",
    partition_columns=(),
    rules=(
        Rule("known_expectation", "expected is positive or zero", "expected NOT IN ('positive', 'zero')"),
        Rule(
            "known_verdict",
            "the verdict fits what is expected",
            "verdict NOT IN ('no claim', CASE expected WHEN 'zero' THEN 'zero is included' ELSE 'shown' END, "
            "CASE expected WHEN 'zero' THEN 'not zero' ELSE 'not shown' END)",
        ),
        Rule(
            "claim_has_an_interval",
            "what is claimed has an interval and five seeds",
            "verdict <> 'no claim' AND (low IS NULL OR n_seeds < 5)",
        ),
        Rule(
            "estimate_is_within",
            "an interval has two ends, around the estimate",
            "(low IS NULL) <> (high IS NULL) OR estimate < low OR estimate > high",
        ),
        Rule("only_placebos_are_adjusted", "p_holm is of placebos", "expected <> 'zero' AND p_holm IS NOT NULL"),
    ),
)

TABLES = (DEMO_EFFECT,)
