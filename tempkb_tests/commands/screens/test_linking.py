"""The screen of linking effects: what rounds to zero has no minus, and no p-value is zero."""

from tempkb.commands.screens.linking import print_effects

EFFECT = {
    "release": "r",
    "setup": "demo",
    "contrast": "placebo",
    "k": 1,
    "expected": "zero",
    "estimate": -0.004,
    "low": -0.2,
    "high": -0.001,
    "p_value": 1e-5,
    "n_clusters": 40,
    "n_seeds": 5,
    "verdict": "zero is included",
    "note": None,
}


def test_an_effect_of_linkers_that_rounds_to_zero_has_no_minus(capsys):
    numbers = {"estimate": -0.0002, "low": -0.0004, "high": 0.01}
    print_effects([{**EFFECT, **numbers}, {**EFFECT, "estimate": -0.25, "low": None, "p_value": 0.04}])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    assert [(row[5], row[8]) for row in cells] == [("+0.0 [+0.0, +1.0]", "<0.001"), ("-25.0", "0.040")]
