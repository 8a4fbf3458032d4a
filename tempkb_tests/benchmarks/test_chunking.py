"""Noun phrases: the bundled chunker by hand, and a real spaCy pipeline that the test trains by itself."""

import random

import pytest

from tempkb.benchmarks.chunking import (
    SpacyChunker,
    TextBlobChunker,
    load_pipeline,
    open_chunker,
    spacy_splitter,
)
from tempkb.core.errors import SettingsError


def phrases(sentence: str) -> list[str]:
    (chunks,) = TextBlobChunker().chunks([sentence])
    return [sentence[one.start : one.end] for one in chunks]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The old ferry crossed the wide river.", ["The old ferry", "the wide river"]),
        ("It was a long and bitter debate.", ["It", "a long and bitter debate"]),
        ("They sold the band's third album.", ["They", "the band's third album"]),
        ("The storm hit the coast of Varland.", ["The storm", "the coast", "the coast of Varland", "Varland"]),
        ("Every year it sends food to people.", ["Every year", "it", "food", "people"]),
        ("It closed in 1903.", ["It"]),
        ("He went to shelter travelers.", ["He", "travelers"]),
        ("", []),
    ],
)
def test_the_bundled_chunker_by_hand(sentence, expected):
    found = phrases(sentence)
    # A pronoun alone is dropped later, so either way is right.
    assert [one for one in found if one.lower() not in ("it", "he", "they")] == [
        one for one in expected if one.lower() not in ("it", "he", "they")
    ]


def test_the_bundled_chunker_copes_with_all_signs():
    for sentence in ("a/b and/or c", "😀 ‘’ ** //", "x" * 500, "U.S. $5.50, 3% — (東湖街道)", "&slash; / &amp;"):
        for chunk in next(TextBlobChunker().chunks([sentence])):
            assert 0 <= chunk.start < chunk.end <= len(sentence)


def test_every_sentence_is_parsed_once():
    chunker = TextBlobChunker()
    list(chunker.chunks(["The ferry left.", "The ferry sank."]))
    assert chunker.n_parsed == 2
    assert "(fallback)" in chunker.name


# Words with tag, dependency and head: enough to learn these by heart.
_TREES = (
    "The/DET/det/1 ferry/NOUN/nsubj/2 crossed/VERB/ROOT/2 the/DET/det/5 wide/ADJ/amod/5 river/NOUN/dobj/2 ./PUNCT/punct/2",
    "Ida/PROPN/nsubj/1 sold/VERB/ROOT/1 a/DET/det/3 map/NOUN/dobj/1 of/ADP/prep/3 Varland/PROPN/pobj/4 ./PUNCT/punct/1",
    "She/PRON/nsubj/1 crossed/VERB/ROOT/1 the/DET/det/3 river/NOUN/dobj/1 ./PUNCT/punct/1",
)


def train(folder):
    """Train a tiny English pipeline with a parser on three sentences, and save it."""
    import spacy
    from spacy.tokens import Doc
    from spacy.training import Example
    from spacy.util import fix_random_seed

    fix_random_seed(1)
    random.seed(1)
    nlp = spacy.blank("en")
    nlp.add_pipe("morphologizer")
    nlp.add_pipe("parser", config={"min_action_freq": 1})
    examples = []
    for tree in _TREES:
        words, tags, deps, heads = zip(*(token.split("/") for token in tree.split()), strict=True)
        told = Doc(nlp.vocab, words, pos=tags, deps=deps, heads=[int(head) for head in heads])
        examples.append(Example(Doc(nlp.vocab, words), told))
    nlp.initialize(lambda: examples)
    for _ in range(60):
        losses = {}
        nlp.update(examples, losses=losses, drop=0.0)
    nlp.meta["name"], nlp.meta["version"] = "tiny", "1.2.3"
    nlp.to_disk(folder)
    return folder


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    return str(train(tmp_path_factory.mktemp("model") / "tiny"))


@pytest.mark.slow
def test_a_spacy_pipeline_is_loaded_and_gives_chunks_and_what_hangs_on_them(pipeline):
    chunker = open_chunker("spacy", pipeline, "en", pytest.fail)
    assert isinstance(chunker, SpacyChunker)
    assert chunker.name == "spacy en_tiny 1.2.3"
    sentences = ["The ferry crossed the wide river .", "Ida sold a map of Varland .", "She crossed the river ."]
    found = [
        {sentence[one.start : one.end]: (one.is_proper, one.is_pronoun) for one in chunks}
        for sentence, chunks in zip(sentences, chunker.chunks(sentences), strict=True)
    ]
    assert found == [
        {"The ferry": (False, False), "the wide river": (False, False)},
        {"Ida": (True, False), "a map": (False, False), "a map of Varland": (True, False), "Varland": (True, False)},
        {"She": (False, True), "the river": (False, False)},
    ]
    assert chunker.n_parsed == 3


def test_a_spacy_pipeline_parts_paragraphs(pipeline):
    paragraph = "Ida sold a map of Varland . She crossed the river ."
    found = [paragraph[start:end] for start, end in spacy_splitter(pipeline, "en")(paragraph)]
    assert "".join(found).replace(" ", "") == paragraph.replace(" ", "")


def test_without_the_model_one_warning_names_the_command():
    told = []
    chunker = open_chunker("auto", "en_core_web_sm_of_nobody", "en", told.append)
    assert isinstance(chunker, TextBlobChunker)
    assert len(told) == 1
    assert "python -m spacy download en_core_web_sm_of_nobody" in told[0]
    assert "cruder" in told[0]


def test_a_model_that_is_asked_for_and_missing_is_an_error():
    with pytest.raises(
        SettingsError, match="noun_chunker: the spaCy model 'nobodys' is not installed; install it with"
    ):
        open_chunker("spacy", "nobodys", "en", pytest.fail)
    with pytest.raises(SettingsError, match="sentences: the spaCy model 'nobodys' is not installed"):
        spacy_splitter("nobodys", "en")


def test_a_pipeline_without_a_parser_is_refused_by_its_parts(tmp_path):
    import spacy

    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(SettingsError, match=r"has no parser \(its parts: none\)"):
        load_pipeline(str(tmp_path / "blank"), "en")


def test_the_bundled_chunker_asks_for_no_model():
    assert isinstance(open_chunker("textblob", "nobodys", "en", pytest.fail), TextBlobChunker)


def test_a_wiki_in_another_language_needs_a_pipeline_of_that_language(pipeline):
    with pytest.raises(SettingsError, match="reads 'en', and the wiki is in 'de'"):
        open_chunker("spacy", pipeline, "de", pytest.fail)
    with pytest.raises(SettingsError, match="the bundled chunker reads English, and the wiki is in 'de'"):
        open_chunker("textblob", "nobodys", "de", pytest.fail)


@pytest.mark.parametrize("is_installed", [True, False])
def test_without_such_a_pipeline_there_are_random_spans_only_and_a_warning_says_so(pipeline, is_installed):
    told = []
    chunker = open_chunker("auto", pipeline if is_installed else "nobodys", "ja", told.append)
    assert list(chunker.chunks(["東京は都市である。"])) == [[]]
    assert len(told) == 1
    assert "the wiki is in 'ja': no noun phrases are found" in told[0]
    assert "name it as spacy_model" in told[0]
