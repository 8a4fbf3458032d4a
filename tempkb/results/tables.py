"""The tables of results, which are about all models of a home at once."""

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.results import judged_tables
from tempkb.store.columns import columns, rules
from tempkb.store.tables import table_of_results

ALL = "all"
"""The one partition of a table of results."""

DELAYS_YEARS, DELAYS_SEED = 2, 13
"""By how many years windows have to be older than the newest dump, and of bootstraps, for `fact_delays`."""

AGGREGATES = tuple(one.reading.aggregate.name for one in BENCHMARKS if one.reading and one.reading.aggregate)
HIGHER, LOWER, INCONCLUSIVE, NOT_COMPARED = VERDICTS = ("higher", "lower", "inconclusive", "not compared")
"""Verdicts on what a model knows of a window, beside what it knows of the baseline window."""

_columns_of_linkers = columns.extended("""
    k INTEGER: number of candidates among which the entity has to be
    release VARCHAR: release of TempEL
""")

_KNOWN = columns("""
    release
    split VARCHAR: all, or test for ECBD
    metric VARCHAR: share of changes, perplexity, or pseudo-perplexity (of masked models)
    aggregate VARCHAR: prefers_new (share of the window's changes in which the subject adds more to the log-probability
        of the new object than to that of the old one) or ppl_entity_macro (perplexity of test spans about entities that
        originated in the window, each entity with the same weight)
    model, scorer, knows_certainly_until, knows_possibly_until
    window_from DATE: first day of what is asked about
    window_to DATE: the day after the last
    is_provisional BOOLEAN: true if facts of the window may still be entered in Wikidata in large numbers
    n_asked INTEGER: number of items in the window
    n_unscored INTEGER: how many of them have no score, such as names that the scorer cannot align
    n_unclean INTEGER: how many more were left out, because the model may have read of them too early
    n_items INTEGER: how many remain
    n_clusters INTEGER: of how many subjects or entities these are
    value DOUBLE: the aggregate in the window; null without an item
    low DOUBLE: lower end of its 95 % interval; null under ten clusters
    high
    earlier_from DATE: first day of the baseline window, with which it is compared
    earlier_to DATE: the day after the last
    earlier_n_items INTEGER: number of its items
    earlier_n_clusters INTEGER: number of its subjects or entities
    earlier_value DOUBLE: the aggregate in the baseline window; null without an item
    earlier_low DOUBLE: lower end of its 95 % interval; null under ten clusters
    earlier_high DOUBLE: upper end
    earlier_control DOUBLE: of prefers_new: the same share of objects of other subjects' changes, in place of those of
        the items of the baseline window; null without one
    is_earlier_fallback BOOLEAN: true if no model has ten subjects in the days some years before, so that the baseline
        window is the first of the same length in which one has
    difference DOUBLE: of prefers_new: window minus baseline window; of a perplexity: window divided by baseline window;
        null if there is nothing to compare with
    difference_low DOUBLE: lower end of its 95 % interval; null under ten clusters
    difference_high DOUBLE: upper end
    detectable DOUBLE: minimum detectable effect: the smallest difference that would be found with a probability of
        80 %: of prefers_new a difference, of a perplexity a factor above 1
    rank_from INTEGER: best rank among the models with this scorer that the items allow; null if alone
    rank_to INTEGER: worst such rank
    n_ranked INTEGER: number of models that were ranked
    rank_note VARCHAR: why the model is not ranked, in a sentence: the interval of its baseline contains the share of
        its controls, or is below it; null otherwise
    verdict VARCHAR: higher or lower (what is known of the window, beside the baseline window, by the minimum detectable
        effect or more), inconclusive (by less than that), or not compared
    note VARCHAR: why there is no interval or comparison, in a sentence; null otherwise
""")
_OF_KNOWN = rules(f"""
    known_aggregate: the aggregate has a known value
        aggregate NOT IN {AGGREGATES}
    known_verdict: the verdict has a known value
        verdict NOT IN {VERDICTS}
    items_add_up: items without a score, those left out and those that remain are all items of the window
        n_asked <> n_unscored + n_unclean + n_items
    interval_holds_its_value: an interval contains its value
        NOT (value BETWEEN low AND high) OR NOT (earlier_value BETWEEN earlier_low AND earlier_high)
    no_rank_of_what_is_not_ranked: a model that is not ranked has no rank
        rank_note IS NOT NULL AND rank_from IS NOT NULL
    verdict_has_a_difference: a verdict other than not compared has an interval of the difference
        verdict <> '{NOT_COMPARED}' AND difference_low IS NULL
""")

