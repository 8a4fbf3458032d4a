"""Writes a release as tasks of lm-evaluation-harness: YAML files, their rows beside them, and what reads these.

https://github.com/EleutherAI/lm-evaluation-harness, version 0.4.13. Each row has the `prompt_ids` of what is asked and
the digest of the release, by which `tempkb scores import` finds what a log of samples is about; the place of a row in
its task is what the harness calls `doc_id`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from tempkb.benchmarks.export_folder import ExportFolder
from tempkb.benchmarks.register import AnyRelease
from tempkb.store.store import Store
from tempkb.store.types import INT32, INT64, STRING, ColumnType, list_of

Output = Literal["multiple_choice", "generate_until", "loglikelihood"]
FOLDER = "lm_eval"
"""Where the tasks are in an export."""
_ROWS = Path(__file__).with_name("lm_eval_rows.py")
_VERSION = 2  # of the tasks; what they ask in another version is something else

_ABOUT: Mapping[str, ColumnType] = {
    "release": STRING,
    "digest": STRING,
    "task": STRING,
    "n_rows": INT64,
    "date": STRING,
    "item_id": STRING,
    "subject_id": STRING,
    "split": STRING,
    "prompt_ids": list_of(STRING),
    "left_context": STRING,
    "right_context": STRING,
}
_ASKED: Mapping[Output, Mapping[str, ColumnType]] = {
    "multiple_choice": {"choices": list_of(STRING), "answer": INT32},
    "generate_until": {"question_id": STRING, "names": list_of(STRING)},
    "loglikelihood": {"target": STRING},
}
# Generated texts go on to the end of a line, and only the harness's own measure cuts them at the end of a sentence.
_HOW: Mapping[Output, str] = {
    "multiple_choice": """\
doc_to_text: "{{left_context}}"
doc_to_choice: choices
doc_to_target: answer
target_delimiter: ""
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
""",
    "generate_until": """\
doc_to_text: "{{left_context.rstrip()}}"
doc_to_target: names
target_delimiter: " "
generation_kwargs: {until: ["\\n"], do_sample: false, max_gen_toks: 32}
filter_list:
  - name: first_sentence
    filter: [{function: regex, regex_pattern: '^\\s*(.+?)(?:[.!?](?:\\s|$)|$)'}, {function: take_first}]
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true, ignore_case: true, ignore_punctuation: true}
""",
    "loglikelihood": """\
doc_to_text: "{{left_context}}"
doc_to_target: "{{target}}"
target_delimiter: ""
process_results: !function lm_eval_rows.nats
metric_list:
  - {metric: nats, aggregation: mean, higher_is_better: true}
""",
}
_MEANS: Mapping[Output, str] = {
    "multiple_choice": "metric: acc",
    "generate_until": "metric: exact_match, filter_list: first_sentence",
    "loglikelihood": "metric: nats",
}
"""What the group of a task over all windows gives: the mean over all rows."""


@dataclass(frozen=True)
class LmEvalTask:
    """A task that releases of a benchmark have.

    Attributes:
        name: behind that of the release.
        rows: returns the rows of a release, with what is asked, and of which item; each `date`, the label of a window,
            is a task of its own.
    """

    name: str
    output: Output
    rows: Callable[[Store, Any], pa.Table]


def parts_of(store: Store, release: AnyRelease, digest: str, task: LmEvalTask) -> Iterator[tuple[str, str, pa.Table]]:
    """Yield what is a task for the harness: its name, its window, and its rows by `doc_id`.

    Args:
        digest: of the release.
    """
    rows = task.rows(store, release)
    for window in sorted(set(rows["date"].to_pylist())):
        own, name = rows.filter(pc.equal(rows["date"], window)), f"{release.name}_{task.name}_{window}"
        about = {"release": release.name, "digest": digest, "task": name, "n_rows": own.num_rows}
        yield name, window, _with(own, about, task.output)


def asked_of(output: Output, row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the contexts and continuations of a row; the continuation is empty where the model is to go on."""
    if output == "generate_until":
        return [(row["left_context"].rstrip(), "")]
    return [(row["left_context"], one) for one in row.get("choices") or [row["target"]]]


def write_tasks(store: Store, release: AnyRelease, digest: str, tasks: Iterable[LmEvalTask], out: ExportFolder) -> None:
    """Write tasks and their groups.

    Those of a window, and the same task over all windows, are a group each. The name of the release is that of a small
    one, the newest window of the first task; with `_full` behind it, it is all.

    Args:
        digest: of the release.
    """
    full = f"{release.name}_full"
    groups: dict[str, list[str]] = {release.name: [], full: []}
    means: dict[str, str] = {}
    for task in tasks:
        parts = list(parts_of(store, release, digest, task))
        whole, file = f"{release.name}_{task.name}", f"{task.name}.parquet"
        for name, window, _ in parts:
            out.write_text(f"{FOLDER}/{name}.yaml", _task(name, file, window, task.output))
            for group in (f"{release.name}_{window}", whole):
                groups.setdefault(group, []).append(name)
        if parts:
            out.write_parquet(f"{FOLDER}/{file}", parts[0][2].schema, [rows for *_, rows in parts])
            # Entities without a date of origin are none of a window.
            newest = max((window for _, window, _ in parts), key=lambda one: (one[:1].isdigit(), one))
            groups[release.name] = groups[release.name] or [f"{release.name}_{newest}"]
            groups[full].append(whole)
            means[whole] = (
                f"aggregate_metric_list: [{{{_MEANS[task.output]}, aggregation: mean, weight_by_size: true}}]\n"
            )
    for group, members in groups.items():
        listed = f"group: {json.dumps(group)}\ntask: {json.dumps(members)}\n{means.get(group, '')}"
        out.write_text(f"{FOLDER}/{group}_group.yaml", f"{listed}metadata: {{version: {_VERSION}}}\n")
    out.write_text(f"{FOLDER}/lm_eval_rows.py", _ROWS.read_text("utf-8"))


def _with(rows: pa.Table, about: Mapping[str, Any], output: Output) -> pa.Table:
    """Rows with the columns of the export."""
    schema = pa.schema([(name, kind.arrow) for name, kind in {**_ABOUT, **_ASKED[output]}.items()])
    columns = {name: rows[name] if name in rows.column_names else [about[name]] * len(rows) for name in schema.names}
    return pa.table(columns).cast(schema)


def _task(name: str, file: str, window: str, output: Output) -> str:
    return (
        f"task: {json.dumps(name)}\n"
        "custom_dataset: !function lm_eval_rows.load\n"
        f"dataset_kwargs: {json.dumps({'file': file, 'date': window})}\n"
        f"test_split: test\noutput_type: {output}\nnum_fewshot: 0\n{_HOW[output]}metadata: {{version: {_VERSION}}}\n"
    )
