"""The two released formats, read and written: ECBD's nine fields, and the follow-up's (entity knowledge propagation).

A record that is read and written again is equal to what it was. Pure but for reading files.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.ecbd.sentences import MASK
from tempkb.benchmarks.ecbd.words import words_of
from tempkb.errors import SourceError

_AFTER = "<extra_id_1>"
_MOST_WORDS = 5
_MASKINGS = 10
_TRIES = 200


@dataclass(frozen=True)
class ClozeRecord:
    """An item in the released nine fields (the released code's README).

    Attributes:
        ex_id: title, page, sentence and span; not unique across the kinds of spans in the released data.
        masked_sentence: with the mask for the answer.
        answer: the masked text.
        span_type: NP-COMMON, NP-PROPER or RANDOM.
        definition: sentences of the article's first paragraph; the first one is used.
        year: of origin, or popular.
        mention: how the entity is mentioned.
        mention_tokens: [first, behind the last) in spaCy's tokens.
    """

    ex_id: str
    masked_sentence: str
    answer: str
    span_type: str
    definition: tuple[str, ...]
    year: str
    mention: str
    mention_tokens: tuple[int, int]

    def to_json(self) -> dict[str, Any]:
        """The record with the released names, in their order."""
        return {
            "ex_id": self.ex_id,
            "masked_sentence": self.masked_sentence,
            "answer_str": _target(self.answer),
            "answer_d": {MASK: self.answer},
            "span_type": self.span_type,
            "definition": list(self.definition),
            "year": self.year,
            "entity_span_str": self.mention,
            "entity_span_loc": list(self.mention_tokens),
        }


def cloze_record(said: Mapping[str, Any]) -> ClozeRecord:
    """Read a record of nine fields.

    Raises:
        ValueError: a field is missing, or its answers differ.
    """
    answer = said["answer_d"][MASK]
    if said["answer_str"] != _target(answer):
        raise ValueError(f"answer_str is {said['answer_str']!r}; expected {_target(answer)!r}, as answer_d says")
    first, behind = said["entity_span_loc"]
    return ClozeRecord(
        said["ex_id"],
        said["masked_sentence"],
        answer,
        said["span_type"],
        tuple(said["definition"]),
        said["year"],
        said["entity_span_str"],
        (first, behind),
    )


@dataclass(frozen=True)
class ProbeRecord:
    """An item in the follow-up's fields: a masked definition to learn from, and a sentence that probes what was learnt.

    Attributes:
        ex_id: as in the nine fields.
        definition: first sentence of the article, itself with a mask.
        definition_answer: what that mask stands for.
        category: of the entity.
        classes: it is an instance of, as "label (Qid)"; one text in some released files.
        mention: how the probe mentions the entity.
        probe: a sentence with a mask.
        labels: what may fill it; the released files have one, or several to choose from.
        further: the format's other fields, as they are.
    """

    ex_id: str
    definition: str
    definition_answer: str
    category: str
    classes: tuple[str, ...] | str
    mention: str
    probe: str
    labels: tuple[str, ...] | str
    further: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The record with the released names."""
        one = isinstance(self.labels, str)
        label = {"label": _target(str(self.labels))} if one else {"labels": [_target(each) for each in self.labels]}
        own = {
            "ex_id": self.ex_id,
            "definition": self.definition,
            "def_target": _target(self.definition_answer),
            "category": self.category,
            "qid": self.classes if isinstance(self.classes, str) else list(self.classes),
            "ent_str": self.mention,
        }
        return own | dict(self.further) | {"probe_sentences": {"template_0": {"probe_sentence": self.probe, **label}}}


_OWN = ("ex_id", "definition", "def_target", "category", "qid", "ent_str", "probe_sentences")


def probe_record(said: Mapping[str, Any]) -> ProbeRecord:
    """Read a record of the follow-up's format.

    Raises:
        ValueError: a field is missing, or there is more than one probe.
    """
    if set(said["probe_sentences"]) != {"template_0"}:
        raise ValueError(f"probe_sentences has {sorted(said['probe_sentences'])}; expected template_0 alone")
    probe = said["probe_sentences"]["template_0"]
    labels = _answer(probe["label"]) if "label" in probe else tuple(_answer(one) for one in probe["labels"])
    classes = said["qid"]
    return ProbeRecord(
        said["ex_id"],
        said["definition"],
        _answer(said["def_target"]),
        said["category"],
        classes if isinstance(classes, str) else tuple(classes),
        said["ent_str"],
        probe["probe_sentence"],
        labels,
        {name: value for name, value in said.items() if name not in _OWN},
    )


_Record = TypeVar("_Record", ClozeRecord, ProbeRecord)


def read_records(path: Path, read: Callable[[Mapping[str, Any]], _Record]) -> Iterator[_Record]:
    """Yield the records of a file of JSON lines, or of a single JSON object.

    Args:
        path: the file.
        read: `cloze_record` or `probe_record`.

    Raises:
        SourceError: names the file, the line, and what is wrong with it.
    """
    text = path.read_text("utf-8")
    lines = [text] if _is_object(text) else text.splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = read(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            told = f"the field {error} is missing" if isinstance(error, KeyError) else str(error)
            raise SourceError(
                f"{path}, line {number}: no record of this format ({told}); fetch the file again"
            ) from None
        yield record


def maskings(definition: str, seed: int, *key: object) -> list[tuple[str, str]]:
    """Return up to ten random maskings of a definition, each once: (text with the mask, what it stands for)."""
    words = words_of(definition)
    found: dict[tuple[int, int], tuple[str, str]] = {}
    for number in range(_TRIES if words else 0):
        chance = draw(seed, "masking", *key, number)
        first = chance // _MOST_WORDS % len(words)
        last = first + chance % _MOST_WORDS
        if last < len(words) and (first, last) not in found:
            start, end = words[first].start, words[last].end
            found[first, last] = (f"{definition[:start]}{MASK}{definition[end:]}", definition[start:end])
        if len(found) == _MASKINGS:
            break
    return list(found.values())


def as_pair(masking: tuple[str, str]) -> list[str]:
    """A masking as the follow-up's `additional_sentences` have it."""
    return [masking[0], _target(masking[1])]


def _target(answer: str) -> str:
    return f"{MASK} {answer} {_AFTER}"


def _answer(target: str) -> str:
    if not target.startswith(f"{MASK} ") or not target.endswith(f" {_AFTER}"):
        raise ValueError(f"found {target!r}; expected '{MASK} ... {_AFTER}'")
    return target.removeprefix(f"{MASK} ").removesuffix(f" {_AFTER}")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
