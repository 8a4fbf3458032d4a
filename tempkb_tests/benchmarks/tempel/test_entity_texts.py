"""What linkers read of candidates: the description, its digest, and the table of digests of a release."""

import hashlib
import json
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tempkb.benchmarks.linkable.texts import DESCRIBED, described, text_sha256
from tempkb.benchmarks.promises import broken
from tempkb.benchmarks.register import mark_built
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb.benchmarks.tempel.entity_texts import write_described, write_entity_texts
from tempkb.benchmarks.tempel.methods import OF_TEXTS
from tempkb.benchmarks.tempel.tables import ENTITY_TEXTS
from tempkb.benchmarks.work import working
from tempkb.core.errors import ContractError
from tempkb.store.drafts import Provenance
from tempkb.wiki.mentions.tables import PAGE_TEXTS
from tempkb_tests.benchmarks.building import build_release
from tempkb_tests.benchmarks.tempel.releases_for_tests import CUTS, LATER


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        (" \n\t ", ""),
        (
            "Aurora is a port.\n\nHistory\n\nIt was\u00a0founded  late.\n",
            "Aurora is a port. History It was founded late.",
        ),
        ("w " * 128, " ".join(["w"] * 128)),
        ("w " * 129, " ".join(["w"] * 128)),
        ("one\n" + " " * 9000 + "two " * 200, "one" + " two" * 127),
        # 124 words of 15 letters with 123 blanks between them are 1,983 characters; one more would make 1,999.
        ("a" * 15 + " " + "b" * 15 + (" " + "c" * 15) * 126, "a" * 15 + " " + "b" * 15 + (" " + "c" * 15) * 123),
        # Exactly 2,000 characters fit; with one letter more the last word is left out.
        ("x" * 1000 + " " + "y" * 999 + " z", "x" * 1000 + " " + "y" * 999),
        ("x" * 1000 + " " + "y" * 1000, "x" * 1000),
        # A single word is cut.
        ("x" * 5000, "x" * 2000),
        # Scripts without blanks: each letter is a word, with the punctuation around it.
        ("東京は、雨。" * 50, ("東京は、雨。" * 50)[: 32 * 6]),
    ],
)
def test_descriptions(text, expected):
    assert described(text) == expected


def test_the_digest_is_of_canonical_json():
    title, text = 'Ärö "1"', "a\nb\u2028"
    canonical = json.dumps([title, text], ensure_ascii=True, separators=(",", ":")).encode("ascii")
    assert text_sha256(title, text) == hashlib.sha256(canonical).hexdigest()
    assert text_sha256("a", "bc") != text_sha256("ab", "c")


def expected_digests(store, release, cut):
    """Digests by page, in plain Python over whole tables."""
    texts = {(row["page_id"], row["revision_id"]): row["text"] for row in store.read("page_texts").to_pylist()}
    found = {}
    for row in store.read("tempel_entities", release=release, cut=cut).to_pylist():
        words = texts[row["page_id"], row["revision_id"]].split()[:128]
        said = json.dumps([row["title"], " ".join(words)], separators=(",", ":"))
        found[row["page_id"]] = hashlib.sha256(said.encode()).hexdigest()
    return found


def digests(store, release, cut):
    rows = store.read("entity_texts", release=release, cut=cut).to_pylist()
    assert [row["page_id"] for row in rows] == sorted(row["page_id"] for row in rows)
    return {row["page_id"]: row["text_sha256"] for row in rows}


def test_every_candidate_has_the_digest_of_its_title_and_its_first_words(released):
    store, _ = released
    found = {cut: digests(store, "r", cut) for cut in CUTS}
    for cut in CUTS:
        assert found[cut] == expected_digests(store, "r", cut)
        assert len(found[cut]) > 100
    # Most articles did not change between the snapshots, so they are encoded once.
    both = found[CUTS[0]].keys() & found[CUTS[1]].keys()
    same = [page for page in both if found[CUTS[0]][page] == found[CUTS[1]][page]]
    assert len(both) > len(same) > len(both) / 3


def test_a_candidate_without_a_digest_breaks_the_promise(released):
    store, _ = released
    (promise,) = OF_TEXTS
    assert broken(store, promise, ["r"]) == []
    rows = store.read(ENTITY_TEXTS.name, release="r", cut=CUTS[0])
    store.write(ENTITY_TEXTS, f"r.{CUTS[0]}", [rows.slice(1)], Provenance())
    mark_built(store, "r")
    assert broken(store, promise, ["r"]) == [("r", CUTS[0], rows["page_id"][0].as_py())]


@pytest.mark.slow
def test_added_snapshots_and_balanced_releases_have_digests(extension):
    store, _ = extension
    assert digests(store, "r", LATER) == expected_digests(store, "r", LATER)
    for cut in (*CUTS, LATER):
        assert digests(store, "r-balanced-20240101", cut) == digests(store, "r", cut) != {}


def without_text(store, page):
    """Take the texts of a page out of the home, as if the dumps did not have them any more."""
    for one in store.lake.versions(PAGE_TEXTS.name):
        store.forget(PAGE_TEXTS, one.partition, "page_id", pa.array([page]), Provenance(store_settings(one)))


def store_settings(version):
    return {row["name"]: row["sha256"] for row in version.side_rows("manifest") if row["role"] == "input"}


@pytest.mark.slow
def test_an_entity_whose_text_was_taken_out_is_known_by_its_title(released):
    store, release = released
    row = store.read("tempel_entities", release="r", cut=CUTS[0]).to_pylist()[3]
    other = digests(store, "r", CUTS[0])
    without_text(store, row["page_id"])
    # What is built stays, and what is built anew has no other text.
    build_release(store, TEMPEL, release)
    assert digests(store, "r", CUTS[0]) == other
    with working(store, release) as work:
        write_entity_texts(work, CUTS[0])
    by_title = {row["page_id"]: text_sha256(row["title"], "")}
    assert digests(store, "r", CUTS[0]) == other | by_title


def test_candidates_without_a_release_are_those_of_the_default_design(released, tmp_path):
    store, _ = released
    folder = tmp_path / "drafts"
    folder.mkdir()
    path = folder / "candidates.parquet"
    for cut in CUTS:
        write_described(store, cut, path)
        ours = pq.read_table(path)
        write_described(store, cut, path, release="r")
        assert ours.schema == DESCRIBED
        assert pq.read_table(path) == ours
        assert dict(zip(*(ours[name].to_pylist() for name in ("page_id", "text_sha256")), strict=True)) == digests(
            store, "r", cut
        )
    row = ours.to_pylist()[0]
    assert text_sha256(row["title"], row["description"]) == row["text_sha256"]
    assert list(folder.iterdir()) == [path]
    with pytest.raises(ContractError, match="which ends at snapshot 2030-01-01, is not built"):
        write_described(store, date(2030, 1, 1), path)
