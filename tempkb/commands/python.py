"""A home for Python: its tables and results as Arrow, and what the commands do. `tempkb.open` gives it."""

import inspect
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

from tempkb.commands.declared import words_typed
from tempkb.core.errors import SettingsError, TempkbError
from tempkb.core.options import Request, nearest, options_of
from tempkb.core.settings import at_home, home_path
from tempkb.models.scores.requests import GenerateRequest, ScoreRequest
from tempkb.platform.api import open_store, read
from tempkb.results.requests import AnswersRequest, KnowledgeRequest
from tempkb.store.tables import SIDE_TABLES, by_name

if TYPE_CHECKING:
    import pyarrow as pa

    from tempkb.commands.runs.jobs import Summary

_Method = TypeVar("_Method", bound=Callable[..., Any])
_OPTIONS = "{options}"
_working = RLock()


def _takes(request: type[Request]) -> Callable[[_Method], _Method]:
    """Return a decorator that tells `help` which options a method takes: those of the command, by name."""
    options = options_of(request).values()

    def decorate(method: _Method) -> _Method:
        *own, _asked = inspect.signature(method).parameters.values()
        taken = [inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default) for one in options]
        lines = "\n".join(f"            {one.name}: {one.meaning}" for one in options)
        method.__doc__ = (method.__doc__ or "").replace(_OPTIONS, lines.lstrip())
        vars(method)["__signature__"] = inspect.signature(method).replace(parameters=[*own, *taken])
        return method

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

        Example::

            kb.tables.to_pandas()
        """
        import pyarrow as pa

        rows: list[tuple[object, ...]] = [
            (one.name, "table", sum(version.rows for version in versions), len(versions), one.meaning)
            for one in self._store.tables.values()
            for versions in [self._store.lake.versions(one.name)]
        ]
        rows += [(one.name, "view", None, None, one.meaning) for one in self._store.views.values()]
        names = ("name", "kind", "rows", "partitions", "description")
        return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])

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

        Example::

            kb.read("stable_snapshots", columns=["title", "standing_seconds"], cut="2021-10-01")
            kb.read("mentions", partition="2021-07-01").num_rows
        """
        if partition is not None and table in by_name(SIDE_TABLES):
            equal, partition = {**equal, "partition": partition}, None
        with self._errors():
            wanted = [columns] if isinstance(columns, str) else columns
            return read(self._store, table, wanted, partition, equal)

    def sql(self, query: str) -> "pa.Table":
        """Return the result of one statement that reads (SELECT, FROM, WITH, DESCRIBE ...), as `tempkb sql` does.

        It reads the published tables and views, in `tempkb.duckdb` of the home.

        Raises:
            SettingsError: nothing is published yet, or the query does something else, or is wrong.

        Example::

            kb.sql("SELECT cut, count(*) AS pages FROM stable_snapshots GROUP BY cut ORDER BY cut")
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

        Returns:
            a row for each release, model and scorer, with the columns of the table `knowledge`.

        Raises:
            SettingsError: there is no such option, model or release, or no score that can be asked.

        Example::

            kb.knows(window="2023-01-01..2024-01-01").select(["model", "value", "low", "high", "verdict"])
        """
        from tempkb.commands.screens.results import read_knowledge
        from tempkb.results.reading import passed_over
        from tempkb.results.tables import KNOWLEDGE
        from tempkb.results.tabling import rows_of_known

        with self._errors():
            known, unanswered = read_knowledge(self._store, KnowledgeRequest.of(words_typed(asked)))
            self._warn([*passed_over(self._store), *unanswered])
            return rows_of_known(KNOWLEDGE, known)

    @_takes(AnswersRequest)
    def answers(self, model: str, **asked: Any) -> "pa.Table":
        """Return what a model said beside what is right: the rows of `tempkb answers MODEL --csv`.

        Args:
            model: its name.
            {options}

        Raises:
            SettingsError: there is no such option, or the model was not asked, or its answers were not judged yet.

        Example::

            kb.answers("demo-causal-2022-01-01", releases="demo-quarters")
        """
        from tempkb.commands.screens.answers import read_judged

        with self._errors():
            return read_judged(self._store, model, AnswersRequest.of(words_typed(asked)))

    @_takes(ScoreRequest)
    def score(self, *models: str, **asked: Any) -> list[str]:
        """Score the prompts of releases with models, as `tempkb score` does; what has a score is not asked again.

        Args:
            models: names of models of the home; folders or ids of the Hugging Face hub, which are added first; none for
                all models of the home.
            {options}

        Returns:
            the names of the models; their scores are in the table `prompt_scores`.

        Raises:
            SettingsError: there is no such option, model or release, or nothing to ask.
            TempkbError: a model could not be added or asked; what is finished is kept.

        Example::

            kb.score("demo-causal-2022-01-01", releases="demo-quarters", limit=10)
        """
        from tempkb.commands.runs.models import ask
        from tempkb.models.scores.kinds import SCORES

        with self._working():
            names, summary = ask(SCORES, models, ScoreRequest.of(words_typed(asked)).words, is_all=not models)
            self._close(summary)
            return names

    @_takes(GenerateRequest)
    def generate(self, *models: str, **asked: Any) -> list[str]:
        """Let models answer the questions of releases, as `tempkb generate` does; what is answered is not asked again.

        Args:
            models: as of `score`.
            {options}

        Returns:
            the names of the models; what they said is in the table `generations`.

        Raises:
            SettingsError: there is no such option, model or release, or nothing to ask.
            TempkbError: a model could not be added or asked; what is finished is kept.

        Example::

            kb.generate("demo-causal-2022-01-01", releases="demo-quarters", limit=10)
        """
        from tempkb.commands.runs.models import ask
        from tempkb.models.generations.kind import SAID

        with self._working():
            names, summary = ask(SAID, models, GenerateRequest.of(words_typed(asked)).words, is_all=not models)
            self._close(summary)
            return names

    def build(
        self,
        *,
        select: Sequence[str] = (),
        windows: str = "",
        all_windows: bool = False,
        dump_files: Sequence[str | os.PathLike[str]] = (),
        day: str = "",
        rebuild: bool = False,
    ) -> list[str]:
        """Build tables and publish them, as `tempkb build` does; what is built and current stays.

        Args:
            select: names of the tables that are wanted, by default all.
            windows: those whose first day is in [A, B), as "A..B"; by default what a dump serves and is missing.
            all_windows: all windows that the dumps reach.
            dump_files: an export, SQL tables or Wikidata's JSON, which form one dump.
            day: of the files of Wikidata's JSON.
            rebuild: read a dump again for windows that are built.

        Returns:
            the first days of the windows that were asked for.

        Raises:
            SettingsError: a table, window or setting is unknown or does not fit.
            SourceError: there is no dump to build from.
            TempkbError: something could not be built; what is finished is kept.

        Example::

            kb.build(windows="2021-01-01..2021-07-01")
        """
        from tempkb.commands.runs.building import build
        from tempkb.platform.planning.declaration import Request as BuildRequest

        files = tuple(Path(one).absolute() for one in dump_files)
        with self._working():
            summary = build(BuildRequest(tuple(select), windows, all_windows, files, day, rebuild))
            self._close(summary)
            return summary.windows

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Let the commands in messages be of this home."""
        try:
            yield
        except TempkbError as error:
            error.args = (at_home(str(error), home=self.home),)
            raise

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Let commands, and the processes that they start, work on this home: they know it by the variable."""
        with _working, self._errors():
            before = os.environ.get("TEMPKB_HOME")
            os.environ["TEMPKB_HOME"] = str(self.home)
            try:
                yield
            finally:
                if before is None:
                    del os.environ["TEMPKB_HOME"]
                else:
                    os.environ["TEMPKB_HOME"] = before

    def _warn(self, notes: Sequence[str]) -> None:
        for note in filter(None, notes):
            warnings.warn(at_home(note, home=self.home), stacklevel=3)

    def _close(self, summary: "Summary") -> None:
        """End what has run: its notes are warnings, its failures an error."""
        self._warn(summary.notes)
        if summary.failures:
            raise TempkbError("\n".join(dict.fromkeys(summary.failures)))


def _require_home(home: Path) -> None:
    """Refuse a folder that is no home, and will be none by a build."""
    own = ("home.toml", "tempkb.toml", "dumps", "lake")
    if home.is_dir() and any(home.iterdir()) and not any((home / name).exists() for name in own):
        raise SettingsError(f"home {home}: found a folder of other files; expected a home, with home.toml in it")
    if not home.exists():
        beside = [str(one.parent) for one in home.parent.glob("*/home.toml")]
        near = nearest(str(home), beside) if beside else ""
        build = at_home("build one: tempkb build --dump FILE", home=home)
        raise SettingsError(f"home {home}: no such folder; expected a home; {build}{near}")
