"""The rule `standing`: a table of little stories, the law, and brute force second by second."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tempkb.wiki.revisions.stable import select_stable

DAY = 86_400
CUT, LOOKBACK = 1000 * DAY, 30 * DAY


def choose(*edits, cut=CUT, lookback=LOOKBACK):
    """Choose among edits (days before the cut, content); lower-case contents are blank or suppressed."""
    times = [round(CUT - days * DAY) for days, _ in edits]
    contents = [content for _, content in edits]
    return select_stable(times, [ord(c) for c in contents], [c.islower() for c in contents], cut, lookback)


@pytest.mark.parametrize(
    ("edits", "index", "days"),
    [
        pytest.param([(500, "A")], 0, 30, id="a quiet page keeps its only text for all of the interval"),
        pytest.param([(500, "A"), (10, "B")], 0, 20, id="the older text stood longer"),
        pytest.param([(500, "A"), (20, "B")], 1, 20, id="the newer text stood longer"),
        pytest.param(
            [(500, "A"), (25, "B"), (15, "A"), (8, "C")], 2, 12, id="a restored text adds up and beats vandalism"
        ),
        pytest.param([(500, "A"), (0.1, "B")], 0, 29.9, id="an edit just before the cut hardly stood"),
        pytest.param([(500, "A"), (0, "B")], 0, 30, id="an edit at the cut is not known"),
        pytest.param([(500, "A"), (-3, "B")], 0, 30, id="an edit after the cut is not known"),
        pytest.param([(30, "A")], 0, 30, id="born exactly at the beginning of the interval"),
        pytest.param([(12, "A")], 0, 12, id="a page born inside the interval"),
        pytest.param([(500, "A"), (15, "B")], 1, 15, id="of equals the one that stood latest"),
        pytest.param(
            [(500, "A"), (20, "B"), (10, "A"), (0.5, "C")], 2, 19.5, id="the last revision that carried it is named"
        ),
        pytest.param([(500, "A"), (29, "e")], 0, 1, id="a blank wins only when nothing else stood"),
        pytest.param([(500, "A"), (31, "e")], 1, 30, id="blank for all of the interval"),
        pytest.param([(500, "e"), (10, "f")], 0, 20, id="of blanks the longest"),
        pytest.param([(40, "A"), (20, "B"), (20, "C")], 2, 20, id="of two in one second only the later stood"),
        pytest.param([(500, "A"), (20, "A")], 1, 30, id="a null edit carries the same text on"),
        pytest.param([(20, "A"), (20, "A"), (9, "B")], 1, 11, id="a carrier must stand for a positive time"),
    ],
)
def test_chooses_the_text_that_stood_longest(edits, index, days):
    best = choose(*edits)
    assert (best.index, best.standing_seconds) == (index, round(days * DAY))


def test_a_page_born_at_the_cut_has_no_winner():
    assert choose((0, "A")) is None
    assert choose() is None


def test_what_is_told_beside_the_winner():
    best = choose((500, "A"), (25, "B"), (15, "A"), (8, "C"))
    assert best.last_stood_at == CUT - 8 * DAY
    assert (best.n_before, best.n_inside) == (4, 3)
    quiet = choose((500, "A"))
    assert (quiet.last_stood_at, quiet.n_before, quiet.n_inside) == (CUT, 1, 0)


histories = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 4)), min_size=1, max_size=25).map(
    lambda edits: sorted(edits, key=lambda edit: edit[0])
)
cuts = st.integers(1, 70)


def brute_force(edits, cut, lookback):
    """Walk over the interval second by second and count what stands."""
    stood, last, carrier = {}, {}, {}
    for second in range(cut - lookback, cut):
        standing = [(index, content) for index, (time, content) in enumerate(edits) if time <= second]
        if standing:
            index, content = standing[-1]
            stood[content] = stood.get(content, 0) + 1
            last[content], carrier[content] = second + 1, index
    if not stood:
        return None
    strong = [content for content in stood if content != 0] or list(stood)
    best = max(strong, key=lambda content: (stood[content], last[content]))
    return carrier[best], stood[best], last[best]


@given(histories, cuts, st.integers(1, 40))
def test_agrees_with_counting_second_by_second(edits, cut, lookback):
    times, contents = [time for time, _ in edits], [content for _, content in edits]
    best = select_stable(times, contents, [content == 0 for content in contents], cut, lookback)
    found = best and (best.index, best.standing_seconds, best.last_stood_at)
    assert found == brute_force(edits, cut, lookback)
