"""What a training reads, and what it asks for: the order of a mixture, hidden spans, dates in front, batches and loss."""

from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import count

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tempkb.core.prompts import Prompt
from tempkb.models.families import TRAITS
from tempkb.models.training.lessons import DatedLesson
from tempkb.models.training.requests import PRESETS, Recipe, train_request
from tempkb.models.training.tables import QUERY, TEXT
from tempkb_tests.models.tiny import tiny

# Transformers' trainer takes seconds to be imported, which is done once.
exercises = pytest.importorskip("tempkb.models.training.exercises")

SENTENCE = "Ada Lovelace works for the Analytical Society in London."
SPAN = (SENTENCE.index("Analytical"), SENTENCE.index(" in London"))


def one_after_the_other(sizes, n, texts_per_query, in_order, seed, newest_share=None):
    """The places of n examples as (source, period, row), by counting: what a reader with a list for each would do."""

    def endless(source, period):
        for turn in count():
            chance = np.random.default_rng([seed, [TEXT, QUERY].index(source), period, turn])
            yield from chance.permutation(sizes[source][period])

    feeds = {(source, at): endless(source, at) for source in sizes for at in range(len(sizes[source]))}
    is_query = [bool(sizes[QUERY]) and at % (texts_per_query + 1) == texts_per_query for at in range(n)]
    n_of, done, found = {QUERY: sum(is_query), TEXT: n - sum(is_query)}, {QUERY: 0, TEXT: 0}, []
    for asked in is_query:
        source = QUERY if asked else TEXT
        n_periods, at = len(sizes[source]), done[source]
        # In the order of time the example belongs to the period in whose share of all examples it falls.
        period = max(p for p in range(n_periods) if p * n_of[source] <= at * n_periods) if in_order else at % n_periods
        if source == TEXT and newest_share is not None:
            # It is of the last period if that had less than its share otherwise.
            earlier, newest = (sum(s == TEXT and (p == n_periods - 1) == own for s, p, _ in found) for own in (0, 1))
            is_newest = newest < Fraction(str(newest_share)) * (at + 1)
            period = n_periods - 1 if is_newest else earlier % (n_periods - 1)
        found.append((source, period, int(next(feeds[source, period]))))
        done[source] += 1
    return found


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(1, 7), min_size=1, max_size=4),
    st.lists(st.integers(1, 3), max_size=3),
    st.integers(1, 60),
    st.integers(1, 5),
    st.booleans(),
    st.integers(1, 9),
    st.none() | st.floats(0.001, 1).map(lambda share: round(share, 3)),
)
def test_the_order_is_that_of_a_reader_who_counts(texts, queries, n, texts_per_query, in_order, seed, share):
    sizes = {TEXT: texts, QUERY: queries}
    share = None if in_order or len(texts) == 1 else share
    expected = one_after_the_other(sizes, n, texts_per_query, in_order, seed, share)
    names, rows = [], {TEXT: [], QUERY: []}
    for source, of_periods in sizes.items():
        for period, size in enumerate(of_periods):
            rows[source].append(np.arange(len(names), len(names) + size))
            names += [(source, period, at) for at in range(size)]
    n_queries = sum(source == QUERY for source, *_ in expected)
    recipe = Recipe(texts_per_query=texts_per_query, newest_share=share)
    draws = exercises.Draws(rows, {TEXT: n - n_queries, QUERY: n_queries}, recipe, in_order, seed)
    assert [names[draws(at)] for at in range(n)] == expected
    # A training that was killed begins with any of them.
    again = exercises.Draws(rows, {TEXT: n - n_queries, QUERY: n_queries}, recipe, in_order, seed)
    assert names[again(n - 1)] == expected[-1]


