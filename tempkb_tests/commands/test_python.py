"""`tempkb.open`: a home's tables, queries and results as Arrow, and what commands do, from Python."""

import csv
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

import tempkb
from tempkb.commands.cli import main
from tempkb.commands.python import KnowledgeBase
from tempkb.core.locks import locked
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.models.scores.conftest import add, built, saved, store  # noqa: F401 - a home with facts to ask
from tempkb_tests.results.conftest import scored_home  # noqa: F401

HEAVY = ("duckdb", "pyarrow", "numpy", "pandas", "torch", "transformers", "dagster", "spacy", "matplotlib")


@pytest.fixture
def kb(demo_home, monkeypatch):
    """The demo's home, which no variable names."""
    for name in [name for name in os.environ if name.startswith("TEMPKB_")]:
        monkeypatch.delenv(name)
    return tempkb.open(demo_home)


def examples():
    """The code of the examples in the docstrings, by the method's name."""
    methods = {name: one for name, one in vars(KnowledgeBase).items() if not name.startswith("_") and one.__doc__}
    return {name: re.search("Example: `(.+)`", one.__doc__)[1] for name, one in methods.items()}


def test_a_script_that_imports_tempkb_loads_nothing_that_takes_long():
    script = "import json, sys; import tempkb; print(json.dumps([dir(tempkb), list(sys.modules)]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    names, modules = json.loads(done.stdout)
    assert names == ["SettingsError", "TempkbError", "__version__", "open"]
    assert [name for name in modules if name.startswith("tempkb")] == ["tempkb.core", "tempkb.core.errors", "tempkb"]
    assert not {*HEAVY, "click", "msgspec"} & set(modules)


def test_to_open_a_home_loads_no_library_of_data(demo_home):
    script = f"import json, sys; import tempkb; tempkb.open({str(demo_home)!r}); print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(HEAVY) & set(json.loads(done.stdout))


def test_tables_say_what_there_is(kb):
    rows = {row["name"]: row for row in kb.tables.to_pylist()}
    mentions = rows["mentions"]
    windows = sorted((kb.home / "lake" / "mentions").iterdir())
    assert (mentions["kind"], mentions["partitions"]) == ("table", len([one for one in windows if one.is_dir()]))
    assert mentions["rows"] == kb.sql("SELECT count(*) AS n FROM mentions")["n"][0].as_py() > 0
    assert rows["generations"]["rows"] == 0, "nothing of it is built"
    assert (rows["fact_versions"]["kind"], rows["fact_versions"]["rows"]) == ("view", None)
    assert mentions["description"].startswith("Links from one article to another")
    assert list(kb.tables.to_pandas().columns) == ["name", "kind", "rows", "partitions", "description"]


