"""Kinds of answers that models give, each kept in a table of its own by the same runs: scores, and what models say."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from tempkb.benchmarks.prompting import Prompting, Way
from tempkb.core.model_words import Dtype, Family
from tempkb.core.options import Words
from tempkb.core.prompts import Prompt, Question
from tempkb.models.families import TRAITS
from tempkb.models.scorers import require_template, scorer_name
from tempkb.models.scores.requests import AskRequest, ScoreRequest
from tempkb.models.scores.tables import PROMPT_SCORES
from tempkb.store.said import Noted
from tempkb.store.tables import Table

if TYPE_CHECKING:
    import pyarrow as pa

    from tempkb.models.batching import Limits
    from tempkb.models.loading import LoadedModel


class Asker(NamedTuple):
    """Asks one model in one way.

    Attributes:
        stream: yields an answer to each thing that is asked, in their order.
        made_with: what the manifest of the answers says of it, beside what it says of every run.
    """

    stream: Callable[[Iterable[Any]], Iterator[Any]]
    made_with: Mapping[str, Any] = {}


class Kind(ABC):
    """What models are asked for, and where it is kept.

    Attributes:
        request: what a person may ask for.
        doing: what a run does, as its progress says.
        table: of the answers; one partition per model and way of asking.
        column: of the table, with the name of that way.
        key: column with the id of what is asked; a missing answer is an id without a row.
        key_sql: SQL that gives the id of a row of prompts.
        first: SQL that chooses one row of each answer.
        templates: that models of a family have, the default first.
        require: refuses a template that models of a family do not have; raises a SettingsError.
        named: returns the name of a way of asking; equal names of one model mean equal answers, up to rounding.
        asked: what a model is asked, made of `plan_texts`.
        texts: columns of prompts that a model is asked with, in the order in which neighbours have most in common.
        drafts: how folders of unfinished runs begin.
        noted: the part of what is kept of a model to which a run adds its words; see `Said`.
        otherwise: what a person may do where nothing is to be asked, beside building a release.
        n_of_shard: how many are asked between two things that a killed run leaves behind.
    """

    request: ClassVar[type[AskRequest]]
    doing: ClassVar[str]
    table: ClassVar[Table]
    column: ClassVar[str]
    key: ClassVar[str]
    key_sql: ClassVar[str]
    first: ClassVar[str] = "TRUE"
    templates: ClassVar[Mapping[Family, Sequence[str]]]
    require: Callable[[Family, str], None]
    named: Callable[[Family, str, Dtype], str]
    asked: ClassVar[type[Prompt | Question]]
    texts: ClassVar[tuple[str, ...]]
    drafts: ClassVar[str]
    noted: ClassVar[Noted]
    otherwise: ClassVar[str] = ""
    n_of_shard: ClassVar[int] = 8192

    @abstractmethod
    def ways(self, prompting: Prompting, family: Family, template: str, variants: Sequence[str]) -> list[Way]:
        """Return how models of a family are asked about a benchmark.

        Args:
            prompting: of the benchmark.
            family: of the models.
            template: what a person asked for; empty for what the benchmark names.
            variants: likewise.
        """

    @abstractmethod
    def asker(self, model: "LoadedModel", template: str, limits: "Limits") -> Asker:
        """Return what asks a model in a way."""

    @abstractmethod
    def rows(self, model: str, name: str, ids: Sequence[str], answers: Sequence[Any]) -> "pa.Table":
        """Return answers as rows of the table.

        Args:
            model: its name.
            name: of the way of asking.
            ids: of what was asked.
            answers: in the same order.
        """

    def command_of(self, model: str, words: Words) -> str:
        """Return the command that asks for what words of a request say, such as those that are kept of a model.

        >>> SCORES.command_of("tiny", {"releases": "a,b", "limit": "7", "fixed_shapes": "true"})
        'tempkb score tiny --release a --release b --limit 7 --fixed-shapes'
        """
        return self.request.typed(words, model)

    @property
    def plan_texts(self) -> tuple[str, ...]:
        """The texts in the order in which `asked` takes them."""
        return tuple(name for name in ("left_context", "target", "right_context") if name in self.texts)


class _Scores(Kind):
    """Log-probabilities of prompts."""

    request, doing, drafts = ScoreRequest, "scoring", "scores"
    noted = "asked"
    table, column = PROMPT_SCORES, "scorer"
    key = key_sql = "prompt_id"
    templates = {name: traits.templates for name, traits in TRAITS.items()}
    require, named = staticmethod(require_template), staticmethod(scorer_name)
    asked, texts = Prompt, ("left_context", "right_context", "target")

    def ways(self, prompting: Prompting, family: Family, template: str, variants: Sequence[str]) -> list[Way]:
        """Return the benchmark's own template; prompts without a left context may be asked by another as well."""
        forms = tuple(variants or prompting.defaults)
        found = [Way(template or prompting.templates[family], forms)]
        instead = prompting.without_left.get(family)
        if instead and not template:
            found.append(Way(instead, forms, "trim(left_context) = ''"))
        return found

    def asker(self, model: "LoadedModel", template: str, limits: "Limits") -> Asker:
        """Return a scorer of prompts."""
        from tempkb.models.scoring import Scorer

        return Asker(Scorer(model, template, limits).stream)

    def rows(self, model: str, name: str, ids: Sequence[str], answers: Sequence[Any]) -> "pa.Table":
        """Return a row of `prompt_scores` for each score."""
        import pyarrow as pa

        columns = {
            column: [getattr(score, column) for score in answers]
            for column in PROMPT_SCORES.column_names()
            if column not in ("prompt_id", "model", "scorer")
        }
        about = {"prompt_id": ids, "model": [model] * len(ids), "scorer": [name] * len(ids)}
        return pa.table({**about, **columns}, schema=PROMPT_SCORES.schema)


SCORES = _Scores()
