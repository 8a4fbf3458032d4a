"""`tempkb show --entity`: rows written by hand, and the command on a home with scores and on homes that lack much."""

import csv
import math
from datetime import UTC, date, datetime

import pytest

from tempkb.core.errors import SettingsError
from tempkb.platform.api import open_store
from tempkb.results.entity import LISTINGS, Entity, read_entity
from tempkb.store.memory import in_memory
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.results.worlds import GPT, Q2, Q3, Cloze, Facts, Linked

ANN = Entity("Q1", 7, "2021-04-01")
JULY = date(2021, 7, 1)


class Everything(Cloze, Facts, Linked):
    """Rows of all benchmarks."""

    def told(self, title, entity=ANN):
        """The rows of a kind about an entity."""
        (listing,) = (one for one in LISTINGS if one.title == title)
        with in_memory() as connection:
            for name in listing.needs:
                self.show(connection, name)
            return connection.sql(entity.about(listing.query)).to_arrow_table().to_pylist()


@pytest.fixture
def world():
    return Everything()


def some(rows, *names):
    return [tuple(row[name] for name in names) for row in rows]


def test_born(world):
    at = {"window_start": Q2, "cut": JULY, "dump_id": "d", "namespace": 0}
    since = datetime(2021, 5, 9, tzinfo=UTC)
    world.add("stable_snapshots", page_id=7, revision_id=70, entity_id="Q1", title="Ann", article_since=since, **at)
    world.add("stable_snapshots", page_id=8, revision_id=80, entity_id="Q2", title="Bob", article_since=since, **at)
    world.add("entity_popularity", window_start=Q2, cut=JULY, page_id=7, n_inlinks=3, n_surfaces=2, n_contributors=1)
    world.add("entity_popularity", window_start=Q3, cut=date(2021, 10, 1), page_id=7, n_inlinks=99)
    of_item = {"entity_id": "Q1", "origin_property": "P569", "origin_precision": "month"}
    days = {"origin_from": date(2021, 3, 1), "origin_to": date(2021, 4, 1)}
    world.add("entity_origins", dump_id="w1", dump_date=date(2021, 8, 1), **of_item, **days)
    later = {"origin_from": date(2021, 3, 5), "origin_to": date(2021, 3, 6)}
    world.add("entity_origins", dump_id="w2", dump_date=date(2021, 9, 1), **of_item, **later)
    assert world.told("origin") == [
        {
            "name": "Ann",
            "item": "Q1",
            "origin": "2021-03-05 to 2021-03-05 (P569, month), w2",
            "article since": date(2021, 5, 9),
            "page": "page 7 revision 70, d",
            "cut": JULY,
            "mentions": 3,
            "surfaces": 2,
            "contributors": 1,
        }
    ]
    # Of a page without an item, as in a home without Wikidata, what the snapshot tells is left.
    (row,) = world.told("origin", Entity(None, 8, "2021-04-01"))
    assert (row["name"], row["item"], row["origin"], row["page"]) == ("Bob", None, None, "page 8 revision 80, d")
    # Of an item without a page what Wikidata tells is left.
    world.add("wikidata_entities", entity_id="Q3", label="Cid", dump_date=date(2021, 8, 1))
    (row,) = world.told("origin", Entity("Q3", None, "2021-04-01"))
    assert (row["name"], row["item"], row["page"], row["mentions"]) == ("Cid", "Q3", None, None)


