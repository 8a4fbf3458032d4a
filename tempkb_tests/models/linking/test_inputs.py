"""What encoders read: cut at words, within the quotas of BLINK, and never with a marker that an article spelled."""

import itertools
import random
import re

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from tempkb.core.errors import ModelError
from tempkb.models.linking.inputs import MARKERS, EntityText, Inputs, MentionText, Tower
from tempkb_tests.models.linking.tiny import TOKENIZERS, tokenizer_of

WORDS = ["[CLS]", "[SEP]", "[UNK]", *(f"{side}{number}" for side in "lrmtd" for number in range(200)), ":"]


def word_tower(max_tokens: int, markers: bool = True, prompt: str = "") -> Tower:
    """Each word is a token, so that tokens can be counted by hand."""
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(":", "isolated")]
    )
    tokenizer.add_special_tokens(["[CLS]", "[SEP]", "[UNK]", *(MARKERS if markers else ())])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    return Tower(tokenizer, max_tokens, prompt)


def inputs(max_tokens: int = 16, **options) -> Inputs:
    tower = word_tower(max_tokens, **options)
    return Inputs(tower, tower)


def words(side: str, n: int) -> str:
    return " ".join(f"{side}{number}" for number in range(n))


# Words of the left side, mention and right side; and what is kept. By hand: of 16 tokens, [CLS], [SEP], [Ms] and [Me]
# take four, and a mention of one word the fifth; of the other eleven, five are the left side's and six the right side's.
QUOTAS = [
    ((3, 1, 3), (3, 1, 3)),
    ((5, 1, 6), (5, 1, 6)),
    ((9, 1, 9), (5, 1, 6)),
    ((2, 1, 20), (2, 1, 9)),
    ((20, 1, 2), (9, 1, 2)),
    ((0, 1, 20), (0, 1, 11)),
    ((20, 1, 0), (11, 1, 0)),
    ((9, 2, 9), (5, 2, 5)),
    ((9, 4, 9), (4, 4, 4)),
    ((9, 5, 9), (4, 4, 4)),  # a mention has four tokens at most: half of the tokens, without the other four
    ((0, 30, 0), (0, 4, 0)),
    ((0, 0, 20), (0, 0, 12)),
]


@pytest.mark.parametrize(("found", "kept"), QUOTAS)
def test_what_one_side_does_not_use_is_the_others(found, kept):
    left, mention, right = found
    text = MentionText(words("l", left), words("m", mention), words("r", right))
    string = inputs().mention(text)
    lefts = [f"l{number}" for number in range(left - kept[0], left)]
    rest = [f"m{number}" for number in range(kept[1])], [f"r{number}" for number in range(kept[2])]
    assert string.split() == [*lefts, "[Ms]", *rest[0], "[Me]", *rest[1]]


def test_the_quotas_are_those_of_blink():
    """The released code, written again here for words; its mention is not guarded, so only short ones are compared."""

    def blink(left, mention, right, max_tokens):
        tagged = ["[Ms]", *mention, "[Me]"]
        left_quota = (max_tokens - len(tagged)) // 2 - 1
        right_quota = max_tokens - len(tagged) - left_quota - 2
        if len(left) <= left_quota:
            if len(right) > right_quota:
                right_quota += left_quota - len(left)
        elif len(right) <= right_quota:
            left_quota += right_quota - len(right)
        return [*(left[-left_quota:] if left_quota else []), *tagged, *right[:right_quota]]

    lengths = (0, 3, 5, 6, 7, 40, 199)
    for max_tokens in (16, 17, 128):
        both = inputs(max_tokens)
        for n_left, n_mention, n_right in itertools.product(lengths, (1, 2, 3), lengths):
            sides = words("l", n_left), words("m", n_mention), words("r", n_right)
            assert both.mention(MentionText(*sides)).split() == blink(*(one.split() for one in sides), max_tokens)


@pytest.mark.parametrize("kind", sorted(TOKENIZERS))
@pytest.mark.parametrize("markers", [True, False])
def test_of_a_long_text_the_same_is_read_as_if_all_of_it_were_tokenized(kind, markers, monkeypatch):
    tokenizer = tokenizer_of(kind, 16, markers).backend_tokenizer
    both = Inputs(*(Tower(tokenizer, 16) for _ in range(2)))
    chance = random.Random(5)
    # Single letters, long words, text without blanks, and what is spelled like a marker.
    some = ["a", "the port", "unbelievable" * 9, "[Ms]", "\u6771\u4eac" * 30, "x" * 300, "\n\n", "sea,", "-" * 40]
    sides = [" ".join(chance.choices(some, k=chance.randrange(60))) for _ in range(80)]
    texts = [MentionText(left, "Aurora", right) for left, right in zip(sides[::2], sides[1::2], strict=True)]
    found = [(one.text, one.ids) for one in both.mentions(texts)]
    monkeypatch.setattr(Tower, "nearest", lambda self, whole, _: self.pieces(whole))
    assert found == [(one.text, one.ids) for one in both.mentions(texts)]


