"""The law: appending later history never changes what was built for an earlier cut.

Random pages with edits, vandalism, reverts, blanks, moves and suppressions, read
by the real pass; once as known at a cut, once with all that came after.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tempkb.core.titles import Title
from tempkb.wiki.dumps.xml import PageStream
from tempkb.wiki.revisions.history import Cuts, PageHistory, TextStore, Who
from tempkb.wiki.revisions.snapshots import Cut, PageSnapshots
from tempkb_tests.wiki.revisions.builds import export, page, revision

DAY0 = datetime(2020, 1, 1, tzinfo=UTC)
CUTS = [Cut(f"cut {day}", int((DAY0 + timedelta(days=day)).timestamp())) for day in (30, 60, 90)]
LOOKBACK = 20 * 86_400
TEXTS = ["one", "two &amp; <b>", "#REDIRECT [[Two]]", "", " \n", "'''x''' {{disambiguation}}"]

edits = st.lists(
    st.tuples(st.integers(0, 100 * 24), st.sampled_from(range(len(TEXTS))), st.booleans()), min_size=1, max_size=20
)
moves = st.lists(st.tuples(st.integers(1, 100 * 24), st.sampled_from(["A", "B", "Draft:C", "Talk:D"])), max_size=3)


def histories(edits, moves):
    """Edits and moves as (hour, text, comment), oldest first, with today's title; titles chain by comments."""
    events = sorted([(hour, 0, text) for hour, text, _ in edits] + [(hour, 1, title) for hour, title in moves])
    name, rows, text = "Start", [], None
    for hour, is_move, value in events:
        if not is_move:
            text = TEXTS[value]
            rows.append((hour, text, "edit", name))
        elif text is not None and value != name:
            rows.append((hour, text, f"Ada moved page [[{name}]] to [[{value}]]", value))
            name = value
    return rows


def rows_of(rows, tmp: Path, *, prune=True, order=None):
    """Snapshot rows that the real pass makes of a page, by cut; titles that nothing tells are left out."""
    full = rows[-1][3]
    prefix, _, rest = full.partition(":") if ":" in full else ("", "", full)
    namespace = {"": 0, "Talk": 1, "Draft": 118}[prefix]
    revisions = [
        revision(100 + n, f"{DAY0 + timedelta(hours=hour):%Y-%m-%dT%H:%M:%SZ}", escape(text), comment)
        for n, (hour, text, comment, _) in enumerate(rows)
    ]
    if order is not None:
        revisions = [revisions[at] for at in order]
    stream = PageStream(iter([export(page(1, *revisions, title=full, ns=namespace))]), "law.xml")
    head = stream.next_page()
    texts = TextStore(tmp)
    history = PageHistory(
        1, Cuts([cut.second for cut in CUTS], LOOKBACK), texts, stream.site, Who(b"salt"), prune=prune
    )
    for one in stream.revisions():
        history.add(one, 0)
    history.settle()
    snapshots = PageSnapshots(history, Title(head.namespace, head.title), stream.site, CUTS, LOOKBACK, None)
    readings = {index: snapshots.read(text) for index, text in snapshots.texts(texts)}
    found = {}
    for cut, row in snapshots.rows(readings):
        if row[3] == "today":  # title, namespace and article_since rest on the dump's own day
            row = (*row[:1], None, None, None, *row[4:7], None, *row[8:])
        found[cut] = row
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("law")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits, moves)
def test_later_history_never_changes_an_earlier_cut(folder, edits, moves):
    now = histories(edits, moves)
    complete = rows_of(now, folder)
    for cut in CUTS:
        then = [row for row in now if (DAY0 + timedelta(hours=row[0])).timestamp() < cut.second]
        if then:
            known_then, known_now = rows_of(then, folder)[cut.window], complete[cut.window]
            if "today" not in (_source(then, cut), _source(now, cut)):
                assert known_now == known_then
            exempt = (1, 2, 3, 7)
            assert _without(known_now, exempt) == _without(known_then, exempt)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits, moves, st.randoms(use_true_random=False))
def test_neither_the_order_in_the_file_nor_pruning_changes_anything(folder, edits, moves, chance):
    rows = histories(edits, moves)
    order = list(range(len(rows)))
    chance.shuffle(order)
    assert rows_of(rows, folder, order=order) == rows_of(rows, folder, prune=False)
    assert rows_of(rows, folder) == rows_of(rows, folder, prune=False)


def _without(row, places):
    return tuple(value for at, value in enumerate(row) if at not in places)


def _source(rows, cut):
    """What the comments that were known by `rows` can tell about the title at the cut."""
    return "move_comment" if any("moved page" in comment for _, _, comment, _ in rows) else "today"
