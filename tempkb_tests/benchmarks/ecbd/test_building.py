"""A release over the demo world, which knows the truth: entities, sentences, spans, and what is frozen.

Prompts of ECBD: an item in its six variants by hand, those that it lacks.
"""

import json
import re
import shutil
from collections import Counter
from datetime import date

import pyarrow as pa
import pytest

from tempkb.benchmarks.ecbd.benchmark import ECBD
from tempkb.benchmarks.ecbd.building import NO_CHUNK, NO_DEFINITION, prompt_rows
from tempkb.benchmarks.ecbd.design import make_design
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, TABLES
from tempkb.benchmarks.exporting import export_release
from tempkb.benchmarks.register import create, keep, load
from tempkb.benchmarks.sentences import MASK, Place
from tempkb.core.errors import ContractError, DesignError, SettingsError
from tempkb.core.filtering import LeftOut
from tempkb.core.prompts import Prompt
from tempkb.platform.api import open_store
from tempkb_tests.benchmarks.building import build_release
from tempkb_tests.benchmarks.ecbd.test_spans import independent
from tempkb_tests.benchmarks.exports import verified_files

NAME = "demo-cloze"
STUDY = "2021-01-01..2024-01-01"
# How the world says why a sentence is not to be kept, and how the room counts it.
REASONS = {
    "in quotes": "mention in quotation marks",
    "twice": "mentions the entity more than once",
    "short": "fewer than 5 words",
    "other name": "inside a longer name",
}


@pytest.fixture
def rows(read):
    return lambda table: read(table, release=NAME).to_pylist()


def asked(world):
    return [birth for birth in world.births.all if not birth.left_out]


def test_the_entities_are_those_that_the_world_says(rows, world):
    found = {row["page_id"]: row for row in rows("ecbd_entities")}
    odie = {page for page, row in found.items() if row["subset"] == "odie"}
    assert odie == {birth.page.page_id for birth in asked(world)}
    for birth in asked(world):
        row = found[birth.page.page_id]
        assert (row["origin_from"], row["origin_to"], row["origin_precision"], row["origin_property"]) == birth.origin
        assert row["category"] == birth.category, birth.title
        assert set(birth.names) <= {name["name"] for name in row["names"]}
    popular = {row["title"] for row in found.values() if row["subset"] == "popular"}
    assert popular == {world.births.story(f"popular {number}").title for number in (1, 2, 3)}


def test_what_is_left_out_is_counted(read):
    counted = {
        row["reason"]: row["n"] for row in read("exclusions", table_name="ecbd_entities", partition=NAME).to_pylist()
    }
    del counted["article without a date of origin"]
    assert counted == {
        "human": 1,
        "list": 1,
        "disambiguation": 1,
        "fewer words than min_words": 1,
        "origin outside the study": 1,
    }


def test_the_sentences_are_those_that_the_world_says(rows, read, world):
    by_page: dict[int, dict[str, dict]] = {}
    for row in rows("ecbd_sentences"):
        by_page.setdefault(row["page_id"], {})[row["sentence"]] = row
    starts = [window.start for window in world.clock.windows]
    reasons: Counter[str] = Counter()
    for birth in asked(world) + [world.births.story(f"popular {number}") for number in (1, 2, 3)]:
        found = by_page.pop(birth.page.page_id)
        told = {one.text: one for one in birth.sentences}
        kept = {text: one.mention for text, one in told.items() if not one.kept}
        assert {text: row["mention"] for text, row in found.items()} == kept, birth.title
        for text, row in found.items():
            assert row["sentence_since"] == starts[told[text].since], (birth.title, text)
        reasons.update(one.kept for one in birth.sentences if one.kept not in ("", "none"))
    assert not by_page
    counted = {
        row["reason"]: row["n"] for row in read("exclusions", table_name="ecbd_sentences", partition=NAME).to_pylist()
    }
    assert counted == {REASONS[reason]: n for reason, n in reasons.items()}


