"""Cells of the screens of results: what rounds to zero has no minus, and no p-value is zero."""

import pytest

from tempkb.screens.linking import print_effects
from tempkb.screens.results import _effect_cells

EFFECT = {
    "release": "r",
    "setup": "demo",
    "family": "causal",
    "benchmark": "facts",
    "contrast": "placebo",
    "k": 1,
    "expected": "zero",
    "estimate": -0.004,
    "low": -0.2,
    "high": -0.001,
    "p_value": 1e-5,
    "p_holm": None,
    "n_clusters": 40,
    "n_seeds": 5,
    "verdict": "zero is included",
    "note": None,
}


@pytest.mark.parametrize(
    ("numbers", "estimate", "p_value"),
    [
        ({}, "0.00 [-0.20, 0.00]", "<0.001"),
        ({"low": None, "high": None, "p_value": None}, "0.00", ""),
        ({"estimate": -0.3, "high": 0.25, "p_value": 0.0004, "p_holm": 0.0012}, "-0.30 [-0.20, 0.25]", "0.001"),
        ({"estimate": None, "low": None, "high": None, "p_value": 0.0005}, None, "0.001"),
    ],
)
def test_a_demo_effect_that_rounds_to_zero_has_no_minus(numbers, estimate, p_value):
    cells = _effect_cells({**EFFECT, **numbers})
    assert (cells[4], cells[7]) == (estimate, p_value)


def test_an_effect_of_linkers_that_rounds_to_zero_has_no_minus(capsys):
    numbers = {"estimate": -0.0002, "low": -0.0004, "high": 0.01}
    print_effects([{**EFFECT, **numbers}, {**EFFECT, "estimate": -0.25, "low": None, "p_value": 0.04}])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    assert [(row[5], row[8]) for row in cells] == [("+0.0 [+0.0, +1.0]", "<0.001"), ("-25.0", "0.040")]