KNOWLEDGE = table_of_results(
    name="knowledge",
    meaning="What each model knows of the last window of each release, compared with what it knows of three years "
    "earlier, or, where no model has ten subjects there, of the first days of the same length in which one has: the "
    "rows of `tempkb knows`, as they were when results were last computed. `knows` has all windows.",
    columns=_KNOWN,
    key=("release", "aggregate", "model", "scorer"),
    rules=_OF_KNOWN,
    code_version="3",
)

KNOWS = table_of_results(
    name="knows",
    meaning="What each model knows of each window with items of each release, compared with three years earlier or, "
    "as in `knowledge`, with the first period that can be: the rows of `tempkb knows --window`, as they were when "
    "results were last computed. Windows are those of the release; of entities, whose origin is often known to the "
    "year only, also years. `NOT is_earlier_fallback` leaves those that are compared with three years earlier.",
    columns=(
        *_KNOWN,
        *columns("standard_error DOUBLE: of the value, clustered by subject or entity; null with a single one"),
    ),
    key=("release", "aggregate", "model", "scorer", "window_from", "window_to"),
    rules=_OF_KNOWN,
    code_version="3",
)

ESTIMATED_CUTOFFS = table_of_results(
    name="estimated_cutoffs",
    meaning="What each model's answers to all changes of a release say of its training cutoff, as `tempkb knows` shows "
    "it: the dates at which its preference rate, minus that of controls, may have fallen halfway; and the preference "
    "rate over all windows, with what makes it less certain.",
    columns=columns("""
        release, model, scorer, knows_certainly_until, knows_possibly_until
        n_changes BIGINT: number of changes that were scored
        n_clusters BIGINT: of how many subjects those are that count for the preference rate
        value DOUBLE: the preference rate (share of changes in which the new object is preferred); null without one
        low DOUBLE: lower end of its 95 % interval, clustered by subject; null under ten subjects
        high
        two_way_low DOUBLE: lower end of the interval if subjects and new objects both count as drawn; or null
        two_way_high DOUBLE: upper end
        without_one_low DOUBLE: lowest preference rate if one relation is left out; null with a single relation
        without_one_high DOUBLE: highest such rate
        answer VARCHAR: interval, not before (cutoff_low), not after (cutoff_high), or inconclusive
        cutoff DATE: of an interval, the start of a window at which the fall is most likely; otherwise null
        cutoff_low DATE: first start of a window that a test at 5 % does not reject; null if nothing bounds it
        cutoff_high DATE: last such start; null if nothing bounds it
    """),
    key=("release", "model", "scorer"),
    rules=rules(f"""
        known_answer: the answer has a known value
            answer NOT IN ('interval', 'not before', 'not after', '{INCONCLUSIVE}')
        answer_has_its_dates: an answer has the dates that it names
            (answer IN ('interval', 'not before')) = (cutoff_low IS NULL)
            OR (answer IN ('interval', 'not after')) = (cutoff_high IS NULL)
    """),
)