def test_columns_a_partition_and_values_are_parts_of_all_rows(kb):
    every = kb.read("mentions").to_pylist()
    chosen = [row for row in every if str(row["cut"]) == "2021-10-01"]
    columns = ["target_title", "surface"]
    expected = [{name: row[name] for name in columns} for row in chosen]
    assert kb.read("mentions", columns=columns, cut="2021-10-01").to_pylist() == expected
    assert kb.read("mentions", columns=columns, partition="2021-07-01").to_pylist() == expected, "its window ends then"
    assert kb.read("mentions", columns="surface", partition="2021-07-01").column_names == ["surface"]
    title = chosen[0]["target_title"]
    of_title = kb.read("mentions", partition="2021-07-01", target_title=title)
    assert of_title.num_rows == sum(row["target_title"] == title for row in chosen) > 0
    assert kb.read("exclusions", partition="2021-07-01").num_rows > 0, "of tables beside others it is a column"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda kb: kb.read("mention"), "no table 'mention'; did you mean mentions?"),
        (lambda kb: kb.read("mentions", columns=["surfaces"]), "table 'mentions' has no column 'surfaces'; did you mean surface?"),
        (lambda kb: kb.read("mentions", sufrace="x"), "table 'mentions' has no column 'sufrace'; did you mean surface?"),
        (lambda kb: kb.read("fact_versions", ranks="x"), "view 'fact_versions' has no column 'ranks'; did you mean rank?"),
        (lambda kb: kb.read("mentions", partition="2021-07-11"), "partition '2021-07-11': mentions has none of that name; did you mean 2021-07-01?"),
        (lambda kb: kb.read("fact_versions", partition="2021-07-01"), "partition '2021-07-01': fact_versions is a view, which has none; name values of its columns"),
        (lambda kb: kb.read("generations", partition="x"), "generations: nothing of it is built yet; build it: TEMPKB_HOME={home} tempkb model --help"),
        (lambda kb: kb.read("ecbd_cloze", release="demo-cloce"), "release demo-cloce: ecbd_cloze has nothing of it; did you mean demo-cloze?"),
        (lambda kb: kb.read("ecbd_balance", release="demo-cloce"), "release demo-cloce: ecbd_balance has nothing of it; did you mean demo-cloze?"),
        (lambda kb: kb.read("exclusions", partition="demo-cloce"), "partition demo-cloce: exclusions has nothing of it; did you mean demo-cloze?"),
        (lambda kb: kb.read("manifest", table_name="mention"), "table_name mention: manifest has nothing of it; did you mean mentions?"),
        (lambda kb: kb.read("stable_snapshots", cut="2021-09-30"), "cut 2021-09-30: stable_snapshots is not built at that cut; the nearest are 2021-10-01, 2021-07-01, 2022-01-01"),
        (lambda kb: kb.read("answer_tokens"), "answer_tokens: nothing of it is built yet; build it: TEMPKB_HOME={home} tempkb release tokens --help"),
        (lambda kb: kb.read("mentions", columns=[]), "table 'mentions': found no column; expected names, such as wiki"),
        (lambda kb: kb.knows(modle="x"), "knows: modle: no such option; did you mean model?"),
        (lambda kb: kb.knows(full=True), "knows: full: no such option; known: window, baseline, model, release, scorer, buffer, all_items"),
        (lambda kb: kb.knows(releases="x"), "knows: releases: no such option; did you mean release?"),
        (lambda kb: kb.knows(buffer="x"), "knows: buffer: found 'x'; expected a whole number from 0 to 999,999,999,999"),
        (lambda kb: kb.knows(window="lst"), "knows: window: found 'lst'; expected last, or two days A..B"),
        (lambda kb: kb.answers("x", limit=1), "answers: limit: no such option; known: release, window, kind, decoder"),
        (lambda kb: kb.answers("x"), "model 'x': no such model; there: none. Add it first: TEMPKB_HOME={home} tempkb model add x CHECKPOINT"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_an_error_with_the_nearest_name(kb, ask, message):
    with pytest.raises(tempkb.SettingsError) as raised:
        ask(kb)
    assert str(raised.value) == message.format(home=shlex.quote(str(kb.home)))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda kb: kb.score(), "score: expected names of models, or all of the home: --all (in Python all=True)"),
        (lambda kb: kb.generate(), "generate: expected names of models, or all of the home: --all (in Python all=True)"),
        (lambda kb: kb.score("a", "b", knows_until="2022-01-01"), "--revision, --family and --knows-until are for one model; give its name"),
        (lambda kb: kb.score(all=True), "score: the home has no model that is ready; add one: TEMPKB_HOME={home} tempkb model add NAME CHECKPOINT"),
        (lambda kb: kb.generate(decoders="x"), "generate: decoders: no such option; did you mean decoder?"),
        (lambda kb: kb.build(windws="2021-01-01..2021-04-01"), "build: windws: no such option; did you mean window?"),
        (lambda kb: kb.build(select=["mention"]), "--select mention: no such asset; did you mean mentions?"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_an_error(kb, tmp_path, ask, message):
    own = tempkb.open(shutil.copytree(kb.home, tmp_path / "home"))
    with pytest.raises(tempkb.SettingsError) as raised:
        ask(own)
    assert str(raised.value) == message.format(home=own.home)


def test_a_query_that_does_not_only_read_is_refused(kb):
    with pytest.raises(tempkb.SettingsError, match="does not only read"):
        kb.sql("DROP TABLE mentions")
    with pytest.raises(tempkb.SettingsError, match='Did you mean "mentions"'):
        kb.sql("FROM mention")


def test_a_home_must_be_one(tmp_path, kb, monkeypatch):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "home.toml").touch()
    with pytest.raises(tempkb.SettingsError) as raised:
        tempkb.open(tmp_path / "demi")
    assert str(raised.value) == (
        f"home {tmp_path}/demi: no such folder; expected a home; build one: TEMPKB_HOME={tmp_path}/demi tempkb build "
        f"--dump FILE; did you mean {tmp_path}/demo?"
    )
    with pytest.raises(tempkb.SettingsError, match=r"found a folder of other files; expected a home, with home\.toml"):
        tempkb.open(tmp_path)
    (tmp_path / "new").mkdir()
    empty = tempkb.open(tmp_path / "new")
    assert set(empty.tables["rows"].to_pylist()) == {0, None}
    with pytest.raises(tempkb.SettingsError, match="stable_snapshots: nothing of it is built yet"):
        empty.read("stable_snapshots")
    monkeypatch.setenv("TEMPKB_HOME", str(kb.home))
    assert repr(tempkb.open()) == f"tempkb.open({str(kb.home)!r})"


