"""What a model is to read: texts of a corpus and train queries of a release, chosen by hash, as many of each period."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tempkb.benchmarks.fact_queries.prompts import UNDATED
from tempkb.benchmarks.register import entry_of, release_versions, require_whole
from tempkb.core.errors import SettingsError
from tempkb.core.options import listed
from tempkb.core.windows import Window, window_of
from tempkb.models.corpora.steps import MEMORY, versions_in
from tempkb.models.corpora.tables import DATED_TEXTS, TRAIN
from tempkb.models.training.requests import TrainRequest
from tempkb.models.training.steps import OF_FACTS, PROMPTS
from tempkb.models.training.tables import MIXTURES, QUERY, TEXT
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.memory import spilling_to, view_files
from tempkb.store.store import Store
from tempkb.store.versions import Version

if TYPE_CHECKING:
    import duckdb

_NOT_DRAWN = "not_drawn: training ends before it would be read"
_BATCH_ROWS = 8_192
# What there is to read, and why a row is not read, or nothing. An item has the same prompt in each window in which its
# answer holds.
_THERE = f"""
    SELECT '{TEXT}' AS source, window_start, text_id, NULL::VARCHAR AS item_id, text, spans,
           CASE WHEN split <> '{TRAIN}' THEN 'held_out: for validation or the test'
                WHEN is_since_first_window AND NOT $oldest THEN 'oldest: may be much older than its window'
                WHEN len(spans) = 0 AND $has_spans THEN 'no_spans: nothing can be asked for in it'
                WHEN text IN (SELECT trim(left_context || target || right_context) FROM asked
                              WHERE split <> '{TRAIN}' AND role = 'current')
                THEN 'item: it is the sentence of an item of a release that is not for training'
                ELSE '' END AS why
    FROM corpus
    UNION ALL
    SELECT '{QUERY}', window_start, prompt_id, min(item_id), any_value(left_context || target || right_context),
           any_value([{{'start_char': length(left_context), 'end_char': length(left_context) + length(target),
                        'kind': 'answer'}}]), ''
    FROM queries WHERE variant = '{UNDATED}' AND role = 'current' AND split = '{TRAIN}'
      AND window_start >= $first AND window_start < $end
    GROUP BY window_start, prompt_id
"""
_COUNTED = f"""
    SELECT source, date_trunc($period, window_start)::DATE, why, count(*), sum(strlen(text))::BIGINT
    FROM ({_THERE}) GROUP BY ALL
"""
_ROWS = f"""
    WITH there AS ({_THERE}), drawn AS (
        SELECT source, window_start, text_id FROM there WHERE why = ''
        QUALIFY row_number() OVER (
            PARTITION BY source, date_trunc($period, window_start)
            ORDER BY md5(concat_ws(' ', $seed, text_id)), window_start
        ) <= CASE WHEN source <> '{TEXT}' THEN $most_queries
                  WHEN window_start < $newest THEN $most_texts ELSE $most_newest END
    )
    SELECT $model AS model, window_start, source, CASE source WHEN '{TEXT}' THEN $corpus ELSE $release END AS name,
           text_id, item_id, text, spans, $regime AS regime, $period AS period, $base AS base,
           $steps::INTEGER AS steps, $newest_share::DOUBLE AS newest_share
    FROM there SEMI JOIN drawn USING (source, window_start, text_id) ORDER BY window_start, source, text_id
