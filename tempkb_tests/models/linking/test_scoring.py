"""Mentions are linked: ranks worked out by hand, pools, baselines, what is up to date, and a run that was killed."""

from datetime import date

import pyarrow as pa
import pytest

from tempkb.benchmarks.register import write_entry
from tempkb.benchmarks.tempel.tables import ENTITY_TEXTS, TEMPEL_ENTITIES, TEMPEL_MENTIONS
from tempkb.commands.runs.removal import of_release, remove
from tempkb.core.errors import ContractError, ModelError, SettingsError
from tempkb.core.locks import LockTimeoutError, locked
from tempkb.models.linking import scoring, vectors
from tempkb.models.linking.candidates import Candidates
from tempkb.models.linking.known import known_linker
from tempkb.models.linking.requests import LinkRequest
from tempkb.models.linking.scoring import link_mentions
from tempkb.models.linking.steps import PROMISES
from tempkb.models.linking.tables import ENTITY_VECTORS, LINKING_SCORES
from tempkb.store.drafts import Provenance
from tempkb.store.promises import Subject
from tempkb.store.said import read_said
from tempkb.store.store import read_files
from tempkb.wiki.mentions.tables import MENTION_PRIORS, PAGE_TEXTS
from tempkb_tests.damage import cut_off
from tempkb_tests.killed import KilledError
from tempkb_tests.models.linking.small_home import (
    ASSEMBLY,
    GODDESS,
    PIER,
    PORT,
    TITLES,
    VECTORS,
    A,
    B,
    hand_made_linker,
    small_home,
    stored,
    write,
    write_release,
)
from tempkb_tests.models.linking.test_vectors import described


@pytest.fixture
def store(tmp_path, monkeypatch):
    return small_home(tmp_path / "home", monkeypatch)


@pytest.fixture
def encoder(store, monkeypatch):
    return hand_made_linker(store, monkeypatch, cut=date(2021, 1, 1), seed=7)


def link(store, name="hand", lines=None, **asked):
    return link_mentions(store, name, LinkRequest(**asked), (lines if lines is not None else []).append)


def scores(store, cut, pool="own", linker="hand"):
    """Rows of a partition by the mention's target."""
    rows = stored(store, LINKING_SCORES)
    return {
        row["target_page_id"]: row
        for row in rows
        if (row["cut"], row["pool"], row["linker"]) == (cut, pool, linker) and row["subset"] == "test"
    }


def test_ranks_among_the_candidates_of_the_own_snapshot(store, encoder):
    done = link(store)
    at_a, at_b = scores(store, A), scores(store, B)
    # At A, the query (1, 0) gives 1 to the port and to the assembly, and 0 to the goddess.
    row = at_a[PORT]
    assert (row["rank"], row["n_tied"], row["n_candidates"]) == (1, 1, 3)
    assert (row["top_page_ids"], row["top_scores"]) == ([PORT, ASSEMBLY, GODDESS], [1.0, 1.0, 0.0])
    # (1, 1): 2 for the assembly, 1 for both others.
    assert (at_a[ASSEMBLY]["rank"], at_a[ASSEMBLY]["n_tied"]) == (1, 0)
    assert at_a[ASSEMBLY]["top_page_ids"] == [ASSEMBLY, PORT, GODDESS]
    # At B, the pier has (2, 0).
    assert (at_b[PORT]["rank"], at_b[PORT]["n_tied"]) == (2, 1)
    assert at_b[PORT]["top_page_ids"] == [PIER, PORT, ASSEMBLY, GODDESS]
    # (0, 1): 2 for the goddess, whose text has changed; 1 for the assembly; 0 for the port and the pier.
    assert (at_b[PIER]["rank"], at_b[PIER]["n_tied"], at_b[PIER]["category"]) == (4, 1, "new")
    assert at_b[PIER]["top_page_ids"] == [GODDESS, ASSEMBLY, PORT, PIER]
    assert {(row["model_cut"], row["seed"]) for row in at_a.values()} == {(date(2021, 1, 1), 7)}
    assert [(one.cut, one.n_mentions, one.n_found[1], one.n_found[4]) for one in done] == [(A, 2, 2, 2), (B, 2, 0, 2)]
    assert all(row["gold_is_candidate"] for row in (*at_a.values(), *at_b.values()))