def test_what_is_tokenized_of_a_text_does_not_grow_with_it(monkeypatch):
    read, pieces = [], Tower.pieces
    monkeypatch.setattr(Tower, "pieces", lambda self, texts: read.extend(map(len, texts)) or pieces(self, texts))
    for n_words in (100, 10_000):
        read.clear()
        assert inputs().mention(MentionText("l0 " * n_words, "m0", " r0" * n_words)).split().count("r0") == 6
        # At first 128 characters on either side, and the mention.
        assert sum(read) <= 2 * 128 + len("m0")


# Of 16 tokens, [CLS], [SEP] and [Ent] take three.
@pytest.mark.parametrize(
    ("title", "description", "kept"),
    [
        (1, 3, (1, 3)),
        (1, 50, (1, 12)),
        (5, 50, (5, 8)),
        (9, 50, (5, 8)),
        (50, 0, (5, 0)),
        (1, 0, (1, 0)),
        (0, 50, (0, 13)),
    ],
)
def test_a_title_has_half_of_the_tokens_at_most(title, description, kept):
    string = inputs().entity(EntityText(words("t", title), words("d", description)))
    assert string.split() == [*words("t", kept[0]).split(), "[Ent]", *words("d", kept[1]).split()]


def test_an_encoder_without_markers_reads_the_mention_first_and_then_its_sentence():
    plain = inputs(20, markers=False)
    assert plain.mention(MentionText(words("l", 2), "m0", words("r", 3))) == "m0: l0 l1 m0 r0 r1 r2"
    assert plain.entity(EntityText("t0", words("d", 3))) == "t0 d0 d1 d2"
    # [CLS], [SEP], the colon and the mention twice take five of the twenty.
    assert plain.mention(MentionText(words("l", 50), "m0", words("r", 50))).split() == [
        "m0:",
        *(f"l{number}" for number in range(43, 50)),
        "m0",
        *(f"r{number}" for number in range(8)),
    ]


def test_an_encoder_without_markers_reads_no_more_than_twenty_words_on_either_side():
    plain = inputs(128, markers=False)
    found = plain.mention(MentionText(words("l", 50), "m0", words("r", 50))).split()
    before, after = (words(side, 50).split() for side in "lr")
    assert found == ["m0:", *before[-20:], "m0", *after[:20]]
    assert inputs(128).mention(MentionText(words("l", 50), "m0", words("r", 50))).split()[:50] == before


def test_a_prompt_comes_first_and_takes_its_tokens():
    assert inputs(16, prompt="l7 : ").entity(EntityText("t0", words("d", 50))) == f"l7 : t0 [Ent] {words('d', 10)}"


def test_blanks_are_single():
    found = inputs().mention(MentionText(" l0\n\n l1\t", " m0  m1 ", "\u00a0r0 "))
    assert found == "l0 l1 [Ms] m0 m1 [Me] r0"


@pytest.mark.parametrize("kind", sorted(TOKENIZERS))
@pytest.mark.parametrize("markers", [True, False])
@pytest.mark.parametrize(
    "spelled",
    [
        "[SEP]",
        "[Ms]",
        "[Me] [Ent]",
        "[[Ms]]",
        "</s>",
        "<s><s>",
        "[CLS][SEP]",
        "[MASK]",
        " <mask> ",
        "[UNK]",
        "<unk>",
        "a[Ms]b",
    ],
)
def test_what_an_article_spells_like_a_special_token_is_text(kind, markers, spelled):
    tokenizer = tokenizer_of(kind, 100, markers)
    tower = Tower(tokenizer.backend_tokenizer, 100)
    both = Inputs(tower, tower)
    around = MentionText(f"Ada {spelled}", f"Paris {spelled}", f"{spelled} London")
    of_mention = ids(both.mention(around), tokenizer)
    of_entity = ids(both.entity(EntityText(f"Ada {spelled}", spelled)), tokenizer)
    begin, end = tokenizer.cls_token_id, tokenizer.sep_token_id
    special = {one for one, token in tokenizer.added_tokens_decoder.items() if token.special} - {tokenizer.unk_token_id}
    start, stop, title_end = (tokenizer.convert_tokens_to_ids(one) if markers else None for one in MARKERS)
    assert [one for one in of_mention if one in special] == [
        one for one in (begin, start, stop, end) if one is not None
    ]
    assert [one for one in of_entity if one in special] == [one for one in (begin, title_end, end) if one is not None]
    # Nothing but blanks was added.
    bare = re.sub(r"\s", "", both.mention(around))
    left, mention, right = (re.sub(r"\s", "", one) for one in (around.left, around.mention, around.right))
    marked = f"{left}[Ms]{mention}[Me]{right}" if markers else f"{mention}:{left}{mention}{right}"
    assert bare == marked


