"""Tasks of lm-evaluation-harness are dated: a group for each window, a small one by default, and all."""

from dataclasses import dataclass

import pyarrow as pa
import yaml

from tempkb.benchmarks.export_folder import export_folder
from tempkb.benchmarks.lm_eval import LmEvalTask, write_tasks


@dataclass
class Release:
    name: str = "mine"


def rows(**n_by_window):
    """So many rows of each window."""
    dates = [window.replace("_", "-").removeprefix("w") for window, n in n_by_window.items() for _ in range(n)]
    texts = [f"Row {at} is " for at in range(len(dates))]
    return pa.table(
        {
            "date": dates,
            "item_id": texts,
            "subject_id": texts,
            "split": ["test"] * len(dates),
            "prompt_ids": [["a"]] * len(dates),
            "left_context": texts,
            "right_context": ["."] * len(dates),
            "target": ["it"] * len(dates),
            "choices": [["it", "not it"]] * len(dates),
            "answer": [1] * len(dates),
        }
    )


def written(folder, *tasks):
    with export_folder(folder, "an export", ()) as out:
        write_tasks(None, Release(), "digest", tasks, out)
    found = [yaml.load(path.read_text(), Tags) for path in (folder / "lm_eval").glob("*.yaml")]
    return (
        {one["group"]: one for one in found if "group" in one},
        {one["task"]: one for one in found if "group" not in one},
    )


class Tags(yaml.SafeLoader):
    """Reads the names of functions, too."""


Tags.add_constructor("!function", lambda loader, node: node.value)


def test_the_name_of_the_release_is_a_small_group_and_full_is_all(tmp_path):
    pairs = LmEvalTask("pairs", "multiple_choice", lambda store, release: rows(w2021_Q1=2, w2021_Q2=3))
    spans = LmEvalTask("spans", "loglikelihood", lambda store, release: rows(w2021_Q1=1, w2021_Q2=1, w2021_Q3=4))
    none = LmEvalTask("none", "loglikelihood", lambda store, release: rows())
    groups, tasks = written(tmp_path / "out", pairs, spans, none)
    assert {name: one["task"] for name, one in groups.items()} == {
        "mine": ["mine_2021-Q2"],
        "mine_full": ["mine_pairs", "mine_spans"],
        "mine_pairs": ["mine_pairs_2021-Q1", "mine_pairs_2021-Q2"],
        "mine_spans": ["mine_spans_2021-Q1", "mine_spans_2021-Q2", "mine_spans_2021-Q3"],
        "mine_2021-Q1": ["mine_pairs_2021-Q1", "mine_spans_2021-Q1"],
        "mine_2021-Q2": ["mine_pairs_2021-Q2", "mine_spans_2021-Q2"],
        "mine_2021-Q3": ["mine_spans_2021-Q3"],
    }
    assert groups["mine_pairs"]["aggregate_metric_list"] == [
        {"metric": "acc", "aggregation": "mean", "weight_by_size": True}
    ]
    assert set(tasks) == {name for one in ("mine_pairs", "mine_spans") for name in groups[one]["task"]}
    assert tasks["mine_pairs_2021-Q1"]["dataset_kwargs"] == {"file": "pairs.parquet", "date": "2021-Q1"}
    assert tasks["mine_pairs_2021-Q1"]["metadata"] == {"version": 2}


def test_entities_without_a_date_are_not_the_newest(tmp_path):
    spans = LmEvalTask("spans", "loglikelihood", lambda store, release: rows(w2021=1, w2022=2, popular=9))
    groups, _ = written(tmp_path / "out", spans)
    assert groups["mine"]["task"] == ["mine_2022"]
    assert groups["mine_spans"]["task"] == ["mine_spans_2021", "mine_spans_2022", "mine_spans_popular"]