def test_a_release_that_is_removed_meanwhile_is_not_called_damaged(store, encoder, monkeypatch):
    """Another program has asked for the same removal, and is somewhere in it."""
    delete_file(store, TEMPEL_MENTIONS, A)
    with pytest.raises(ContractError, match=f"tempel_mentions of r.{A} is not built, was lost to damage, .*: tempkb"):
        link(store)
    with (
        locked(store.home.path / "releases" / ".r.lock"),
        pytest.raises(ContractError, match="of r at 2022-01-01 was removed meanwhile"),
    ):
        link(store)
    real = scoring.pool_of

    def removed_here(*arguments):
        pool = real(*arguments)
        remove(store, of_release(store, "r"))
        return pool

    monkeypatch.setattr(scoring, "pool_of", removed_here)
    with pytest.raises(ContractError, match="was removed meanwhile, or is being removed or built; wait for that"):
        link(store)


def delete_file(store, table, cut):
    """Delete the file of a release's table."""
    store.lake.current(table.name, f"r.{cut}").places()[0].unlink()


def test_what_a_release_lists_is_linked_whatever_is_current(store, encoder):
    link(store)
    before = scores(store, A)
    store.lake.remove(TEMPEL_MENTIONS.name, f"r.{A}")
    store.write(TEMPEL_ENTITIES, f"r.{A}", [TEMPEL_ENTITIES.schema.empty_table()], Provenance())
    link(store)
    assert scores(store, A) == before


def test_similarity_of_the_first_candidates(store, encoder):
    link(store)
    # "aurora is a port" and "mejlis is an assembly" share one of seven words, as the latter and "aurora is a goddess".
    assert scores(store, A)[PORT]["top_similarity"] == pytest.approx(1 / 7)
    # assembly - port: 1/7; port - goddess: aurora, is, a of five words.
    assert scores(store, A)[ASSEMBLY]["top_similarity"] == pytest.approx((1 / 7 + 3 / 5) / 2)
    # All are cut to four words: "a pier by the", "aurora is a port", "mejlis is an assembly", "aurora is a goddess".
    assert scores(store, B)[PORT]["top_similarity"] == pytest.approx((1 / 7 + 1 / 7 + 1 / 7) / 3)


@pytest.mark.slow
def test_each_text_is_encoded_once_over_all_snapshots(store, encoder):
    lines = []
    link(store, lines=lines)
    # Three texts at A; at B the goddess's new one and the pier's.
    assert "hand: 7 candidates of 2 snapshots have 5 distinct texts, of which 5 were encoded" in lines
    assert (encoder.n_entities, encoder.n_mentions) == (5, 4)
    assert [(row["cut"], row["linker"]) for row in stored(store, ENTITY_VECTORS)] == [(A, "hand")] * 3 + [
        (B, "hand")
    ] * 2
    # Other pools need no other text, and the mentions of a snapshot are encoded once for all pools.
    link(store, pools=("2022-01-01", "2023-01-01", "fixed-2"))
    assert (encoder.n_entities, encoder.n_mentions) == (5, 8)


@pytest.mark.slow
def test_candidates_of_another_snapshot_are_those_of_its_day(store, encoder):
    link(store, pools=("2022-01-01", "2023-01-01"))
    old = scores(store, B, "2022-01-01")
    # The port is first of two again; the pier was no article, which is a miss and not a gap.
    assert (old[PORT]["rank"], old[PORT]["n_candidates"], old[PORT]["top_page_ids"][0]) == (1, 3, PORT)
    pier = old[PIER]
    assert (pier["rank"], pier["n_tied"], pier["gold_is_candidate"], pier["n_candidates"]) == (None, None, False, 3)
    assert pier["top_page_ids"] == [GODDESS, ASSEMBLY, PORT]
    # In the vector of A the goddess scores 1, in that of B she scores 2.
    assert pier["top_scores"] == [1.0, 1.0, 0.0]
    assert scores(store, A, "2023-01-01")[PORT]["top_page_ids"] == [PIER, PORT, ASSEMBLY, GODDESS]
    with pytest.raises(SettingsError, match="pool 2020-01-01: is no snapshot of release r; expected own, fixed-N, or "):
        link(store, pools=("2020-01-01",))


