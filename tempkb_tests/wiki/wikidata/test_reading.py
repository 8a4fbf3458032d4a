"""The forms of Wikidata's JSON, whole and damaged."""

import bz2
import gzip
import json
from functools import partial

import pytest
import zstandard

from tempkb.core.errors import SourceError
from tempkb.wiki.wikidata.reading import Tally, read_entities
from tempkb_tests.wiki.wikidata.items import item, item_value, said, write_lines

ONE = item("Q1", {"en": "One", "de": "Eins", "fr": "Un"}, "One", P54=[said("Q1$a", "Q2", "2019")])
TWO = item("Q2", "Two", "Two")


def read(path, wanted=(), languages=("en", "de")):
    tally = Tally()
    return list(read_entities(path, languages, list(wanted), tally)), tally


def ids(path, **more):
    entities, _ = read(path, **more)
    return [one.id for one in entities]


def test_a_list_with_an_entity_a_line(tmp_path):
    entities, tally = read(write_lines(tmp_path / "x.json", [ONE, TWO]))
    assert [one.id for one in entities] == ["Q1", "Q2"]
    assert dict(entities[0].labels) == {"en": "One", "de": "Eins"}
    assert entities[0].sitelinks["xwiki"].title == "One"
    assert entities[1].claims == {}
    assert (tally.lines, tally.n_damaged) == (2, 0)


@pytest.mark.parametrize(
    "text",
    [
        f"{json.dumps(ONE)}\n{json.dumps(TWO)}\n",
        f"[{json.dumps(ONE)},\n{json.dumps(TWO)}]\n",
        f"[\n{json.dumps(ONE)},\n{json.dumps(TWO)}\n",
        f"\ufeff[\r\n{json.dumps(ONE)},\r\n{json.dumps(TWO)}\r\n]",
        json.dumps([ONE, TWO], indent=2),
        json.dumps({"entities": {"Q1": ONE, "Q2": TWO}}),
        json.dumps({"entities": {"Q1": ONE, "Q2": TWO}}, indent=4),
    ],
    ids=["lines", "no bracket line", "no end", "Windows", "pretty list", "answer", "pretty answer"],
)
def test_other_forms(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text, "utf-8")
    assert ids(path) == ["Q1", "Q2"]


@pytest.mark.parametrize("indent", [None, 2])
def test_an_entity_by_itself(tmp_path, indent):
    path = tmp_path / "Q1.json"
    path.write_text(json.dumps(ONE, indent=indent), "utf-8")
    assert ids(path) == ["Q1"]


@pytest.mark.parametrize(
    ("name", "pack"),
    [("gz", gzip.compress), ("bz2", bz2.compress), ("zst", zstandard.compress), ("bin", gzip.compress)],
)
def test_compressed_files_go_by_their_first_bytes(tmp_path, name, pack):
    plain = write_lines(tmp_path / "x.json", [ONE, TWO])
    path = tmp_path / f"x.json.{name}"
    path.write_bytes(pack(plain.read_bytes()))
    assert ids(path) == ["Q1", "Q2"]


def test_merged_and_missing_items_are_told(tmp_path):
    path = tmp_path / "x.json"
    answer = {"entities": {"Q9": TWO, "Q3": {"id": "Q3", "missing": ""}}}
    path.write_text(json.dumps(answer), "utf-8")
    entities, tally = read(path)
    assert [one.id for one in entities] == ["Q2"]
    assert (tally.redirects, tally.missing) == ({"Q9": "Q2"}, ["Q3"])


def test_a_damaged_line_is_counted_with_its_number(tmp_path):
    path = write_lines(tmp_path / "x.json", [ONE, '{"id":"Q5","claims":7}', '{"id":"Q6","la', TWO])
    entities, tally = read(path)
    assert [one.id for one in entities] == ["Q1", "Q2"]
    assert tally.n_damaged == 2
    assert [line for line, _ in tally.damaged] == [3, 4]
    assert "claims" in tally.damaged[0][1]


@pytest.mark.parametrize("pack", [gzip.compress, partial(bz2.compress, compresslevel=1)])
def test_a_cut_file_keeps_what_is_whole_and_says_where_it_breaks(tmp_path, pack):
    import random

    chance = random.Random(1)
    lines = [item(f"Q{n}", f"Item {chance.random()}", f"Page {chance.random()}") for n in range(1, 2_000)]
    plain = write_lines(tmp_path / "x.json", lines)
    data = pack(plain.read_bytes())
    path = tmp_path / "cut.json.gz"
    path.write_bytes(data[: int(len(data) * 0.6)])
    entities, tally = read(path)
    numbers = [int(one.id[1:]) for one in entities]
    assert numbers == list(range(1, len(numbers) + 1))
    assert 500 < len(numbers) < 1_999
    assert "the file ends in the middle of a stream" in tally.damage
    # At most the line in which it breaks off is damaged.
    assert tally.n_damaged <= 1


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is empty"),
        (b"<mediawiki>", "expected Wikidata's JSON"),
        (b'{"a": 1}', "not Wikidata's JSON"),
        (b"[1, 2]", "not Wikidata's JSON"),
    ],
)
def test_what_is_no_dump_is_refused_by_name(tmp_path, data, why):
    path = tmp_path / "other.json"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=why) as caught:
        read(path)
    assert "other.json" in str(caught.value)


def test_the_prefilter_asks_the_bytes(tmp_path):
    stranger = item("Q7", "Stranger", links={"ywiki": {"title": "Stranger"}})
    path = write_lines(tmp_path / "x.json", [ONE, stranger, TWO])
    entities, tally = read(path, wanted=[b'"xwiki":'])
    assert [one.id for one in entities] == ["Q1", "Q2"]
    assert (tally.lines, tally.passed_over) == (3, 1)


def test_old_items_have_numbers_only(tmp_path):
    from tempkb.wiki.wikidata.decoding import item_in

    value = item_value("Q42")
    del value["datavalue"]["value"]["id"]
    other = {
        "snaktype": "value",
        "datavalue": {"type": "wikibase-entityid", "value": {"entity-type": "property", "numeric-id": 31}},
    }
    text = {"snaktype": "value", "datavalue": {"type": "string", "value": "Q42"}}
    claims = [said("Q1$a", value), said("Q1$b", other), said("Q1$c", text), said("Q1$d", {"snaktype": "novalue"})]
    (entity,), _ = read(write_lines(tmp_path / "x.json", [item("Q1", "One", "One", P50=claims)]))
    assert [item_in(one.mainsnak) for one in entity.claims["P50"]] == ["Q42", None, None, None]
