"""Imports what models gave in lm-evaluation-harness: logs of samples of the tasks that `--lm-eval` exports.

Each line of a log has the row of the task (`doc`), the texts that the model was given (`arguments`) and what it gave
(`resps`). The row names its prompts, whose texts are compared with these. Version 0.4.13.
"""

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from tempkb.benchmarks.benchmark import Benchmark, benchmark_named
from tempkb.benchmarks.exporting import digest_of
from tempkb.benchmarks.register import benchmark_of, partitions_of_release, require_whole
from tempkb.benchmarks.releases import load
from tempkb.errors import SettingsError
from tempkb.generations.kind import SAID
from tempkb.models.decoding.endings import answer_in
from tempkb.models.decoding.generated import is_name
from tempkb.models.known import known_model
from tempkb.models.tables import ELSEWHERE, MODELS
from tempkb.prompts import Question
from tempkb.scores.kinds import SCORES, Kind
from tempkb.scores.tables import IMPORTED, partition_of
from tempkb.store.drafts import Provenance
from tempkb.store.memory import asking
from tempkb.store.quoting import parquet
from tempkb.store.store import Store

_VERSION = 1  # of what is made of logs
_FAMILY = "causal"  # of all models that the harness asks by text
_REASON = "it was run elsewhere; what it gave is imported: tempkb scores import LOG --model {}"
_EXPECTED = "expected a log of samples of a task that tempkb release export NAME FOLDER --lm-eval wrote"

Texts = tuple[str, str, str]
Row = dict[str, Any]
Until = tuple[date, date] | None


class _Given(NamedTuple):
    """What a model gave for one text: the text before it, the text, and its log-probability, or the text it said."""

    prompt_id: str
    context: str
    continuation: str
    answer: float | str


@dataclass
class _Task:
    """The rows of one task in the logs."""

    file: Path
    release: str
    digest: str
    n_rows: int
    template: str = ""
    given: list[_Given] = field(default_factory=list)
    found: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Imported:
    """What was imported: the partition, and how many answers of each status."""

    kind: Kind
    partition: str
    by_status: Mapping[str, int]