@pytest.mark.slow
def test_a_day_is_a_pool_of_the_releases_that_have_its_snapshot(store, encoder):
    write_release(store, "later", [B])
    lines = []
    done = link(store, pools=(str(A), "fixed-2"), lines=lines)
    asked = [(one.release, one.cut, one.pool_name) for one in done]
    assert asked == [
        ("later", B, "fixed-2"),
        *(("r", cut, pool) for cut in (A, B) for pool in (str(A), "fixed-2")),
    ]
    assert "release later: left out of pool 2022-01-01, which is no snapshot of it" in lines
    # Who asks for that release alone has mistaken the day.
    with pytest.raises(SettingsError, match="pool 2022-01-01: is no snapshot of release later; expected own"):
        link(store, releases=("later",), pools=(str(A),))


@pytest.mark.slow
def test_pools_of_one_size(store, encoder):
    lines = []
    link(store, pools=("fixed-2", "fixed-10"), lines=lines)
    two = scores(store, A, "fixed-2"), scores(store, B, "fixed-2")
    assert [sorted(rows[PORT]["top_page_ids"]) for rows in two] == [[PORT, ASSEMBLY], [PORT, PIER]]
    assert {row["n_candidates"] for rows in two for row in rows.values()} == {2}
    # At A there are three entities in all, so both pools have three: at B those of the tests, and one that lasts.
    three = scores(store, A, "fixed-10"), scores(store, B, "fixed-10")
    assert {row["n_candidates"] for rows in three for row in rows.values()} == {3}
    assert {PORT, PIER} < set(three[1][PORT]["top_page_ids"]) < {PORT, GODDESS, ASSEMBLY, PIER}
    assert "release r: pool fixed-10 has only 3 entities, since some snapshot has no more of them" in lines
    # Entities of mentions are never left out.
    link(store, pools=("fixed-1",), lines=lines)
    assert scores(store, B, "fixed-1")[PORT]["n_candidates"] == 2
    assert f"release r: pool fixed-1 at {B} has 2 entities, since its mentions have as many" in lines


@pytest.mark.slow
def test_a_limit_chooses_by_hash_and_subsets_share_a_partition(store, encoder):
    link(store, cuts=(A,), limit=1)
    (chosen,) = scores(store, A)
    link(store, cuts=(A,), subset="validation")
    both = stored(store, LINKING_SCORES)
    assert [(row["target_page_id"], row["subset"]) for row in both if row["subset"] == "validation"] == [
        (ASSEMBLY, "validation")
    ]
    # (0, -1): 0 for the port, -1 for the goddess and the assembly.
    assert [(row["rank"], row["n_tied"]) for row in both if row["subset"] == "validation"] == [(3, 1)]
    assert set(scores(store, A)) == {chosen}
    n = encoder.n_mentions
    # One mention is wanted, and there.
    link(store, cuts=(A,), limit=1)
    assert encoder.n_mentions == n
    link(store, cuts=(A,))
    assert set(scores(store, A)) == {PORT, ASSEMBLY}
    # All are there, so that fewer need no run either.
    n = encoder.n_mentions
    link(store, cuts=(A,), limit=1)
    assert (encoder.n_mentions, set(scores(store, A))) == (n, {PORT, ASSEMBLY})
    assert len(stored(store, LINKING_SCORES)) == 3


@pytest.mark.slow
def test_the_mention_prior(store):
    link(store, "prior", pools=("own", "2022-01-01", "fixed-2"))
    # The goddess has seven links as "aurora", the port and the assembly five each, of which the port has the lower id.
    row = scores(store, A, linker="prior")[PORT]
    assert (row["top_page_ids"], row["top_scores"]) == ([GODDESS, PORT, ASSEMBLY], [7.0, 5.0, 5.0])
    assert (row["rank"], row["n_tied"], row["n_candidates"], row["gold_is_candidate"]) == (2, 1, 3, True)
    # No link says "assembly".
    row = scores(store, A, linker="prior")[ASSEMBLY]
    assert (row["rank"], row["top_page_ids"], row["top_similarity"]) == (None, [], None)
    assert row["gold_is_candidate"]
    row = scores(store, B, linker="prior")[PORT]
    assert (row["rank"], row["n_tied"], row["top_scores"]) == (1, 1, [8.0, 8.0])
    # Links are counted at the cut of the candidates.
    assert scores(store, B, "2022-01-01", "prior")[PORT]["top_scores"] == [7.0, 5.0, 5.0]
    # In the pool of two, the goddess is no candidate.
    row = scores(store, A, "fixed-2", "prior")[PORT]
    assert (row["rank"], row["n_tied"], row["top_page_ids"]) == (1, 1, [PORT, ASSEMBLY])
    assert stored(store, ENTITY_VECTORS) == []
    assert {row["model_cut"] for row in stored(store, LINKING_SCORES)} == {None}


