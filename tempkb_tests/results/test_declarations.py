"""How views of results are declared: what all of them say, and what keeps their text the same in equal homes."""

import re

import pytest

from tempkb.platform.rooms import VIEWS as ALL_VIEWS
from tempkb.results.room import VIEWS
from tempkb_tests.results.worlds import World

ESTIMATES = [
    "ecbd_results",
    "ecbd_variants",
    "templama_results",
    "dynamic_templama_results",
    "prefers_new",
    "object_scores",
    "scores_by_gap",
    "knows",
    "token_ranks",
    "results_by_change",
    "future_likelihoods",
    "future_entropies",
    "results_by_popularity",
    "answers_by_regime",
]
OF_ANSWERS = ["answer_results", "names_by_window", "ecbd_recalls", "answers_by_duration"]
OF_LINKING = ["linking_accuracy", "linking_by_training", "linking_changes", "linking_by_type"]


@pytest.mark.parametrize("name", [*ESTIMATES, *OF_ANSWERS])
def test_every_view_of_estimates_names_split_metric_aggregate_scorer_and_numbers(name):
    from tempkb.store.memory import in_memory

    with in_memory() as connection:
        World().show(connection, name)
        columns = {column[0] for column in connection.execute(f"DESCRIBE {name}").fetchall()}
    by = "decoder" if name in OF_ANSWERS else "scorer"
    wanted = {"model", by, "split", "metric", "aggregate", "value", "low", "high", "n_items", "n_clusters"}
    assert wanted <= columns


@pytest.mark.parametrize("name", OF_LINKING)
def test_every_view_of_linking_names_pool_subset_category_k_aggregate_and_numbers(name):
    from tempkb.store.memory import in_memory

    with in_memory() as connection:
        World().show(connection, name)
        columns = {column[0] for column in connection.execute(f"DESCRIBE {name}").fetchall()}
    wanted = {"release", "setup", "pool", "subset", "category", "cut", "metric", "k", "aggregate"}
    assert wanted | {"value", "standard_error", "low", "high", "n_items", "n_clusters"} <= columns


def test_the_other_views_of_results_are_those_of_items_or_of_several_models():
    assert {one.name for one in VIEWS} - set(ESTIMATES) - set(OF_LINKING) - set(OF_ANSWERS) == {
        "scored_changes",
        "leak_free_items",
        "entity_knowledge",
        "stale_answers",
        "ecbd_cells",
        "answers_by_years_apart",
        "dated_choices",
        "dated_choice_results",
        "updated_models",
    }


def test_no_view_leaves_the_order_of_its_text_to_duckdb():
    """Of several columns of EXCLUDE, DuckDB writes down an order that differs between equal homes."""
    excluded = re.compile(r"EXCLUDE \([^)]*,")
    assert [one.name for one in ALL_VIEWS if excluded.search(one.query)] == []