def import_logs(
    store: Store,
    benchmarks: Sequence[Benchmark],
    paths: Sequence[Path],
    model: str,
    knows_until: Until,
) -> list[Imported]:
    """Add what a model gave to the tables of scores and generations. All logs are checked before anything is written.

    Args:
        paths: logs, or folders in which they are.
        model: a name: of a model of the home, or a new one, for a model that was run elsewhere.
        knows_until: of the model; None keeps what is known.

    Raises:
        SettingsError: a file is no such log, or is of other releases, texts or only a part of a task.
    """
    held = known_model(store.lake, model)
    if held is not None and held["family"] not in (None, _FAMILY):
        raise SettingsError(f"--model {model}: found a {held['family']} model; expected a causal one, or a new name")
    files = sorted({file for path in paths for file in _logs(path)})
    tasks: dict[str, _Task] = {}
    for file in files:
        _read(file, tasks)
    for name, task in tasks.items():
        _require_all(name, task)
    texts = {release: _texts(store, benchmarks, release, tasks) for release in {one.release for one in tasks.values()}}
    for name, task in tasks.items():
        _require_own_texts(name, task, texts[task.release])
    inputs = {f"log {file.name}": hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    _write_model(store, model, knows_until, Provenance(inputs))
    return [_write(store, model, *rows, Provenance(inputs)) for rows in _rows(model, tasks.values(), texts)]


def _require_one_file(name: str, task: _Task, file: Path) -> None:
    if task.file != file:
        raise SettingsError(f"found the task {name} in {task.file} and in {file}; expected one log of each task")


def _logs(path: Path) -> list[Path]:
    if not path.exists():
        raise SettingsError(f"{path}: no such file or folder; {_EXPECTED}")
    found = sorted(path.rglob("samples_*.jsonl")) if path.is_dir() else [path]
    if not found:
        raise SettingsError(f"{path}: found no file samples_*.jsonl; {_EXPECTED}")
    return found


def _read(file: Path, tasks: dict[str, _Task]) -> None:
    n_foreign, n = 0, 0
    with file.open("rb") as lines:
        for line in lines:
            n += 1
            try:
                row = json.loads(line)
                doc, outcomes = row["doc"], [one[0] for one in row["resps"]]
                arguments = [(one["arg_0"], one["arg_1"]) for one in row["arguments"].values()]
                task = tasks.setdefault(doc["task"], _Task(file, doc["release"], doc["digest"], doc["n_rows"]))
                _require_one_file(doc["task"], task, file)
                task.template = "greedy" if "question_id" in doc else "span_end" if "choices" in doc else "span"
                task.found.add(int(row["doc_id"]))
                task.given += _given(doc, arguments, outcomes)
            except (ValueError, TypeError, KeyError, IndexError, AttributeError):
                n_foreign += 1
    if n_foreign or not n:
        found = f"{n_foreign:,} of {n:,} lines that are no rows of such a task" if n else "an empty file"
        raise SettingsError(f"{file}: found {found}; {_EXPECTED}")


def _given(doc: Mapping[str, Any], arguments: Sequence[Any], outcomes: Sequence[Any]) -> Iterator[_Given]:
    """What a model gave for the prompts of a row; the queries that it completes have one answer for all of them."""
    if "question_id" in doc:
        (context, how), (said,) = arguments[0], outcomes
        if how.get("do_sample") or not isinstance(said, str):
            raise ValueError
        for prompt_id in doc["prompt_ids"]:
            yield _Given(prompt_id, context, "", said)
        return
    for prompt_id, (context, continuation), outcome in zip(doc["prompt_ids"], arguments, outcomes, strict=True):
        yield _Given(prompt_id, context, continuation, float(outcome[0]))


def _require_all(name: str, task: _Task) -> None:
    if len(task.found) != task.n_rows:
        raise SettingsError(
            f"{task.file}: found {len(task.found):,} of the {task.n_rows:,} rows of the task {name}; run it whole, "
            "without --limit and --samples"
        )


def _texts(store: Store, benchmarks: Sequence[Benchmark], release: str, tasks: Mapping[str, _Task]) -> dict[str, Texts]:
    """The texts of a release's prompts by id, once its rows are known to be those of the logs."""
    require_whole(store.home, store.lake, release)
    benchmark = benchmark_named(benchmarks, benchmark_of(store.home, release))
    digest = digest_of(store, benchmark.loaded().partitions(load(store.home, benchmark, release)))
    for name, task in tasks.items():
        if task.release == release and task.digest != digest:
            raise SettingsError(
                f"{task.file}: found the task {name} of other rows of release {release} (digest {task.digest[:12]}); "
                f"expected those of the home ({digest[:12]}); export it again, and run the new tasks: "
                f"tempkb release export {release} exports --lm-eval"
            )
    if benchmark.prompting is None:
        return {}
    table = benchmark.prompting.table
    paths = store.lake.files(table.name, partitions_of_release(store.lake, table, release))
    with asking() as memory:
        query = f"SELECT DISTINCT prompt_id, left_context, target, right_context FROM {parquet(paths)}"
        return {prompt_id: (left, target, right) for prompt_id, left, target, right in memory.execute(query).fetchall()}


def _require_own_texts(name: str, task: _Task, texts: Mapping[str, Texts]) -> None:
    absent = [one for one in task.given if one.prompt_id not in texts]
    other = [one for one in task.given if one.prompt_id in texts and not _is_asked(one, task, texts[one.prompt_id])]
    for what, wrong in (("is in no prompt of", absent), ("was asked with another text than in", other)):
        if wrong:
            first = f"{wrong[0].context}|{wrong[0].continuation}"
            raise SettingsError(
                f"{task.file}: found that {len(wrong):,} of {len(task.given):,} of the task {name} {what} release "
                f"{task.release}, such as {first!r}; run the task as it was exported, without examples, a chat "
                "template or other changes"
            )


def _is_asked(one: _Given, task: _Task, texts: Texts) -> bool:
    left, target, right = texts
    if task.template == "greedy":
        return one.context == left.rstrip()
    return (one.context, one.continuation) == (left, target + right if task.template == "span_end" else target)


def _write_model(store: Store, name: str, knows_until: Until, made_from: Provenance) -> None:
    """Write the row of a model that was run elsewhere, unless there is one that says the same or more."""
    import pyarrow as pa

    held = known_model(store.lake, name)
    row = held or dict.fromkeys(MODELS.column_names()) | {
        "model": name,
        "family": _FAMILY,
        "status": ELSEWHERE,
        "reason": _REASON.format(name),
    }
    if knows_until is not None:
        row = row | dict(zip(("knows_certainly_until", "knows_possibly_until"), knows_until, strict=True))
    if row != held:
        store.write(MODELS, name, [pa.Table.from_pylist([row], MODELS.schema)], made_from)


def _rows(
    model: str, tasks: Iterable[_Task], texts: Mapping[str, Mapping[str, Texts]]
) -> Iterator[tuple[Kind, str, list[Row]]]:
    """Rows by kind and way of asking, each prompt or question once, in the order of their ids."""
    ways: dict[tuple[Kind, str], dict[str, Row]] = defaultdict(dict)
    for task in tasks:
        kind: Kind = SAID if task.template == "greedy" else SCORES
        name = f"{_FAMILY}.{task.template}-{_VERSION}{IMPORTED}"
        for one in task.given:
            text = texts[task.release][one.prompt_id]
            row = _answer(one, text) if isinstance(one.answer, str) else _score(one, task.template, text)
            ways[kind, name].setdefault(row[kind.key], {**row, "model": model, kind.column: name})
    for (kind, name), rows in sorted(ways.items(), key=lambda way: way[0][1]):
        yield kind, name, [rows[key] for key in sorted(rows)]


def _score(one: _Given, template: str, texts: Texts) -> Row:
    is_finite = math.isfinite(float(one.answer))
    _, target, right = texts
    return {
        "prompt_id": one.prompt_id,
        "status": "scored" if is_finite else "not_finite",
        "log_prob_nats": one.answer if is_finite else None,
        "n_chars": len(target) + (len(right) if template == "span_end" else 0),
    }


def _answer(one: _Given, texts: Texts) -> Row:
    """A text that a model went on with, cut as `causal.greedy` cuts its own."""
    left, _, right = texts
    said = str(one.answer)
    name, found = answer_in(said, right)
    return {
        "question_id": Question(left, right).question_id,
        "rank": 1,
        "status": "answered" if is_name(name) else "empty",
        "text": name if is_name(name) else None,
        "raw_text": said,
        "stopped": found.stopped if found is not None else None,
    }


def _write(store: Store, model: str, kind: Kind, name: str, rows: list[Row], made_from: Provenance) -> Imported:
    import pyarrow as pa

    partition = partition_of(model, name)
    store.add(kind.table, partition, iter([pa.Table.from_pylist(rows, kind.table.schema)]), made_from, prefer="new")
    return Imported(kind, partition, Counter(row["status"] for row in rows))
