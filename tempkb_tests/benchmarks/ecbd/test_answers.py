"""Answers that one would accept: whole quotations, words that say something, phrases that are not cut."""

import pytest

from tempkb.benchmarks.chunking import TextBlobChunker
from tempkb.benchmarks.ecbd.design import make_design
from tempkb.benchmarks.ecbd.forms import count_forms, count_text, gives_away
from tempkb.benchmarks.ecbd.matching import Article, Match, NameFinder, Sighting
from tempkb.benchmarks.ecbd.selection import _cap, within_caps
from tempkb.benchmarks.ecbd.sentence_filters import filters_of, holds_half_pair, parts_quotation, quotations
from tempkb.benchmarks.ecbd.spans import Limits, Reach, noun_spans, random_spans
from tempkb.benchmarks.sentences import Place, says_nothing, words_of
from tempkb.core.filtering import LeftOut
from tempkb.store.memory import in_memory


@pytest.mark.parametrize(
    ("sentence", "answer", "is_parted"),
    [
        ('Ida sang "Old Songs" and "Ode".', 'Old Songs" and', True),
        ('Ida sang "Old Songs" and "Ode".', '"Old Songs" and', False),
        ('Ida sang "Old Songs" and "Ode".', "Old Songs", False),
        ("Ida sang “Old Songs” and more.", "sang “Old", True),
        ("Ida sang «Old Songs» and more.", "Songs» and", True),
        ("Ida sang 'Old Songs' and more.", "Songs' and", True),
        ("Ida's crew's songs and the workers' union.", "songs and the workers' union", False),
        ("Ida’s crew’s songs and the workers’ union.", "the workers’ union", False),
        ('Ida sang of "the sea', 'of "the sea', True),
        ("Ida sang “Songs of ‘the Sea’ men” there.", "of ‘the Sea’ men", False),
        ("Ida sang “Songs of ‘the Sea’ men” there.", "the Sea’ men", True),
    ],
)
def test_half_a_quotation_is_no_answer(sentence, answer, is_parted):
    start = sentence.index(answer)
    assert parts_quotation(quotations(sentence), start, start + len(answer)) == is_parted


@pytest.mark.parametrize(
    ("answer", "is_half"),
    [
        ("6” shell", True),
        ("the “old", True),
        ("the “old” house", False),
        ("”gamla” kyrkan", False),
        ("”gamla” och ”lilla", True),
        ("„alte“ Haus", False),
        ('the "old" house', False),
    ],
)
def test_a_text_by_itself_shows_half_a_pair(answer, is_half):
    assert holds_half_pair(answer) == is_half


@pytest.mark.parametrize(
    ("sentence", "mention", "whole", "halves"),
    [
        ("With its 5” gun the Aurora had a 6” shell.", "Aurora", {"shell"}, {"6” shell", "a 6” shell"}),
        ("Vid Nora kallas ofta ”Lilla huset” av alla.", "Nora", {"Lilla huset", "Lilla"}, {"huset” av", "ofta ”Lilla"}),
        ("Vid Nora ”Lilla” är det en gammal kyrka.", "Nora", {"Lilla", "gammal kyrka"}, {"Lilla” är"}),
    ],
)
def test_no_answer_has_half_a_pair_that_opens_as_it_closes(sentence, mention, whole, halves):
    at = sentence.index(mention)
    reach = Reach(sentence, Place(at, at + len(mention)), Limits(), "sv")
    asked = {sentence[one.start : one.end] for seed in range(300) for one in random_spans(reach, seed, sentence)}
    assert whole <= asked
    assert not halves & asked
    assert not any(holds_half_pair(one) for one in asked)


@pytest.mark.parametrize(
    ("sentence", "mention", "n"),
    [
        ("The ferry of all ferries.", "ferry", 2),
        ("The Ferry's crew left the ferry.", "Ferry", 2),
        ("Ferries and a ferry.", "Ferries", 2),
        ("The FERRY and the Ferry.", "Ferry", 2),
        ("The ferryman of the Ferry.", "Ferry", 1),
        ("The US told us so.", "US", 1),
        ("The Lamps had a lamp.", "The Lamps", 2),
        ("The Who knew who came.", "The Who", 1),
        ("Boxes in a box.", "box", 2),
        ("The glass and glasses.", "glass", 2),
        ("東京は東京都にある。", "東京", 2),
        ("在iPhone里，iphone-13。", "iPhone", 2),
        ("在iPhones里，xiPhone。", "iPhone", 1),
    ],
)
def test_other_forms_of_a_mention_count(sentence, mention, n):
    assert count_forms(sentence, mention) == n


