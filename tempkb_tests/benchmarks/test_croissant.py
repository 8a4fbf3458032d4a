"""What an export says of itself: the card's front matter, and Croissant 1.1 as `mlcroissant` reads it."""

import hashlib
import json
import logging
import math
from datetime import date, datetime

import mlcroissant
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from huggingface_hub import DatasetCard

from tempkb.benchmarks.card import Card, render
from tempkb.benchmarks.croissant import describe
from tempkb.benchmarks.export_folder import export_folder
from tempkb.benchmarks.loading import Config, Part, write_config
from tempkb.store.columns import columns
from tempkb.store.types import INT64, STRING, list_of, struct_of
from tempkb_tests.conftest import run_tempkb

# Of huggingface.js, packages/tasks/src/pipelines.ts: categories with their finer tasks.
TASKS = {
    "question-answering": {"extractive-qa", "open-domain-qa", "closed-domain-qa"},
    "fill-mask": {"slot-filling", "masked-language-modeling"},
    "text-retrieval": {
        "document-retrieval",
        "utterance-retrieval",
        "entity-linking-retrieval",
        "fact-checking-retrieval",
    },
}
# What reviewers of datasets ask for, by the names of RAI 1.0.
RESPONSIBLE = {
    *("dataCollection", "dataCollectionType", "dataCollectionRawData", "dataCollectionTimeframe"),
    *("dataCollectionMissingData", "dataPreprocessingProtocol", "dataManipulationProtocol", "dataImputationProtocol"),
    *("dataAnnotationProtocol", "annotationsPerItem", "machineAnnotationTools", "dataBiases", "dataLimitations"),
    *("dataUseCases", "dataSocialImpact", "personalSensitiveInformation", "dataReleaseMaintenancePlan"),
}
ANSWER = struct_of(("label", STRING), ("aliases", list_of(STRING)), ("age", INT64))
COLUMNS = columns.with_types(ANSWER=ANSWER)("""
    day DATE: first day
    text VARCHAR: what is asked
    n BIGINT: a number; null if none
    answers ANSWER[]: all that are right
    best ANSWER: the best of them
""")
ROWS = pa.table(
    {
        "day": pa.array([0, 18_628], pa.date32()),
        "text": ["Is | it?", "Ünd"],
        "n": pa.array([7, None], pa.int64()),
        "answers": pa.array(
            [[{"label": "a", "aliases": ["A", "aa"], "age": 1}, {"label": "b", "aliases": [], "age": None}], []],
            list_of(ANSWER).arrow,
        ),
        "best": pa.array([{"label": "a", "aliases": ["A"], "age": 1}, {"label": "c", "aliases": [], "age": 2}], ANSWER.arrow),
    }
)  # fmt: skip


def read(folder, caplog):
    """What mlcroissant makes of an export, of which it has nothing to say."""
    with caplog.at_level(logging.WARNING):
        dataset = mlcroissant.Dataset(folder / "croissant.json")
    assert not dataset.metadata.ctx.issues.errors
    assert not dataset.metadata.ctx.issues.warnings
    assert not [one for one in caplog.records if "not standard" in one.message]
    assert dataset.metadata.ctx.conforms_to.value == "http://mlcommons.org/croissant/1.1"
    return dataset


def plain(value, name=""):
    """A value that mlcroissant gave, as Arrow gives it."""
    if isinstance(value, dict):
        return {key.rpartition("/")[2]: plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float) and math.isnan(value):
        return None
    if hasattr(value, "to_pydatetime"):
        return value.to_pydatetime()
    return value.item() if hasattr(value, "item") else value


def as_instants(row):
    """A row whose days are the instants that mlcroissant makes of them."""
    return {
        name: datetime(value.year, value.month, value.day) if type(value) is date else value  # noqa: DTZ001
        for name, value in row.items()
    }


