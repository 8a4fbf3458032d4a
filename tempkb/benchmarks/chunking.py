"""Finds noun phrases of sentences with a spaCy pipeline, or, if none is installed, with a bundled chunker.

The bundled one, TextBlob's pattern parser, is cruder: it includes verbs and loses
adjectives. A warning, a column and a check report that it was used.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tempkb.benchmarks.cutting import Token, is_cut
from tempkb.benchmarks.sentences import Splitter
from tempkb.core.errors import ContractError, SettingsError

FALLBACK = "(fallback)"
_BATCH = 256


class Chunk(NamedTuple):
    """A noun phrase: half-open range of code points of its sentence.

    Attributes:
        is_cut: whether it looks like a part of a larger phrase, or not like a noun phrase (`forms.py`).
    """

    start: int
    end: int
    is_proper: bool
    is_pronoun: bool = False
    is_cut: bool = False


class Chunker(Protocol):
    """Finds noun phrases.

    Attributes:
        name: program, model and version, for the tables.
    """

    name: str
    n_parsed: int

    def chunks(self, sentences: Iterable[str]) -> Iterator[list[Chunk]]:
        """Yield the noun phrases of each sentence."""
        ...


def open_chunker(choice: str, model: str, language: str, warn: Callable[[str], None] = lambda _why: None) -> Chunker:
    """Return the chunker that a design names.

    Args:
        choice: `spacy`, `textblob`, `none` or `auto`. `auto` is spaCy; if its model is not installed or is for another
            language, the bundled chunker for English, and no chunker (random spans only) for other languages.
        model: name or folder of a spaCy pipeline.
        warn: receives a message if the bundled chunker is used, or none.

    Raises:
        SettingsError: `spacy` was chosen and the model is missing, has no parser or is for another language, or
            `textblob` was chosen for another language than English.
    """
    if choice == "none":
        return NoChunker()
    if choice == "textblob":
        if language != "en":
            raise SettingsError(
                f"noun_chunker: the bundled chunker reads English, and the wiki is in {language!r}; install a spaCy "
                "pipeline of that language and name it as spacy_model"
            )
        return TextBlobChunker()
    try:
        return SpacyChunker(load_pipeline(model, language))
    except (_MissingModelError, _OtherLanguageError) as unfit:
        if choice == "spacy":
            raise SettingsError(f"noun_chunker: {unfit}") from None
        return _stand_in(str(unfit), language, warn)


def _stand_in(why: str, language: str, warn: Callable[[str], None]) -> Chunker:
    if language == "en":
        warn(
            f"noun_chunker: {why}. The bundled chunker, which is cruder, finds the noun phrases instead, "
            "which is written down beside them"
        )
        return TextBlobChunker()
    warn(
        f"noun_chunker: {why}. The bundled chunker reads English, and the wiki is in {language!r}: no noun "
        "phrases are found. For some install a spaCy pipeline of that language and name it as spacy_model"
    )
    return NoChunker()


class _MissingModelError(Exception):
    """A spaCy model that is not installed."""


class _OtherLanguageError(Exception):
    """A spaCy model for another language than the wiki's."""


def load_pipeline(model: str, language: str) -> Any:
    """Return a spaCy pipeline with a parser.

    Raises:
        SettingsError: it has no parser, or is for a language without rules for noun phrases.
    """
    absent = f"the spaCy model {model!r} is not installed; install it with: python -m spacy download {model}"
    if not _may_be_there(model):
        raise _MissingModelError(absent)
    import spacy

    try:
        pipeline = spacy.load(model, exclude=["ner", "lemmatizer", "textcat"])
    except OSError:
        raise _MissingModelError(absent) from None
    if "parser" not in pipeline.pipe_names or pipeline.vocab.get_noun_chunks is None:
        raise SettingsError(
            f"spacy_model {model!r}: has no parser (its parts: {', '.join(pipeline.pipe_names) or 'none'}) or no "
            f"rules for noun phrases in {pipeline.lang!r}; expected a pipeline such as en_core_web_sm"
        )
    if pipeline.lang != language:
        raise _OtherLanguageError(f"spacy_model {model!r}: reads {pipeline.lang!r}, and the wiki is in {language!r}")
    return pipeline


def _may_be_there(model: str) -> bool:
    """Is there a package, folder or blank pipeline of that name? Importing spaCy, and torch with it, takes seconds."""
    if model.startswith("blank:") or Path(model).exists():
        return True
    try:
        distribution(model)
    except (PackageNotFoundError, ValueError):
        return False
    return True


def spacy_splitter(model: str, language: str) -> Splitter:
    """Return a splitter of paragraphs that uses the parser of a spaCy pipeline.

    Raises:
        SettingsError: the pipeline is not installed, or cannot parse.
    """
    try:
        pipeline = load_pipeline(model, language)
    except (_MissingModelError, _OtherLanguageError) as unfit:
        raise SettingsError(f"sentences: {unfit}; or take sentencex") from None

    def split(paragraph: str) -> list[tuple[int, int]]:
        return [(one.start_char, one.end_char) for one in pipeline(paragraph).sents]

    return split


