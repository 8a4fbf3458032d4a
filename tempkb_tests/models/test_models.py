"""The table of models: what is added, what a name is bound to, and what becomes of checkpoints that cannot be used."""

import json
import shutil
from datetime import date

import pyarrow as pa
import pytest
from safetensors.torch import load_file, save_file

from tempkb.core.errors import ContractError, SettingsError
from tempkb.core.settings import load_home
from tempkb.models.checking import PROMISES, differing_from_said
from tempkb.models.checkpoints import read_checkpoint
from tempkb.models.known import known_models, located, said_of
from tempkb.models.requests import preset, request_of
from tempkb.models.tables import MODELS
from tempkb.platform.api import open_store
from tempkb.platform.instance import dagster_at
from tempkb.platform.reporter import report
from tempkb.store.drafts import Provenance
from tempkb.store.promises import Subject
from tempkb.store.said import note_asked
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.models.test_checkpoints import (
    sha256,
    with_broken_config,
    with_code_in_its_weights,
    with_code_of_its_own,
    with_cut_weights,
    without_config,
)
from tempkb_tests.models.tiny import CONTEXT


@pytest.fixture
def own(saved, tmp_path):
    """A copy of a saved model that may be changed."""
    return lambda name, called: shutil.copytree(saved(name), tmp_path / called)