def test_sentences_are_in_their_texts_and_mention_their_entity_once(rows, read):
    texts = {(row["page_id"], row["revision_id"]): row["text"] for row in read("page_texts").to_pylist()}
    for row in rows("ecbd_sentences"):
        text = texts[row["page_id"], row["revision_id"]]
        assert text[row["sentence_start_char"] : row["sentence_end_char"]] == row["sentence"]
        assert len(re.findall(rf"(?<!\w){re.escape(row['mention'])}(?!\w)", row["sentence"])) == 1


def test_items_keep_to_the_rules_by_an_independent_count(rows):
    items = rows("ecbd_cloze")
    places = {row["page_id"]: (row["origin_window"], row["split"]) for row in rows("ecbd_entities")}
    assert len({row["cloze_id"] for row in items}) == len(items)
    for row in items:
        mention = Place(row["mention_start_char"], row["mention_end_char"])
        assert row["span_start_char"] >= mention.end
        n_words, distance = independent(row["sentence"], mention, row["span_start_char"], row["span_end_char"])
        assert (n_words, distance) == (row["n_span_words"], row["n_words_after_mention"])
        assert n_words <= 5
        assert distance <= 10
        assert row["masked_sentence"].replace("<extra_id_0>", row["answer"]) == row["sentence"]
        assert row["answer_in_definition"] == (row["answer"] in row["definition"])
        assert not re.search(rf"(?<!\w){re.escape(row['mention'].lower())}s?(?!\w)", row["answer"].lower())
        assert row["answer"].count('"') % 2 == 0
        if row["random_definition"] is not None:
            assert places[row["random_definition_page_id"]] == places[row["page_id"]]
            assert row["random_definition_page_id"] != row["page_id"]
            for one in (row["answer"], row["mention"]):
                assert not re.search(rf"(?<!\w){re.escape(one.lower())}(?!\w)", row["random_definition"].lower())
    kinds = Counter((row["origin_window"], row["split"], row["span_kind"]) for row in items)
    assert {kind for *_, kind in kinds} == {"np", "random"}
    assert all(n == kinds[*place, "np"] for (*place, _), n in kinds.items()), "as many of each kind"
    assert max(Counter(row["page_id"] for row in items).values()) <= 100


@pytest.fixture
def store(demo_home, tmp_path, monkeypatch):
    """The store of a copy of the demo home."""
    copy = tmp_path / "home"
    shutil.copytree(demo_home, copy, ignore=shutil.ignore_patterns("dagster"))
    monkeypatch.setenv("TEMPKB_HOME", str(copy))
    monkeypatch.setenv("TEMPKB_NAMESPACES", "all")
    return open_store()


def make(store, name, preset="small", windows=STUDY, cut="2024-01-01", popular="3", **changes):
    design = make_design(preset, windows, cut, "wikidatawiki-20240101", popular, {"min_words": "100", **changes})
    release = create(store.home, ECBD, preset, design, name)
    keep(store.home, release)
    build_release(store, ECBD, release)
    return versions_of(store, name)


def versions_of(store, name):
    return {table.name: store.lake.current(table.name, name) for table in TABLES}


def content(versions):
    return {name: version.version for name, version in versions.items()}


@pytest.mark.slow
def test_built_again_it_has_the_same_bytes_and_what_stands_is_not_built(store):
    before = {table.name: store.lake.current(table.name, NAME) for table in TABLES}
    assert build_release(store, ECBD, load(store.home, ECBD, NAME)) == []
    standing = versions_of(store, NAME)
    assert content(standing) == {name: one.version for name, one in before.items()}
    for table in TABLES:
        shutil.rmtree(store.home.lake / table.name)
    build_release(store, ECBD, load(store.home, ECBD, NAME))
    again = versions_of(store, NAME)
    assert content(again) == {name: one.version for name, one in before.items()}


@pytest.mark.slow
def test_a_release_of_popular_entities_alone_says_so(store):
    for name, windows, said in (("old", "1901-01-01..1902-01-01", 1), ("new", STUDY, 0)):
        design = make_design("small", windows, "2024-01-01", "wikidatawiki-20240101", "3", {"min_words": "100"})
        release = create(store.home, ECBD, "small", design, name)
        keep(store.home, release)
        warnings = [one for one in build_release(store, ECBD, release) if "only popular entities" in one]
        assert len(warnings) == said
        if said:
            assert warnings[0].startswith(
                "old has only popular entities, which say nothing of time: none that began from 1901-01-01 to 1902-01-01"
            )