def test_priors_that_were_counted_again_are_asked_again(store):
    link(store, "prior")
    links = {"surface": "aurora", "target_page_id": PORT, "n_links": 2, "n_direct": 2, "prior": 0.5, "cut": A}
    write(store, MENTION_PRIORS, "2021-01-01", [links])
    link(store, "prior")
    assert scores(store, A, linker="prior")[PORT]["top_scores"] == [2.0]


@pytest.mark.slow
def test_bm25_finds_what_shares_words(store):
    link(store, "bm25", pools=("own", "fixed-2"))
    # The context names Aurora: both of that name have the word, and the assembly has "assembly". The article about the
    # port has the mention itself, so it is no answer.
    row = scores(store, A, linker="bm25")[ASSEMBLY]
    assert (row["rank"], row["n_tied"]) == (1, 0)
    assert row["top_page_ids"] == [ASSEMBLY, GODDESS]
    # "sail to Aurora by night" says nothing that divides the port from the goddess; the assembly has no word of it.
    row = scores(store, A, linker="bm25")[PORT]
    assert (row["rank"], row["n_tied"], row["top_page_ids"]) == (1, 1, [PORT, GODDESS])
    assert row["n_candidates"] == 3
    assert scores(store, A, "fixed-2", "bm25")[PORT]["top_page_ids"] == [PORT]


def lake_files(store):
    """Files of vectors and scores in the lake with their bytes."""
    return {
        (table, version.partition, path.name): path.read_bytes()
        for table in (ENTITY_VECTORS.name, LINKING_SCORES.name)
        for version in store.lake.versions(table)
        for path in version.paths()
    }


POOLS = {"pools": ("own", "2022-01-01")}
# Two pieces of texts of the first snapshot and its partition of vectors, one of the second and its own; then of each
# snapshot the mentions' vectors and two partitions of scores.
CALLS = ("texts", "texts", "vectors", "texts", "vectors", *("mentions", "scores") * 2, "scores", "scores")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What a run leaves that nothing disturbs."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(vectors, "N_TEXTS", 2)
        whole = small_home(tmp_path_factory.mktemp("whole"), patched)
        hand_made_linker(whole, patched, cut=date(2021, 1, 1), seed=7)
        link(whole, **POOLS)
        return lake_files(whole)


def test_lost_vectors_whose_texts_were_encoded_for_another_snapshot_are_not_lost_any_more(store, encoder, tmp_path):
    link(store, cuts=(B,))
    link(store)
    # The later snapshot was first, so it has the texts of both.
    assert [row["cut"] for row in stored(store, ENTITY_VECTORS)] == [A] + [B] * 4
    cut_off(*store.lake.current(ENTITY_VECTORS.name, f"hand--{A}").places())
    wanted = Candidates(B, (described(tmp_path, {9: (TITLES[GODDESS], "Aurora is a goddess.")}),))
    vectors.encode_missing(store, known_linker(store.lake, "hand"), [wanted], LinkRequest(), print)
    link(store)
    assert encoder.n_entities == 5 + 1
    assert ([f"hand--{B}"], []) == (store.lake.partitions(ENTITY_VECTORS.name), store.lake.lost(ENTITY_VECTORS.name))


