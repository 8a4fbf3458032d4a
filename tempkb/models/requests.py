"""What a person asks for when adding a model: a name, a checkpoint, and what is known about it.

Presets are the models that the benchmarks' papers scored, by their ids on the Hugging Face hub. A day in `knows_until`
is the first that is not in the training texts, as a cut is. It is named where the model's publisher or a paper names
it, and left open elsewhere.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tempkb.core.errors import SettingsError
from tempkb.core.model_words import ModelRequest, require_name
from tempkb.core.options import Words
from tempkb.core.settings import Home
from tempkb.models.known import located

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


def request_of(name: str, words: Words) -> ModelRequest:
    """Return the request that words make.

    Raises:
        SettingsError: the name or a word is not allowed.
    """
    what = f"model {name!r}"
    require_name(what, name, "such as roberta-2019-q4")
    request = ModelRequest.of(words, what, name=name)
    if not request.checkpoint:
        raise SettingsError(f"{what}: found no checkpoint; expected a folder or an id of the Hugging Face hub")
    return request


def requested(home: Home, name: str, words: Words, said: Words) -> dict[str, Words]:
    """Return what is asked for: one model as typed, as `tempkb.toml` has it or as before, or all of `tempkb.toml`.

    Args:
        name: of the model; empty for all of `tempkb.toml`.
        words: what was typed; without a checkpoint they are added to the lines of that name.
        said: the words with which the model was added before; empty if it was not.

    Raises:
        SettingsError: nothing is asked for, or a word is not allowed.
    """
    lines = lines_of(home)
    if not name:
        if not lines:
            raise SettingsError(
                "model add: found neither a name nor lines [models.NAME] in tempkb.toml of the home; expected a name "
                "and a checkpoint, such as: tempkb model add t5-large google-t5/t5-large"
            )
        wanted = lines
    elif words.get("checkpoint"):
        wanted = {name: words}
    elif name in lines or said:
        wanted = {name: {**lines.get(name, said), **words}}
    else:
        raise SettingsError(
            f"model {name!r}: found no checkpoint and no lines [models.{name}] in tempkb.toml of the home; expected a "
            f"folder or an id of the Hugging Face hub: tempkb model add {name} CHECKPOINT"
        )
    for one, own in wanted.items():
        request_of(one, own)
    return dict(wanted)


def lines_of(home: Home) -> dict[str, Words]:
    """Return what `tempkb.toml` of a home says of models, by name; a folder in it is named from the home."""
    return {
        name: {**words, "checkpoint": located(home.path, str(Path(words["checkpoint"]).expanduser()))}
        for name, words in home.settings.models
    }


def preset(names: Sequence[str]) -> dict[str, Words]:
    """Return the models of presets.

    Raises:
        SettingsError: there is no preset of that name.
    """
    unknown = [name for name in names if name not in PRESETS]
    if unknown:
        raise SettingsError(f"--preset {unknown[0]}: no such preset; expected one of {', '.join(PRESETS)}")
    return {model: words for name in names for model, words in PRESETS[name].items()}
