"""Declares views of linking: accuracies of linkers by snapshot, changes, in- and out-of-snapshot, types of entities."""

from tempkb.linking.tables import LINKERS, LINKING_SCORES
from tempkb.results.linking_sql import accuracies, counts, spaces
from tempkb.results.linking_weights import BY_TRAINING
from tempkb.results.tables import LINKING_SUMS
from tempkb.store.tables import View

_OF_SUM = """
    metric, k, value, standard_error, seed_error, low, high, n_items, n_clusters, n_linkers, n_seeds
"""
_HOW = (
    "Clusters are the entities of the mentions; under ten there is no interval. setup is the preset of trained "
    "linkers, which differ in the snapshot and seed of their training alone (followed by the release on which they "
    "were trained, if it is another one, and by digits of the recipe, if there are several), and the name of any other "
    "linker. n_items counts a mention once for each linker and test. seed_error is the part of the standard error that "
    "comes from the seeds of training; it is null, and not in the interval, unless all training snapshots have several."
)
_EACH = "Categories are continual and new, each by itself; only linking_accuracy has all mentions together."

LINKING_ACCURACY = View(
    name="linking_accuracy",
    meaning="Accuracy of each linker at each test snapshot of a release, by pool of candidates, subset, category "
    "(continual, new or all) and k: the share of mentions whose entity is among the first k candidates (metric "
    "accuracy), as in the paper's tables 2 and 7 to 13. An entity that is no candidate is a miss; n_missing counts "
    "its mentions. The metric similarity is the mean similarity of consecutive descriptions among the first 64 "
    "candidates (figure 4a). aggregate is micro: each mention has the same weight. Clusters are entities; under ten "
    "there is no interval.",
    query=f"""
    WITH tests AS MATERIALIZED ({spaces()}), counted AS MATERIALIZED ({counts()}) {accuracies()}
    """,
    needs=(LINKING_SCORES.name,),
    optional=(LINKERS.name,),
)

LINKING_BY_TRAINING = View(
    name="linking_by_training",
    meaning="Accuracy by training snapshot (model_cut; null for what is not trained) and test snapshot (cut), averaged "
    "over seeds of training (aggregate mean_of_seeds), and the difference to the accuracy of the same linkers at the "
    f"snapshot of their training (minus_own_snapshot), by which tables are coloured. {_EACH} {_HOW}",
    query=f"""
    SELECT release, setup, model_cut, pool, subset, category, cut, aggregate, {_OF_SUM}
    FROM {LINKING_SUMS.name} WHERE aggregate IN {BY_TRAINING}
    """,
    needs=(LINKING_SUMS.name,),
)

LINKING_CHANGES = View(
    name="linking_changes",
    meaning="Figures that put the linkers of one setup together, all made from the rows of linking_accuracy: "
    "mean_of_models (mean over training snapshots at a test snapshot), change (from the first test snapshot, from_cut, "
    "to cut, averaged over models) and change_of_later_models (without the models trained on the first snapshot or "
    "before), in_snapshot (trained on the snapshot of the test), out_of_snapshot (mean of all other models) and "
    "in_minus_out, by test snapshot and over all that have both (cut is null), and out_minus_in by steps, the number "
    f"of snapshots from the test to the training (negative: trained earlier). {_EACH} {_HOW}",
    query=f"""
    SELECT release, setup, pool, subset, category, aggregate, cut, from_cut, steps, {_OF_SUM}
    FROM {LINKING_SUMS.name} WHERE type_by IS NULL AND aggregate NOT IN {BY_TRAINING}
    """,
    needs=(LINKING_SUMS.name,),
)

LINKING_BY_TYPE = View(
    name="linking_by_type",
    meaning="In- and out-of-snapshot accuracy of mentions of new entities, by type (figures 5c and 8): "
    "type_by is paper (covid, recurrent or other, by the paper's keywords in titles), class (Wikidata's), or origin "
    "(extract of an existing page; series, whose title differs from that of a page of the snapshot before in numbers "
    "alone; or other). By test snapshot, and over all (cut is null), where each mention has the same weight. The "
    f"aggregates are those of linking_changes. {_HOW}",
    query=f"""
    SELECT release, setup, pool, subset, category, type_by, entity_type, aggregate, cut, {_OF_SUM}
    FROM {LINKING_SUMS.name} WHERE type_by IS NOT NULL
    """,
    needs=(LINKING_SUMS.name,),
)

VIEWS = (LINKING_ACCURACY, LINKING_BY_TRAINING, LINKING_CHANGES, LINKING_BY_TYPE)
