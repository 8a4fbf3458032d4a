"""Builds the changes between windows, and counts the tokens of answers. Does not use Dagster."""

import hashlib
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from tempkb.benchmarks.dynamic_templama.changes import Query, find_handovers, make_changes, released_changes
from tempkb.benchmarks.dynamic_templama.tables import ANSWER_TOKENS, DYNAMIC_TEMPLAMA_CHANGES, DYNAMIC_TEMPLAMA_QUERIES
from tempkb.benchmarks.fact_queries.building import read_release
from tempkb.benchmarks.fact_queries.design import Release
from tempkb.benchmarks.fact_queries.spells import partition_of
from tempkb.benchmarks.fact_queries.tables import FACT_SPELLS
from tempkb.benchmarks.work import ReleaseWork
from tempkb.core.errors import SettingsError
from tempkb.core.files import read_parquet
from tempkb.core.windows import Window
from tempkb.store.plain import plain_rows
from tempkb.store.versions import Version


def build_changes(work: ReleaseWork) -> None:
    """Write the changes of every window but the first, unless they are built.

    Raises:
        ContractError: the queries of a window are not built.
    """
    release, windows = work.release, work.release.design.windows()
    due = [one for one in windows[1:] if not work.stands(DYNAMIC_TEMPLAMA_CHANGES, partition_of(release.name, one))]
    if not due:
        return
    study = read_release(work)
    handovers = find_handovers(study, release.design) if release.design.changes == "handover" else None
    for before, window in pairwise(windows):
        if window in due:
            own = work.branch()
            keys = [partition_of(release.name, one) for one in (before, window)]
            earlier, now = own.read(DYNAMIC_TEMPLAMA_QUERIES, keys)
            rows = (
                _as_released(earlier, now, release, window)
                if release.design.changes == "released"
                else make_changes(study, release, before, window, handovers)
            )
            own.write(DYNAMIC_TEMPLAMA_CHANGES, keys[1], rows)


def count_tokens(work: ReleaseWork) -> None:
    """Add the number of tokens of each answer of a release to `answer_tokens`.

    The option `tokenizer` is the path of a `tokenizer.json`; no code in it is run.

    Raises:
        SettingsError: the tokenizer cannot be read.
        ContractError: the release is not built.
    """
    store, release, tokenizer = work.store, work.release, Path(work.options["tokenizer"])
    work.read(FACT_SPELLS, release.name, "spells")
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise SettingsError('counting tokens needs the extra bert: pip install "tempkb[bert]"') from None
    try:
        read = Tokenizer.from_file(str(tokenizer))
        digest = hashlib.sha256(tokenizer.read_bytes()).hexdigest()
    except Exception as error:  # noqa: BLE001 - the library raises plain exceptions of its own
        raise SettingsError(f"tokenizer {tokenizer}: {error}; expected a tokenizer.json") from None
    if not read.get_vocab_size():
        raise SettingsError(f"tokenizer {tokenizer}: its vocabulary is empty; expected a tokenizer.json with tokens")
    name = tokenizer.stem if tokenizer.stem != "tokenizer" else tokenizer.resolve().parent.name
    answers = work.connection.execute(
        "SELECT object_id, any_value(object_label), any_value(dump_id) FROM spells GROUP BY ALL ORDER BY object_id"
    ).fetchall()
    # As within a sentence, where a space precedes each word.
    counts = [
        len(one.ids) for one in read.encode_batch([f" {label}" for _, label, _ in answers], add_special_tokens=False)
    ]
    rows = [
        {
            "wiki": store.home.wiki,
            "dump_id": dump_id,
            "release": release.name,
            "tokenizer": name,
            "tokenizer_sha256": digest,
            "object_id": one,
            "label": label,
            "n_tokens": n,
        }
        for (one, label, dump_id), n in zip(answers, counts, strict=True)
    ]
    tokens = iter([pa.Table.from_pylist(rows, ANSWER_TOKENS.schema)])
    store.add(ANSWER_TOKENS, release.name, tokens, work.provenance(**{f"tokenizer {name}": digest}), prefer="new")


def _as_released(before: Version, now: Version, release: Release, window: Window) -> pa.Table:
    """The changes by the released rule, on texts and names; an answer that is listed twice counts twice.

    If subjects have the same name, the rule may count one item in two classes. Its
    row then has the class that came first, and the count of both.
    """
    earlier, later = (_queries_of(version) for version in (before, now))
    previous: dict[tuple[str, str], list[str]] = {}
    for one in earlier:
        row = one.source
        previous[row["subject_id"], row["relation"]] = [answer["entity_id"] for answer in row["answers"]]
    counted: Counter[tuple[str, str, str]] = Counter()
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for change, query, at in released_changes(earlier, later):
        row = query.source
        key = (row["subject_id"], row["relation"], row["answers"][at]["entity_id"])
        counted[key] += 1
        rows.setdefault(
            key,
            {
                "wiki": row["wiki"],
                "dump_id": row["dump_id"],
                "release": release.name,
                "window_start": window.start,
                "subject_id": key[0],
                "relation": key[1],
                "object_id": key[2],
                "change": change,
                "change_detail": None,
                "role": None,
                "paired_object_id": None,
                "paired_window_start": None,
                "previous_object_ids": previous.get(key[:2], []),
                "granularity": row["granularity"],
            },
        )
    changes = [{**rows[key], "n_times": counted[key]} for key in sorted(rows)]
    return pa.Table.from_pylist(changes, DYNAMIC_TEMPLAMA_CHANGES.schema)


def _queries_of(version: Version) -> list[Query]:
    rows = plain_rows(read_parquet(version.paths()))
    return [
        Query(row["query"], [answer["label"] for answer in row["answers"]], row)
        for row in rows
        if row["template_no"] == 1
    ]