@pytest.mark.slow
def test_presets_differ_where_they_should(store):
    make(store, "either", "paper_2021")
    either = store.read("ecbd_cloze", release="either").to_pylist()
    before = [row for row in either if row["span_start_char"] < row["mention_start_char"]]
    assert 0 < len(before) < len(either)
    for row in before:
        assert row["n_words_after_mention"] < 0
        between = row["sentence"][row["span_start_char"] : row["mention_start_char"]]
        assert len(re.findall(r"[\w'’-]+", between)) <= 10
    assert {row["origin_granularity"] for row in either} == {"year", None}
    make(store, "released", "ecbd_compat")
    compat = store.read("ecbd_cloze", release="released").to_pylist()
    assert min(len(row["sentence"].split()) for row in compat) >= 6
    assert min(row["n_words_after_mention"] for row in compat) == 1
    kinds = {
        name["kind"] for row in store.read("ecbd_entities", release="released").to_pylist() for name in row["names"]
    }
    assert kinds <= {"title", "label", "alias"}
    most = Counter(row["page_id"] for row in compat).most_common(1)[0][1]
    # So few that some entities are left without any item.
    make(store, "capped", max_spans_per_entity="10", max_spans_per_window="1")
    capped = store.read("ecbd_cloze", release="capped").to_pylist()
    assert max(Counter(row["page_id"] for row in capped).values()) <= 10 < most
    strata = Counter((row["origin_window"], row["split"], row["span_kind"]) for row in capped)
    assert max(strata.values()) == 1
    bare = [
        row
        for row in store.read("ecbd_entities", release="capped").to_pylist()
        if row["split"] and not row["n_np_spans"]
    ]
    assert any(not row["n_random_spans"] for row in bare)
    reasons = {
        row["reason"] for row in store.read("exclusions", table_name="ecbd_cloze", partition="capped").to_pylist()
    }
    assert {"beyond max_spans_per_entity", "beyond max_spans_per_window"} <= reasons


@pytest.mark.slow
def test_a_later_cut_asks_about_more_and_about_the_same_items_in_the_same_words(store):
    make(store, "early", windows="2021-01-01..2023-01-01", cut="2023-01-01")
    early = {row["cloze_id"]: row for row in store.read("ecbd_cloze", release="early").to_pylist()}
    late = {row["cloze_id"]: row for row in store.read("ecbd_cloze", release=NAME).to_pylist()}
    both = early.keys() & late.keys()
    assert len(both) > 500
    for one in both:
        # No text from after the cut can be in the early release, and dates of sentences do not move.
        assert early[one]["sentence_since"] == late[one]["sentence_since"]
        assert early[one]["answer"] == late[one]["answer"]
    assert max(row["sentence_since"] for row in early.values()).isoformat() < "2023-01-01"


REFUSED = (
    ({"cut": "2023-12-01"}, DesignError, "no quarter of the home ends there; .* as 2024-01-01"),
    (
        {"cut": "2031-01-01"},
        ContractError,
        "stable_snapshots of 2030-10-01 is not built, .*; its cut 2031-01-01 is after the end of demowiki",
    ),
    ({"windows": "2024-06-01..2025-01-01"}, DesignError, "the texts are those of 2024-01-01"),
    ({"min_words": "100000", "popular": "0"}, DesignError, "no entity is left: .*fewer words than min_words"),
    (
        {"min_words": "100000"},
        DesignError,
        r"no entity is left: min_words 100000 left none of [1-9]\d\d popular articles; lower it: --set min_words=N\. "
        "By origin: .* x fewer words than min_words",
    ),
    ({"min_sentence_words": "90"}, DesignError, "no item is left .*fewer than 90 words"),
    ({"noun_chunker": "spacy", "spacy_model": "nobodys"}, SettingsError, "python -m spacy download nobodys"),
    ({"sentences": "spacy", "spacy_model": "nobodys"}, SettingsError, "'nobodys' is not installed"),
)


@pytest.mark.slow
def test_what_cannot_be_built_is_refused_and_leaves_nothing(store):
    for changes, error, told in REFUSED:
        with pytest.raises(error, match=told):
            make(store, "bad", **changes)
        assert all(store.lake.current(table.name, "bad") is None for table in TABLES)