@pytest.mark.slow
@pytest.mark.parametrize("dies_at", [2, 3, 6], ids=lambda at: f"{CALLS[at]} {CALLS[: at + 1].count(CALLS[at])}")
def test_a_run_that_was_killed_ends_with_the_same_bytes(store, encoder, undisturbed, monkeypatch, dies_at):
    monkeypatch.setattr(vectors, "N_TEXTS", 2)
    called = []

    def dying(kind, function):
        def run(*args, **named):
            called.append(kind)
            if len(called) > dies_at:
                raise KilledError
            return function(*args, **named)

        return run

    with monkeypatch.context() as patched:
        patched.setattr(encoder, "entities", dying("texts", encoder.entities))
        patched.setattr(encoder, "mentions", dying("mentions", encoder.mentions))
        patched.setattr(vectors._Run, "_add", dying("vectors", vectors._Run._add))
        patched.setattr(scoring._Run, "_rows", dying("scores", scoring._Run._rows))
        with pytest.raises(KilledError):
            link(store, **POOLS)
    assert tuple(called) == CALLS[: dies_at + 1]
    link(store, **POOLS)
    assert lake_files(store) == undisturbed
    assert len([key for key in undisturbed if key[2].endswith(".parquet")]) == 6
    assert encoder.n_entities == 5, "nothing was encoded twice, and nothing left out"
    assert not list((store.lake.root / "_staging").glob("resumable*"))


def die_at_the_third_text(store, encoder, monkeypatch, cut):
    """Link the mentions of a snapshot with one text in each piece, and die when two are encoded."""
    monkeypatch.setattr(vectors, "N_TEXTS", 1)
    entities = encoder.entities

    def two_at_most(texts, report):
        if encoder.n_entities == 2:
            raise KilledError
        return entities(texts, report)

    with monkeypatch.context() as patched:
        patched.setattr(encoder, "entities", two_at_most)
        with pytest.raises(KilledError):
            link(store, cuts=(cut,))


@pytest.mark.slow
def test_what_a_killed_run_has_encoded_with_other_files_is_not_kept(tmp_path, monkeypatch):
    store = small_home(tmp_path / "home", monkeypatch)
    die_at_the_third_text(store, hand_made_linker(store, monkeypatch), monkeypatch, B)
    # The row is lost, and the name is given to another checkpoint.
    encoder = hand_made_linker(store, monkeypatch, weights_sha256="1" * 64)
    link(store, cuts=(A,))
    assert {one.partition: one.rows for one in store.lake.versions(ENTITY_VECTORS.name)} == {f"hand--{A}": 3}
    link(store)
    assert encoder.n_entities == len(stored(store, ENTITY_VECTORS)) == 5


@pytest.mark.slow
def test_who_lacks_no_vector_links_while_another_process_encodes(store, encoder):
    link(store, cuts=(A,))
    with store.lake.resumable("resumable-linker-hand"):
        assert link(store, cuts=(A,), pools=("fixed-2",))[0].n_mentions == 2
        with pytest.raises(LockTimeoutError):
            link(store)


@pytest.mark.slow
def test_a_vector_that_float16_cannot_hold_is_refused_with_its_entity(store, encoder, monkeypatch):
    for number in (7e4, float("nan"), float("-inf")):
        monkeypatch.setitem(VECTORS, "Aurora is a goddess.", (1, number))
        with pytest.raises(
            ModelError, match=r"linker 'hand': the vector of the entity 'Aurora \(goddess\)' has a number"
        ):
            link(store)
    assert stored(store, LINKING_SCORES) == []
    monkeypatch.setitem(VECTORS, "Aurora is a goddess.", (1, 65504.0))
    link(store)


@pytest.mark.slow
def test_vectors_in_two_precisions_are_not_mixed(store, encoder):
    link(store)
    with pytest.raises(
        ModelError, match="were made in float32, which cannot be compared with vectors in bfloat16; use "
    ):
        link(store, dtype="bfloat16")


def test_vectors_of_other_weights_are_not_used(store, encoder, monkeypatch):
    link(store)
    hand_made_linker(store, monkeypatch, weights_sha256="1" * 64)
    with pytest.raises(ModelError, match=r"made with other files \(weights_sha256 differ\); remove the linker"):
        link(store)


def test_texts_that_were_cleaned_again_are_not_taken_for_those_of_the_digests(store, encoder):
    row = [row for row in stored(store, PAGE_TEXTS) if row["revision_id"] == 30]
    write(store, PAGE_TEXTS, "2021-04-01", [{**row[0], "text": "The Mejlis is an assembly."}])
    with pytest.raises(
        ContractError, match=f"entity_texts of r at {A}: found other texts .* for page {ASSEMBLY} and 0"
    ):
        link(store)
    with pytest.raises(ContractError, match="tempkb release finish r"):
        link(store, "bm25")