@pytest.mark.parametrize(
    ("sentence", "mention", "n"),
    [
        ("The Ferry-men of the Ferry, not ferry nor Ferryland.", "Ferry", 2),
        ("C++ and C.", "C", 2),
        ("苹果在2021年发布了iPhone 13手机。", "iPhone 13", 1),
        ("日本はNATOの会議でNATOと。", "NATO", 2),
        ("在iPhone 13和xiPhone 13。", "iPhone 13", 1),
        ("在iPhone手机和xiPhone手机。", "iPhone手机", 1),
    ],
)
def test_the_very_text_of_a_mention_counts_as_a_word(sentence, mention, n):
    assert count_text(sentence, mention) == n


def test_a_sentence_that_mentions_in_another_form_is_refused_unless_the_design_is_the_papers():
    sentence = "The Ferry was the first of the ferries that crossed."
    article = Article(1, "Ferry", sentence, [], [], frozenset(("Ferry",)), {})
    sighting = Sighting(article, Place(0, len(sentence)), sentence, [Place(4, 9)], [Match(4, 9, 0)])
    assert filters_of(5, "en", strict=True).reason(sighting) == "mentions the entity again in another form"
    assert filters_of(5, "en", strict=False).reason(sighting) == ""


@pytest.mark.parametrize(
    ("answer", "nothing"),
    [
        ("of", True),
        ("that is", True),
        ("to his", True),
        ("it's not", True),
        ("in the sea", False),
        ("May", False),
        ("may", True),
        ("e.g.", True),
        ("US", False),
        ("Will", False),
        ("which of these", True),
        ("two", False),
    ],
)
def test_function_words_say_nothing(answer, nothing):
    assert says_nothing(answer.split(), "en") == nothing
    assert not says_nothing(answer.split(), "xx")


def test_no_random_answer_is_of_function_words_alone_or_half_a_quotation():
    sentence = 'The Lamp was of the "old and new" kind that is in all of them.'
    strict, loose = (
        {
            sentence[one.start : one.end]
            for seed in range(300)
            for one in random_spans(Reach(sentence, Place(4, 8), Limits(strict=is_strict)), seed, sentence)
        }
        for is_strict in (True, False)
    )
    assert {"was of the", 'of the "old', 'new" kind'} <= loose
    assert not any(says_nothing(one.split(), "en") or one.count('"') == 1 for one in strict)
    assert {"kind", "kind that is"} <= strict


@pytest.mark.parametrize(
    ("sentence", "mention", "refused", "accepted"),
    [
        (
            "The Spider-Man show is based on an old spider man legend.",
            "Spider-Man",
            {"spider man", "old spider man legend"},
            {"old spider", "man legend"},
        ),
        ("In the 2021–22 cup it won its 2021-22 cup double.", "2021–22 cup", {"2021-22 cup"}, {"2021-22", "double"}),
        ("Each Wi-Fi kit needs some wi fis.", "Wi-Fi", {"wi fis", "some wi fis"}, {"kit", "some wi"}),
    ],
)
def test_no_answer_is_the_mention_in_other_punctuation(sentence, mention, refused, accepted):
    at = sentence.index(mention)
    reach = Reach(sentence, Place(at, at + len(mention)), Limits())
    asked = {
        sentence[one.start : one.end] for seed in range(300) for one in random_spans(reach, seed, sentence, mention)
    }
    assert accepted <= asked
    assert not refused & asked
    assert all(gives_away(one, mention) for one in refused)
    assert not any(gives_away(one, mention) for one in asked)


@pytest.mark.parametrize(
    ("answer", "mention", "is_given_away"),
    [
        ("about us", "US", False),
        ("about US", "US", True),
        ("the ferrymen", "Ferry", False),
        ("two ferrys", "Ferry", True),
        ("在iphone-13里", "iPhone 13", True),
        ("eski izmir", "İzmir", True),
    ],
)
def test_an_answer_gives_a_name_away_as_a_whole_word(answer, mention, is_given_away):
    assert gives_away(answer, mention) == is_given_away


