"""Noun phrases of sentences: by a spaCy pipeline, or, where none is installed, by a bundled chunker.

The bundled one, TextBlob's pattern parser, is cruder: it swallows verbs and loses
adjectives. Who uses it is told so, in a warning, in a column and in a check.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

from tempkb.benchmarks.ecbd.cutting import Token, is_cut
from tempkb.benchmarks.ecbd.sentences import Splitter
from tempkb.errors import ContractError, SettingsError

FALLBACK = "(fallback)"
_BATCH = 256


class Chunk(NamedTuple):
    """A noun phrase: code points of its sentence, half-open.

    Attributes:
        is_proper: is it a name?
        is_pronoun: does it consist of pronouns?
        is_cut: does it look like a part of a larger phrase, or like none (`cutting.py`)?
    """

    start: int
    end: int
    is_proper: bool
    is_pronoun: bool = False
    is_cut: bool = False


class Chunker(Protocol):
    """Finds noun phrases.

    Attributes:
        name: what goes into the tables: program, model and version.
        n_parsed: sentences parsed so far.
    """

    name: str
    n_parsed: int

    def chunks(self, sentences: Iterable[str]) -> Iterator[list[Chunk]]:
        """Yield the noun phrases of each sentence, which is parsed once."""
        ...


def open_chunker(choice: str, model: str, language: str, warn: Callable[[str], None]) -> Chunker:
    """Return the chunker that a design asks for.

    Args:
        choice: `spacy`, `textblob`, or `auto`: spaCy, and where its model is not installed or reads another language
            the bundled one, which reads English; in other languages none, so that there are random spans only.
        model: name or folder of a spaCy pipeline.
        language: of the texts.
        warn: is told when the bundled one has to do, or none.

    Raises:
        SettingsError: `spacy` is asked for and the model is missing, has no parser or reads another language, or the
            bundled one is asked for and is to read another language than English.
    """
    if choice == "textblob":
        if language != "en":
            raise SettingsError(
                f"noun_chunker: the bundled chunker reads English, and the wiki is in {language!r}; install a spaCy "
                "pipeline of that language and name it: --set spacy_model=NAME"
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
            f"noun_chunker: {why}. Until then the bundled chunker finds the noun phrases, which is cruder; "
            "the column `chunker` and the check `chunker_is_spacy` say so"
        )
        return TextBlobChunker()
    warn(
        f"noun_chunker: {why}. The bundled chunker reads English, and the wiki is in {language!r}: this release has "
        "random spans only. For noun phrases install a spaCy pipeline of that language and name it: "
        "--set spacy_model=NAME"
    )
    return NoChunker()


class _MissingModelError(Exception):
    """A spaCy model that is not installed."""


class _OtherLanguageError(Exception):
    """A spaCy model of another language than the wiki's."""


def load_pipeline(model: str, language: str) -> Any:
    """Load a spaCy pipeline that parses.

    Raises:
        SettingsError: it has no parser, or is of a language without rules for noun phrases.
    """
    import spacy

    try:
        pipeline = spacy.load(model, exclude=["ner", "lemmatizer", "textcat"])
    except OSError:
        raise _MissingModelError(
            f"the spaCy model {model!r} is not installed; install it with: python -m spacy download {model}"
        ) from None
    if "parser" not in pipeline.pipe_names or pipeline.vocab.get_noun_chunks is None:
        raise SettingsError(
            f"spacy_model {model!r}: has no parser (its parts: {', '.join(pipeline.pipe_names) or 'none'}) or no "
            f"rules for noun phrases in {pipeline.lang!r}; expected a pipeline such as en_core_web_sm"
        )
    if pipeline.lang != language:
        raise _OtherLanguageError(f"spacy_model {model!r}: reads {pipeline.lang!r}, and the wiki is in {language!r}")
    return pipeline


def spacy_splitter(model: str, language: str) -> Splitter:
    """Return a splitter of paragraphs by the parser of a spaCy pipeline.

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
    """Noun chunks of a spaCy pipeline, and what hangs on their heads: "DNA" and "DNA inside the cell"."""

    def __init__(self, pipeline: Any) -> None:
        meta = pipeline.meta
        self.name = f"spacy {meta['lang']}_{meta['name']} {meta['version']}"
        self.n_parsed = 0
        self._pipeline = pipeline

    def chunks(self, sentences: Iterable[str]) -> Iterator[list[Chunk]]:
        """Yield the noun phrases of each sentence, which is parsed once."""
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
    """A name by the released code's rule: its last word is one, whatever stands before it."""
    return tags[-1] == "PROPN"


class NoChunker:
    """Finds no noun phrase, in languages that neither spaCy's model nor the bundled chunker reads."""

    name = f"none {FALLBACK}"
    n_parsed = 0

    def chunks(self, sentences: Iterable[str]) -> Iterator[list[Chunk]]:
        """Yield an empty list for each sentence."""
        for _ in sentences:
            yield []


