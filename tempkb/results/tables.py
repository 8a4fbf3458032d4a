"""The tables of results, which are about all models of a home at once."""

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.results import judged_tables
from tempkb.store.tables import Column, Family, Rule, Table
from tempkb.store.types import BOOL, DATE, FLOAT64, INT32, INT64, STRING

ALL = "all"
"""The one partition of a table of results."""

DELAYS_YEARS, DELAYS_SEED = 2, 13
"""By how many years windows have to be older than the newest dump, and of bootstraps, for `fact_delays`."""

AGGREGATES = tuple(one.reading.aggregate.name for one in BENCHMARKS if one.reading and one.reading.aggregate)
VERDICTS = ("more", "less", "cannot tell", "no comparison")

_KNOWN = (
    Column("release", STRING, "release whose items were asked"),
    Column("split", STRING, "all, or test for ECBD"),
    Column("metric", STRING, "share of changes, perplexity, or pseudo-perplexity (of masked models)"),
    Column(
        "aggregate",
        STRING,
        "prefers_new (share of the window's changes in which the subject adds more to the log-probability of the "
        "new object than to that of the old one) or ppl_entity_macro (perplexity of test spans about entities "
        "that originated in the window, each entity with the same weight)",
    ),
    Column("model", STRING, "name of the model"),
    Column("scorer", STRING, "family, template, version and number type, such as causal.span-1.f32"),
    Column("knows_certainly_until", DATE, "day before which its training texts certainly reach; null if unknown"),
    Column("knows_possibly_until", DATE, "day from which on none of its training texts is; null if unknown"),
    Column("window_from", DATE, "first day of what is asked about"),
    Column("window_to", DATE, "the day after the last"),
    Column("is_provisional", BOOL, "true if facts of the window may still be entered in Wikidata in large numbers"),
    Column("n_asked", INT32, "number of items in the window"),
    Column("n_unscored", INT32, "how many of them have no score, such as names that the scorer cannot align"),
    Column("n_unclean", INT32, "how many more were left out, because the model may have read of them too early"),
    Column("n_items", INT32, "how many remain"),
    Column("n_clusters", INT32, "of how many subjects or entities these are"),
    Column("value", FLOAT64, "the aggregate in the window; null without an item"),
    Column("low", FLOAT64, "lower end of its 95 % interval; null under ten clusters"),
    Column("high", FLOAT64, "upper end"),
    Column("earlier_from", DATE, "first day of the earlier period with which it is compared"),
    Column("earlier_to", DATE, "the day after the last"),
    Column("earlier_n_items", INT32, "number of its items"),
    Column("earlier_n_clusters", INT32, "number of its subjects or entities"),
    Column("earlier_value", FLOAT64, "the aggregate in that period; null without an item"),
    Column("earlier_low", FLOAT64, "lower end of its 95 % interval; null under ten clusters"),
    Column("earlier_high", FLOAT64, "upper end"),
    Column(
        "earlier_control",
        FLOAT64,
        "of prefers_new: the same share of objects of other subjects' changes, in place of those of the earlier "
        "items; null without one",
    ),
    Column(
        "is_earlier_fallback",
        BOOL,
        "true if no model has ten subjects in the period some years before, so that the earlier period is the "
        "first of the same length in which one has",
    ),
    Column(
        "difference",
        FLOAT64,
        "of prefers_new: window minus earlier period; of a perplexity: window divided by earlier period; null if "
        "there is nothing to compare with",
    ),
    Column("difference_low", FLOAT64, "lower end of its 95 % interval; null under ten clusters"),
    Column("difference_high", FLOAT64, "upper end"),
    Column(
        "detectable",
        FLOAT64,
        "the smallest difference that would be found with a probability of 80 %: of prefers_new a difference, of "
        "a perplexity a factor above 1",
    ),
    Column("rank_from", INT32, "best rank among the models with this scorer that the items allow; null if alone"),
    Column("rank_to", INT32, "worst such rank"),
    Column("n_ranked", INT32, "number of models that were ranked"),
    Column(
        "rank_note",
        STRING,
        "why the model is not ranked, in a sentence: the interval of its earlier level contains the level of its "
        "controls, or is below it; null otherwise",
    ),
    Column(
        "verdict",
        STRING,
        "more or less (known of the window than of the earlier period, by more than is detectable), cannot tell "
        "(by less than that), or no comparison",
    ),
    Column("note", STRING, "why there is no interval or comparison, in a sentence; null otherwise"),
)
_OF_KNOWN = (
    Rule("known_aggregate", "the aggregate has a known value", f"aggregate NOT IN {AGGREGATES}"),
    Rule("known_verdict", "the verdict has a known value", f"verdict NOT IN {VERDICTS}"),
    Rule(
        "items_add_up",
        "items without a score, those left out and those that remain are all items of the window",
        "n_asked <> n_unscored + n_unclean + n_items",
    ),
    Rule(
        "interval_holds_its_value",
        "an interval contains its value",
        "NOT (value BETWEEN low AND high) OR NOT (earlier_value BETWEEN earlier_low AND earlier_high)",
    ),
    Rule(
        "no_rank_of_what_is_not_ranked",
        "a model that is not ranked has no rank",
        "rank_note IS NOT NULL AND rank_from IS NOT NULL",
    ),
    Rule(
        "verdict_has_a_difference",
        "a verdict other than no comparison has an interval of the difference",
        "verdict <> 'no comparison' AND difference_low IS NULL",
    ),
)

