"""Imports what models gave in lm-evaluation-harness: logs of samples of the tasks that `--lm-eval` exports.

Each line of a log has the place of the row in its task (`doc_id`), the row (`doc`), the texts that the model was given
(`arguments`) and what it gave (`resps`). They are compared with the tasks that the home would export. Version 0.4.13.
"""

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.json import Decoder

from tempkb.benchmarks.benchmark import Benchmark, benchmark_named
from tempkb.benchmarks.exporting import digest_of
from tempkb.benchmarks.lm_eval import Output, asked_of, parts_of
from tempkb.benchmarks.register import entry_of, load, release_names, require_whole
from tempkb.core.errors import SettingsError
from tempkb.models.adding import until_said
from tempkb.models.decoding.replies import answer_in, is_name
from tempkb.models.generations.kind import SAID
from tempkb.models.known import known_model, words_of_row
from tempkb.models.scores.kinds import SCORES, Kind
from tempkb.models.scores.tables import IMPORTED, partition_of
from tempkb.models.tables import ELSEWHERE, MODELS
from tempkb.store.drafts import Provenance
from tempkb.store.said import change_said
from tempkb.store.store import Store
from tempkb.wiki.wikidata.decoding import BAD_JSON

_VERSION = 1  # of what is made of logs
_FAMILY = "causal"  # of all models that the harness asks by text
_REASON = "it was run elsewhere; what it gave is imported: tempkb scores import LOG --model {}"
_EXPECTED = "expected a log of samples of a task that tempkb release export NAME FOLDER --lm-eval wrote"
_TEMPLATES: Mapping[Output, str] = {"multiple_choice": "span_end", "loglikelihood": "span", "generate_until": "greedy"}
_MOST_LETTERS = 10_000  # of an answer; the tasks ask for 32 tokens, which are some hundred letters
# In what the harness writes beside logs: models that keep logits for other spans, and that they were told not to.
_KEEPS_LOGITS = re.compile(rb'"model":\s*"(?:hf|huggingface)')
_TOLD_NOT_TO = re.compile(rb"logits_cache\W+(?:false|0)\b", re.IGNORECASE)

Row = dict[str, Any]
Until = tuple[date, date] | None


class _How(Struct):
    do_sample: bool = False


class _Asked(Struct):
    arg_0: str
    arg_1: str | _How


class _Doc(Struct):
    release: str
    digest: str
    task: str


class _Line(Struct):
    """A line of a log, as far as it is read."""

    doc_id: int
    doc: _Doc
    arguments: dict[str, _Asked]
    resps: list[tuple[str | tuple[float, Any]]]

    def __post_init__(self) -> None:
        for asked, answer in self.given:
            if isinstance(asked.arg_1, str) and not (isinstance(answer, float) and -math.inf < answer <= 0):
                raise ValueError(f"found {answer!r} as a log-probability; expected a finite one that is not above 0")
            if not isinstance(asked.arg_1, str) and not (isinstance(answer, str) and len(answer) <= _MOST_LETTERS):
                raise ValueError(f"expected as an answer a text of at most {_MOST_LETTERS:,} letters")

    @property
    def given(self) -> list[tuple[_Asked, str | float]]:
        """What the model was asked, each with the text that it said or the log-probability that it gave."""
        answers = [one if isinstance(one, str) else one[0] for (one,) in self.resps]
        return list(zip(self.arguments.values(), answers, strict=True))


_LINE = Decoder(_Line, strict=False)  # the harness writes numbers as texts