class SpacyChunker:
    """Noun chunks of a spaCy pipeline, also with what depends on their heads: "DNA" and "DNA inside the cell"."""

    def __init__(self, pipeline: Any) -> None:
        meta = pipeline.meta
        self.name = f"spacy {meta['lang']}_{meta['name']} {meta['version']}"
        self.n_parsed = 0
        self._pipeline = pipeline

    def chunks(self, sentences: Iterable[str]) -> Iterator[list[Chunk]]:
        """Yield the noun phrases of each sentence."""
        for parsed in self._pipeline.pipe(sentences, batch_size=_BATCH):
            self.n_parsed += 1
            yield _of_parse(parsed)


def _of_parse(parsed: Any) -> list[Chunk]:
    found = {}
    tokens = [Token(token.text, token.pos_, token.idx) for token in parsed]
    for chunk in parsed.noun_chunks:
        root = chunk.root
        for span in (chunk, parsed[root.left_edge.i : root.right_edge.i + 1]):
            tags = [token.pos_ for token in span]
            found[span.start_char, span.end_char] = Chunk(
                span.start_char,
                span.end_char,
                _is_proper(tags),
                all(tag == "PRON" for tag in tags),
                is_cut(tokens, span.start, span.end),
            )
    return [found[key] for key in sorted(found)]


def _is_proper(tags: Sequence[str]) -> bool:
    """Whether a phrase is a name by the released code's rule: its last word is a proper noun."""
    return tags[-1] == "PROPN"


class NoChunker:
    """Finds no noun phrases; used for languages without a spaCy model and without the bundled chunker."""

    name = f"none {FALLBACK}"
    n_parsed = 0

    def chunks(self, sentences: Iterable[str]) -> Iterator[list[Chunk]]:
        """Yield an empty list for each sentence."""
        for _ in sentences:
            yield []


class TextBlobChunker:
    """Noun phrases of TextBlob's pattern parser, with corrections of its known errors."""

    def __init__(self) -> None:
        from importlib.metadata import version

        self.name = f"textblob-pattern {version('textblob')} {FALLBACK}"
        self.n_parsed = 0

    def chunks(self, sentences: Iterable[str]) -> Iterator[list[Chunk]]:
        """Yield the noun phrases of each sentence."""
        from textblob.en import parse

        for sentence in sentences:
            self.n_parsed += 1
            tokens = list(_TOKEN.finditer(sentence))
            if not tokens:
                yield []
                continue
            # The parser gets our own tokens, so that their offsets are known.
            parsed = parse(" ".join(token[0].replace("/", _SLASH) for token in tokens), tokenize=False, chunks=True)
            tagged = [token[:3] for part in parsed.split() for token in part]
            if len(tagged) != len(tokens):
                raise ContractError(
                    f"textblob: gave {len(tagged)} tags for the {len(tokens)} tokens of {sentence!r}; expected one each"
                )
            universal = [Token(token[0], _universal(tagged, at), token.start()) for at, token in enumerate(tokens)]
            yield [_chunk(universal, [tag for _, tag, _ in tagged], *one) for one in _phrases(tagged)]


# A possessive is a token of its own, the full stop of an abbreviation is not.
_TOKEN = re.compile(
    r"(?:[A-Z]\.)+(?=\W|$)|[$\u00a3\u20ac]?\d[\d.,]*\d|\w+(?:[-.&/]\w+|['\u2019](?!s\b)\w+)*|['\u2019]s\b|[^\w\s]"
)
_SLASH = "&slash;"
_BEFORE_NOUN = frozenset(("DT", "PDT", "PRP$", "JJ", "JJR", "JJS", "CD"))
_NOUNS = frozenset(("NN", "NNS", "NNP", "NNPS", "CD"))
_NO_PART = frozenset(("VB", "VBD", "VBP", "VBZ", "MD", "CC", "TO", "IN", "PRP", "WP", "EX"))
_PRONOUNS = frozenset(("PRP", "WP", "WDT", "DT", "EX"))