@pytest.fixture
def offline(tmp_path):
    """Variables under which the hub cannot be reached, and its cache is empty."""
    return {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hub")}


def model(home, *arguments, check=True, **variables):
    return run_tempkb(home, "model", *arguments, check=check, **variables)


def published(home):
    """Rows of the DuckDB file by model."""
    if not (home / "tempkb.duckdb").exists():
        return {}
    rows = run_tempkb(home, "sql", "SELECT * EXCLUDE lake_partition FROM models ORDER BY model", "--json").stdout
    return {row["model"]: row for row in map(json.loads, rows.splitlines())}


def version_of(home, name):
    return (home / "lake" / "models" / name / "CURRENT").read_bytes()


@pytest.mark.slow
def test_a_model_is_a_row_with_its_digests_and_dates(home_folder, saved):
    folder = saved("gpt2")
    said = model(home_folder, "add", "tiny", str(folder), "--knows-until", "2020-03-01..2021-01-01").stdout
    assert "2020-03-01..2021-01-01" in said
    read = read_checkpoint(str(folder))
    assert published(home_folder) == {
        "tiny": {
            "model": "tiny",
            "checkpoint": str(folder),
            "hub_revision": None,
            "weights_sha256": sha256(folder / "model.safetensors"),
            "config_sha256": sha256(folder / "config.json"),
            "tokenizer_sha256": read.tokenizer_sha256,
            "chat_template_sha256": None,
            "family": "causal",
            "n_parameters": read.n_parameters,
            "context_tokens": CONTEXT,
            "knows_certainly_until": "2020-03-01",
            "knows_possibly_until": "2021-01-01",
            "status": "ready",
            "reason": None,
        }
    }
    assert "tiny" in model(home_folder, "list").stdout
    shown = model(home_folder, "show", "tiny").stdout
    assert sha256(folder / "model.safetensors") in shown
    status = run_tempkb(home_folder, "status").stdout
    assert f"│ tiny  │ causal │ ready  │      0 │ {folder}" in status
    assert "no such model; there: tiny" in model(home_folder, "show", "huge", check=False).stderr


@pytest.mark.slow
def test_a_checkpoint_inside_the_home_moves_with_it_and_one_that_is_gone_is_said(
    home_folder, saved, own, tmp_path, monkeypatch
):
    shutil.copytree(saved("roberta"), home_folder / "models" / "abc")
    model(home_folder, "add", "near", str(home_folder / "models" / "abc"))
    model(home_folder, "add", "far", str(own("roberta", "elsewhere")))
    assert published(home_folder)["near"]["checkpoint"] == "models/abc"
    assert json.loads((home_folder / "models/near.json").read_text("utf-8"))["words"]["checkpoint"] == "models/abc"
    home = shutil.move(home_folder, tmp_path / "moved")
    shutil.move(tmp_path / "elsewhere", tmp_path / "there")

    monkeypatch.setenv("TEMPKB_HOME", str(home))
    store = open_store()
    where = {row["model"]: row["checkpoint"] for row in known_models(store.lake)}
    assert where == {"near": str(home / "models" / "abc"), "far": str(tmp_path / "elsewhere")}
    assert said_of(store, "near")["checkpoint"] == where["near"]
    assert list(differing_from_said(store, known_models(store.lake))) == []
    status = " ".join(run_tempkb(home, "status").stdout.split())
    assert "near │ masked │ ready │" in status
    assert "far │ masked │ gone │" in status
    assert f"damaged: model far: found no {where['far']}; expected the files of its checkpoint." in status
    assert "damaged: model near" not in status
    assert status.count("tempkb model add far FOLDER") == 1

    model(home, "add", "far", str(tmp_path / "there"))
    model(home, "add", "near")
    assert "gone" not in run_tempkb(home, "status").stdout


def test_a_folder_of_a_home_of_an_earlier_version_is_looked_for_where_the_home_is_now(tmp_path):
    (tmp_path / "models" / "abc").mkdir(parents=True)
    (tmp_path / "other" / "models" / "abc").mkdir(parents=True)
    own = str(tmp_path / "models" / "abc")
    assert located(tmp_path, "models/abc") == located(tmp_path, "/gone/models/abc") == own
    # What is there stays, and so do an id of the hub and a folder of which nothing is known.
    for same in (str(tmp_path / "other/models/abc"), "google-t5/t5-large", "abc", "/gone/models/def"):
        assert located(tmp_path, same) == same


def test_a_name_is_bound_to_its_files_and_the_same_again_does_nothing(home_folder, saved, own, tmp_path):
    folder, other = saved("roberta"), own("roberta", "retrained")
    weights = load_file(other / "model.safetensors")
    save_file({name: one + 1 for name, one in weights.items()}, other / "model.safetensors", {"format": "pt"})
    model(home_folder, "add", "tiny", str(folder), "--knows-until", "2020-01-01")
    before = version_of(home_folder, "tiny")
    model(home_folder, "add", "tiny", str(folder))
    model(home_folder, "add", "tiny", str(folder), "--family", "masked")
    assert version_of(home_folder, "tiny") == before

    refused = model(home_folder, "add", "tiny", str(other), check=False)
    assert refused.returncode == 1
    found = (
        f"weights_sha256 {sha256(folder / 'model.safetensors')[:12]}, found {sha256(other / 'model.safetensors')[:12]}"
    )
    assert found in refused.stderr
    assert "config_sha256" not in refused.stderr, "the config is the same"
    assert "tempkb model rm tiny" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    family = model(home_folder, "add", "tiny", str(folder), "--family", "causal", check=False)
    assert family.returncode == 1
    assert "family masked, found causal" in family.stderr
    gone = model(home_folder, "add", "tiny", str(tmp_path / "nowhere"), check=False)
    assert gone.returncode == 1
    assert version_of(home_folder, "tiny") == before

    # Where the files are, and what is known about the model, may change.
    moved = shutil.copytree(folder, tmp_path / "moved")
    model(home_folder, "add", "tiny", str(moved), "--knows-until", "2020-04-01")
    row = published(home_folder)["tiny"]
    assert row["checkpoint"] == str(moved)
    assert (row["knows_certainly_until"], row["knows_possibly_until"]) == ("2020-04-01", "2020-04-01")
    told = "tiny has the stated cutoff 2020-07-01 from now on; 2020-04-01, as was said before, is replaced"
    for typed, is_told in ((("--knows-until", "2020-07-01"), True), ((), False)):
        said = model(home_folder, "add", "tiny", str(moved), *typed)
        assert (told in said.stdout + said.stderr) == is_told

    model(home_folder, "rm", "tiny", "--yes")
    assert published(home_folder) == {}
    assert "tiny" not in model(home_folder, "list").stdout
    assert "no such model" in model(home_folder, "rm", "tiny", "--yes", check=False).stderr
    model(home_folder, "add", "tiny", str(other))
    assert published(home_folder)["tiny"]["weights_sha256"] == sha256(other / "model.safetensors")


@pytest.mark.slow
def test_a_row_that_is_not_what_was_said_is_named_and_written_again(home_folder, saved):
    model(home_folder, "add", "tiny", str(saved("gpt2")), "--knows-until", "2020-01-01")
    before, said = published(home_folder), home_folder / "models" / "tiny.json"
    store = open_store()
    (row,) = store.read("models").to_pylist()
    row |= {"knows_certainly_until": date(2021, 1, 1), "knows_possibly_until": date(2021, 1, 1)}
    store.write(MODELS, "tiny", [pa.Table.from_pylist([row], MODELS.schema)], Provenance())
    store.publish()
    line, end = run_tempkb(home_folder, "verify", check=False).stdout.splitlines()
    assert line.startswith(
        "model tiny: found knows_until 2021-01-01 in its row; expected 2020-01-01, as was said when it was added. "
    )
    assert line.endswith("tempkb model add tiny")
    assert end.startswith("1 fault found")
    model(home_folder, "add", "tiny")
    assert published(home_folder) == before
    # A damaged file or missing file is written again from the row.
    whole = said.read_bytes()
    said.write_bytes(whole.replace(b"2020-01-01", b"2022-01-01"))
    line, end = run_tempkb(home_folder, "verify", check=False).stdout.splitlines()
    assert "tiny.json has another content than tempkb wrote" in line
    assert line.endswith("tempkb model add tiny")
    assert f": rm {said} && " in line
    said.unlink()
    gone = "model tiny: found nothing said of it in models/tiny.json; expected what was said when it was added. "
    for command, before in (("verify", ""), ("status", "damaged: ")):
        lines = run_tempkb(home_folder, command, check=False).stdout.splitlines()
        (line,) = [line for line in lines if "tiny.json" in line]
        assert line.startswith(before + gone)
        assert line.endswith("tempkb model add tiny")
    # Who asks for scores meanwhile does not hide that.
    note_asked(home_folder / "models", "tiny", {"limit": "3"})
    assert gone in run_tempkb(home_folder, "verify", check=False).stdout
    model(home_folder, "add", "tiny")
    assert json.loads(said.read_bytes())["words"] == json.loads(whole)["words"]
    assert json.loads(said.read_bytes())["asked"] == [{"limit": "3"}]
    assert run_tempkb(home_folder, "verify").stdout.startswith("All is well")


SPOILED = {
    "a-page": with_broken_config,
    "b-empty": without_config,
    "c-cut": with_cut_weights,
    "d-bomb": with_code_in_its_weights,
    "e-code": with_code_of_its_own,
}


@pytest.mark.slow
def test_checkpoints_that_cannot_be_used_are_rows_with_reasons_and_others_are_added(
    home_folder, own, saved, tmp_path, offline
):
    parts = {name: spoil(own("roberta", name)) for name, spoil in SPOILED.items()}
    lines = [f'[models.{name}]\ncheckpoint = "{tmp_path / name}"' for name in SPOILED]
    lines.append(f'[models.f-family]\ncheckpoint = "{saved("roberta")}"\nfamily = "causal"')
    parts["f-family"] = "found RobertaForMaskedLM of type roberta, which is a masked model"
    lines.append('[models.g-far]\ncheckpoint = "nobody/nothing"\nrevision = "v2"')
    # A folder is named from the home, and days need no quotes.
    lines.append('[models.z-good]\ncheckpoint = "checkpoints/good"\nknows_until = 2020-01-01')
    shutil.copytree(saved("roberta"), home_folder / "checkpoints" / "good")
    (home_folder / "tempkb.toml").write_text("\n".join(lines))

    done = run_tempkb(home_folder, "model", "add", check=False, cwd=tmp_path, **offline)
    assert done.returncode == 1
    rows = published(home_folder)
    assert {name: row["status"] for name, row in rows.items()} == dict.fromkeys(parts, "not_loaded") | {
        "z-good": "ready"
    }
    assert (rows["z-good"]["checkpoint"], rows["z-good"]["knows_certainly_until"]) == (
        "checkpoints/good",
        "2020-01-01",
    )
    failed = [line for line in done.stderr.splitlines() if line.startswith("failed: ")]
    # What is not there leaves no row.
    far = failed.pop()
    assert far.startswith(
        "failed: model 'g-far': 'nobody/nothing' is neither a folder of this machine nor in its cache"
    )
    assert "What would be fetched: revision v2 of https://huggingface.co/nobody/nothing" in far
    for (name, part), line in zip(parts.items(), failed, strict=True):
        assert part in rows[name]["reason"]
        assert line == f"failed: model {name!r}: {rows[name]['reason']}"
        assert rows[name]["weights_sha256"] is None
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "bomb-went-off").exists()
    assert rows["a-page"]["reason"] in model(home_folder, "list").stdout

    # Mended, it is added by the lines of the home.
    shutil.copy(saved("roberta") / "config.json", tmp_path / "a-page")
    model(home_folder, "add", "a-page")
    assert published(home_folder)["a-page"]["status"] == "ready"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("two--hyphens", "x/y"), "found a name that is not allowed"),
        (("a/b", "x/y"), "found a name that is not allowed"),
        (("Big", "x/y"), "found a name that is not allowed"),
        (("tiny",), "found no checkpoint and no lines [models.tiny]"),
        ((), "found neither a name nor lines [models.NAME]"),
        (("tiny", "x/y", "--family", "decoder"), "expected masked, seq2seq or causal"),
        (("tiny", "x/y", "--knows-until", "2020"), "knows_until: found '2020'; expected YYYY-MM-DD, or"),
        (("tiny", "x/y", "--knows-until", "2021-01-01..2020-01-01"), "an earlier day that is certain"),
        ((".x", "x/y"), "found a name that is not allowed"),
        (("tiny", "./nowhere"), "is neither a folder of this machine nor an id of the hub"),
        (("--preset", "papers"), "no such preset; expected one of timelms, ecbd, cbqa"),
    ],
)
def test_what_cannot_be_meant_is_one_line_and_writes_nothing(home_folder, arguments, part):
    done = model(home_folder, "add", *arguments, check=False)
    assert done.returncode == 1
    assert part in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (home_folder / "lake" / "models").exists()
    assert not list(home_folder.glob("models/*.json"))


