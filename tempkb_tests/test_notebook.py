"""`docs/notebook.ipynb` runs from the first cell to the last on a home with scores, and ends with a plot."""

import json
import shutil
from pathlib import Path

import nbformat
import pyarrow as pa
import pytest
from nbclient import NotebookClient

from tempkb.models.scores.tables import PROMPT_SCORES, partition_of
from tempkb.platform.api import open_store
from tempkb.store.drafts import Provenance
from tempkb_tests.results.conftest import DAYS, SCORERS, scored_home  # noqa: F401

NOTEBOOK = Path(__file__).parents[1] / "docs/notebook.ipynb"
OTHER = "causal.sentence-1.f32"
"""A further scorer of causal models, by which nothing is compared unless it is asked for."""
SHOWN = """
import json

asked = known.to_pandas().query("release == 'demo-quarters'")["scorer"]
points = rows[["model", "window_start"]].astype(str).values.tolist()
print(json.dumps([points, sorted({*rows["scorer"]}), sorted({*asked})]))
"""


def test_no_outputs_are_committed():
    cells = [cell for cell in nbformat.read(NOTEBOOK, 4).cells if cell.cell_type == "code"]
    assert [(cell.outputs, cell.execution_count) for cell in cells] == [([], None)] * len(cells)


@pytest.fixture
def checkout(scored_home, tmp_path, monkeypatch):  # noqa: F811
    """A checkout after `make demo`: the notebook in docs, and beside it a home whose models two scorers have scored."""
    home = shutil.copytree(scored_home, tmp_path / "data/demo")
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    store = open_store()
    for name in DAYS:
        rows = store.read(PROMPT_SCORES.name, model=name, scorer=SCORERS[0])
        other = pa.array([OTHER] * rows.num_rows)
        rows = rows.set_column(rows.schema.get_field_index("scorer"), "scorer", other)
        store.write(PROMPT_SCORES, partition_of(name, OTHER), [PROMPT_SCORES.conform(rows)], Provenance())
    store.publish()
    monkeypatch.delenv("TEMPKB_HOME")
    (tmp_path / "docs").mkdir()
    shutil.copy(NOTEBOOK, tmp_path / "docs")
    return tmp_path


@pytest.mark.slow
def test_it_runs_where_jupyter_opens_it_and_ends_with_a_plot_of_one_scorer(checkout, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(checkout / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.delenv("MPLBACKEND", raising=False)
    folder = checkout / "docs"
    notebook = nbformat.read(folder / NOTEBOOK.name, 4)
    notebook.cells.append(nbformat.v4.new_code_cell(SHOWN))
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    *outputs, shown = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert "image/png" in outputs[-1][-1].data
    assert all(outputs), "each cell shows something"
    said = "".join(one.text for one in outputs[3] if one.output_type == "stream")
    assert "did you mean demo-quarters?" in said
    assert not [one for cell in outputs for one in cell if one.output_type == "stream" and one.name == "stderr"]
    points, scorers, asked = map(tuple, json.loads(shown[0].text))
    assert {model for model, _ in map(tuple, points)} == set(DAYS)
    assert len(points) > 10
    assert len({*map(tuple, points)}) == len(points), "one value for each model and window"
    # The one by which the models are compared.
    assert scorers == asked == (SCORERS[0],)