def test_the_last_period_has_its_share_of_the_first_texts_however_many_these_are():
    """By hand: of .3 the texts 1, 4, 7, 11 and so on are of the last of three periods, the others of the first two."""
    rows = {TEXT: [np.arange(at, at + 50) for at in (0, 100, 200)], QUERY: []}
    draws = exercises.Draws(rows, {TEXT: 100, QUERY: 0}, Recipe(newest_share=0.3), False, 1)
    periods = [draws(at) // 100 for at in range(100)]
    assert periods[:14] == [2, 0, 1, 2, 0, 1, 2, 0, 1, 0, 2, 1, 0, 2]
    assert [periods.count(one) for one in range(3)] == [35, 35, 30]
    assert all(0 <= periods[:n].count(2) - 0.3 * n < 1 for n in range(101))
    # Of the last period alone, no other one has a text.
    alone = exercises.Draws({TEXT: [np.arange(5)], QUERY: []}, {TEXT: 5, QUERY: 0}, Recipe(newest_share=1), False, 1)
    assert sorted(map(alone, range(5))) == [0, 1, 2, 3, 4]


def test_queries_alone_and_what_is_passed_over():
    rows = {TEXT: [], QUERY: [np.arange(4)]}
    draws = exercises.Draws(rows, {TEXT: 0, QUERY: 8}, Recipe(texts_per_query=0), False, 1)
    assert sorted(draws(at) for at in range(4)) == sorted(draws(at) for at in range(4, 8)) == [0, 1, 2, 3]
    assert [draws(0, skipped) for skipped in range(4)] == [draws(at) for at in range(4)]


def words(kind: str, text: str) -> list[int]:
    """The tokens of a text, word by word, as tokenizers make them that split at blanks."""
    return [token for word in text.split() for token in tiny(kind).tokenizer(word, add_special_tokens=False).input_ids]


@pytest.mark.parametrize("in_front", ["", "year: 2014 "])
def test_a_span_is_hidden_behind_a_sentinel_which_is_answered_with_it(in_front):
    """T5's `text with <extra_id_0>`, and `<extra_id_0> span <extra_id_1>`; the date is read and not asked for."""
    model = tiny("t5")
    first, second = model.tokenizer.convert_tokens_to_ids(["<extra_id_0>", "<extra_id_1>"])
    row = exercises.Asking(model, 60).row(in_front, SENTENCE, [SPAN])
    left, span, right = in_front + SENTENCE[: SPAN[0]], SENTENCE[slice(*SPAN)], SENTENCE[SPAN[1] :]
    assert list(row.source) == [*words("t5", left), first, *words("t5", right), model.tokenizer.eos_token_id]
    assert list(row.targets) == [first, *words("t5", span), second]
    assert row.tokens == (model.module.config.decoder_start_token_id, *row.targets[:-1])
    # It is what a score asks for.
    prompt = Prompt(left, span, right)
    assert row == model.planner("span_end").plan(prompt, model.tokenize([prompt.statement])[0]).rows[0]


def test_the_first_span_with_tokens_of_its_own_is_hidden():
    asking, tokens = exercises.Asking(tiny("t5"), 60), tiny("t5").tokenize([SENTENCE])[0]
    letters = [(start, end) for start, end in tokens.offsets if SENTENCE[start:end].isalpha() and end - start > 1]
    inside = (letters[0][0] + 1, SPAN[1])
    assert asking.row("", SENTENCE, [inside, SPAN]) == asking.row("", SENTENCE, [SPAN])
    assert asking.row("", SENTENCE, [inside]) is None
    assert asking.row("", SENTENCE, []) is None


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_a_causal_model_is_asked_for_all_behind_the_date_and_for_the_end(kind):
    model, asking = tiny(kind), exercises.Asking(tiny(kind), 60)
    begin, end = model.tokenizer.bos_token_id, model.tokenizer.eos_token_id
    plain = model.tokenizer(SENTENCE, add_special_tokens=False).input_ids
    row = asking.row("", SENTENCE, [])
    assert row.tokens == (begin, *plain)
    assert (row.positions, row.targets) == (tuple(range(len(plain) + 1)), (*plain, end))
    dated = asking.row("year: 2014 ", SENTENCE, [])
    ids = model.tokenizer("year: 2014 " + SENTENCE, add_special_tokens=False).input_ids
    assert dated.tokens == (((begin,) if kind == "llama" else ()) + tuple(ids))
    asked = model.tokenizer.decode(dated.targets[:-1]).replace("▁", "")
    assert asked.split() == SENTENCE.split()
    assert dated.targets[-1] == end
    assert dated.positions == tuple(range(len(dated.tokens) - len(dated.targets), len(dated.tokens)))


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
@pytest.mark.parametrize("in_front", ["", "year: 2014 "])
def test_a_causal_model_is_asked_for_the_tokens_of_a_span_alone_where_spans_are_asked_for(kind, in_front):
    model, asking = tiny(kind), exercises.Asking(tiny(kind), 60, "spans")
    left, span = in_front + SENTENCE[: SPAN[0]], SENTENCE[slice(*SPAN)]
    read, before = (model.tokenizer(one).input_ids for one in (left + span, left.rstrip()))
    row = asking.row(in_front, SENTENCE, [SPAN])
    # Each is asked for behind the token before it, and nothing behind the span is read.
    assert row.tokens == tuple(read[:-1])
    assert row.targets == tuple(read[len(before) :])
    assert row.positions == tuple(range(len(before) - 1, len(read) - 1))
    # A span that begins the text follows nothing, so that the next one is asked for.
    if not in_front:
        assert asking.row("", SENTENCE, [(0, 12), SPAN]) == row
        assert asking.row("", SENTENCE, [(0, 12)]) is None
    assert asking.row(in_front, SENTENCE, []) is None


def test_what_is_beyond_the_tokens_that_are_read_is_left_out():
    model = tiny("llama")
    long = " ".join([SENTENCE] * 9)
    row = exercises.Asking(model, 40).row("year: 2014 ", long, [])
    assert 30 < len(row.tokens) <= 40
    whole = exercises.Asking(model, 10_000).row("year: 2014 ", SENTENCE, [])
    assert row.tokens[:9] == whole.tokens[:9]
    t5 = exercises.Asking(tiny("t5"), 40)
    late = (long.rindex("Analytical"), long.rindex(" in London"))
    assert t5.row("", long, [late]) is None
    assert t5.row("", long, [late, (0, 3)]).targets == t5.row("", SENTENCE, [(0, 3)]).targets


@pytest.mark.parametrize("kind", ["t5", "bart", "gpt2"])
def test_the_loss_of_a_batch_is_the_mean_over_all_tokens_that_are_asked_for(kind):
    """As from one text after the other, without padding."""
    model = tiny(kind)
    asking = exercises.Asking(model, 60)
    rows = [asking.row(front, SENTENCE, [span]) for front, span in (("", SPAN), ("year: 2014 ", (0, 12)), ("", (0, 3)))]
    batch = exercises.padded(model.pad_id, model.traits.has_sources, rows)
    labels = batch.pop("labels")
    with torch.no_grad(), model.computing():
        found = exercises.loss(model.module(**batch), labels)
        losses = []
        for row in rows:
            sides = {"input_ids": torch.tensor([row.source or row.tokens])}
            if TRAITS[model.family].has_sources:
                sides["decoder_input_ids"] = torch.tensor([row.tokens])
            logits = model.module(**sides).logits[0].double().log_softmax(-1)
            losses += [-float(logits[at, token]) for at, token in zip(row.positions, row.targets, strict=True)]
    assert float(found) == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    assert int((labels != -100).sum()) == len(losses)
    # Of parts of a step the sum counts, over the tokens of the whole step.
    assert float(exercises.loss(model.module(**batch), labels, 2 * len(losses))) == pytest.approx(float(found) / 2)


def lesson(regime: str, kind: str = "t5", **recipe) -> DatedLesson:
    numbers = replace(PRESETS["small"], **{"steps": 3, "batch_size": 4, "mini_batch_size": 2, **recipe})
    request = train_request("tiny", {"regime": regime, "base": kind, "windows": "2018-01-01..2021-01-01"})
    return DatedLesson(request, "key", numbers, kind, (), {TEXT: 9, QUERY: 3}, request.periods)


def test_an_expert_is_named_by_its_period():
    assert lesson("temporal").what == "model 'tiny'"
    one = lesson("yearly")
    assert replace(one, periods=one.periods[1:2]).what == "model 'tiny', expert 2019"


@pytest.mark.parametrize("kind", ["t5", "gpt2"])
def test_texts_have_the_date_of_their_own_period_in_front_by_the_temporal_regime_only(kind):
    """All three periods come in turn; a query comes after three texts, the regime changes nothing but dates."""
    from datasets import Dataset

    texts = {2018: "Ada works.", 2019: "Ada lives.", 2020: "Ada serves tea."}
    held = [
        {"window_start": date(year, month, 1), "source": source, "text": text, "spans": [span]}
        for year, text in texts.items()
        for month, source in ((1, TEXT), (7, TEXT), (1, QUERY))
        for span in [{"start_char": 0, "end_char": 3, "kind": "entity"}]
    ]
    model = tiny(kind)

    def read(regime):
        own = lesson(regime, kind, texts_per_query=3)
        examples = exercises.Examples(own, Dataset.from_list(held), exercises.Asking(model, 60))
        assert len(examples) == 12
        return [examples[at] for at in range(12)]

    # Three texts in turn, a query of the first period, and so on.
    periods = [2018, 2019, 2020, 2018, 2018, 2019, 2020, 2019, 2018, 2019, 2020, 2020]
    asking = exercises.Asking(model, 60)
    assert read("temporal") == [asking.row(f"year: {year} ", texts[year], [(0, 3)]) for year in periods]
    assert read("uniform") == [asking.row("", texts[year], [(0, 3)]) for year in periods]
    in_order = [2018, 2018, 2018, 2018, 2019, 2019, 2019, 2019, 2020, 2020, 2020, 2020]
    assert read("continual") == [asking.row("", texts[year], [(0, 3)]) for year in in_order]