def test_what_is_not_there_is_said(store, encoder):
    with pytest.raises(SettingsError, match="linker 'other': no such linker; there: hand, bm25, prior"):
        link(store, "other")
    with pytest.raises(SettingsError, match=r"^linker 'priorr': no such linker; did you mean prior\?$"):
        link(store, "priorr")
    with pytest.raises(
        SettingsError, match="found the release 's'; expected a release of TempEL that is built; there: r"
    ):
        link(store, releases=("r", "s"))
    with pytest.raises(
        SettingsError, match="found the snapshot 2024-01-01; expected one that a release of TempEL has; "
    ):
        link(store, cuts=(A, date(2024, 1, 1)))
    delete_file(store, ENTITY_TEXTS, B)
    with pytest.raises(
        ContractError,
        match=f"entity_texts of r.{B} is not built, was lost to damage, .*; build it first: tempkb release finish r",
    ):
        link(store)
    delete_file(store, TEMPEL_ENTITIES, B)
    with pytest.raises(ContractError, match=f"tempel_entities of r.{B} is not built, was lost to damage"):
        link(store, pools=("fixed-2",))
    write_entry(store.home, "tempel", "unbuilt", {})
    with pytest.raises(SettingsError, match="found the release 'unbuilt'"):
        link(store, releases=("unbuilt",))


def test_with_a_release_go_the_scores_of_its_mentions(store, encoder, monkeypatch):
    link(store)
    monkeypatch.setattr("tempkb.commands.runs.removal.release_names", lambda _home: ["r", "r--2022"])
    found = of_release(store, "r").partitions
    assert {key for table, key in found if table == LINKING_SCORES.name} == set(
        store.lake.partitions(LINKING_SCORES.name)
    )
    # Its name begins alike.
    assert of_release(store, "r--2022").partitions == []
    # None of it can be asked again, and another release may get its name.
    assert [words["releases"] for words in read_said(store.home.linkers, "hand").asked] == ["r"]
    remove(store, of_release(store, "r"))
    assert read_said(store.home.linkers, "hand").asked == ()


def as_made(version):
    """The provenance of a version, for other rows in its place."""
    return Provenance(version.inputs, version.settings, version.fills, version.filled_by, version.stamp)


def test_what_is_no_candidate_of_the_pool_breaks_the_promise(store, encoder):
    promise = next(one for one in PROMISES if one.name == "best_candidates_are_candidates")
    link(store, pools=("own", "fixed-2"))
    assert promise.broken(store, Subject()) == []
    for pool in ("own", "fixed-2"):
        key = next(key for key in store.lake.partitions(LINKING_SCORES.name) if key.endswith(pool))
        (version,) = store.lake.versions(LINKING_SCORES.name, [key])
        rows = pa.concat_tables(read_files(version.paths())).to_pylist()
        for row in rows:
            row["top_page_ids"] = [-1 if page != row["target_page_id"] else page for page in row["top_page_ids"]]
        store.write(LINKING_SCORES, key, [pa.Table.from_pylist(rows, LINKING_SCORES.schema)], as_made(version))
        assert [row[:2] for row in promise.broken(store, Subject()) if row[0] == key] == [(key, -1)]


def test_a_vector_of_another_length_breaks_the_promise_also_in_the_run_of_its_linker(store, encoder):
    """Partitions of vectors are of a linker and a snapshot, whereas a run names the linker alone."""
    promise = next(one for one in PROMISES if one.name == "vectors_have_the_length_of_the_linkers")
    link(store)
    subjects = (Subject(), Subject(["hand"]), Subject(["hand-made"]))
    assert [promise.broken(store, one) for one in subjects] == [[], [], []]
    key = f"hand--{B}"
    (version,) = store.lake.versions(ENTITY_VECTORS.name, [key])
    rows = pa.concat_tables(read_files(version.paths())).to_pylist()
    rows[0]["vector"] += bytes(2)
    store.write(ENTITY_VECTORS, key, [pa.Table.from_pylist(rows, ENTITY_VECTORS.schema)], Provenance({}))
    # Two numbers of two bytes are expected.
    broken = [("hand", rows[0]["text_sha256"], 6, 4)]
    assert [promise.broken(store, one) for one in subjects] == [broken, broken, []]
    said = f"hand: the vector of text {rows[0]['text_sha256']} has 6 bytes, expected 4"
    assert promise.judged(store, subjects[1]).facts == {"broken": 1, "examples": [said]}
