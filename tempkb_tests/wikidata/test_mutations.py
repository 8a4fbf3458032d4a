"""Spoiled dumps: flipped, cut, spliced and with odd values. Never a crash, never a loss that is not told."""

import gzip
import random

import pytest

from tempkb.errors import TempkbError
from tempkb.wikidata.reading import Tally, read_entities
from tempkb.wikidata.rows import Rows, add_entity
from tempkb.wikidata.scope import Scope
from tempkb_tests.wikidata.items import write_lines
from tempkb_tests.wikidata.test_building import WORLD

SCOPE = Scope("xwiki", ("en", "mul"))
ODD = [b"[]", b"{}", b"null", b"-1", b"1e999", b'""', b'"\\ud800"', b"Q"]


def flip(data, chance):
    for _ in range(chance.randint(1, 8)):
        data[chance.randrange(len(data))] = chance.randrange(256)


def cut(data, chance):
    del data[chance.randrange(len(data)) :]


def splice(data, chance):
    begin, end = sorted(chance.randrange(len(data)) for _ in range(2))
    at = chance.randrange(len(data))
    data[at:at] = data[begin:end]


def odd(data, chance):
    for _ in range(3):
        at = chance.randrange(len(data))
        data[at : at + 1] = chance.choice(ODD)


@pytest.mark.parametrize("spoil", [flip, cut, splice, odd])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
def test_a_spoiled_dump_is_told_or_whole(tmp_path, spoil, pack):
    path = write_lines(tmp_path / "x.json", WORLD)
    whole = pack(path.read_bytes())
    kept = 0
    for seed in range(150):
        data = bytearray(whole)
        spoil(data, random.Random(seed))
        path.write_bytes(bytes(data))
        n, tally = read_all(path)
        assert n is not None or "x.json" in tally.damage
        # A letter may be changed inside a name, and two entities may run into one line: all else is told.
        if n is not None and not tally.reason and not tally.missing:
            kept += 1
            assert n >= len(WORLD) - 1
    assert kept < 150


def read_all(path):
    """How many entities there are, None if the file is refused, and what was met."""
    tally, rows, n = Tally(), Rows(), 0
    try:
        for entity in read_entities(path, SCOPE.languages, [], tally):
            add_entity(rows, entity, SCOPE)
            n += 1
    except TempkbError as error:
        tally.damage = str(error)
        return None, tally
    return n, tally


def test_a_list_cut_between_two_lines_is_told(tmp_path):
    path = write_lines(tmp_path / "x.json", WORLD)
    lines = path.read_bytes().splitlines(keepends=True)
    for kept in range(2, len(lines) - 1):
        path.write_bytes(b"".join(lines[:kept]))
        n, tally = read_all(path)
        assert n == kept - 1
        assert tally.damage == f"the list is not closed: the file may be cut off after line {kept}"
    path.write_bytes(b"".join(lines))
    assert read_all(path)[1].reason == ""