def test_mentions_by_snapshot_and_subset_with_the_ranks_of_linkers(world):
    for name in ("prior", "other"):
        world.linker(name)
    for number, (page, subset, mention) in enumerate(
        ((7, "test", "the bard"), (7, "test", "Annie"), (7, "train", "her"), (8, "test", "Bob"))
    ):
        world.add(
            "tempel_mentions",
            release="t",
            cut=JULY,
            subset=subset,
            category="new",
            mention=mention,
            start_char=0,
            target_page_id=page,
            target_qid="Q1" if page == 7 else "Q2",
            anchor_page_id=20 + number,
            anchor_revision_id=200 + number,
        )
        if subset == "test":
            world.link("prior", JULY, page, 1 if number else None, category="new", anchor=20 + number)
            world.link("prior", JULY, page, 5, category="new", anchor=20 + number, pool="fixed-9")
    columns = ("release", "cut", "category", "subset", "n_mentions", "surfaces", "sources", "model", "ranks")
    assert some(world.told("mentions"), *columns) == [
        ("t", JULY, "new", "test", 2, "Annie, the bard", "page 20 revision 200, page 21 revision 201", "prior", "- 1"),
        ("t", JULY, "new", "train", 1, "her", "page 22 revision 202", None, "-"),
    ]


def test_cloze_sentences_with_perplexities_and_answers(world):
    more = {"revision_id": 70, "dump_id": "d", "origin_window": "2021-Q2", "answer": "a lute"}
    world.item("a1", "Q1", 3, masked_sentence="Ann has <extra_id_0>.", **more)
    world.item("a2", "Q1", None, masked_sentence="Ann lost <extra_id_0>.", **more)
    world.item("b1", "Q2", 5, masked_sentence="Bob has <extra_id_0>.", **more)
    for row, page in zip(world.rows["ecbd_cloze"], (7, 7, 8), strict=True):
        row["page_id"] = page
    world.add("judged_answers", release="e", item_id="a2", model="m", text="a boat")
    world.add("judged_answers", release="e", item_id="b1", model="m", text="a boat")
    columns = ("release", "origin", "text", "answer", "page_id", "revision_id", "model", "perplexity", "said")
    assert some(world.told("cloze sentences"), *columns) == [
        ("e", "2021-Q2", "Ann has <extra_id_0>.", "a lute", 7, 70, "m", pytest.approx(math.exp(3)), None),
        ("e", "2021-Q2", "Ann lost <extra_id_0>.", "a lute", 7, 70, "m", None, "a boat"),
    ]


def test_facts_of_which_it_is_the_subject_or_an_object_once_for_all_releases(world):
    world.query(Q2, "Q1", "Q5")
    world.query(Q3, "Q1", "Q5")
    world.query(Q2, "Q9", "Q1", relation="P6")
    world.tell("Q1", {"Q5": -3}, scorer=GPT)
    world.tell("Q9", {"Q1": -8}, scorer=GPT, model="n")
    for release in ("r", "s"):
        for subject, relation, one, label in (
            ("Q1", "P54", "Q5", "FC"),
            ("Q9", "P6", "Q1", "Ann"),
            ("Q9", "P6", "Q4", "Di"),
        ):
            world.add(
                "fact_subjects", release=release, relation=relation, subject_id=subject, label=f"name of {subject}"
            )
            world.add(
                "fact_spells",
                release=release,
                subject_id=subject,
                relation=relation,
                object_id=one,
                spell_no=1,
                object_label=label,
                valid_from=Q2,
                members=[{"fact_id": f"{subject}$1"}],
                dump_id="d",
            )
    # Each subject has one row for each relation.
    world.rows["fact_subjects"] = list({str(row): row for row in world.rows["fact_subjects"]}.values())
    columns = ("releases", "relation", "subject", "object", "valid_from", "valid_to", "statements", "model")
    found = world.told("facts")
    assert some(found, *columns) == [
        ("r, s", "P54", "name of Q1", "FC", Q2, None, "Q1$1", "m"),
        ("r, s", "P6", "name of Q9", "Ann", Q2, None, "Q9$1", "n"),
    ]
    # Two tokens each.
    assert [row["nats_per_token"] for row in found] == [1.5, 4]