@pytest.fixture
def described(tmp_path):
    """A folder with two rows, and what is said of it."""
    schema = pa.schema([(one.name, one.arrow) for one in COLUMNS])
    parts = lambda store, release: iter(  # noqa: E731
        [Part("2021", "train", schema, [ROWS.slice(0, 1)]), Part("2022", "test", schema, [ROWS.slice(1)])]
    )
    config = Config("asked", "asked", "a question", parts, COLUMNS, ("text",))
    rai = {"dataCollectionTimeframe": ["2020-01-01", "2021-02-03"], "dataBiases": ["Much."]}
    card = Card(
        "cc0-1.0", ("fill-mask",), "Two rows.", (), language="de", task_ids=("slot-filling",), citation="@a{b}", rai=rai
    )
    with export_folder(tmp_path / "out", "an export", ()) as out:
        loadables = write_config(None, None, out, config)
        told = describe("mine", card, loadables, [], out, {"url": "https://example.org/d", "creator": "Ada"})
        out.write_text("croissant.json", json.dumps(told))
        out.write_text("README.md", render("mine", card, loadables))
    return tmp_path / "out"


def test_records_of_nested_columns_are_read_as_they_were_written(described, caplog):
    dataset = read(described, caplog)
    assert [one.id for one in dataset.metadata.record_sets] == ["asked"], (
        "the same rows by window are none of their own"
    )
    # Files are read in the order of their names.
    rows = sorted((plain(row) for row in dataset.records("asked")), key=lambda row: row["day"])
    assert rows == [as_instants(row) for row in ROWS.to_pylist()]


def test_what_is_said_of_files_and_columns(described):
    told = json.loads((described / "croissant.json").read_text())
    files = {one["@id"]: one for one in told["distribution"] if one["@type"] == "cr:FileObject"}
    assert set(files) == {"parquet/asked/2021/train.parquet", "parquet/asked/2022/test.parquet"}
    for name, one in files.items():
        content = (described / name).read_bytes()
        assert (one["sha256"], one["contentSize"]) == (hashlib.sha256(content).hexdigest(), f"{len(content)} B")
    (records,) = told["recordSet"]
    assert records["key"] == [{"@id": "asked/text"}]
    assert {one["name"]: one["description"] for one in records["field"]} == {one.name: one.meaning for one in COLUMNS}
    answers = records["field"][3]
    assert (answers["isArray"], answers["arrayShape"]) == (True, "-1")
    assert answers["subField"][1]["source"] == {
        "fileSet": {"@id": "files-of-asked"},
        "extract": {"column": "answers"},
        "transform": {"jsonPath": "aliases"},
    }
    assert (told["url"], told["creator"]["name"], told["datePublished"]) == (
        "https://example.org/d",
        "Ada",
        "2021-02-03",
    )
    assert told["license"] == "https://creativecommons.org/publicdomain/zero/1.0/"


def test_the_card_shows_a_row_and_what_columns_mean(described):
    card = (described / "README.md").read_text()
    front = yaml.safe_load(card.split("---\n")[1])
    assert (front["language"], front["size_categories"], front["task_ids"]) == (["de"], ["n<1K"], ["slot-filling"])
    shown = json.loads(card.split("```json\n")[1].split("\n```")[0])
    assert shown["answers"] == ROWS.to_pylist()[0]["answers"]
    assert shown["day"] == "1970-01-01"
    assert "| `n` | BIGINT | a number; null if none |" in card


@pytest.mark.parametrize(("n", "size"), [(999, "n<1K"), (1000, "1K<n<10K"), (99_999, "10K<n<100K"), (10**10, "n>1B")])
def test_sizes_are_those_of_the_hub(n, size):
    from tempkb.benchmarks.loading import Loadable

    card = Card("cc0-1.0", ("fill-mask",), "Rows.", ())
    front = yaml.safe_load(render("mine", card, [Loadable("rows", "a row", n, [("test", "t")])]).split("---\n")[1])
    assert front["size_categories"] == [size]


