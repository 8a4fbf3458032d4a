"""A home for Python: its tables and results as Arrow, and what the commands do. `tempkb.open` gives it."""

import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tempkb.commands.declared import words_typed
from tempkb.commands.models import OF_MODELS, words_of
from tempkb.core.errors import SettingsError, TempkbError
from tempkb.core.options import Option, nearest, options_of, read_all
from tempkb.core.settings import at_home, home_path
from tempkb.models.scores.requests import GenerateRequest, ScoreRequest
from tempkb.platform.api import open_store, read
from tempkb.platform.planning.declaration import Request as BuildRequest
from tempkb.results.requests import AnswersRequest, KnowledgeRequest
from tempkb.store.tables import SIDE_TABLES, by_name

if TYPE_CHECKING:
    import pyarrow as pa

    from tempkb.commands.runs.jobs import Summary
    from tempkb.models.scores.kinds import Kind

_Method = TypeVar("_Method", bound=Callable[..., Any])
_working = RLock()


def _takes(request: type, *further: Option, without: str = "") -> Callable[[_Method], _Method]:
    """Return a decorator by which a method takes the options of a command, by their names there."""
    options = {one.called: one for one in (*options_of(request).values(), *further) if one.name != without}
    taken = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=one.default) for name, one in options.items()
    ]
    lines = "\n".join(f"            {name}: {one.meaning}" for name, one in options.items())

    def decorate(method: _Method) -> _Method:
        @wraps(method)
        def call(self: "KnowledgeBase", *given: Any, **asked: Any) -> Any:
            if odd := [name for name in asked if name not in options]:
                raise SettingsError(f"{method.__name__}: {odd[0]}: no such option{nearest(odd[0], [*options])}")
            return method(self, *given, **{options[name].name: value for name, value in asked.items()})

        *own, _asked = inspect.signature(method).parameters.values()
        call.__doc__ = (method.__doc__ or "").replace("{options}", lines.lstrip())
        vars(call)["__signature__"] = inspect.signature(method).replace(parameters=[*own, *taken])
        return cast(_Method, call)

    return decorate