@pytest.mark.parametrize(
    ("lines", "part"),
    [
        ("[models.tiny]\nrevision = 'v2'", "[models.tiny] has no line checkpoint"),
        ("[models.tiny]\ncheckpoint = 'x/y'\ndtype = 'f32'", "[models.tiny] has a line dtype"),
        ("models = 'x/y'", "models are tables of tempkb.toml"),
    ],
)
def test_odd_lines_of_the_home_are_named(home_folder, lines, part):
    home_folder.mkdir()
    (home_folder / "tempkb.toml").write_text(lines)
    with pytest.raises(SettingsError) as caught:
        load_home()
    assert part in str(caught.value)


def test_the_models_of_a_paper_are_a_preset():
    wanted = {name: request_of(name, words) for name, words in preset(["timelms"]).items()}
    # The quarters of the paper's Figure 4, and the name of each model on the hub.
    assert {name: (one.checkpoint, f"{one.knows_certainly_until}") for name, one in wanted.items()} == {
        "timelm-2019-q4": ("cardiffnlp/twitter-roberta-base-2019-90m", "2020-01-01"),
        "timelm-2020-q1": ("cardiffnlp/twitter-roberta-base-mar2020", "2020-04-01"),
        "timelm-2020-q2": ("cardiffnlp/twitter-roberta-base-jun2020", "2020-07-01"),
        "timelm-2020-q3": ("cardiffnlp/twitter-roberta-base-sep2020", "2020-10-01"),
        "timelm-2020-q4": ("cardiffnlp/twitter-roberta-base-dec2020", "2021-01-01"),
        "timelm-2021-q1": ("cardiffnlp/twitter-roberta-base-mar2021", "2021-04-01"),
        "timelm-2021-q2": ("cardiffnlp/twitter-roberta-base-jun2021", "2021-07-01"),
        "timelm-2021-q3": ("cardiffnlp/twitter-roberta-base-sep2021", "2021-10-01"),
        "timelm-2021-q4": ("cardiffnlp/twitter-roberta-base-dec2021", "2022-01-01"),
        "timelm-2022-q1": ("cardiffnlp/twitter-roberta-base-mar2022", "2022-04-01"),
        "timelm-2022-q2": ("cardiffnlp/twitter-roberta-base-jun2022", "2022-07-01"),
    }
    assert {one.family for one in wanted.values()} == {"masked"}


