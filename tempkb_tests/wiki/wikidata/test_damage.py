"""A thousand spoilt dumps of entities, plain and packed: nothing crashes, hangs, or is silently shorter.

What is lost is judged without tempkb: lines are counted in the spoilt bytes, which another library unpacks.
"""

import json

import pytest

from tempkb.core.errors import SourceError
from tempkb.wiki.wikidata.reading import Tally, read_entities
from tempkb.wiki.wikidata.rows import Rows, add_entity
from tempkb.wiki.wikidata.scope import Scope
from tempkb_tests.damage import refused_well, spoil
from tempkb_tests.wiki.wikidata.items import item, said
from tempkb_tests.wiki.wikidata.test_building import WORLD

SCOPE = Scope("xwiki", ("en", "mul"))
MORE = [item(f"Q{n}", f"More {n}", f"More {n}", P54=[said(f"Q{n}$1", "Q2", "2018")]) for n in range(100, 130)]


def dump_of(entities) -> bytes:
    """As Wikidata writes it: a list, an entity a line, without blanks."""
    return b"[\n" + b",\n".join(json.dumps(one, separators=(",", ":")).encode() for one in entities) + b"\n]\n"


WHOLE, OTHER = dump_of([*WORLD, *MORE]), dump_of([*MORE[::-1], *WORLD])


def read(path, wanted):
    """The entities of a file, as they are taken in, and what was met."""
    tally, rows, entities = Tally(), Rows(), []
    for entity in read_entities(path, SCOPE.languages, wanted, tally):
        add_entity(rows, entity, SCOPE)
        entities.append(entity)
    return entities, tally


def lines_of(plain: bytes) -> int:
    return sum(bool(line.strip(b" \t\r,[]")) for line in plain.split(b"\n"))


def judge_by(wanted):
    known = {}

    def judge(path, mutation, plain):
        if not known:
            known["whole"] = read_whole(path, wanted)
        try:
            entities, tally = read(path, wanted)
        except SourceError as error:
            refused_well(error, path)
            return "refused"
        assert tally.damage or tally.lines == len(entities) + tally.n_damaged + tally.passed_over + len(tally.missing)
        if tally.reason:
            assert "line" in tally.reason or "byte" in tally.reason
            return "told"
        assert plain is not None, "another library refuses the file"
        assert plain.rstrip().endswith(b"]")
        assert tally.lines == lines_of(plain)
        if mutation.kind != "splice" and not mutation.is_long:
            assert tally.lines == len(WORLD) + len(MORE)
        return "same" if entities == known["whole"] else "changed"

    return judge


def read_whole(path, wanted):
    whole = path.with_name("whole.json")
    whole.write_bytes(WHOLE)
    entities, tally = read(whole, wanted)
    assert tally.reason == ""
    return entities


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("name", "n"), [("x.json", 350), ("x.json.gz", 100)])
def test_a_spoilt_dump_is_told_or_whole(tmp_path, name, n):
    spoil(tmp_path, name, WHOLE, OTHER, n, 6, judge_by([]))


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("name", "n"), [("x.json", 300)])
def test_lines_that_are_passed_over_are_not_lost_in_silence(tmp_path, name, n):
    spoil(tmp_path, name, WHOLE, OTHER, n, 7, judge_by([b'"xwiki":{']))


@pytest.mark.parametrize(
    ("last", "told"),
    [
        (b'{"type":"item","id":"Q8","claims":{"P1":[{"a":1}]', "damaged lines"),
        (b'"id":"Q8","claims":{}}\n]\n', "1 damaged lines (5)"),
        (b'{"type":"item","id":"Q8","claims":{}}]', ""),
        (b'{"type":"item","id":"Q8","claims":{}}\n]', ""),
    ],
    ids=[
        "cut behind a list inside an entity",
        "the start is lost",
        "whole",
        "whole too",
    ],
)
def test_a_last_line_that_nobody_asked_for(tmp_path, last, told):
    path = tmp_path / "x.json"
    path.write_bytes(
        b'[\n{"type":"item","id":"Q1","sitelinks":{"xwiki":{"title":"A"}}},\n{},\n{},\n'.replace(
            b"{},\n", b'{"id":"Q2"},\n'
        )
        + last
    )
    entities, tally = read(path, [b'"xwiki":{'])
    assert [one.id for one in entities] == ["Q1"]
    assert told in tally.reason
    assert bool(told) == bool(tally.reason)