class TextBlobChunker:
    """Noun phrases of TextBlob's pattern parser, mended where it is known to err."""

    def __init__(self) -> None:
        from importlib.metadata import version

        self.name = f"textblob-pattern {version('textblob')} {FALLBACK}"
        self.n_parsed = 0

    def chunks(self, sentences: Iterable[str]) -> Iterator[list[Chunk]]:
        """Yield the noun phrases of each sentence, which is parsed once."""
        from textblob.en import parse

        for sentence in sentences:
            self.n_parsed += 1
            tokens = list(_TOKEN.finditer(sentence))
            if not tokens:
                yield []
                continue
            # Tokens of our own, so that we know where they stand.
            said = parse(" ".join(token[0].replace("/", _SLASH) for token in tokens), tokenize=False, chunks=True)
            tagged = [token[:3] for part in said.split() for token in part]
            if len(tagged) != len(tokens):
                raise ContractError(
                    f"textblob: gave {len(tagged)} tags for the {len(tokens)} tokens of {sentence!r}; expected one each"
                )
            universal = [Token(token[0], _universal(tagged, at), token.start()) for at, token in enumerate(tokens)]
            yield [_chunk(universal, [tag for _, tag, _ in tagged], *one) for one in _phrases(tagged)]


# A genitive is a token of its own, an abbreviation's point is not.
_TOKEN = re.compile(
    r"(?:[A-Z]\.)+(?=\W|$)|[$\u00a3\u20ac]?\d[\d.,]*\d|\w+(?:[-.&/]\w+|['\u2019](?!s\b)\w+)*|['\u2019]s\b|[^\w\s]"
)
_SLASH = "&slash;"
_BEFORE_NOUN = frozenset(("DT", "PDT", "PRP$", "JJ", "JJR", "JJS", "CD"))
_NOUNS = frozenset(("NN", "NNS", "NNP", "NNPS", "CD"))
_NO_PART = frozenset(("VB", "VBD", "VBP", "VBZ", "MD", "CC", "TO", "IN", "PRP", "WP", "EX"))
_PRONOUNS = frozenset(("PRP", "WP", "WDT", "DT", "EX"))


def _phrases(tagged: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Return the phrases [first, behind the last): the parser's own, mended.

    What stands before a noun belongs to it ("a long and bitter debate"), and two
    phrases with a genitive between them are one. Two with "of" between them, and
    parts of a date, are phrases by themselves and together.
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
    # A participle after an article is an adjective; else it may be the sentence's verb.
    return tag in _BEFORE_NOUN or (tag in ("VBN", "VBG") and before in ("DT", "PRP$"))


def _joins(tagged: Sequence[Sequence[str]], left: int, right: int) -> bool:
    between = [word for word, _, _ in tagged[left:right]]
    if between in ([], [","]):
        return tagged[right][1] == "CD" and tagged[left - 1][1] in ("NNP", "CD")
    return between == ["of"]


def _parsed_phrases(tagged: Sequence[Sequence[str]]) -> Iterator[tuple[int, int]]:
    """Yield runs of words that the parser holds for parts of phrases, and of nouns that it left alone.

    A verb, a conjunction or a pronoun parts them, wherever the parser saw it.
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
    """Yield a run from which what cannot begin or end a phrase is taken off; numbers alone are no phrase.

    A bare noun behind "to" with another one behind it is a verb ("to shelter travellers").
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


# Penn's tags by their first letters, and what they are among the universal ones.
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
    """The universal tag of a word; a verb where the tagger takes one for a noun ("hides and lives there")."""
    if _is_verb_in_disguise(tagged, at):
        return "VERB"
    word, tag, _ = tagged[at]
    # The tagger takes numbers of one digit for anything.
    return (
        "NUM"
        if word.isdigit()
        else next((universal for penn, universal in _UNIVERSAL if tag.startswith(penn)), "PUNCT")
    )


def _is_verb_in_disguise(tagged: Sequence[Sequence[str]], at: int) -> bool:
    """A bare noun that may be a verb where a verb is likely: behind a modal, "to", a pronoun, or a form of "be"."""
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
    """Does the tagger's dictionary know a verb of this form, or its past or participle?"""
    forms = (f"{word}ed", f"{word}d", f"{word}ing", f"{word.removesuffix('e')}ing")
    known = _lexicon()
    return known.get(word, "").startswith("VB") or any(known.get(form, "").startswith("VB") for form in forms)


@cache
def _lexicon() -> Mapping[str, str]:
    from textblob.en import parser

    lexicon: Mapping[str, str] = parser.lexicon
    return lexicon