LINKING_EFFECTS = table_of_results(
    name="linking_effects",
    meaning="What linkers that were trained on the snapshots of a release show of time, and what they do not.",
    columns=_columns_of_linkers("""
        release
        setup VARCHAR: preset of the linkers, which differ in snapshot and seed of their training alone
        contrast VARCHAR: linker_minus_prior (at mentions whose surface several entities share), continual_in_minus_out,
            and, of new entities, shock_minus_series and covid_minus_recurrent
        k
        unit VARCHAR: what the estimate is, in words
        expected VARCHAR: positive, or within 5 points of zero
        estimate DOUBLE: mean over entities and seeds, a difference of shares; null without mentions
        low DOUBLE: lower end of the 95 % interval, for which entities and seeds count as drawn; or null
        high DOUBLE: upper end; null with one seed, or with fewer than ten entities
        n_items BIGINT: number of mentions that all compared linkers have linked
        n_clusters BIGINT: number of entities; of two groups, that of the smaller one
        n_seeds BIGINT: number of seeds of each training snapshot
        p_value DOUBLE: that it is zero, two-sided; where it is expected within 5 points: that it is not, by two
            one-sided tests, so that below 0.05 the 90 % interval lies within; null without an interval
        verdict VARCHAR: shown, not shown, or no claim, with fewer than five seeds or ten entities
        note VARCHAR: which entities are compared, or why there is no claim; or null
    """),
    key=("release", "setup", "contrast", "k"),
    rules=rules("""
        known_expectation: expected is positive or within 5 points
            expected NOT IN ('positive', 'within 5 points')
        known_verdict: the verdict is known
            verdict NOT IN ('shown', 'not shown', 'no claim')
        claim_has_an_interval: what is claimed has an interval and five seeds
            verdict <> 'no claim' AND (low IS NULL OR n_seeds < 5)
        estimate_is_within: an interval has two ends, around the estimate
            (low IS NULL) <> (high IS NULL) OR estimate < low OR estimate > high
    """),
    code_version="2",
)

LINKING_SUMS = table_of_results(
    name="linking_sums",
    meaning="Figures that put linkers of a setup together: weighted sums of accuracies at the snapshots of a release. "
    "The views linking_by_training, linking_changes and linking_by_type show them, each kind with its own columns.",
    columns=_columns_of_linkers("""
        number BIGINT: number of the row, from 1 on, in the order of what the figures are of
        release
        setup VARCHAR: what the linkers have in common, as in linking_accuracy
        pool VARCHAR: among which candidates mentions were linked
        subset VARCHAR: subset of the release's mentions: test or validation
        category VARCHAR: continual or new entities
        type_by VARCHAR: by what new entities have types: paper, class or origin; null of all entities
        entity_type VARCHAR: type of the entities; null of all entities
        aggregate VARCHAR: which sum it is: an aggregate of the views
        model_cut DATE: snapshot of training, of a sum of one; otherwise null
        cut DATE: snapshot of the test; null over all of them
        from_cut DATE: snapshot of the test with which it is compared; or null
        steps BIGINT: number of snapshots from the test to the training; or null
        metric VARCHAR: accuracy, or similarity of consecutive descriptions among the first 64 candidates
        k
        value DOUBLE: the sum
        standard_error DOUBLE: clustered by entity, with seed_error; null with a single entity
        seed_error DOUBLE: its part that comes from seeds; null unless each training snapshot has several
        low DOUBLE: lower end of the 95 % interval; null under ten clusters, or if all agree exactly
        high
        n_items BIGINT: number of mentions, once for each linker and test
        n_clusters BIGINT: number of entities with a value; of a difference, of the side that has fewer
        n_linkers BIGINT: number of linkers
        n_seeds BIGINT: fewest seeds of a training snapshot; null without training
    """),
    key=("number",),
    rules=rules("""
        types_are_of_new_entities: only new entities have types
            type_by IS NOT NULL AND category <> 'new'
        interval_holds_its_value: an interval contains its value
            NOT (value BETWEEN low AND high)
    """),
    code_version="2",
)