def test_presets_are_requests_that_can_be_meant():
    found = {name: request_of(name, words) for name, words in preset(["timelms", "ecbd", "cbqa"]).items()}
    assert len(found) == 11 + 3 + 3
    assert {found[name].checkpoint for name in ("t5-large", "bart-large", "gpt-neo-1.3b", "t5-large-ssm")} == {
        "google-t5/t5-large",
        "facebook/bart-large",
        "EleutherAI/gpt-neo-1.3B",
        "google/t5-large-ssm",
    }
    neo = found["gpt-neo-1.3b"]
    assert (neo.family, neo.knows_certainly_until) == ("causal", date(2020, 3, 1))


@pytest.mark.slow
def test_the_check_finds_files_that_were_changed_and_files_that_are_gone(home_folder, own):
    folder = own("roberta", "tiny")
    model(home_folder, "add", "tiny", str(folder))
    (promise,) = PROMISES
    store, subject = open_store(), Subject(["tiny"])
    assert promise.judged(store, subject).facts == {"broken": 0, "examples": ["none"]}
    (folder / "config.json").write_text((folder / "config.json").read_text() + "\n")
    verdict = promise.judged(store, subject)
    assert not verdict.passed
    assert f"tiny: config_sha256 is {sha256(folder / 'config.json')}" in verdict.facts["examples"][0]
    assert promise.judged(store, Subject(["other"])).passed
    shutil.rmtree(folder)
    gone = promise.judged(store, Subject(None))
    assert not gone.passed
    assert "neither a folder of this machine" in gone.facts["examples"][0]


