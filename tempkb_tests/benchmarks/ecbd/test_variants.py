"""The forms of an item, splits and random definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.ecbd.selection import Item, choose_definitions, split_entities
from tempkb.benchmarks.ecbd.variants import VARIANTS, prompt_of
from tempkb.benchmarks.sentences import Place


def place(sentence: str, text: str) -> Place:
    start = sentence.index(text)
    return Place(start, start + len(text))


@pytest.mark.parametrize(
    ("sentence", "mention", "variant", "text"),
    [
        ("Ida cost us a roof.", "Ida", "original", "Ida cost us <extra_id_0>."),
        ("Ida cost us a roof.", "Ida", "no_ent", "The entity cost us <extra_id_0>."),
        ("Later Ida cost us a roof.", "Ida", "no_ent", "Later the entity cost us <extra_id_0>."),
        ("Later the Ida cost us a roof.", "Ida", "no_ent", "Later the entity cost us <extra_id_0>."),
        ("Later the Ida cost us a roof.", "Ida", "no_ent_released", "Later the the entity cost us <extra_id_0>."),
        ("The Ida cost us a roof.", "Ida", "no_ent", "The entity cost us <extra_id_0>."),
        ("The Ida cost us a roof.", "Ida", "no_ent_released", "The the entity cost us <extra_id_0>."),
        ("A Ida cost us a roof.", "Ida", "no_ent", "The entity cost us <extra_id_0>."),
        ("Bertha Ida cost us a roof.", "Ida", "no_ent", "Bertha the entity cost us <extra_id_0>."),
        ("“Ida cost us a roof.", "Ida", "no_ent", "“The entity cost us <extra_id_0>."),
        ("Ida's wind cost us a roof.", "Ida", "no_ent", "The entity's wind cost us <extra_id_0>."),
        ("They took a roof to a Ida.", "Ida", "no_ent", "They took <extra_id_0> to the entity."),
        ("Vitamin A Ida hid a roof.", "Ida", "no_ent", "Vitamin A the entity hid <extra_id_0>."),
        ("Before a roof fell, Ida came.", "Ida", "no_ent", "Before <extra_id_0> fell, the entity came."),
        ("Ida cost us a roof.", "Ida", "definition", "Ida is a storm. Ida cost us <extra_id_0>."),
        ("Ida cost us a roof.", "Ida", "random_definition", "Rye is a grain. Ida cost us <extra_id_0>."),
    ],
)
def test_the_forms_of_an_item(sentence, mention, variant, text):
    answer = place(sentence, "a roof")
    prompt = prompt_of(variant, sentence, place(sentence, mention), answer, "Ida is a storm.", "Rye is a grain.")
    assert f"{prompt.left}<extra_id_0>{prompt.right}" == text
    assert prompt.statement == text.replace("<extra_id_0>", "a roof")
    assert prompt.statement[len(prompt.left) :].startswith("a roof")


def test_an_article_that_is_part_of_the_answer_stays():
    sentence = "It is said to be a Ida."
    prompt = prompt_of("no_ent", sentence, place(sentence, "Ida"), place(sentence, "be a"))
    assert (prompt.left, prompt.target, prompt.right) == ("It is said to ", "be a", " the entity.")


some_words = st.lists(
    st.sampled_from(["the", "a", "an", "A", "The", "of", "“the", "(a", "tin"]), min_size=2, max_size=8
)


@given(some_words, some_words, st.data())
def test_no_form_changes_the_answer(before, behind, data):
    sentence = " ".join([*before, "Ida", *behind])
    mention = place(sentence, "Ida")
    starts = [at for at in range(len(sentence)) if not at or sentence[at - 1] == " "]
    start = data.draw(st.sampled_from([at for at in starts if at != mention.start]))
    ends = [at for at in range(start + 1, len(sentence) + 1) if at == len(sentence) or sentence[at] == " "]
    end = data.draw(st.sampled_from([at for at in ends if at <= mention.start or start > mention.start]))
    for variant in ("original", "no_ent", "no_ent_released", "definition", "random_definition"):
        prompt = prompt_of(variant, sentence, mention, Place(start, end), "Ida is.", "Rye is.")
        assert prompt.target == sentence[start:end]
        assert prompt.statement[len(prompt.left) :].startswith(prompt.target)


def test_the_noun_phrase_around_the_mention_goes_as_a_whole_or_not_at_all():
    sentence = "The old Ida model cost us a roof."
    mention, chunk = place(sentence, "Ida"), place(sentence, "The old Ida model")
    prompt = prompt_of("no_ent_chunk", sentence, mention, place(sentence, "a roof"), mention_chunk=chunk)
    assert (prompt.left, prompt.right) == ("The entity cost us ", ".")
    assert prompt_of("no_ent_chunk", sentence, mention, place(sentence, "model"), mention_chunk=chunk) is None
    assert prompt_of("no_ent_chunk", sentence, mention, place(sentence, "a roof")) is None


def test_without_another_entity_there_is_no_random_definition():
    sentence = "Ida cost us a roof."
    assert prompt_of("random_definition", sentence, Place(0, 3), place(sentence, "a roof"), "Ida is.", None) is None
    assert set(VARIANTS) >= {"original", "no_ent", "definition", "random_definition"}


entities = st.lists(
    st.tuples(st.integers(1, 500), st.sampled_from(["2021", "2022-Q1", "popular"])),
    max_size=60,
    unique_by=lambda one: one[0],
)


@given(entities, st.floats(0, 1), st.integers(0, 5))
def test_splits_have_their_shares_in_every_window(some, share, seed):
    splits = split_entities(some, share, seed)
    assert splits.keys() == {page for page, _ in some}
    for window in {window for _, window in some}:
        own = [splits[page] for page, where in some if where == window]
        assert abs(own.count("dev") - share * len(own)) < 1


@given(entities.filter(len), st.integers(0, 5))
def test_a_new_entity_moves_one_other_at_most(some, seed):
    before = split_entities(some[1:], 0.5, seed)
    after = split_entities(some, 0.5, seed)
    assert sum(after[page] != split for page, split in before.items()) <= 1


def pool(n: int) -> list[tuple[int, str]]:
    return [(page, f"Thing{page} is a thing that number{page} made.") for page in range(n)]


ITEMS = [Item(f"i{number}", number % 7, "a roof", "Ida") for number in range(60)]


def test_a_random_definition_is_anothers_and_the_same_in_every_order():
    chosen = choose_definitions(ITEMS, pool(30), 1)
    assert all(page is not None and page != item.page_id for item, page in zip(ITEMS, chosen, strict=True))
    assert choose_definitions(ITEMS[::-1], pool(30)[::-1], 1) == chosen[::-1]
    assert choose_definitions(ITEMS, pool(30), 2) != chosen
    # Of thirty definitions no few serve all items.
    assert len(set(chosen)) > 15


def test_a_new_entity_takes_only_what_it_wins():
    before, after = choose_definitions(ITEMS, pool(30), 1), choose_definitions(ITEMS, pool(31), 1)
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert set(changed) == {30}
    assert len(changed) < 10


def test_a_definition_that_gives_something_away_is_passed_over():
    told = [(1, "It has A ROOF of tin."), (2, "Aunt Ida made it."), (3, "It is red, as Idaho is."), (4, "Its own.")]
    assert choose_definitions([Item("x", 4, "a roof", "Ida")], told, 1) == [3]
    assert choose_definitions([Item("x", 3, "a roof", "Ida")], told[:3], 1) == [None]
    assert choose_definitions([Item("x", 3, "a roof", "Ida")], told[2:3], 1) == [None]
    turkish = [(1, "Bir yer."), (2, "İki katlı bir yapıdır."), (3, "Ikiz bir yapıdır.")]
    assert choose_definitions([Item("x", 1, "iki", "Norhan")], turkish, 42) == [3]
    assert choose_definitions([Item("x", 1, "iki", "Norhan")], turkish[:2], 42) == [None]


def test_every_definition_is_drawn_about_as_often():
    items = [Item(f"i{number}", -1, "a roof", "Ida") for number in range(6_000)]
    chosen = choose_definitions(items, pool(12), draw(1, "seed"))
    counts = [chosen.count(page) for page in range(12)]
    assert all(abs(n - 500) < 5 * (6_000 / 12 * 11 / 12) ** 0.5 for n in counts)
