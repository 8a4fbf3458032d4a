"""Spans near a mention: by hand, and by laws that an independent count states."""

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tempkb.benchmarks.chunking import Chunk
from tempkb.benchmarks.ecbd.released import Tokens, released_distance, released_noun_spans, released_random_spans
from tempkb.benchmarks.ecbd.spans import Limits, Reach, noun_spans, random_spans
from tempkb.benchmarks.sentences import Place

SENTENCE = "In May the Lamp of Varl lit (with some oil) one hundred old ships that it had called home again."


def place(text: str, sentence: str = SENTENCE) -> Place:
    start = sentence.index(text)
    return Place(start, start + len(text))


def chunk(text: str, sentence: str = SENTENCE, *, is_proper: bool = False, is_pronoun: bool = False) -> Chunk:
    return Chunk(*place(text, sentence), is_proper, is_pronoun)


def noun(*texts: str, limits: Limits | None = None) -> dict[str, int]:
    reach = Reach(SENTENCE, place("Lamp of Varl"), limits or Limits())
    return {SENTENCE[one.start : one.end]: one.distance for one in noun_spans(reach, [chunk(text) for text in texts])}


@pytest.mark.parametrize(
    ("text", "distance"),
    [
        pytest.param("some oil", 3, id="two words lie between: lit, with"),
        pytest.param("one hundred old ships", 5, id="punctuation is no word"),
        pytest.param("home", 13, id="too far"),
        pytest.param("May", None, id="before the mention"),
        pytest.param("Varl lit", None, id="overlaps"),
        pytest.param("it", None, id="a pronoun"),
        pytest.param("the Lamp of Varl lit", None, id="holds the mention"),
        pytest.param("hips", None, id="cuts a word"),
        pytest.param("some oil) one", None, id="a bracket without its partner"),
    ],
)
def test_a_noun_phrase_lies_after_the_mention_and_near(text, distance):
    assert noun(text) == ({text: distance} if distance and distance <= 10 else {})


def test_limits_are_the_designs():
    assert noun("home", limits=Limits(max_distance=13)) == {"home": 13}
    assert noun("one hundred old ships", limits=Limits(max_words=3)) == {}
    either = Limits(after=False)
    assert noun("May", "some oil", limits=either) == {"May": -2, "some oil": 3}


def test_a_span_is_told_once_and_knows_its_kind():
    reach = Reach(SENTENCE, place("Lamp of Varl"), Limits())
    some = [chunk("some oil", is_proper=True), chunk("(with some oil)")]
    assert [(one.kind, one.np_type, one.n_words) for one in noun_spans(reach, [*some, *some])] == [
        ("np", "PROPER", 2),
        ("np", "COMMON", 3),
    ]


def independent(sentence: str, mention: Place, start: int, end: int) -> tuple[int, int]:
    """Words of a span, and words from the mention to it, by another way of counting."""
    between = re.sub(r"^[^\s—]+", "", sentence[mention.end : start])  # what is glued to the mention, such as 's
    words = [one for one in re.split(r"[\s—]+", between) if re.search(r"[^\W_]", one)]
    own = [one for one in re.split(r"[\s—]+", sentence[start:end]) if re.search(r"[^\W_]", one)]
    return len(own), len(words) + 1


some_words = st.lists(
    st.sampled_from(["oil", "a", "(old", "ships)", "–", "U.S.", "it,", "3%", "O'Neil", "x."]), max_size=20
)


@given(some_words, some_words, st.integers(0, 50))
def test_random_spans_keep_to_the_rules(before, behind, seed):
    sentence = " ".join([*before, "Lamp", *behind])
    start = len(" ".join([*before, ""])) if before else 0
    mention = Place(start, start + 4)
    reach = Reach(sentence, mention, Limits(max_words=4, max_distance=6, n_random=3))
    spans = list(random_spans(reach, seed, "page", sentence))
    assert len(spans) <= 3
    assert len({(one.start, one.end) for one in spans}) == len(spans)
    for one in spans:
        assert one.start >= mention.end
        assert independent(sentence, mention, one.start, one.end) == (one.n_words, one.distance)
        assert 1 <= one.n_words <= 4
        assert 1 <= one.distance <= 6
        assert sentence[one.start : one.end].count("(") == sentence[one.start : one.end].count(")")
    assert spans == list(random_spans(reach, seed, "page", sentence))