"""


@dataclass(frozen=True)
class Counts:
    """Rows of which a mixture is made.

    Attributes:
        rows: that may be read, by source and period.
        left_out: how many are not read, by the reason.
        n_bytes: of all that may be read.
    """

    rows: Mapping[str, Mapping[Window, int]]
    left_out: Mapping[str, int]
    n_bytes: int


class Mixing:
    """Makes the mixture of a model.

    Args:
        has_spans: are only texts read in which something can be asked for?

    Raises:
        SettingsError: the corpus has no texts of these windows, or the release no queries.
        DesignError: there is no such release, or it is not whole.
    """

    def __init__(self, store: Store, request: TrainRequest, *, has_spans: bool) -> None:
        self._store, self.request, self._recipe = store, request, request.recipe()
        (first, end), period, self.periods = request.windows, request.period, request.periods
        self._texts = versions_in(store.lake, request.corpus, first, end) if self._recipe.texts_per_query else []
        self._queries = self._versions_of_queries() if request.release else []
        self._chosen = {"first": f"{first}", "end": f"{end}", "period": f"{period}", "oldest": self._recipe.oldest}
        self._chosen["has_spans"] = has_spans
        self._told = {"regime": request.regime, "base": Path(request.base).name, "steps": self._recipe.steps}
        self._told["newest_share"] = self._recipe.newest_share

    @property
    def inputs(self) -> dict[str, str]:
        """Versions from which it is made, by table and partition."""
        return {f"{one.table} {one.partition}": one.version for one in (*self._texts, *self._queries)}

    @property
    def until(self) -> date:
        """The end of the last window of which something is read."""
        last = max((one.partition for one in self._texts), default="")[-10:]
        granularity = self._store.home.settings.granularity
        return window_of(date.fromisoformat(last), granularity).end if last else self.request.windows[1]

    @property
    def n_examples(self) -> dict[str, int]:
        """How many examples a training reads, of each expert if there are some, by source."""
        n, each = self._recipe.steps * self._recipe.batch_size, self._recipe.texts_per_query + 1
        n_queries = n // each if self._queries else 0
        return {TEXT: n - n_queries, QUERY: n_queries}

    def _most(self, source: str, period: Window, rows: Mapping[Window, int]) -> int:
        """How many rows of a period are read at most."""
        n, n_periods = self.n_examples[source], 1 if self.request.how.has_experts else sum(map(bool, rows.values()))
        if source == TEXT and self._recipe.newest_share is not None:
            n, n_newest = self._recipe.shared_out(n)
            if period == self.periods[-1]:
                return n_newest
            n_periods -= 1
        return ceil(n / max(1, n_periods))

    def made(self, folder: Path) -> Version:
        """Return the mixture, which is written unless it is there; see `counted`."""
        request, held = self.request, self._store.lake.current(MIXTURES.name, self.request.name)
        is_split = request.how.has_experts
        made_with = self._chosen | self._told | {"seed": f"{request.seed}", "has_experts": is_split, **self.n_examples}
        is_same = held is not None and held.is_of_present_code(MIXTURES) and held.inputs == self.inputs
        if held is not None and is_same and {**held.settings, **made_with} == held.settings:
            return held
        with self.seeing(folder) as connection:
            counts = self.counted(connection)
            left_out = [Exclusion(why, n, "") for why, n in counts.left_out.items()]
            params = {
                **self._chosen,
                **self._told,
                "model": request.name,
                "corpus": request.corpus,
                "release": request.release,
                "seed": f"{request.seed}",
                "newest": self.periods[-1].start,
                "most_texts": self._most(TEXT, self.periods[0], counts.rows[TEXT]),
                "most_newest": self._most(TEXT, self.periods[-1], counts.rows[TEXT]),
                "most_queries": self._most(QUERY, self.periods[0], counts.rows[QUERY]),
            }
            reader = connection.sql(_ROWS, params=params).to_arrow_reader(_BATCH_ROWS)
            rows = (pa.Table.from_batches([batch]) for batch in reader)
            return self._store.write(MIXTURES, request.name, rows, Provenance(self.inputs, made_with), left_out)

    @contextmanager
    def seeing(self, folder: Path) -> "Iterator[duckdb.DuckDBPyConnection]":
        """Give a connection that sees what there is to read, and writes to a folder what does not fit in memory."""
        lake, schema = self._store.lake, PROMPTS[0].schema
        texts, queries = ([path for one in some for path in one.paths()] for some in (self._texts, self._queries))
        with spilling_to(folder, MEMORY) as connection:
            view_files(connection, "corpus", texts, DATED_TEXTS.schema)
            view_files(connection, "queries", queries, schema)
            asked = [path for one in PROMPTS for path in lake.files(one.name, lake.partitions(one.name))]
            view_files(connection, "asked", asked, schema)
            yield connection

    def counted(self, connection: "duckdb.DuckDBPyConnection") -> Counts:
        """Count what there is to read; raises a SettingsError if that is nothing of a period."""
        rows = {source: dict.fromkeys(self.periods, 0) for source in (TEXT, QUERY)}
        left_out, n_bytes = defaultdict[str, int](int), 0
        for source, start, why, n, size in connection.execute(_COUNTED, self._chosen).fetchall():
            if why:
                left_out[why] += n
            else:
                rows[source][Window(start, self.request.period)] = n
                n_bytes += size
        self._require(rows)
        for source, by_period in rows.items():
            most = {period: self._most(source, period, by_period) for period in by_period}
            left_out[_NOT_DRAWN] += sum(max(0, n - most[period]) for period, n in by_period.items())
        return Counts(rows, {why: n for why, n in left_out.items() if n}, n_bytes)

    def _require(self, rows: Mapping[str, Mapping[Window, int]]) -> None:
        request, what = self.request, f"model {self.request.name!r}"
        if empty := [one.label for one, n in rows[TEXT].items() if not n and self.n_examples[TEXT]]:
            raise SettingsError(
                f"{what}: the corpus {request.corpus} has no text of {', '.join(empty)} that may be read; expected "
                f"some of each period. Name other windows; see what is there: tempkb corpus show {request.corpus}"
            )
        found = rows[QUERY].values()
        if self.n_examples[QUERY] and not (all(found) if request.how.has_experts else any(found)):
            raise SettingsError(
                f"{what}: the release {request.release} has no train queries about these windows, or, for experts, not "
                "about each; expected some, as TempLAMA has. Name another release, or none"
            )

    def _versions_of_queries(self) -> list[Version]:
        name = self.request.release
        benchmark = entry_of(self._store.home, name).asked["benchmark"]
        if benchmark not in OF_FACTS:
            raise SettingsError(
                f"model {self.request.name!r}: {name} is a release of {benchmark}; expected one of facts: "
                f"{listed(list(OF_FACTS))}"
            )
        require_whole(self._store, name)
        return release_versions(self._store, OF_FACTS[benchmark], name)
