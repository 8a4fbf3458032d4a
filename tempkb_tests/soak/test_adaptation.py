"""What is made of the values of worlds: means, differences within a world, and intervals over worlds."""

from tempkb_tests.soak.adaptation import UPDATES, interval, kept, table

WHOLE = 800
LEVELS = {"before": (90, 10), "anew": (80, 80)}


def world(temporal, uniform):
    """Values of a world: old and new of each update, by regime; what is before and anew is alike."""
    return {
        ("f1", regime, alpha, steps, years): value / 100
        for regime, updated in (("temporal", temporal), ("uniform", uniform))
        for alpha, steps, values in (
            ("before", WHOLE, LEVELS["before"]),
            *((f"{share}", steps, updated) for share, steps in UPDATES),
            ("anew", WHOLE, LEVELS["anew"]),
        )
        for years, value in zip(("old", "new"), values, strict=True)
    }


def test_an_interval_is_that_of_students_t_over_worlds():
    """Of .8 and .9 the standard error is .05, and the quantile with one degree of freedom 12.706."""
    assert interval([0.8, 0.9]) == "85.0 [21.5, 100.0]"
    assert interval([0.8]) == "80.0"


def test_differences_are_within_a_world():
    worlds = [world((85, 70), (60, 75)), world((87, 74), (64, 79))]
    lines = [line.split(" | ") for line in table(worlds, "f1")]
    (update,) = (line for line in lines if line[:3] == ["| temporal", "0.5", "300"])
    # 85 and 87 are 5 and 3 less than before, and 5 and 7 more than anew; a difference of 2 makes a half-width of 12.7.
    assert update[3:] == [
        "86.0 [73.3, 98.7]",
        "-4.0 [-16.7, 8.7]",
        "6.0 [-6.7, 18.7]",
        "72.0 [46.6, 97.4]",
        "-8.0 [-33.4, 17.4] |",
    ]
    assert next(line for line in lines if line[1] == "anew")[5] == ""
    # Temporal models lose 5 and 3 points, uniform ones 30 and 26.
    (same,) = {line.partition(" | ")[2].partition(" | ")[2] for line in [*kept(worlds, "f1")][1:]}
    assert same == "24.0 [11.3, 36.7] | -5.0 [-5.0, -5.0] |"