@pytest.fixture(scope="module")
def exported(demo_home, linked_home, tmp_path_factory):
    """The demo's releases as folders, by benchmark."""
    folder = tmp_path_factory.mktemp("exports")
    for home, name in ((demo_home, "demo-quarters"), (demo_home, "demo-cloze"), (linked_home, "r")):
        run_tempkb(home, "release", "export", name, str(folder))
    return {"dynamic_templama": folder / "demo-quarters", "ecbd": folder / "demo-cloze", "tempel": folder / "r"}


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", ["dynamic_templama", "ecbd", "tempel"])
def test_a_release_is_described_and_read_whole(exported, benchmark, caplog):
    folder = exported[benchmark]
    dataset, told = read(folder, caplog), json.loads((folder / "croissant.json").read_text())
    missing = {name for name in RESPONSIBLE if not told.get(f"rai:{name}")}
    assert not missing
    assert dataset.metadata.data_biases == told["rai:dataBiases"]
    assert dataset.metadata.personal_sensitive_information == told["rai:personalSensitiveInformation"]
    for config in dataset.metadata.record_sets:
        (files,) = (one for one in told["distribution"] if one["@id"] == f"files-of-{config.id}")
        paths = [path for pattern in files["includes"] for path in sorted(folder.glob(pattern))]
        every = [row for path in paths for row in pq.read_table(path).to_pylist()]
        found = list(dataset.records(config.id))
        assert len(found) == len(every) > 0
        key = lambda row: json.dumps(row, sort_keys=True, default=str)  # noqa: E731
        assert sorted(key(plain(row)) for row in found) == sorted(key(as_instants(row)) for row in every)


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", ["dynamic_templama", "ecbd", "tempel"])
def test_a_card_has_what_the_hub_lists(exported, benchmark):
    card = DatasetCard.load(exported[benchmark] / "README.md")
    about = card.data
    assert set(about.task_categories) <= TASKS.keys()
    assert set(about.task_ids) <= {one for name in about.task_categories for one in TASKS[name]}
    assert (benchmark == "tempel") == (about.task_ids == ["entity-linking-retrieval"])
    assert (about.language, about.size_categories) == (["en"], ["n<1K"] if benchmark == "tempel" else ["1K<n<10K"])
    assert len(about.tags) > 3
    assert about.license == ("cc0-1.0" if benchmark == "dynamic_templama" else "cc-by-sa-4.0")
    assert [one["config_name"] for one in about.configs][1] == "windows"
    assert "@software{tempkb," in card.text
    assert f"# {exported[benchmark].name}\n\nInvented: tempkb's demo has made up" in card.text
    described = json.loads((exported[benchmark] / "croissant.json").read_text())["description"]
    assert described.startswith("Invented: tempkb's demo has made up this wiki")
    assert card.text.count("title = {") >= 2, "tempkb and the benchmark's paper"


@pytest.mark.slow
def test_numbers_are_those_of_the_rows(exported):
    folder = exported["dynamic_templama"]
    told = json.loads((folder / "croissant.json").read_text())
    rows = [
        row
        for path in folder.glob("parquet/dynamic_templama_queries/*/*.parquet")
        for row in pq.read_table(path).to_pylist()
    ]
    n_provisional = sum(row["is_provisional"] for row in rows)
    assert f"{n_provisional:,} of {len(rows):,} queries" in told["rai:dataLimitations"][0]
    by_relation = {}
    for row in rows:
        by_relation[row["relation"]] = by_relation.get(row["relation"], 0) + 1
    most = max(sorted(by_relation), key=by_relation.get)
    assert (
        told["rai:dataBiases"][0]
        == f"{by_relation[most] / len(rows):.0%} of the queries are of the relation {most}, the largest."
    )
    made = {one["prov:label"]: one["sc:description"] for one in told["prov:wasGeneratedBy"]}
    assert f" {len(rows):,} rows, made by tempkb " in made["dynamic_templama_queries"]
    assert "relation that no dated statement has, 9" in told["rai:dataCollectionMissingData"]
    assert "kept" not in told["rai:dataCollectionMissingData"]
    (source,) = told["prov:wasDerivedFrom"]
    assert source["prov:label"] == "wikidatawiki-20240101: wikidata-20240101-all.json.gz"
    assert len(source["sc:sha256"]) == 64


@pytest.mark.slow
def test_the_same_release_has_the_same_bytes(exported, demo_home, tmp_path):
    run_tempkb(demo_home, "release", "export", "demo-quarters", str(tmp_path))
    for name in ("SHA256SUMS", "croissant.json", "README.md"):
        assert (tmp_path / "demo-quarters" / name).read_bytes() == (exported["dynamic_templama"] / name).read_bytes()
