"""Prompts in the life of a release: with the demo's releases, in those from before there were prompts, in exports."""

import shutil
from collections import defaultdict

import pytest

import tempkb
from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.prompt_steps import shows_of_prompts
from tempkb.platform.api import open_store
from tempkb_tests.benchmarks.splitmix import splitmix
from tempkb_tests.conftest import run_tempkb

PROMPTS = {one.name: one.prompting.table for one in BENCHMARKS if one.prompting}


@pytest.fixture
def home(demo_home, tmp_path, monkeypatch):
    """A copy of the demo's home, which the environment names."""
    copy = tmp_path / "home"
    shutil.copytree(demo_home, copy)
    monkeypatch.setenv("TEMPKB_HOME", str(copy))
    return copy


def versions(name):
    lake = open_store().lake
    return {one.partition: one.version for one in lake.versions(name)}


@pytest.mark.slow
def test_prompts_come_and_go_with_their_release_and_are_not_exported(home, tmp_path):
    run_tempkb(home, "release", "templama", "2021-01-01..2023-01-01", "--name", "years")
    expected = {"years.2021-01-01", "years.2022-01-01", "years.future"}
    assert set(versions("templama_prompts")) == expected
    run_tempkb(home, "release", "export", "years", str(tmp_path / "out"))
    exported = {path.name for path in (tmp_path / "out" / "years" / "parquet").iterdir()}
    assert "templama_queries" in exported
    assert not [one for one in exported if "prompts" in one]
    run_tempkb(home, "rm", "--release", "years", "--yes")
    assert versions("templama_prompts") == {}
    assert set(versions("ecbd_prompts")) == {"demo-cloze"}


def test_the_ui_shows_prompts_in_their_three_parts(home):
    store = open_store()
    for name, release in (("ecbd", "demo-cloze"), ("dynamic_templama", "demo-quarters")):
        table = PROMPTS[name]
        shown = shows_of_prompts(table)(store, release, {table.name: store.lake.versions(table.name)})[table.name]
        rows = tempkb.open().read(table.name, release=release)
        counted = shown["by_variant"].table.to_pylist()
        assert sum(row["prompts"] for row in counted) == rows.num_rows
        some = shown["prompts"].table.to_pylist()
        assert len(some) == 10
        texts = {f"{row['left_context']}|{row['target']}|{row['right_context']}" for row in rows.to_pylist()}
        assert {row["left | target | right"] for row in some} <= texts


def test_every_prompts_table_declares_what_its_rows_have(read):
    for benchmark in BENCHMARKS:
        if benchmark.prompting is None or benchmark.name == "templama":
            continue
        rows = read(benchmark.prompting.table.name)
        found = set(rows["variant"].to_pylist())
        assert found <= set(benchmark.prompting.variants)
        assert set(benchmark.prompting.variants[: benchmark.prompting.n_default]) <= found
        no_left = {row["variant"] for row in rows.to_pylist() if not row["left_context"]}
        assert "object_last" not in no_left


class Oracle:
    """Changes, answers and objects of the demo's release, to be gone through row by row in plain Python."""

    def __init__(self, read):
        self.named, self.own = {}, defaultdict(set)
        spells = read("fact_spells", release="demo-quarters")
        for row in spells.select(["subject_id", "object_id", "object_label"]).to_pylist():
            self.named[row["object_id"]] = row["object_label"]
            self.own[row["subject_id"]] |= {row["object_id"], row["object_label"]}
        self.queries = {
            row["query_id"]: (row["subject_id"], row["relation"], row["window_start"])
            for row in read("dynamic_templama_queries", release="demo-quarters").to_pylist()
        }
        self.answers = {
            (row["subject_id"], row["relation"], row["window_start"]): {one["entity_id"] for one in row["answers"]}
            for row in read("dynamic_templama_queries", release="demo-quarters").to_pylist()
        }
        self.previous, self.pairs = set(), defaultdict(list)
        for row in read("dynamic_templama_changes", release="demo-quarters").to_pylist():
            if row["change"] == "updated" and row["role"] == "leaving":
                self._leave(row["window_start"], row)

    def _leave(self, window, row):
        subject, relation, old, new = (row[one] for one in ("subject_id", "relation", "object_id", "paired_object_id"))
        held = self.answers.get((subject, relation, window), set())
        if held and self.named[old] not in {self.named[one] for one in held}:
            self.previous.add((subject, relation, window, old))
            if new in held:
                self.pairs[window].append((subject, relation, old, new))

    def names(self, change):
        return {*change[2:], self.named[change[2]], self.named[change[3]]}

    def drawn(self, change, window, taken):
        """The change whose objects are asked in place of a change's own."""
        subject, relation, *_ = change
        for earlier in sorted((one for one in self.pairs if one <= window), reverse=True):
            fitting = [
                one
                for one in self.pairs[earlier]
                if one[1] == relation and one[0] != subject and not self.names(one) & (self.own[subject] | taken)
            ]
            if fitting:
                return min(fitting, key=lambda one: splitmix(number(change) ^ splitmix(number(one))))
        return None

    def controls(self):
        found = set()
        for window in sorted(self.pairs):
            taken = defaultdict(set)
            for change in sorted(self.pairs[window], key=lambda one: (one[1], one[0], one[2])):
                subject, relation, *objects = change
                drawn = self.drawn(change, window, taken[subject, relation])
                if drawn:
                    taken[subject, relation] |= self.names(drawn)
                    found |= {
                        (subject, relation, window, other, own) for other, own in zip(drawn[2:], objects, strict=True)
                    }
        return found


def number(change):
    return draw(42, "control", *change)


def test_previous_objects_and_controls_of_the_demo_agree_with_an_oracle(read):
    oracle = Oracle(read)
    found = {"previous": set(), "control": set(), "current": set()}
    for row in read("dynamic_templama_prompts", release="demo-quarters", variant="undated").to_pylist():
        key = (*oracle.queries[row["item_id"]], row["target_id"])
        found[row["role"]].add((*key, row["stands_for_id"]) if row["role"] == "control" else key)
    assert found["previous"] == oracle.previous
    assert found["control"] == oracle.controls()
    assert found["current"] == {(*key, one) for key, held in oracle.answers.items() for one in held}
    assert len(oracle.previous) > 300
    assert len(found["control"]) > 600