def test_readers_wait_for_nobody(kb, demo_home, tmp_path):
    shutil.copytree(demo_home, tmp_path / "home")
    busy = tempkb.open(tmp_path / "home")
    run_tempkb(busy.home, "publish")
    lake = busy._store.lake
    with lake.partition_lock("mentions", "2021-07-01"), locked(busy.home / "tempkb.duckdb.lock"):
        assert busy.read("mentions", partition="2021-07-01").equals(kb.read("mentions", partition="2021-07-01"))
        assert busy.sql("SELECT count(*) AS n FROM mentions")["n"][0].as_py() == kb.read("mentions").num_rows


# What is printed, written to a file, given as an argument or kept in the environment is no option in Python.
OF_SCREENS = ["full", "by_popularity", "fact", "csv", "latex", "picture"]


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("knows", OF_SCREENS),
        ("answers", ["limit", "csv"]),
        ("score", ["model"]),
        ("generate", ["model"]),
        ("build", ["pages", "sample"]),
    ],
)
def test_help_lists_the_options_of_the_command(name, others):
    typed = {
        one.opts[0][2:].replace("-", "_"): one for one in main.commands[name].params if one.param_type_name == "option"
    }
    method = getattr(KnowledgeBase, name)
    taken = [one.name for one in inspect.signature(method).parameters.values() if one.kind is one.KEYWORD_ONLY]
    assert sorted(taken) == sorted(typed.keys() - {*others})
    assert all(f"\n            {one}: {typed[one].help}" in method.__doc__ for one in taken)


def test_help_shows_an_example_of_each():
    assert set(examples()) == {"tables", "read", "sql", "knows", "answers", "score", "generate", "build"}


def test_reading_as_the_docstrings_show(kb, scored_home):  # noqa: F811
    for name in ("tables", "read", "sql"):
        assert len(eval(examples()[name], {"kb": kb})) > 0
    assert eval(examples()["knows"], {"kb": tempkb.open(scored_home)}).num_rows > 0


def test_knows_gives_the_rows_of_the_command(kb, scored_home, tmp_path):  # noqa: F811
    window = "2022-01-01..2023-07-01"
    rows = tempkb.open(scored_home).knows(window=window, model=["late"]).to_pylist()
    run_tempkb(scored_home, "knows", "--csv", str(tmp_path / "k.csv"), "--window", window, "--models", "late")
    with (tmp_path / "k.csv").open() as file:
        written = list(csv.DictReader(file))
    assert len(rows) == len(written) > 0
    key = lambda row: (row["release"], row["model"], row["aggregate"])  # noqa: E731
    for row, line in zip(sorted(rows, key=key), sorted(written, key=key), strict=True):
        assert {name: "" if value is None else str(value) for name, value in row.items()} == line