def _phrases(tagged: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Return the corrected phrases of the parser as half-open ranges of tokens.

    Words before a noun belong to it ("a long and bitter debate"), and two phrases with
    a possessive between them are one. Two phrases with "of" between them, and parts of
    a date, are phrases by themselves and together.
    """
    found: list[tuple[int, int]] = []
    for first, behind in _parsed_phrases(tagged):
        free_from = found[-1][1] if found else 0
        while first > free_from and _belongs(tagged, first - 1, free_from):
            first -= 1
        if found and first == found[-1][1] + 1 and tagged[first - 1][1] == "POS":
            first = found.pop()[0]
        found.append((first, behind))
    joined = [(left[0], right[1]) for left, right in pairwise(found) if _joins(tagged, left[1], right[0])]
    return sorted({*found, *joined})


def _belongs(tagged: Sequence[Sequence[str]], at: int, free_from: int) -> bool:
    tag, before = tagged[at][1], tagged[at - 1][1] if at > free_from else ""
    if tag == "CC":
        return before.startswith("JJ") and tagged[at + 1][1].startswith("JJ")
    # A participle after an article is an adjective; otherwise it may be the sentence's verb.
    return tag in _BEFORE_NOUN or (tag in ("VBN", "VBG") and before in ("DT", "PRP$"))


def _joins(tagged: Sequence[Sequence[str]], left: int, right: int) -> bool:
    between = [word for word, _, _ in tagged[left:right]]
    if between in ([], [","]):
        return tagged[right][1] == "CD" and tagged[left - 1][1] in ("NNP", "CD")
    return between == ["of"]


def _parsed_phrases(tagged: Sequence[Sequence[str]]) -> Iterator[tuple[int, int]]:
    """Yield runs of words that the parser takes for parts of phrases, and of nouns that it left out.

    A verb, a conjunction or a pronoun ends a run, even if the parser includes it.
    """
    first: int | None = None
    for at, (_, tag, part) in enumerate([*tagged, ("", "", "O")]):
        is_part = (part.endswith("-NP") or tag in _NOUNS) and tag not in _NO_PART
        if first is not None and (not is_part or part == "B-NP"):
            yield from _with_noun(tagged, first, at)
            first = None
        if is_part and first is None:
            first = at


def _with_noun(tagged: Sequence[Sequence[str]], first: int, behind: int) -> Iterator[tuple[int, int]]:
    """Yield a run without words that cannot begin a phrase; nothing if it has only numbers or ends with a possessive.

    A bare noun between "to" and another noun is a verb ("to shelter travellers").
    """
    while first < behind and tagged[first][1] in ("VBN", "VBG", "POS", "RB"):
        first += 1
    if behind - first > 1 and tagged[first][1] == "NN" and first and tagged[first - 1][0].lower() == "to":
        first += 1
    tags = [tag for _, tag, _ in tagged[first:behind]]
    if tags and tags[-1] != "POS" and any(tag != "CD" for tag in tags):
        yield first, behind


def _chunk(tokens: Sequence[Token], tags: Sequence[str], first: int, behind: int) -> Chunk:
    own = tags[first:behind]
    return Chunk(
        tokens[first].start,
        tokens[behind - 1].end,
        own[-1].startswith("NNP"),
        all(tag in _PRONOUNS for tag in own),
        is_cut(tokens, first, behind),
    )


# Prefixes of Penn's tags, and their universal tags.
_UNIVERSAL = (
    ("NNP", "PROPN"),
    ("NN", "NOUN"),
    ("JJ", "ADJ"),
    ("RB", "ADV"),
    ("WRB", "ADV"),
    ("VB", "VERB"),
    ("MD", "VERB"),
    ("CD", "NUM"),
    ("DT", "DET"),
    ("PDT", "DET"),
    ("PRP$", "DET"),
    ("WDT", "PRON"),
    ("PRP", "PRON"),
    ("WP", "PRON"),
    ("EX", "PRON"),
    ("IN", "ADP"),
    ("TO", "ADP"),
    ("CC", "CCONJ"),
    ("POS", "PART"),
    ("RP", "PART"),
    ("SYM", "SYM"),
)


def _universal(tagged: Sequence[Sequence[str]], at: int) -> str:
    """The universal tag of a word; VERB also for verbs that the tagger takes for nouns ("hides and lives there")."""
    if _is_verb_in_disguise(tagged, at):
        return "VERB"
    word, tag, _ = tagged[at]
    # The tagger's tags of single digits are unreliable.
    return (
        "NUM"
        if word.isdigit()
        else next((universal for penn, universal in _UNIVERSAL if tag.startswith(penn)), "PUNCT")
    )


def _is_verb_in_disguise(tagged: Sequence[Sequence[str]], at: int) -> bool:
    """Whether a bare noun may be a verb and is where a verb is likely: after a modal, "to", a pronoun, or "be"."""
    word, tag, _ = tagged[at]
    before, tag_before, _ = tagged[at - 1] if at else ("", "", "")
    if tag == "NNS":
        singulars = (word.removesuffix("s"), word.removesuffix("es"))
        is_expected = tag_before in _BEFORE_FINITE or before.lower() in _RELATIVES
        return is_expected and any(_may_be_verb(one) for one in singulars)
    is_expected = tag_before in _BEFORE_BARE or before.lower() in _BEFORE_VERB
    return tag == "NN" and is_expected and _may_be_verb(word)


_BEFORE_FINITE = frozenset(("CC", "RB", "WDT", "WP", "PRP"))
_BEFORE_BARE = frozenset(("MD", "TO", "WDT", "WP", "PRP"))
_RELATIVES = frozenset(("that", "which", "who"))
_BEFORE_VERB = _RELATIVES | frozenset(("to", "is", "are", "was", "were", "be", "been", "not"))


@cache
def _may_be_verb(word: str) -> bool:
    """Whether the tagger's dictionary has this form as a verb, or its past tense or participle."""
    forms = (f"{word}ed", f"{word}d", f"{word}ing", f"{word.removesuffix('e')}ing")
    known = _lexicon()
    return known.get(word, "").startswith("VB") or any(known.get(form, "").startswith("VB") for form in forms)


@cache
def _lexicon() -> Mapping[str, str]:
    from textblob.en import parser

    lexicon: Mapping[str, str] = parser.lexicon
    return lexicon