NIL_RESULTS = table_of_results(
    name="nil_results",
    meaning="How well linkers tell that the entity of a mention is not there yet: test mentions of a snapshot in pools "
    "of earlier ones, in which entities that came in between are absent, so that none is the right answer. By linker, "
    "snapshot and pool, and by gap over all of them (cut and pool are null) whose pool is not before the linker's "
    "training. Without mentions of both kinds there is no row; without a threshold, which nil_thresholds has or says "
    "why not, there is the auc alone.",
    columns=_columns_of_linkers("""
        number BIGINT: number of the row, from 1 on
        release, linker
        model_cut DATE: snapshot of its training, before which a pool should not be: of an earlier one it has read of
            absent entities; null if tempkb did not train it
        measure VARCHAR: margin or top_score, as in nil_thresholds
        cut DATE: snapshot of the mentions; null over all of a gap
        pool DATE: snapshot of the candidates; null over all of a gap
        gap INTEGER: number of the release's snapshots from pool to cut
        mentions VARCHAR: all, in_old_articles (that are candidates), in_new_articles, present, or absent
        metric VARCHAR: auc (share of pairs in which the present mention has the higher value), f1 (of the answer none),
            accuracy (with none as an answer) or gain (accuracy minus that of the same linker without this answer);
            where all mentions are present, or absent, the auc is the share of pairs in which that in an old article is
            higher
        value DOUBLE: the figure
        standard_error DOUBLE: clustered by entity; null with a single entity
        low DOUBLE: lower end of the 95 % interval; null under ten entities
        high
        placebo DOUBLE: of an auc: its mean with permuted entities (or articles), 200 times, within linker, snapshot and
            pool, which is one half; or null
        placebo_low DOUBLE: 2.5 % quantile of the permuted ones; or null
        placebo_high DOUBLE: 97.5 % quantile; or null
        threshold DOUBLE: p up to which none is the answer, chosen on the validation set alone; or null
        n_present BIGINT: number of mentions whose entity is a candidate
        n_absent
        n_in_new_articles BIGINT: number of both in articles that are no candidates
        n_clusters BIGINT: number of entities, or articles, that count; of an auc, of the side that has fewer
    """),
    key=("number",),
    rules=rules("""
        interval_holds_its_value: an interval contains its value
            NOT (value BETWEEN low AND high)
        candidates_are_earlier: candidates are of an earlier snapshot than mentions
            pool >= cut OR gap < 1
    """),
    code_version="2",
)

FACT_DELAYS = table_of_results(
    name="fact_delays",
    meaning="How long after the end of a window its facts are in Wikidata: after how many days which share of those "
    "that the newest dump has was there. Of windows that ended at least two years before that dump, since of younger "
    "ones what is still to come is not seen.",
    columns=columns("""
        facts VARCHAR: begun: facts that begin in the window; holding: all that hold in it
        relation VARCHAR: property of the facts, or all
        share DOUBLE: share of the facts
        days INTEGER: days after the end of the window by which so many were there; or null
        days_low INTEGER: lower end of the 95 % interval, by subject; null under ten subjects
        days_high INTEGER: upper end
        least_at_90 DOUBLE: smallest share that may have been there 90 days after the end of the window
        most_at_90 DOUBLE: largest such share, since arrivals are known to lie between two dumps only
        n_facts BIGINT: number of facts, once for each window
        n_subjects BIGINT: number of subjects
        n_windows BIGINT: number of windows
        n_dumps BIGINT: number of dumps that were read
        newest_dump_date DATE: day of the newest of them; null without any
        reason VARCHAR: why there are no days; null if there are
    """),
    key=("facts", "relation", "share"),
    rules=rules("""
        days_or_a_reason: there are days, or a reason why not
            (days IS NULL) = (reason IS NULL)
    """),
    code_version="2",
)

_OF_LINKERS = LINKING_EFFECTS, LINKING_SUMS, NIL_RESULTS
TABLES = (KNOWLEDGE, KNOWS, ESTIMATED_CUTOFFS, *_OF_LINKERS, FACT_DELAYS, *judged_tables.TABLES)