KNOWLEDGE = Table(
    name="knowledge",
    meaning="What each model knows of the last window of each release, compared with what it knows of three years "
    "earlier, or, where no model has ten subjects there, of the first period of the same length in which one has: the "
    "rows of `tempkb knows`, as they were when results were last computed. `knows` has all windows.",
    columns=_KNOWN,
    key=("release", "aggregate", "model", "scorer"),
    family=Family.RESULT,
    partitioned_by="nothing",
    partition_columns=(),
    rules=_OF_KNOWN,
    code_version="2",
)

KNOWS = Table(
    name="knows",
    meaning="What each model knows of each window with items of each release, compared with three years earlier or, "
    "as in `knowledge`, with the first period that can be: the rows of `tempkb knows --window`, as they were when "
    "results were last computed. Windows are those of the release; of entities, whose origin is often known to the "
    "year only, also years. `NOT is_earlier_fallback` leaves those that are compared with three years earlier.",
    columns=(
        *_KNOWN,
        Column("standard_error", FLOAT64, "of the value, clustered by subject or entity; null with a single one"),
    ),
    key=("release", "aggregate", "model", "scorer", "window_from", "window_to"),
    family=Family.RESULT,
    partitioned_by="nothing",
    partition_columns=(),
    rules=_OF_KNOWN,
    code_version="2",
)

LINKING_EFFECTS = Table(
    name="linking_effects",
    meaning="What linkers that were trained on the snapshots of a release show of time, and what they do not.",
    columns=(
        Column("release", STRING, "release of TempEL"),
        Column("setup", STRING, "preset of the linkers, which differ in snapshot and seed of their training alone"),
        Column(
            "contrast",
            STRING,
            "linker_minus_prior (at mentions whose surface several entities share), continual_in_minus_out, and, of "
            "new entities, shock_minus_series and covid_minus_recurrent",
        ),
        Column("k", INT32, "number of candidates among which the entity has to be"),
        Column("unit", STRING, "what the estimate is, in words"),
        Column("expected", STRING, "positive, or within 5 points of zero"),
        Column("estimate", FLOAT64, "mean over entities and seeds, a difference of shares; null without mentions"),
        Column("low", FLOAT64, "lower end of the 95 % interval, for which entities and seeds count as drawn; or null"),
        Column("high", FLOAT64, "upper end; null with one seed, or with fewer than ten entities"),
        Column("n_items", INT64, "number of mentions that all compared linkers have linked"),
        Column("n_clusters", INT64, "number of entities; of two groups, that of the smaller one"),
        Column("n_seeds", INT64, "number of seeds of each training snapshot"),
        Column(
            "p_value",
            FLOAT64,
            "that it is zero, two-sided; where it is expected within 5 points: that it is not, by two one-sided tests, "
            "so that below 0.05 the 90 % interval lies within; null without an interval",
        ),
        Column("verdict", STRING, "shown, not shown, or no claim, with fewer than five seeds or ten entities"),
        Column("note", STRING, "which entities are compared, or why there is no claim; or null"),
    ),
    key=("release", "setup", "contrast", "k"),
    family=Family.RESULT,
    partitioned_by="nothing",
    partition_columns=(),
    rules=(
        Rule(
            "known_expectation",
            "expected is positive or within 5 points",
            "expected NOT IN ('positive', 'within 5 points')",
        ),
        Rule("known_verdict", "the verdict is known", "verdict NOT IN ('shown', 'not shown', 'no claim')"),
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
    ),
    code_version="2",
)

