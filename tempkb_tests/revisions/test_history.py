"""Texts that the file once gave, on random histories against the definition."""

import random

import pytest

from tempkb.dumps.elements import Revision, TextState
from tempkb.revisions.history import ABSENT, SUPPRESSED, Cuts, PageHistory, Who
from tempkb.revisions.snapshots import Cut, PageSnapshots, TextMissingError
from tempkb.revisions.texts import TextStore
from tempkb.titles import Site, Title

DAY = 86_400
STATES = [TextState.PRESENT, TextState.BLANK, TextState.SUPPRESSED, TextState.ABSENT]


def history(folder, states_and_contents):
    """A page with a revision a day, whose texts are all dropped, since there is no cut for which they are kept."""
    page = PageHistory(1, Cuts([], 0), TextStore(folder), Site(), Who(b"salt"))
    for at, (state, content) in enumerate(states_and_contents):
        text = b"text" if state is TextState.PRESENT else b""
        page.add(Revision(at + 1, None, at * DAY, 7, None, False, b"", b"%031d" % content, 4, state, text), 0)
    page.settle()
    return page


def test_a_text_was_given_if_its_content_had_it_there_or_earlier(tmp_path):
    chance = random.Random(24)
    answers = set()
    for _ in range(300):
        # Hashes begin with twelve digits that tell contents apart; few contents, so that they come again.
        told = [(chance.choice(STATES), chance.randrange(5) * 10**25) for _ in range(chance.randrange(1, 12))]
        page = history(tmp_path, told)
        positions = sorted(chance.sample(range(len(told)), chance.randrange(1, len(told) + 1)))
        expected = any(
            page.contents[at] == page.contents[index] and not page.flags[at] & (ABSENT | SUPPRESSED)
            for index in positions
            for at in range(index + 1)
        )
        assert page.once_had_text(positions) == expected
        answers.add(expected)
    assert answers == {False, True}


def snapshots(page, title, n_cuts):
    cuts = [Cut(str(at), at * DAY + 1) for at in range(n_cuts)]
    return PageSnapshots(page, title, Site(), cuts, 3 * DAY, None)


def test_a_text_that_was_dropped_too_early_is_noticed_and_one_that_never_was_is_not(tmp_path):
    store = TextStore(tmp_path)
    stubs = history(tmp_path, [(TextState.ABSENT, at * 10**25) for at in range(8)])
    assert list(snapshots(stubs, Title(0, "A"), 8).texts(store)) == []
    # The first text, which the file gave, is restored as a stub on the last day.
    given = history(tmp_path, [(TextState.PRESENT, 0), (TextState.ABSENT, 10**25), (TextState.ABSENT, 0)])
    with pytest.raises(TextMissingError):
        list(snapshots(given, Title(0, "A"), 3).texts(store))


@pytest.mark.parametrize(("namespace", "since"), [(0, 0), (1, None)])
def test_a_page_that_was_never_in_the_main_namespace_was_never_an_article(tmp_path, namespace, since):
    page = history(tmp_path, [(TextState.PRESENT, 0), (TextState.PRESENT, 10**25)])
    rows = list(snapshots(page, Title(namespace, "A"), 3).rows({}))
    assert [row[7] for _, row in rows] == [since] * 3