class KnowledgeBase:
    """A home: what it has, as Arrow tables (`.to_pandas()` makes data frames of them), and what the commands do.

    Reading holds no lock: the web UI and running jobs go on beside it, and each call sees what is there then. Of
    `build`, `score` and `generate` a process does one after the other. What people should know of a call is a warning.

    Attributes:
        home: its folder.
    """

    def __init__(self, home: str | os.PathLike[str] | None = None) -> None:
        self.home = home_path() if home is None else Path(home).expanduser().resolve()
        _require_home(self.home)
        with self._errors():
            self._store = open_store(home=self.home)

    def __repr__(self) -> str:
        return f"tempkb.open({str(self.home)!r})"

    @property
    def tables(self) -> "pa.Table":
        """What can be read: name, kind (table or view), rows and partitions (null of views), and description.

        Example: `kb.tables.to_pandas()`
        """
        import pyarrow as pa

        rows: list[tuple[object, ...]] = []
        for table in self._store.tables.values():
            made = self._store.lake.versions(table.name)
            rows.append((table.name, "table", sum(one.rows for one in made), len(made), table.meaning))
        rows += [(view.name, "view", None, None, view.meaning) for view in self._store.views.values()]
        names = ["name", "kind", "rows", "partitions", "description"]
        return pa.table([*map(list, zip(*rows, strict=True))], names)

    def read(
        self, table: str, *, columns: Sequence[str] | None = None, partition: str | None = None, **equal: object
    ) -> "pa.Table":
        """Return rows of a table or view, in the order of its key; `tempkb tables NAME` describes its columns.

        Args:
            table: its name in `tables`; or `exclusions` or `manifest`.
            columns: names of those that are wanted, by default all.
            partition: of the table, such as "2021-01-01" of a window or "demo-quarters.2021-01-01" of a release.
            equal: values that columns must have, such as `cut="2021-01-01"` or `release="demo-quarters"`.

        Raises:
            SettingsError: there is no such table, column, partition or comparable value; nothing of the table is
                built; or nothing of the cut, window, release, model, linker, corpus or dump. It names the nearest.

        Example: `kb.read("stable_snapshots", columns=["title", "standing_seconds"], cut="2021-10-01")`
        """
        if partition is not None and table in by_name(SIDE_TABLES):
            equal, partition = {**equal, "partition": partition}, None
        with self._errors():
            return read(self._store, table, [columns] if isinstance(columns, str) else columns, partition, equal)

    def sql(self, query: str) -> "pa.Table":
        """Return the result of one statement that reads the published tables and views, as `tempkb sql` does.

        Raises:
            SettingsError: nothing is published yet, or the query does something else, or is wrong.

        Example: `kb.sql("SELECT cut, count(*) AS pages FROM stable_snapshots GROUP BY cut ORDER BY cut")`
        """
        from tempkb.commands.screens.query import asking

        with self._errors(), asking(self._store, query) as (connection, statement, notes):
            self._warn(notes)
            return connection.sql(statement).to_arrow_table()

    @_takes(KnowledgeRequest)
    def knows(self, **asked: Any) -> "pa.Table":
        """Return what models know of a window, with intervals: the rows of `tempkb knows --csv`, with the same options.

        Args:
            {options}

        Raises:
            SettingsError: there is no such option, model or release, or no score that can be asked.

        Example: `kb.knows(window="2023-01-01..2024-01-01").select(["model", "value", "low", "high", "verdict"])`
        """
        from tempkb.commands.screens.results import read_knowledge
        from tempkb.results.reading import passed_over
        from tempkb.results.tables import KNOWLEDGE
        from tempkb.results.tabling import rows_of_known

        with self._errors():
            _, known, unanswered = read_knowledge(self._store, KnowledgeRequest.of(words_typed(asked)))
            self._warn([*passed_over(self._store), *unanswered])
            return rows_of_known(KNOWLEDGE, known)

    @_takes(AnswersRequest, without="limit")
    def answers(self, model: str, **asked: Any) -> "pa.Table":
        """Return what a model said beside what is right: the rows of `tempkb answers MODEL --csv`.

        Args:
            model: its name.
            {options}

        Raises:
            SettingsError: there is no such option, or the model was not asked, or its answers were not judged yet.

        Example: `kb.answers("demo-causal-2022-01-01", release="demo-quarters")`
        """
        from tempkb.commands.screens.answers import read_judged

        with self._errors():
            return read_judged(self._store, model, AnswersRequest.of(words_typed(asked)))

    @_takes(ScoreRequest, *OF_MODELS)
    def score(self, *models: str | os.PathLike[str], **asked: Any) -> list[str]:
        """Score the prompts of releases, as `tempkb score` does, and return the names of the models.

        Args:
            models: names of models of the home; folders or ids of the Hugging Face hub, which are added first.
            {options}

        Raises:
            SettingsError: there is no such option, model, release or device; nobody is asked, or nothing to ask.
            TempkbError: a model could not be added or asked; what is finished is kept.

        Example: `kb.score("demo-causal-2022-01-01", release="demo-quarters", limit=10)`
        """
        from tempkb.models.scores.kinds import SCORES

        return self._ask(SCORES, models, **asked)

    @_takes(GenerateRequest, *OF_MODELS)
    def generate(self, *models: str | os.PathLike[str], **asked: Any) -> list[str]:
        """Let models answer the questions of releases, as `tempkb generate` does, and return their names.

        Args:
            models: as of `score`; it raises the same errors.
            {options}

        Example: `kb.generate("demo-causal-2022-01-01", release="demo-quarters", limit=10)`
        """
        from tempkb.models.generations.kind import SAID

        return self._ask(SAID, models, **asked)

    @_takes(BuildRequest)
    def build(self, **asked: Any) -> list[str]:
        """Build tables and publish them, as `tempkb build` does, and return the first days of the windows.

        Args:
            {options}

        Raises:
            SettingsError: an option, table, window or setting is unknown or does not fit.
            TempkbError: there is no dump, or something could not be built; what is finished is kept.

        Example: `kb.build(window="2021-01-01..2021-07-01")`
        """
        from tempkb.commands.runs.building import build

        with self._running():
            summary = build(BuildRequest(**read_all("build: ", options_of(BuildRequest), asked)))
            return self._closed(summary, summary.windows)

    def _ask(self, kind: "Kind", models: Iterable[Any], *, is_all: bool = False, **asked: Any) -> list[str]:
        from tempkb.commands.runs.models import ask

        with self._running():
            names = [os.fspath(one) for one in models]
            names, summary = ask(kind, names, *words_of(asked, names), is_all=is_all)
            return self._closed(summary, names)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Let the commands in messages be of this home."""
        try:
            yield
        except TempkbError as error:
            error.args = (at_home(str(error), home=self.home),)
            raise

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Let what commands run, and the processes that they start, work on this home: they know it by the variable."""
        with _working, self._errors():
            before = {name: value for name, value in os.environ.items() if name == "TEMPKB_HOME"}
            os.environ["TEMPKB_HOME"] = str(self.home)
            try:
                yield
            finally:
                del os.environ["TEMPKB_HOME"]
                os.environ.update(before)

    def _warn(self, notes: Iterable[str]) -> None:
        for note in filter(None, notes):
            warnings.warn(at_home(note, home=self.home), stacklevel=3)

    def _closed(self, summary: "Summary", made: list[str]) -> list[str]:
        """Return what was made: notes of the run are warnings, its failures an error."""
        self._warn(summary.notes)
        if summary.failures:
            raise TempkbError("\n".join(dict.fromkeys(summary.failures)))
        return made


def _require_home(home: Path) -> None:
    """Refuse a folder that is no home, and will be none by a build."""
    own = ("home.toml", "tempkb.toml", "dumps", "lake")
    if home.is_dir() and any(home.iterdir()) and not any((home / name).exists() for name in own):
        raise SettingsError(f"home {home}: found a folder of other files; expected a home, with home.toml in it")
    if not home.exists():
        beside = [str(one.parent) for one in home.parent.glob("*/home.toml")]
        build = at_home("build one: tempkb build --dump FILE", home=home)
        near = nearest(str(home), beside) if beside else ""
        raise SettingsError(f"home {home}: no such folder; expected a home; {build}{near}")