LINKING_SUMS = Table(
    name="linking_sums",
    meaning="Figures that put linkers of a setup together: weighted sums of accuracies at the snapshots of a release. "
    "The views linking_by_training, linking_changes and linking_by_type show them, each kind with its own columns.",
    columns=(
        Column("number", INT64, "number of the row, from 1 on, in the order of what the figures are of"),
        Column("release", STRING, "release of TempEL"),
        Column("setup", STRING, "what the linkers have in common, as in linking_accuracy"),
        Column("pool", STRING, "among which candidates mentions were linked"),
        Column("subset", STRING, "subset of the release's mentions: test or validation"),
        Column("category", STRING, "continual or new entities"),
        Column("type_by", STRING, "by what new entities have types: paper, class or origin; null of all entities"),
        Column("entity_type", STRING, "type of the entities; null of all entities"),
        Column("aggregate", STRING, "which sum it is: an aggregate of the views"),
        Column("model_cut", DATE, "snapshot of training, of a sum of one; otherwise null"),
        Column("cut", DATE, "snapshot of the test; null over all of them"),
        Column("from_cut", DATE, "snapshot of the test with which it is compared; or null"),
        Column("steps", INT64, "number of snapshots from the test to the training; or null"),
        Column("metric", STRING, "accuracy, or similarity of consecutive descriptions among the first 64 candidates"),
        Column("k", INT32, "number of candidates among which the entity has to be"),
        Column("value", FLOAT64, "the sum"),
        Column("standard_error", FLOAT64, "clustered by entity, with seed_error; null with a single entity"),
        Column("seed_error", FLOAT64, "its part that comes from seeds; null unless each training snapshot has several"),
        Column("low", FLOAT64, "lower end of the 95 % interval; null under ten clusters, or if all agree exactly"),
        Column("high", FLOAT64, "upper end"),
        Column("n_items", INT64, "number of mentions, once for each linker and test"),
        Column("n_clusters", INT64, "number of entities with a value; of a difference, of the side that has fewer"),
        Column("n_linkers", INT64, "number of linkers"),
        Column("n_seeds", INT64, "fewest seeds of a training snapshot; null without training"),
    ),
    key=("number",),
    family=Family.RESULT,
    partitioned_by="nothing",
    partition_columns=(),
    rules=(
        Rule("types_are_of_new_entities", "only new entities have types", "type_by IS NOT NULL AND category <> 'new'"),
        Rule("interval_holds_its_value", "an interval contains its value", "NOT (value BETWEEN low AND high)"),
    ),
    code_version="2",
)