@pytest.mark.parametrize(
    ("sentence", "cut", "whole"),
    [
        ("It used a breathing or decompression mix.", {"a breathing", "decompression mix"}, set()),
        ("It relieves social and communication problems.", {"communication problems"}, set()),
        ("She joined the Teacher in Space program.", {"the Teacher"}, set()),
        ("He hides and lives among daughters.", {"lives"}, {"daughters"}),
        ("It was founded on March 15, 1921.", {"March 15"}, set()),
        ("It is used by the University of Varl.", {"the University"}, {"the University of Varl"}),
        ("It can be equivalent to a mile.", {"equivalent"}, {"a mile"}),
        ("The animals will visit to eat.", {"visit"}, {"The animals"}),
        ("It sold oil, gold, and a rich wine.", set(), {"oil", "gold", "a rich wine"}),
        ("It lies between Varl and the old sea.", set(), {"Varl", "the old sea"}),
    ],
)
def test_phrases_cut_out_of_larger_ones_are_marked(sentence, cut, whole):
    (chunks,) = TextBlobChunker().chunks([sentence])
    marked = {sentence[one.start : one.end]: one.is_cut for one in chunks}
    assert {text for text in cut if marked.get(text) is False} == set()
    assert {text for text in whole if marked.get(text) is not False} == set()
    (first, *_) = words_of(sentence)
    reach = Reach(sentence, Place(first.start, first.end), Limits())
    asked = {sentence[one.start : one.end] for one in noun_spans(reach, chunks)}
    assert not asked & cut
    loose = Reach(sentence, Place(first.start, first.end), Limits(strict=False))
    assert cut & set(marked) - {"The animals"} <= {sentence[one.start : one.end] for one in noun_spans(loose, chunks)}


def design(**changes: str):
    return make_design("tempkb", "2021-01-01..2024-01-01", "2024-01-01", "wikidatawiki-20240101", "", changes)


def span(number: int, kind: str) -> dict:
    return {"rank_hash": number, "cloze_id": f"{number}", "span_kind": kind}


def test_kinds_take_turns_under_the_cap_of_an_entity():
    spans = [span(number, "random") for number in range(6)] + [span(number, "np") for number in range(6, 9)]
    kept, n_over = within_caps(spans, design(max_spans_per_entity="4"))
    assert (sorted(one["rank_hash"] for one in kept), n_over) == ([0, 1, 6, 7], 5)
    kept, _ = within_caps(spans, design(max_spans_per_entity="4", balance_kinds="false"))
    assert [one["rank_hash"] for one in kept] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("rows", "changes", "kept"),
    [
        # Two noun phrases, four random spans of one window and split: the two first random ones stay.
        ("np np random random random random", {}, [0, 1, 2, 3]),
        ("np np random random random random", {"balance_kinds": "false"}, [0, 1, 2, 3, 4, 5]),
        ("np np random random random random", {"max_spans_per_window": "1"}, [0, 2]),
        # A language without a chunker: there is nothing to balance.
        ("random random", {}, [0, 1]),
        ("np np", {}, [0, 1]),
    ],
)
def test_windows_and_splits_have_as_many_of_both_kinds(rows, changes, kept):
    told = LeftOut()
    with in_memory() as connection:
        connection.execute(
            "CREATE TABLE spans (page_id BIGINT, cloze_id VARCHAR, span_kind VARCHAR, rank_hash UBIGINT)"
        )
        connection.execute("CREATE TABLE splits AS SELECT 1::BIGINT AS page_id, '2021' AS stratum, 'dev' AS split")
        for number, kind in enumerate(rows.split()):
            connection.execute("INSERT INTO spans VALUES (1, ?, ?, ?)", [str(number), kind, number])
        _cap(connection, design(**changes), told)
        found = connection.execute("SELECT rank_hash FROM items ORDER BY rank_hash").fetchall()
    assert [one for (one,) in found] == kept
    assert told.counts.total() == len(rows.split()) - len(kept)


def test_the_papers_presets_keep_what_was_released():
    for preset in ("paper", "paper_2021", "ecbd_compat"):
        made = make_design(preset, "2021-01-01..2024-01-01", "2024-01-01", "wikidatawiki-20240101")
        assert (made.strict_answers, made.balance_kinds) == (False, False)
    assert (design().strict_answers, design().balance_kinds) == (True, True)


def test_names_and_spans_in_scripts_without_blanks():
    text = "日本語は日本の言語であり、アメリカンの語ではない。"
    assert [(one.start, one.end) for one in NameFinder(["日本"], "ja").find(text)] == [(4, 6)]
    assert NameFinder(["アメリカ"], "ja").find(text) == []
    assert len(NameFinder(["柏林"], "zh").find("现時柏林在施普雷河。")) == 1
    sentence = "2021年に日本（にほん）の首都で。"
    assert [sentence[one.start : one.end] for one in words_of(sentence)] == [
        "2021",
        "年",
        "に",
        "日",
        "本",
        "に",
        "ほ",
        "ん",
        "の",
        "首",
        "都",
        "で",
    ]
    reach = Reach("東京は日本の首都である。", Place(0, 2), Limits(n_random=20), "ja")
    found = list(random_spans(reach, 3, "x"))
    assert found
    assert all(one.n_words == one.end - one.start <= 5 for one in found)
    assert not any(says_nothing("東京は日本の首都である。"[one.start : one.end], "ja") for one in found)