def test_lengths_and_places_are_drawn_evenly():
    sentence = "Lamp " + " ".join(f"w{number}" for number in range(40)) + "."
    reach = Reach(sentence, Place(0, 4), Limits(n_random=1))
    spans = [one for seed in range(5_000) for one in random_spans(reach, seed, sentence)]
    lengths, places = Counter(one.n_words for one in spans), Counter(one.distance for one in spans)
    assert set(lengths) == set(range(1, 6))
    assert set(places) == set(range(1, 11))
    # Five standard deviations of a fair draw.
    assert all(abs(n - 1_000) < 5 * (5_000 * 0.2 * 0.8) ** 0.5 for n in lengths.values())
    assert all(abs(n - 500) < 5 * (5_000 * 0.1 * 0.9) ** 0.5 for n in places.values())


TOLD = "The GPT-2 model was trained on eight million web pages, which cost $500 in May."


def test_the_released_distance_mixes_words_and_tokens():
    tokens = Tokens(TOLD)
    # GPT-2 is one token here, as in the released data: The|GPT-2|model|was|...
    assert tokens.of(*place("GPT-2", TOLD)) == (1, 2)
    # "on" is behind five words; the mention ends behind two tokens.
    assert released_distance(tokens, (1, 2), TOLD.index("eight")) == 4


def released(*texts: str, mention: str = "GPT-2", sentence: str = TOLD) -> list[str]:
    chunks = [chunk(text, sentence) for text in texts]
    spans = released_noun_spans(Tokens(sentence), place(mention, sentence), chunks)
    return [sentence[one.start : one.end] for one in spans]


def test_the_released_rules_for_noun_phrases():
    assert released("eight million web pages") == ["eight million web pages"]
    assert released("model") == []  # right behind the mention: its distance is 0
    assert released("May") == []  # 13 - 2 is too far
    assert released("eight million web pages, which") == []  # six tokens
    # Of two that end together, of which one has an article more, that one stays: here the one without goes.
    assert released("the red lamp", "red lamp", mention="Ida", sentence="Ida and all saw the red lamp.") == [
        "the red lamp"
    ]
    assert released("oil,", mention="Ida", sentence="Ida got some oil, and left.") == []
    assert released("$500") == []  # a token of spaCy ends inside


def test_the_released_random_spans_are_one_token_longer():
    lengths: Counter[int] = Counter()
    gaps: Counter[int] = Counter()
    sentence = "Then Ida " + " ".join(f"word{number}" for number in range(30)) + "."
    tokens = Tokens(sentence)
    for seed in range(400):
        for one in released_random_spans(tokens, Place(5, 8), seed, sentence):
            first, behind = tokens.of(one.start, one.end)
            lengths[behind - first] += 1
            gaps[first - 2] += 1
    assert set(lengths) == {2, 3, 4, 5, 6}
    # [mention's end + 1, + 8], as the released data shows.
    assert set(gaps) == set(range(1, 9))


def test_short_sentences_do_not_make_short_spans_more_frequent():
    sentence = "Lamp one two three four five six."
    reach = Reach(sentence, Place(0, 4), Limits(n_random=1))
    lengths = Counter(one.n_words for seed in range(5_000) for one in random_spans(reach, seed, sentence))
    assert all(abs(n - 1_000) < 5 * (5_000 * 0.2 * 0.8) ** 0.5 for n in lengths.values())
    # Where four words are left, a length of five gives nothing, and is not drawn again.
    few = Reach("Lamp one two three four.", Place(0, 4), Limits(n_random=1))
    found = Counter(one.n_words for seed in range(5_000) for one in random_spans(few, seed, "few"))
    assert set(found) == {1, 2, 3, 4}
    assert all(abs(n - 1_000) < 5 * (5_000 * 0.2 * 0.8) ** 0.5 for n in found.values())


@settings(max_examples=50)
@given(st.lists(st.sampled_from(["Ida", "oil-lamp", "can't", "$5.", "(a", "b)", "—"]), min_size=1, max_size=12))
def test_the_released_rules_never_fail(words):
    sentence = " ".join(["Zed", *words])
    list(released_random_spans(Tokens(sentence), Place(0, 3), 1, sentence))