def test_a_slip_of_the_name_of_a_model_is_told_with_the_nearest(scored_home):  # noqa: F811
    with pytest.raises(tempkb.SettingsError, match=r"^model 'lat': no such model; did you mean late\?$"):
        tempkb.open(scored_home).answers("lat")


@pytest.mark.parametrize("value", [object(), {1}, 10**40, [1]])
def test_a_value_of_another_kind_is_an_error_of_tempkb(kb, value):
    with pytest.raises(tempkb.SettingsError, match="table 'mentions': a value does not fit its column"):
        kb.read("mentions", cut=value)


@pytest.mark.slow
def test_models_are_asked_by_the_same_steps_as_by_the_command(store, add, saved, tmp_path, monkeypatch):  # noqa: F811
    name, home = add(store, "gpt2"), store.home.path
    other = tmp_path / "other"
    shutil.copytree(home, other)
    monkeypatch.setenv("TEMPKB_HOME", str(tmp_path / "elsewhere"))
    kb = tempkb.open(home)
    for method in ("score", "generate"):
        line = examples()[method].replace("demo-causal-2022-01-01", name).replace('release="demo-quarters", ', "")
        assert eval(line, {"kb": kb}) == [name]
        run_tempkb(other, method, name, "--limit", "10")
    assert os.environ["TEMPKB_HOME"] == str(tmp_path / "elsewhere"), "as it was"
    assert kb.score(saved("gpt2"), knows_until="2018-01-01", family="causal", limit=10) == ["gpt2"]
    assert [str(day) for day in kb.read("models")["knows_certainly_until"].to_pylist()] == ["2018-01-01"]
    assert kb.score(all=True, limit=10) == [name]
    for table in ("prompt_scores", "generations"):
        assert kb.read(table).equals(tempkb.open(other).read(table))
        assert kb.read(table).num_rows > 0
    run_tempkb(home, "results")
    line = re.sub(r'"demo-causal.*"', f'"{name}"', examples()["answers"])
    rows = eval(line, {"kb": kb})
    assert set(rows["kind"].to_pylist()) == {"changes", "items"}
    assert {"kind", "said", "new", "accepted"} < set(rows.column_names)
    (release,) = set(rows["release"].to_pylist())
    assert kb.answers(name, release=release).equals(rows)
    with pytest.raises(
        tempkb.SettingsError, match=f"answers: release '{release}x': no such release; did you mean {release}"
    ):
        kb.answers(name, release=f"{release}x")
    run_tempkb(home, "answers", name, "--csv", str(tmp_path / "a.csv"))
    with (tmp_path / "a.csv").open() as file:
        assert [row["item_id"] for row in csv.DictReader(file)] == rows["item_id"].to_pylist()
    with pytest.raises(tempkb.SettingsError, match="score: found the release 'none'; expected a release"):
        kb.score(name, release="none")


@pytest.mark.slow
def test_a_home_is_built_from_python(demo_dumps, tmp_path, kb, monkeypatch):
    shutil.copytree(demo_dumps, tmp_path / "home")
    monkeypatch.setenv("TEMPKB_NAMESPACES", "all")
    monkeypatch.setenv("TEMPKB_WORKERS", "1")
    made = tempkb.open(tmp_path / "home")
    assert eval(examples()["build"], {"kb": made}) == ["2021-01-01", "2021-04-01"]
    columns = ["title", "text_sha1"]
    for cut in ("2021-04-01", "2021-07-01"):
        expected = kb.read("stable_snapshots", columns=columns, cut=cut)
        assert made.read("stable_snapshots", columns=columns, cut=cut).equals(expected)