NIL_RESULTS = Table(
    name="nil_results",
    meaning="How well linkers tell that the entity of a mention is not there yet: test mentions of a snapshot in pools "
    "of earlier ones, in which entities that came in between are absent, so that none is the right answer. By linker, "
    "snapshot and pool, and by gap over all of them (cut and pool are null) whose pool is not before the linker's "
    "training. Without mentions of both kinds there is no row; without a threshold, which nil_thresholds has or says "
    "why not, there is the auc alone.",
    columns=(
        Column("number", INT64, "number of the row, from 1 on"),
        Column("release", STRING, "release of TempEL"),
        Column("linker", STRING, "name of the linker"),
        Column(
            "model_cut",
            DATE,
            "snapshot of its training, before which a pool should not be: of an earlier one it has read of absent "
            "entities; null if tempkb did not train it",
        ),
        Column("measure", STRING, "margin or top_score, as in nil_thresholds"),
        Column("cut", DATE, "snapshot of the mentions; null over all of a gap"),
        Column("pool", DATE, "snapshot of the candidates; null over all of a gap"),
        Column("gap", INT32, "number of the release's snapshots from pool to cut"),
        Column("mentions", STRING, "all, in_old_articles (that are candidates), in_new_articles, present, or absent"),
        Column(
            "metric",
            STRING,
            "auc (share of pairs in which the present mention has the higher value), f1 (of the answer none), accuracy "
            "(with none as an answer) or gain (accuracy minus that of the same linker without this answer); where all "
            "mentions are present, or absent, the auc is the share of pairs in which that in an old article is higher",
        ),
        Column("value", FLOAT64, "the figure"),
        Column("standard_error", FLOAT64, "clustered by entity; null with a single entity"),
        Column("low", FLOAT64, "lower end of the 95 % interval; null under ten entities"),
        Column("high", FLOAT64, "upper end"),
        Column(
            "placebo",
            FLOAT64,
            "of an auc: its mean with permuted entities (or articles), 200 times, within linker, snapshot and pool, "
            "which is one half; or null",
        ),
        Column("placebo_low", FLOAT64, "2.5 % quantile of the permuted ones; or null"),
        Column("placebo_high", FLOAT64, "97.5 % quantile; or null"),
        Column("threshold", FLOAT64, "p up to which none is the answer, chosen on the validation set alone; or null"),
        Column("n_present", INT64, "number of mentions whose entity is a candidate"),
        Column("n_absent", INT64, "number of those whose entity is none"),
        Column("n_in_new_articles", INT64, "number of both in articles that are no candidates"),
        Column(
            "n_clusters", INT64, "number of entities, or articles, that count; of an auc, of the side that has fewer"
        ),
    ),
    key=("number",),
    family=Family.RESULT,
    partitioned_by="nothing",
    partition_columns=(),
    rules=(
        Rule("interval_holds_its_value", "an interval contains its value", "NOT (value BETWEEN low AND high)"),
        Rule("candidates_are_earlier", "candidates are of an earlier snapshot than mentions", "pool >= cut OR gap < 1"),
    ),
    code_version="2",
)

FACT_DELAYS = Table(
    name="fact_delays",
    meaning="How long after the end of a window its facts are in Wikidata: after how many days which share of those "
    "that the newest dump has was there. Of windows that ended at least two years before that dump, since of younger "
    "ones what is still to come is not seen.",
    columns=(
        Column("facts", STRING, "begun: facts that begin in the window; holding: all that hold in it"),
        Column("relation", STRING, "property of the facts, or all"),
        Column("share", FLOAT64, "share of the facts"),
        Column("days", INT32, "days after the end of the window by which so many were there; or null"),
        Column("days_low", INT32, "lower end of the 95 % interval, by subject; null under ten subjects"),
        Column("days_high", INT32, "upper end"),
        Column("least_at_90", FLOAT64, "smallest share that may have been there 90 days after the end of the window"),
        Column("most_at_90", FLOAT64, "largest such share, since arrivals are known to lie between two dumps only"),
        Column("n_facts", INT64, "number of facts, once for each window"),
        Column("n_subjects", INT64, "number of subjects"),
        Column("n_windows", INT64, "number of windows"),
        Column("n_dumps", INT64, "number of dumps that were read"),
        Column("newest_dump_date", DATE, "day of the newest of them; null without any"),
        Column("reason", STRING, "why there are no days; null if there are"),
    ),
    key=("facts", "relation", "share"),
    family=Family.RESULT,
    partitioned_by="nothing",
    partition_columns=(),
    rules=(Rule("days_or_a_reason", "there are days, or a reason why not", "(days IS NULL) = (reason IS NULL)"),),
    code_version="2",
)

TABLES = (
    KNOWLEDGE,
    KNOWS,
    LINKING_EFFECTS,
    LINKING_SUMS,
    NIL_RESULTS,
    FACT_DELAYS,
    *judged_tables.TABLES,
)
