"""Every row of the views of linking equals that of an independent computation in plain Python; intervals of all views."""

import math

import pytest

from tempkb.platform.api import open_store
from tempkb.results.room import ROOM as RESULTS
from tempkb_tests.results import plain

ENDS = ("low", "high")
FIGURES = ("value", "standard_error", *ENDS, "n_items", "n_clusters")
OF_SUM = ("value", "standard_error", "seed_error", *ENDS, "n_items", "n_clusters", "n_linkers", "n_seeds")
GROUP = ("release", "setup", "pool", "subset", "category")
BASE = ("linking_scores", "linkers", "tempel_new_entities")


def tables_of(store, names):
    return {name: store.ask(f"FROM {name}", name) for name in names}


def assert_every_row(rows, key, figures, expected):
    """Equal keys, and equal figures: ends of intervals as far as the quantiles of the views go."""
    found = {tuple(row[name] for name in key): tuple(row[name] for name in figures) for row in rows}
    assert len(found) == len(rows)
    assert found.keys() == expected.keys()
    for one, row in found.items():
        for name, figure, other in zip(figures, row, expected[one], strict=True):
            near = 1e-9
            assert figure == (other if other is None else pytest.approx(other, rel=near, abs=near)), (name, one)


def check_linking(read, tables):
    """All rows of the four views.

    Args:
        read: gives the rows of a view.
        tables: rows of the tables below.
    """
    rows = {view: read(view) for view in ("accuracy", "by_training", "changes", "by_type")}
    key = (*GROUP, "linker", "cut", "metric", "k")
    assert_every_row(rows["accuracy"], key, FIGURES, plain.linking_accuracy(tables))
    key = (*GROUP, "model_cut", "cut", "aggregate", "metric", "k")
    assert_every_row(rows["by_training"], key, OF_SUM, plain.linking_by_training(tables))
    key = (*GROUP, "aggregate", "cut", "from_cut", "steps", "metric", "k")
    assert_every_row(rows["changes"], key, OF_SUM, plain.linking_changes(tables))
    by_type = [{**row, "category": (row["type_by"], row["entity_type"])} for row in rows["by_type"]]
    key = (*GROUP, "aggregate", "cut", "metric", "k")
    assert_every_row(by_type, key, OF_SUM, plain.linking_by_type(tables))
    return sum(map(len, rows.values()))


@pytest.mark.slow
def test_linking_of_the_demo(linked_home, monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", str(linked_home))
    store = open_store()
    n = check_linking(lambda view: store.read(f"linking_{view}").to_pylist(), tables_of(store, BASE))
    assert n > 500


LEAST_AND_MOST = {"accuracy": (0, 1), "similarity": (0, 1), "nats": (-math.inf, 0), "auc": (0, 1), "f1": (0, 1)}


def possible(row):
    """Between which values an estimate of these names lies."""
    metric, aggregate = row.get("metric", ""), row.get("aggregate", "")
    if "minus" in aggregate or "change" in aggregate or metric in ("gain", "difference of shares"):
        return (-1, 1) if "nats" not in metric and "perplexity" not in metric else (-math.inf, math.inf)
    if "perplexity" in metric:
        return 1, math.inf
    if metric.startswith(("share", "mean of")):
        return 0, 1
    return LEAST_AND_MOST.get(metric, (-math.inf, math.inf))


@pytest.mark.slow
@pytest.mark.parametrize("of", ["scored_home", "linked_home"])
def test_no_interval_leaves_what_is_possible(of, request, monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", str(request.getfixturevalue(of)))
    store = open_store()
    odd, n = [], 0
    for name in (*(one.name for one in RESULTS.tables), *(one.name for one in RESULTS.views), "date_results"):
        columns = store.query(f"FROM {name} LIMIT 0", name).column_names if is_there(store, name) else []
        if {"value", "low", "high"} <= {*columns}:
            for row in store.query(f"FROM {name} WHERE low IS NOT NULL", name).to_pylist():
                least, most = possible(row)
                n += 1
                if not least <= row["low"] <= row["value"] <= row["high"] <= most:
                    odd.append((name, row))
    assert n > 100
    assert odd == []


def is_there(store, name):
    needs = store.views[name].needs if name in store.views else (name,)
    return all(need in store.views or store.lake.partitions(need) for need in needs)