@pytest.fixture(scope="module")
def target(demo_home, tmp_path_factory):
    """The folder to which the demo's release was exported."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TEMPKB_HOME", str(demo_home))
        store = open_store()
        return export_release(store, ECBD, load(store.home, ECBD, NAME), tmp_path_factory.mktemp("exports"))


NINE_FIELDS = (
    *("ex_id", "masked_sentence", "answer_str", "answer_d", "span_type", "definition", "year"),
    *("entity_span_str", "entity_span_loc"),
)
FIELDS_OF_PROBES = (
    *("ex_id", "definition", "def_target", "category", "qid", "ent_str", "attribute", "additional_sentences"),
    *("conceptnet", "probe_sentences"),
)


@pytest.mark.slow
def test_a_release_is_exported_in_both_released_formats(target, rows):
    items = rows("ecbd_cloze")
    of_files = {
        name: [json.loads(line) for line in (target / name).read_text("utf-8").splitlines()]
        for name in verified_files(target)
        if "_spans_" in name or name.startswith("ekp/")
    }
    for name, lines in of_files.items():
        assert len({one["ex_id"] for one in lines}) == len(lines), name
    nine = [one for name, lines in of_files.items() if "_spans_" in name for one in lines]
    probes = [one for name, lines in of_files.items() if name.startswith("ekp/") for one in lines]
    assert {tuple(one) for one in nine} == {NINE_FIELDS}
    assert {tuple(one) for one in probes} == {FIELDS_OF_PROBES}
    for one in nine:
        (answer,) = one["answer_d"].values()
        assert (one["answer_d"], one["answer_str"]) == ({MASK: answer}, f"{MASK} {answer} <extra_id_1>")
    assert {kind for one in probes for kind in one["qid"]} >= {"bridge (Q12280)", "film (Q11424)"}
    assert Counter((one["masked_sentence"], one["answer_d"][MASK], one["entity_span_str"]) for one in nine) == Counter(
        (row["masked_sentence"], row["answer"], row["mention"]) for row in items
    )
    labels = [one["probe_sentences"]["template_0"] for one in probes]
    assert Counter((one["probe_sentence"], one["label"]) for one in labels) == Counter(
        (row["masked_sentence"], f"{MASK} {row['answer']} <extra_id_1>") for row in items
    )
    for one in probes:
        whole = one["definition"].replace(MASK, one["def_target"][len(MASK) + 1 : -len(" <extra_id_1>")])
        assert whole in {row["definition"] for row in items}
    assert {name.split("/")[0] for name in of_files if "_spans_" in name} == {"2021", "2022", "2023", "popular"}
    by_file = of_files["2021/np_spans_test.json"]
    wanted = [
        row
        for row in items
        if row["span_kind"] == "np"
        and row["split"] == "test"
        and row["subset"] == "odie"
        and row["origin_from"].year == 2021
    ]
    assert len(by_file) == len(wanted) > 0
    for one in by_file:
        assert one["year"] == "2021"
        assert one["span_type"] in ("NP-COMMON", "NP-PROPER")
    assert len({(one["span_type"] == "RANDOM", one["ex_id"]) for one in nine}) == len(nine)
    card = (target / "README.md").read_text("utf-8")
    assert "cc-by-sa-4.0" in card
    assert "textblob" in card
    assert json.loads((target / "design.json").read_text())["popular"] == 3


@pytest.mark.slow
def test_an_export_is_loaded_by_split_and_by_year_of_origin(target, rows, loaded, counted):
    found = loaded(target)
    items = rows("ecbd_cloze")
    splits = Counter(row["split"] for row in items)
    years = Counter(row["origin_from"].year if row["subset"] == "odie" else "popular" for row in items)
    assert counted(found) == {
        "cloze": [("validation", splits["dev"]), ("test", splits["test"])],
        "windows": [("2021", years[2021]), ("2022", years[2022]), ("2023", years[2023]), ("popular", years["popular"])],
    }
    assert {row["split"] for row in found["cloze"]["validation"]} == {"dev"}
    texts = ("cloze_id", "masked_sentence", "answer", "origin_from")
    assert sorted(tuple(map(str, map(row.get, texts))) for rows in found["cloze"].values() for row in rows) == sorted(
        tuple(map(str, map(row.get, texts))) for row in items
    )


SENTENCE = "In 2021 the Ida storm cost Zoë’s café a roof of tin."
ITEM = {
    "release": "r",
    "cloze_id": "7-np-aa",
    "page_id": 7,
    "entity_id": "Q7",
    "origin_from": date(2021, 8, 1),
    "split": "test",
    "sentence": SENTENCE,
    "masked_sentence": "In 2021 the Ida storm cost Zoë’s café <extra_id_0> of tin.",
    "answer": "a roof",
    "mention_start_char": 12,
    "mention_end_char": 15,
    "mention_chunk_start_char": 8,
    "mention_chunk_end_char": 21,
    "span_start_char": 38,
    "span_end_char": 44,
    "definition": "Ida is a storm.",
    "random_definition": "Rye is a grain.",
}
BARE = {
    **ITEM,
    "cloze_id": "8-np-bb",
    "page_id": 8,
    "entity_id": None,
    "origin_from": None,
    "split": "dev",
    "mention_chunk_start_char": None,
    "mention_chunk_end_char": None,
    "random_definition": None,
}


def table_of(*items):
    return pa.Table.from_pylist([*items], ECBD_CLOZE.schema).combine_chunks()


def prompts_of(*items):
    left_out = LeftOut()
    (batch,) = table_of(*items).to_batches()
    return prompt_rows(batch, left_out).to_pylist(), left_out


def test_an_item_is_asked_in_six_variants():
    rows, left_out = prompts_of(ITEM)
    assert {row["variant"]: f"{row['left_context']}|{row['target']}|{row['right_context']}" for row in rows} == {
        "original": "In 2021 the Ida storm cost Zoë’s café |a roof| of tin.",
        "no_ent": "In 2021 the entity storm cost Zoë’s café |a roof| of tin.",
        "no_ent_released": "In 2021 the the entity storm cost Zoë’s café |a roof| of tin.",
        "no_ent_chunk": "In 2021 the entity cost Zoë’s café |a roof| of tin.",
        "definition": "Ida is a storm. In 2021 the Ida storm cost Zoë’s café |a roof| of tin.",
        "random_definition": "Rye is a grain. In 2021 the Ida storm cost Zoë’s café |a roof| of tin.",
    }
    assert not left_out.counts
    (row,) = (row for row in rows if row["variant"] == "original")
    assert row == {
        "release": "r",
        "window_start": date(2021, 8, 1),
        "item_id": "7-np-aa",
        "target_id": "answer",
        "variant": "original",
        "prompt_id": Prompt("In 2021 the Ida storm cost Zoë’s café ", "a roof", " of tin.").prompt_id,
        "left_context": "In 2021 the Ida storm cost Zoë’s café ",
        "target": "a roof",
        "right_context": " of tin.",
        "role": "current",
        "stands_for_id": None,
        "cluster_id": "Q7",
        "split": "test",
    }


def test_a_variant_that_an_item_lacks_is_left_out_and_counted():
    rows, left_out = prompts_of(ITEM, BARE)
    own = [row for row in rows if row["item_id"] == "8-np-bb"]
    assert [row["variant"] for row in own] == ["definition", "no_ent", "no_ent_released", "original"]
    assert {(row["cluster_id"], row["window_start"], row["split"]) for row in own} == {("8", None, "dev")}
    assert left_out.counts == {NO_CHUNK: 1, NO_DEFINITION: 1}
    assert left_out.examples == {NO_CHUNK: ["8-np-bb"], NO_DEFINITION: ["8-np-bb"]}


def test_origins_before_year_one_are_kept():
    table = table_of(ITEM)
    early = pa.array([-800_000], pa.int32()).cast(pa.date32())
    at = table.schema.get_field_index("origin_from")
    (batch,) = table.set_column(at, table.schema.field(at), early).to_batches()
    found = prompt_rows(batch, LeftOut())["window_start"].cast(pa.int32()).to_pylist()
    assert set(found) == {-800_000}
