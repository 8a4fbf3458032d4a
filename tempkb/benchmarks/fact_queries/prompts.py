"""Templates of queries, ours and those of users, and the texts of prompts: queries in variants, split at the answer."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tempkb.benchmarks.prompting import Prompting, Way
from tempkb.core.errors import DesignError
from tempkb.core.files import toml_beside
from tempkb.core.prompts import Prompt
from tempkb.core.titles import in_capital
from tempkb.core.windows import Granularity
from tempkb.store.tables import Table, View

SUBJECT, OBJECT, BLANK = "<subject>", "<object>", "_X_"
ENDING_WITH_OBJECT = "dynamic_improved"
"""Our set of templates whose wordings have the object at their end."""
_COLUMNS = ("relation", "language", "wording")
_OPTIONAL = ("name", "subject_noun")
# A part of a wording behind which a sentence begins; opening marks may follow.
_SENTENCE_BEGINS = re.compile(r"(?:^|[.!?\u2026\u3002]\s+)[\s\"'\u201c\u2018\u00ab\u201e\u00bf\u00a1(]*\Z")


@dataclass(frozen=True, order=True)
class Template:
    """A wording of a relation.

    Attributes:
        relation: property, such as P54.
        language: code of the language of the wording and of the names in it.
        wording: a sentence with `<subject>`, once or more, and `<object>`, once.
        name: name of the relation for people; may be empty.
        subject_noun: what replaces the subject in prompts that do not name it, such as "this player"; empty for the
            noun of our own set with this wording, if there is one.
    """

    relation: str
    language: str
    wording: str
    name: str = ""
    subject_noun: str = ""

    def __post_init__(self) -> None:
        """Check the template.

        Raises:
            DesignError: a part is not valid; the message names the template and the part.
        """
        shown = f"template {self.relation} ({self.language}) {self.wording!r}"
        if not re.fullmatch(r"P[1-9]\d*", self.relation):
            raise DesignError(f"{shown}: the relation is {self.relation!r}; expected a property such as P54")
        if not re.fullmatch(r"[a-z]{2,}(-[a-z0-9]+)*", self.language):
            raise DesignError(f"{shown}: the language is {self.language!r}; expected a code such as en")
        if self.wording.count(OBJECT) != 1:
            raise DesignError(f"{shown}: has {OBJECT} {self.wording.count(OBJECT)} times; expected once")
        if SUBJECT not in self.wording:
            raise DesignError(f"{shown}: has no {SUBJECT}; expected one or more")
        if BLANK in self.wording:
            raise DesignError(f"{shown}: contains {BLANK}, which replaces {OBJECT} in queries; write only {OBJECT}")
        if any(mark in self.subject_noun for mark in (SUBJECT, OBJECT, BLANK)):
            raise DesignError(
                f"{shown}: the subject_noun is {self.subject_noun!r}; expected words such as this player, without "
                f"{SUBJECT}, {OBJECT} and {BLANK}"
            )

    def ask(self, subject: str) -> str:
        """Return the query about a subject: with its name, and with `_X_` for the object.

        >>> Template("P54", "en", "<subject> plays for <object>.").ask("Ada")
        'Ada plays for _X_.'
        """
        return subject.join(self.wording.replace(OBJECT, BLANK).split(SUBJECT))

    def ask_without_subject(self) -> str | None:
        """Return the query with a noun in place of the subject's name; None if no noun is known.

        >>> Template("P54", "en", "<subject> plays for <object>.", subject_noun="this player").ask_without_subject()
        'This player plays for _X_.'
        """
        noun = self.subject_noun or _nouns().get((self.relation, self.language, self.wording))
        if not noun:
            return None
        first, *others = self.wording.replace(OBJECT, BLANK).split(SUBJECT)
        text = first
        for part in others:
            begins = _SENTENCE_BEGINS.search(text)
            text += (in_capital(noun[0], self.language) + noun[1:] if begins else noun) + part
        return text

    def ending_with_object(self) -> "Template | None":
        """Return another wording of the relation for a wording that begins with `<object>`; None if there is none."""
        for one in template_set(ENDING_WITH_OBJECT) if self.begins_with_object else ():
            if (one.relation, one.language) == (self.relation, self.language) and not one.begins_with_object:
                return one
        return None

    @property
    def begins_with_object(self) -> bool:
        """Whether nothing precedes the object."""
        return self.wording.lstrip().startswith(OBJECT)

    def to_json(self) -> dict[str, str]:
        """Return the template as plain values; without `subject_noun` if it is empty."""
        values = asdict(self)
        return values if self.subject_noun else {name: values[name] for name in values if name != "subject_noun"}


def template_set(name: str) -> tuple[Template, ...]:
    """Return one of our sets of templates: `templama`, `dynamic` or `dynamic_improved`.

    Raises:
        DesignError: there is no such set.
    """
    sets = _sets()
    if name not in sets:
        raise DesignError(f"templates {name!r}: no such set; known: {', '.join(sets)}, or your own CSV file")
    return sets[name]


def read_templates(path: Path) -> tuple[Template, ...]:
    """Return the templates of a CSV file: relation, language, wording and, optionally, name and subject_noun.

    Raises:
        DesignError: the file lacks a column, or a template in it is not valid; the message names its line.
    """
    if not path.is_file():
        raise DesignError(f"templates {path}: no such file; expected a CSV with the columns {', '.join(_COLUMNS)}")
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            found = _templates_in(csv.DictReader(lines), path)
    except (UnicodeDecodeError, csv.Error) as error:
        raise DesignError(
            f"templates {path}: not a CSV file ({error}); expected one in UTF-8 with the columns {', '.join(_COLUMNS)}"
        ) from None
    if not found:
        raise DesignError(f"templates {path}: has no line after its header; expected one template per line")
    return tuple(found)


def _templates_in(rows: "csv.DictReader[str]", path: Path) -> list[Template]:
    missing = [name for name in _COLUMNS if name not in (rows.fieldnames or ())]
    if missing:
        raise DesignError(
            f"templates {path}: no column {', '.join(missing)}; expected {', '.join(_COLUMNS)} and, optionally, "
            f"{' and '.join(_OPTIONAL)}"
        )
    found = []
    for row in rows:
        try:
            found.append(Template(*((row.get(one) or "").strip() for one in (*_COLUMNS, *_OPTIONAL))))
        except DesignError as error:
            raise DesignError(f"{path}, line {rows.line_num}: {error}") from None
    return found


def number_templates(templates: Sequence[Template]) -> Mapping[Template, int]:
    """Return the templates with their numbers within each relation, from 1; a wording that repeats counts once.

    Raises:
        DesignError: there is no template.
    """
    if not templates:
        raise DesignError("templates: none; expected one of our sets, or a CSV file with one line or more")
    numbers: dict[Template, int] = {}
    seen: set[tuple[str, str, str]] = set()
    for one in templates:
        key = (one.relation, one.language, one.wording)
        if key not in seen:
            seen.add(key)
            numbers[one] = sum(1 for other in numbers if other.relation == one.relation) + 1
    return numbers


@cache
def _sets() -> dict[str, tuple[Template, ...]]:
    return {
        name: tuple(Template(row["relation"], row["language"], row["wording"], row["name"]) for row in rows)
        for name, rows in toml_beside(__file__, "templates.toml").items()
    }


@cache
def _nouns() -> dict[tuple[str, str, str], str]:
    """The nouns of our sets, by relation, language and wording.

    They are not parts of a design, so that releases from before there were nouns have them as well.
    """
    return {
        (row["relation"], row["language"], row["wording"]): row["subject_noun"]
        for rows in toml_beside(__file__, "templates.toml").values()
        for row in rows
    }


UNDATED, NO_SUBJECT = "undated", "no_subject"
OBJECT_LAST, NO_SUBJECT_OBJECT_LAST = "object_last", "no_subject_object_last"
DATED, DATES = "dated", "dates"
VARIANTS: Mapping[str, str] = {
    UNDATED: "the query as it is",
    NO_SUBJECT: "the query with a noun in place of its subject",
    OBJECT_LAST: "for a query that begins with its answer, another wording that ends with it",
    NO_SUBJECT_OBJECT_LAST: "that wording with a noun in place of its subject",
    DATED: "the query after its date",
    DATES: "the query after a date on which the object holds (role current), and after dates on which it does not "
    "(wrong_date)",
}
"""The meaning of each variant; `dated` and `dates`, which are not scored by default, come last."""
_N_DEFAULT = 4
# Candidates of a closed set are asked about queries that have no answer of their own.
_OF_FACTS = "role <> 'candidate'"
_ENDS_WITH_OBJECT = "trim(left_context) <> '' AND NOT regexp_matches(right_context, '[\\p{L}\\p{N}]')"


class Form(NamedTuple):
    """The text of a query around its answer.

    Attributes:
        left: the text before the answer, with the blank between them.
        right: the text after it.
    """

    left: str
    right: str


def prompting_of(prompts: Table, variants: Iterable[str], further: Mapping[str, View] | None = None) -> Prompting:
    """Return how models are asked about facts; objects are ranked, so every score includes what ends the object.

    Args:
        variants: its variants, in the order of `VARIANTS`; further ones, which are not scored by default, follow.
        further: those that no release stores, as in `Prompting`.
    """
    return Prompting(
        prompts,
        tuple(variants),
        _N_DEFAULT,
        templates={"masked": "answer_l2r", "seq2seq": "span_end", "causal": "span_end"},
        view="fact_scores",
        # Nothing precedes an object at the beginning, so a causal model is asked for the whole sentence.
        without_left={"causal": "sentence"},
        answered={
            "masked": Way("beam10", (UNDATED,), _OF_FACTS),
            "seq2seq": Way("greedy", (UNDATED,), _OF_FACTS),
            # Of the two wordings of a query, one ends with the object.
            "causal": Way("greedy", (UNDATED, OBJECT_LAST), f"{_OF_FACTS} AND {_ENDS_WITH_OBJECT}"),
        },
        further=further or {},
        dated=DATED,
    )


def forms_of(template: Template, subject: str) -> dict[str, Form]:
    """Return a query in the variants that it has, without `dated`, which differs between windows."""
    other = template.ending_with_object()
    queries = {
        UNDATED: template.ask(subject),
        NO_SUBJECT: template.ask_without_subject(),
        OBJECT_LAST: other and other.ask(subject),
        NO_SUBJECT_OBJECT_LAST: other and other.ask_without_subject(),
    }
    return {variant: form_of(query) for variant, query in queries.items() if query}


def form_of(query: str) -> Form:
    """Return a query, which has one `_X_`, in two parts."""
    left, right = query.split(BLANK)
    return Form(left, right)


def date_in_words(granularity: Granularity, label: str) -> str:
    """Return what precedes a dated query: TempLAMA's format, for windows of any length.

    >>> date_in_words(Granularity.YEAR, "2019"), date_in_words(Granularity.QUARTER, "2019-Q1")
    ('year: 2019 ', 'quarter: 2019-Q1 ')
    """
    return f"{granularity}: {label} "


def ids_of(lefts: Iterable[str], targets: Iterable[str], rights: Iterable[str]) -> Iterator[str | None]:
    """Yield the ids of prompts; None for a target without a character that is not blank, which cannot be asked for."""
    for left, target, right in zip(lefts, targets, rights, strict=True):
        yield Prompt(left, target, right).prompt_id if target.strip() else None
