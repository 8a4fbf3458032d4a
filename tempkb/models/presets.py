"""Presets: the models that the benchmarks' papers scored, by their ids on the Hugging Face hub.

A day in `knows_until` is the first that is not in the training texts, as a cut is. It is named where the model's
publisher or a paper names it, and left open elsewhere.
"""

from collections.abc import Mapping

# Suffix on the hub, quarter that is the last one trained on, and the day after it.
_TIMELMS = (
    ("2019-90m", "2019-q4", "2020-01-01"),
    ("mar2020", "2020-q1", "2020-04-01"),
    ("jun2020", "2020-q2", "2020-07-01"),
    ("sep2020", "2020-q3", "2020-10-01"),
    ("dec2020", "2020-q4", "2021-01-01"),
    ("mar2021", "2021-q1", "2021-04-01"),
    ("jun2021", "2021-q2", "2021-07-01"),
    ("sep2021", "2021-q3", "2021-10-01"),
    ("dec2021", "2021-q4", "2022-01-01"),
    ("mar2022", "2022-q1", "2022-04-01"),
    ("jun2022", "2022-q2", "2022-07-01"),
)

PRESETS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    # DynamicTempLAMA's models: RoBERTa, trained further on the tweets of each quarter.
    "timelms": {
        f"timelm-{quarter}": {
            "checkpoint": f"cardiffnlp/twitter-roberta-base-{suffix}",
            "family": "masked",
            "knows_until": day,
        }
        for suffix, quarter, day in _TIMELMS
    },
    # ECBD's models. GPT-Neo read the Pile, which has Wikipedia of March 2020 and was published at the end of that year.
    "ecbd": {
        "t5-large": {"checkpoint": "google-t5/t5-large", "family": "seq2seq"},
        "bart-large": {"checkpoint": "facebook/bart-large", "family": "seq2seq"},
        "gpt-neo-1.3b": {
            "checkpoint": "EleutherAI/gpt-neo-1.3B",
            "family": "causal",
            "knows_until": "2020-03-01..2021-01-01",
        },
    },
    # TempLAMA's baseline: T5 trained further with salient spans of Wikipedia (ssm), and then on questions (nq).
    "cbqa": {
        "t5-small-ssm": {"checkpoint": "google/t5-small-ssm", "family": "seq2seq"},
        "t5-large-ssm": {"checkpoint": "google/t5-large-ssm", "family": "seq2seq"},
        "t5-large-ssm-nq": {"checkpoint": "google/t5-large-ssm-nq", "family": "seq2seq"},
    },
}
"""Models by preset and name, each with the words of a request."""
