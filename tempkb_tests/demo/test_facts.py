"""The facts of the demo world: what was heard late and what was corrected, with rows by hand; its news."""

import re
import tomllib
from collections import Counter
from datetime import date, timedelta

import pytest

from tempkb.demo.export import write_entities
from tempkb.demo.words import DATA
from tempkb.demo.world import news
from tempkb.platform.api import open_store
from tempkb.store.plain import plain_rows
from tempkb.wiki.dumps.catalogue import find_dumps
from tempkb.wiki.wikidata.building import read_dump


@pytest.fixture(scope="module")
def store(tmp_path_factory, world):
    """Both Wikidata dumps of the demo world."""
    home = tmp_path_factory.mktemp("facts") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEMPKB_HOME", str(home))
        patch.setenv("TEMPKB_WIKI", "demowiki")
        patch.setenv("TEMPKB_FIRST_WINDOW", "2021-01-01")
        for day in world.dump_days:
            write_entities(world, day, home / "dumps")
        for dump in find_dumps(home / "dumps"):
            read_dump(open_store(), dump, print)
        yield open_store()


def test_23_what_was_heard_late_and_what_was_corrected(store, world):
    rows = plain_rows(store.read("fact_versions"))
    times = ("known_from", "start_known_from", "known_to")
    known = {(row["fact_id"], str(row["valid_from"])): tuple(row[name] for name in times) for row in rows}
    second = date(2024, 4, 1)
    late = next(one for one in world.facts.statements if one.story == "late" and one.entered)
    wrong, right = [one for one in world.facts.statements if one.story == "corrected"][1:]
    assert wrong.guid == right.guid
    assert known[late.guid, "2023-07-12"] == (second, second, None)
    assert known[wrong.guid, "2021-10-07"] == (None, None, second)
    # That she holds the office was known before; of her first day it was heard late.
    assert known[right.guid, "2022-01-07"] == (None, second, None)
    edits = {
        str(row["window_start"]): row
        for row in store.read("late_edits", dump_id="wikidatawiki-20240401", relation="all").to_pylist()
    }
    # Lateham's new head came two quarters late (that its old one lost the better rank is none of the window's facts);
    # Wrongton's is no longer one in the last quarter of 2021.
    assert [edits["2023-07-01"][name] for name in ("n_added", "n_removed", "n_changed")] == [1, 0, 0]
    assert [edits["2021-10-01"][name] for name in ("n_added", "n_removed", "n_changed")] == [0, 1, 0]
    assert [edits["2021-01-01"][name] for name in ("n_added", "n_removed", "n_changed")] == [0, 0, 0]


def test_news_say_in_each_quarter_what_holds_on_their_day_and_mark_the_object(world):
    """Each sentence is read by the wordings of `facts.toml`, and looked up among the dates of the statements."""
    patterns = [
        (relation, re.compile(re.escape(one).replace(r"\{s\}", "(?P<s>.+)").replace(r"\{o\}", "(?P<o>.+)")))
        for relation in ("P54", "P102", "P108", "P127")
        for one in tomllib.loads((DATA / "facts.toml").read_text("utf-8"))["wordings"][relation]
    ]
    named = {entity_id: item.label for entity_id, item in world.facts.items.items()}
    said = {}
    for one in world.facts.statements:
        said.setdefault((named[one.subject], one.relation, named.get(one.object)), []).append(one)
    n_texts, held = Counter(), {}
    for one in news(world):
        day, (relation, found) = date.fromisoformat(one["date"]), _only(one["text"], patterns)
        assert one["spans"] == [[*found.span("o")]]
        held[day, found["s"], relation, found["o"]] = sum(
            any(
                getattr(start, "day", day) <= day <= getattr(end, "last", day)
                for start, end in zip(fact.starts or [None], fact.ends or [None], strict=False)
            )
            for fact in said[found["s"], relation, found["o"]]
        )
        n_texts[day, found["s"], relation, found["o"]] += 1
    # Two statements say the same of Tyra Twice and of Nina Nest.
    assert {*held.values()} == {1, 2}
    assert n_texts == {place: 4 * n for place, n in held.items()}
    assert {day for day, *_ in n_texts} == {one.start + timedelta(days=45) for one in world.clock.windows[:-1]}
    assert list(news(world)) == list(news(world))


def _only(text, patterns):
    ((relation, found),) = [(relation, found) for relation, one in patterns if (found := one.fullmatch(text))]
    return relation, found
