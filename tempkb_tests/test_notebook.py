"""`docs/notebook.ipynb` runs from the first cell to the last on a home with scores, and ends with a plot."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tempkb_tests.results.conftest import scored_home  # noqa: F401

NOTEBOOK = Path(__file__).parents[1] / "docs/notebook.ipynb"


def test_no_outputs_are_committed():
    cells = [cell for cell in nbformat.read(NOTEBOOK, 4).cells if cell.cell_type == "code"]
    assert [(cell.outputs, cell.execution_count) for cell in cells] == [([], None)] * len(cells)


@pytest.mark.slow
def test_it_runs_and_ends_with_a_plot(scored_home, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("TEMPKB_HOME", str(scored_home))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.delenv("MPLBACKEND", raising=False)
    notebook = nbformat.read(NOTEBOOK, 4)
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert "image/png" in outputs[-1][-1].data
    assert all(outputs), "each cell shows something"
    said = "".join(one.text for one in outputs[3] if one.output_type == "stream")
    assert "did you mean demo-quarters?" in said
    assert not [one for cell in outputs for one in cell if one.output_type == "stream" and one.name == "stderr"]