ROW = {
    **dict.fromkeys(MODELS.column_names()),
    "model": "tiny",
    "checkpoint": "x/y",
    "weights_sha256": "0",
    "config_sha256": "1",
    "tokenizer_sha256": "2",
    "family": "masked",
    "n_parameters": 1,
    "status": "ready",
}


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"model": "two--hyphens"}, "name_is_a_slug"),
        ({"status": "good"}, "known_status"),
        ({"status": "not_loaded"}, "other_status_has_a_reason"),
        ({"reason": "none"}, "other_status_has_a_reason"),
        ({"weights_sha256": None}, "ready_model_is_known"),
        ({"family": "decoder"}, "known_family"),
        ({"knows_certainly_until": date(2020, 1, 1)}, "dates_are_in_order"),
        (
            {"knows_certainly_until": date(2021, 1, 1), "knows_possibly_until": date(2020, 1, 1)},
            "dates_are_in_order",
        ),
    ],
)
def test_rows_keep_the_rules_of_their_table(home_folder, changes, rule):
    store, row = open_store(), ROW | changes
    store.write(MODELS, "tiny", [pa.Table.from_pylist([ROW], MODELS.schema)], Provenance())
    with pytest.raises(ContractError, match=rule):
        store.write(MODELS, row["model"], [pa.Table.from_pylist([row], MODELS.schema)], Provenance())


@pytest.mark.slow
def test_dagster_knows_the_models_of_a_home_and_forgets_those_that_were_removed(home_folder, saved, own, offline):
    model(home_folder, "add", "tiny", str(saved("roberta")))
    odd = own("roberta", "odd")
    without_config(odd)
    model(home_folder, "add", "odd", str(odd), check=False)
    model(home_folder, "add", "far", "nobody/nothing", check=False, **offline)

    def known():
        with dagster_at(load_home()) as instance:
            report(instance, open_store())
            return sorted(instance.get_dynamic_partitions("models"))

    assert known() == ["odd", "tiny"]
    run_tempkb(home_folder, "rm", "--model", "odd", "--yes")
    assert known() == ["tiny"]
    shutil.rmtree(home_folder / "dagster")
    assert known() == ["tiny"], "a storage that is made anew knows it again"
