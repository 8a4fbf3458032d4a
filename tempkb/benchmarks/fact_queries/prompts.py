"""Makes the texts of prompts about facts: a query in its variants, split at the place of its answer. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from tempkb.benchmarks.fact_queries.templates import BLANK, SUBJECT, Template
from tempkb.benchmarks.prompting import Prompting, Way
from tempkb.prompts import Prompt
from tempkb.store.tables import Table
from tempkb.windows import Granularity

UNDATED, NO_SUBJECT = "undated", "no_subject"
OBJECT_LAST, NO_SUBJECT_OBJECT_LAST = "object_last", "no_subject_object_last"
DATED, DATES = "dated", "dates"
VARIANTS: Mapping[str, str] = {
    UNDATED: "the query as it is",
    NO_SUBJECT: "the query with a noun in place of its subject",
    OBJECT_LAST: "for a query that begins with its answer, another wording that ends with it",
    NO_SUBJECT_OBJECT_LAST: "that wording with a noun in place of its subject",
    DATED: "the query after its date",
    DATES: "the query of a spell after a date on which the object holds (role current), and after dates on which it "
    "does not (wrong_date)",
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


def prompting_of(prompts: Table, variants: Iterable[str]) -> Prompting:
    """Return how models are asked about facts; objects are ranked, so every score includes what ends the object.

    Args:
        variants: its variants, in the order of `VARIANTS`; further ones, which are not scored by default, follow.
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


def forms_of_query(query: str, relation: str, templates: Iterable[Template]) -> dict[str, Form]:
    """Return a query of a released file in the variants that it has; only `undated` if no template fits it.

    Args:
        query: the text of the query, with one `_X_`.
        templates: templates, of which the first that fits is taken.
    """
    found = read_query(query, relation, templates)
    return forms_of(*found) if found else {UNDATED: form_of(query)}


def read_query(query: str, relation: str, templates: Iterable[Template]) -> tuple[Template, str] | None:
    """Return the template and the subject's name of a query whose template is not recorded, as in released files.

    Args:
        templates: templates, of which the first that fits is taken.

    Returns:
        None if no template fits.
    """
    for template in templates:
        if template.relation == relation and (found := _pattern(template).fullmatch(query)):
            return template, found["subject"]
    return None


def ids_of(lefts: Iterable[str], targets: Iterable[str], rights: Iterable[str]) -> Iterator[str | None]:
    """Yield the ids of prompts; None for a target without a character that is not blank, which cannot be asked for."""
    for left, target, right in zip(lefts, targets, rights, strict=True):
        yield Prompt(left, target, right).prompt_id if target.strip() else None


@cache
def _pattern(template: Template) -> re.Pattern[str]:
    """A pattern for the queries of a template; a subject that occurs twice is the same in both places."""
    first, *others = (re.escape(part) for part in template.ask(SUBJECT).split(SUBJECT))
    rest = "(?P=subject)".join(others)
    return re.compile(f"{first}(?P<subject>.+){rest}", re.DOTALL)