def test_changes_with_what_models_prefer_and_name(world):
    world.model()
    for subject, old, new in (("Q1", "Q4", "Q5"), ("Q8", "Q1", "Q5"), ("Q7", "Q5", "Q6")):
        world.handover(subject, old, new)
        world.tell(subject, {new: -1, old: -5}, scorer=GPT)
        world.tell(subject, {new: -2, old: -9}, scorer=GPT, variant="no_subject")
    world.add(
        "judged_changes",
        release="r",
        model="m",
        item_id=f"Q1_P54_{Q3}",
        new_object_id="Q5",
        old_object_id="Q4",
        text="FC Four",
        names="old",
    )
    columns = ("item_id", "old_object_id", "new_object_id", "window_start", "window_end", "model", "said", "names")
    found = world.told("changes that models were asked about")
    assert some(found, *columns) == [
        (f"Q1_P54_{Q3}", "Q4", "Q5", Q2, Q3, "m", "FC Four", "old"),
        (f"Q8_P54_{Q3}", "Q1", "Q5", Q2, Q3, "m", None, None),
    ]
    # New: (-1 + 2), old: (-5 + 9).
    assert [row["preference_nats"] for row in found] == [-3, -3]


def refusal(store, asked):
    with pytest.raises(SettingsError) as raised:
        read_entity(store, asked)
    return str(raised.value)


def test_an_entity_is_found_by_item_title_or_label(demo_home, monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", str(demo_home))
    store = open_store()
    ida = Entity("Q50009", None, "2023-10-01")
    assert read_entity(store, "Q50009") == read_entity(store, "Ida Brandt") == ida
    # A title comes before a label: the page's own title has more than the item's name.
    assert read_entity(store, "Lantern (2021 film)").entity_id == "Q60062"
    assert read_entity(store, "Lantern").entity_id == "Q60062"
    assert refusal(store, "Ida Brant") == (
        "--entity Ida Brant: found no such item, title or label; near it: Ida Brandt, Hank Grant, Lisa Kranz, Ola Krantz, "
        "Dag Nostart; expected an item (Q42), the title of an article in the newest snapshot, or a label"
    )
    assert "near it: Q50009, Q50019, " in refusal(store, "Q5009")
    two = "--entity Ada Holm: 2 entities have that name: Q50289, Q50290; name the item"
    assert refusal(store, "Ada Holm") == two
    assert read_entity(store, "Ada Holm (painter)").entity_id == "Q50290"


@pytest.mark.slow
def test_the_command_shows_all_kinds_and_writes_every_row(scored_home, tmp_path):
    file = tmp_path / "e.csv"
    said = run_tempkb(scored_home, "show", "--entity", "Ida Brandt", "--csv", str(file)).stdout
    assert "mentions: nothing of the kind is built" in said
    assert "cloze sentences: none is about it" in said
    rows = list(csv.DictReader(file.open()))
    store = [row for row in rows if row["kind"] == "facts"]
    assert {row["model"] for row in store} == {"early", "late"}
    assert {row["kind"] for row in rows} == {"origin", "facts", "changes that models were asked about"}
    n_facts = len({(row["relation"], row["subject_id"], row["object_id"], row["valid_from"]) for row in store})
    assert f"facts ({n_facts}; here the first 10, --csv writes all)" in said
    assert all("Q50009" in (row["subject_id"], row["object_id"]) for row in store)
    assert all(row["statements"].startswith(f"{row['subject_id']}$") for row in store)


def test_what_a_home_lacks_is_said_in_a_line_each(home_folder):
    home_folder.mkdir()
    said = run_tempkb(home_folder, "show", "--entity", "Ida Brandt", check=False)
    assert said.returncode == 1
    assert said.stderr.splitlines()[-1].startswith(
        "tempkb: --entity Ida Brandt: found no such item, title or label; near it: nothing; expected"
    )


@pytest.mark.parametrize(
    "arguments", [(), ("Ann", "--entity", "Ann"), ("Ann", "--csv", "x"), ("--entity", "A", "--cut", "2021-01-01")]
)
def test_options_that_do_not_belong_together_are_refused(arguments, home_folder):
    said = run_tempkb(home_folder, "show", *arguments, check=False)
    assert said.returncode == 2
    assert "expected TITLE, with --cut or without, or --entity NAME, with --csv or without" in said.stderr