def ids(string: str, tokenizer) -> list[int]:
    return tokenizer(string, truncation=True)["input_ids"]


LONG = [
    "word after word after word, " * 30,
    "東京" * 200,
    "x" * 300,
    "the 東京 tower " + "京" * 90 + " of Paris, Zürich and Москва. " * 9,
    "👩\u200d🚀 and 🏳️\u200d🌈 " * 30,
    "Ma\u0301laga serves cafe\u0301 " * 30,
    "",
    "a",
]


@pytest.mark.parametrize("kind", sorted(TOKENIZERS))
@pytest.mark.parametrize("markers", [True, False])
@pytest.mark.parametrize("max_tokens", [12, 24, 33])
def test_every_string_fits_whatever_the_tokenizer_is(kind, markers, max_tokens):
    tokenizer = tokenizer_of(kind, 10_000, markers)
    tower = Tower(tokenizer.backend_tokenizer, max_tokens)
    both = Inputs(tower, tower)
    mentions = ("Paris", *LONG[:5])
    texts = [MentionText(left, mention, right) for left in LONG for mention in mentions for right in LONG[1::3]]
    for text, whole in zip(texts, both.mentions(texts), strict=True):
        string = whole.text
        assert whole.ids == ids(string, tokenizer)
        n_tokens = len(ids(string, tokenizer))
        assert n_tokens <= max_tokens
        core = string.split("[Ms]")[1].split("[Me]")[0].strip() if markers else string.partition(":")[0]
        assert core
        assert " ".join(text.mention.split()).startswith(core)
    for title in LONG:
        for description in LONG[::3]:
            string = both.entity(EntityText(title, description))
            assert len(ids(string, tokenizer)) <= max_tokens


@pytest.mark.parametrize("kind", sorted(TOKENIZERS))
def test_text_without_blanks_is_cut_between_tokens_and_fills_its_quota(kind):
    tokenizer = tokenizer_of(kind, 64, markers=True)
    tower = Tower(tokenizer.backend_tokenizer, 64)
    string = Inputs(tower, tower).mention(MentionText("東京" * 200, "Paris", "京都" * 200))
    left, _, right = re.fullmatch(r"(.*) \[Ms\] (Paris) \[Me\] (.*)", string).groups()
    assert ("東京" * 200).endswith(left)
    assert ("京都" * 200).startswith(right)
    assert 60 <= len(ids(string, tokenizer)) <= 64
    plain = [len(tokenizer(side, add_special_tokens=False)["input_ids"]) for side in (left, right)]
    assert min(plain) > 20


def test_words_are_kept_whole():
    tokenizer = tokenizer_of("bert", 24, markers=True)
    tower = Tower(tokenizer.backend_tokenizer, 24)
    left = "Ada Lovelace works for the Analytical Society and lives in"
    right = "where the capital of France is and tea is served"
    string = Inputs(tower, tower).mention(MentionText(left, "Paris", right))
    before, after = re.split(r" \[Ms\] Paris \[Me\] ", string)
    assert f" {left}".endswith(f" {before}")
    assert f"{right} ".startswith(f"{after} ")


def test_batches_give_what_single_texts_give():
    both = inputs()
    texts = [MentionText(words("l", n), words("m", n % 3), words("r", 9 - n)) for n in range(9)]
    assert [one.text for one in both.mentions(texts)] == [both.mention(text) for text in texts]
    assert both.mentions([]) == []


def test_so_few_tokens_are_refused():
    with pytest.raises(ModelError, match="reads 7 tokens; expected at least 8"):
        word_tower(7)
    with pytest.raises(ModelError, match=r"tokens around a text; expected fewer than 8"):
        inputs(8, prompt=words("l", 9)).entity(EntityText("t0", "d0"))