@dataclass
class _Task:
    """A task in the logs, with its lines by their places in it; and of the home how it asks, and its rows."""

    file: Path
    doc: _Doc
    lines: dict[int, _Line] = field(default_factory=dict)
    output: Output = "loglikelihood"
    rows: list[Row] = field(default_factory=list)


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
        knows_until: of the model; None keeps what was said before.

    Raises:
        SettingsError: a file is no such log, or is of other releases, texts or only a part of a task, or its values
            are those of a cache that mistakes spans.
    """
    held = known_model(store.lake, model)
    if held is not None and held["family"] not in (None, _FAMILY):
        raise SettingsError(f"--model {model}: found a {held['family']} model; expected a causal one, or a new name")
    files = sorted({file for path in paths for file in _logs(path)})
    tasks: dict[str, _Task] = {}
    for file in files:
        _read(file, tasks)
    for release in sorted({task.doc.release for task in tasks.values()}):
        _find(store, benchmarks, release, {name: one for name, one in tasks.items() if one.doc.release == release})
    for name, task in tasks.items():
        _require_own_rows(name, task)
        _require_own_logits(name, task)
    inputs = {f"log {file.name}": hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    _write_model(store, model, knows_until, Provenance(inputs))
    return [_write(store, model, *rows, Provenance(inputs)) for rows in _rows(model, tasks.values())]


def _logs(path: Path) -> list[Path]:
    if not path.exists():
        raise SettingsError(f"{path}: no such file or folder; {_EXPECTED}")
    found = [one for one in path.rglob("samples_*.jsonl") if one.is_file()] if path.is_dir() else [path]
    if not found:
        raise SettingsError(f"{path}: found no file samples_*.jsonl; {_EXPECTED}")
    return found


def _read(file: Path, tasks: dict[str, _Task]) -> None:
    odd, n = list[str](), 0
    with file.open("rb") as lines:
        for n, line in enumerate(lines, 1):  # noqa: B007 - it is also how many there are
            try:
                found = _LINE.decode(line)
            except BAD_JSON as error:
                odd.append(f"line {n:,}: {error}")
                continue
            task = tasks.setdefault(found.doc.task, _Task(file, found.doc))
            if task.file != file:
                raise SettingsError(
                    f"found the task {found.doc.task} in {task.file} and in {file}; expected one log of each task"
                )
            if task.doc != found.doc or found.doc_id in task.lines:
                odd.append(f"line {n:,}: row {found.doc_id} once more, or of another release than the rows before")
            task.lines[found.doc_id] = found
    if odd or not n:
        what = f"{len(odd):,} of {n:,} lines that are no rows of such a task ({odd[0]})" if n else "an empty file"
        raise SettingsError(f"{file}: found {what}; {_EXPECTED}")


def _find(store: Store, benchmarks: Sequence[Benchmark], name: str, tasks: Mapping[str, _Task]) -> None:
    """Find the rows of all tasks of a release that are in the logs."""
    there = release_names(store.home)
    if name not in there:
        file = min(task.file for task in tasks.values())
        raise SettingsError(f"{file}: release {name!r}: no such release; there: {', '.join(there) or 'none'}")
    require_whole(store, name)
    benchmark = benchmark_named(benchmarks, entry_of(store.home, name).asked["benchmark"])
    release, methods = load(store.home, benchmark, name), benchmark.loaded()
    digest = digest_of(store, release.name, methods.partitions(release))
    for one in methods.lm_eval:
        for part, _, rows in parts_of(store, release, digest, one):
            if part in tasks:
                tasks[part].output, tasks[part].rows = one.output, rows.to_pylist()
    for part, task in tasks.items():
        if task.doc.digest != digest or not task.rows:
            raise SettingsError(
                f"{task.file}: found the task {part} of other rows of release {name} (digest {task.doc.digest[:12]}); "
                f"expected those of the home ({digest[:12]}); export it again, and run the new tasks: "
                f"tempkb release export {name} exports --lm-eval"
            )


def _require_own_rows(name: str, task: _Task) -> None:
    """Refuse a log that lacks rows of its task, or in which the model was asked something else."""
    expected = {
        place: [_Asked(context, target or _How()) for context, target in asked_of(task.output, row)]
        for place, row in enumerate(task.rows)
    }
    if missing := expected.keys() - task.lines.keys():
        raise SettingsError(
            f"{task.file}: found {len(expected) - len(missing):,} of the {len(expected):,} rows of the task {name}; "
            "run it whole, without --limit and --samples"
        )
    asked = {place: list(line.arguments.values()) for place, line in task.lines.items()}
    if other := [place for place in asked if asked[place] != expected.get(place)]:
        raise SettingsError(
            f"{task.file}: found that {len(other):,} of {len(asked):,} rows of the task {name} were asked with another "
            f"text than in release {task.doc.release}, such as row {other[0]} ({str(asked[other[0]])[:300]}); run the "
            "task as it was exported, without examples, sampling, a chat template or other changes"
        )


def _require_own_logits(name: str, task: _Task) -> None:
    """Refuse values that the harness's cache of logits gave.

    It keeps the logits of the longest of all spans that end the same text, and reads those of the shorter ones at its
    first places. A span is never less likely than a longer one with the same end (chain rule of probability); of what
    the cache gave to models with random weights one in seventy is, of trained models one in nine. Numbers of few bits
    may turn this around by little, and tokens that end otherwise in a context than in the whole text by more, in few.
    """
    texts: dict[str, dict[int, Any]] = defaultdict(dict)
    for asked, answer in (one for line in task.lines.values() for one in line.given if isinstance(one[1], float)):
        texts[f"{asked.arg_0}{asked.arg_1}"][len(asked.arg_0)] = answer
    nested = [pair for spans in texts.values() for pair in pairwise(value for _, value in sorted(spans.items()))]
    n_less = sum(shorter < longer - 1 + longer / 50 for longer, shorter in nested)
    n_equal = sum(shorter == longer for longer, shorter in nested)
    # The harness writes both with the time of the run at the end of their names.
    beside = [one for one in task.file.parent.glob("results_*.json") if task.file.stem.endswith(one.stem[7:])]
    said = [one.read_bytes() for one in beside if one.is_file()]
    has_cache = any(_KEEPS_LOGITS.search(text) and not _TOLD_NOT_TO.search(text) for text in said)
    if nested and (has_cache or n_less > len(nested) / 200 or n_equal > len(nested) / 2):
        raise SettingsError(
            f"{task.file}: found {len(nested):,} spans of the task {name} that end longer ones, {n_less:,} of them "
            f"less likely than these and {n_equal:,} as likely{', and a cache of logits in the results' * has_cache}; "
            "expected likelier ones. The cache of lm-evaluation-harness gives such spans values of other places; run "
            "it again without: --model_args pretrained=MODEL,logits_cache=False"
        )


def _write_model(store: Store, name: str, knows_until: Until, made_from: Provenance) -> None:
    """Write the row of a model that was run elsewhere, unless there is one that says the same or more."""
    import pyarrow as pa

    held, until = known_model(store.lake, name), knows_until or until_said(store, name)
    row = held or dict.fromkeys(MODELS.column_names()) | {
        "model": name,
        "family": _FAMILY,
        "status": ELSEWHERE,
        "reason": _REASON.format(name),
    }
    if until is not None:
        row = row | dict(zip(("knows_certainly_until", "knows_possibly_until"), until, strict=True))
        words = words_of_row(row)
        change_said(store.home.checkpoints, name, lambda said: replace(said, words=words))
    if row != held:
        store.write(MODELS, name, [pa.Table.from_pylist([row], MODELS.schema)], made_from)


def _rows(model: str, tasks: Iterable[_Task]) -> Iterator[tuple[Kind, str, list[Row]]]:
    """Rows by kind and way of asking, each prompt or question once, in the order of their ids."""
    ways: dict[tuple[Kind, str], dict[str, Row]] = defaultdict(dict)
    for task in tasks:
        kind: Kind = SAID if task.output == "generate_until" else SCORES
        name = f"{_FAMILY}.{_TEMPLATES[task.output]}-{_VERSION}{IMPORTED}"
        for place, row in enumerate(task.rows):
            for one in [_answer(row, task.lines[place])] if kind is SAID else _scores(row, task.lines[place]):
                ways[kind, name].setdefault(one[kind.key], {**one, "model": model, kind.column: name})
    for (kind, name), rows in sorted(ways.items(), key=lambda way: way[0][1]):
        yield kind, name, [rows[key] for key in sorted(rows)]


def _scores(row: Row, line: _Line) -> Iterator[Row]:
    for prompt_id, (asked, value) in zip(row["prompt_ids"], line.given, strict=True):
        n_chars = len(str(asked.arg_1))
        yield {"prompt_id": prompt_id, "status": "scored", "log_prob_nats": value, "n_chars": n_chars}


def _answer(row: Row, line: _Line) -> Row:
    """A text that a model went on with, cut as `causal.greedy` cuts its own."""
    ((_, said),) = line.given
    name, found = answer_in(str(said), row["right_context"])
    return {
        "question_id": row["question_id"],
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
