"""Builds the prompts of a release of facts, window by window. Does not use Dagster.

Texts and ids are made once for each different text: a query and the name of an answer are the same in many windows.
The prompts of a window are then a join in DuckDB.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from tempkb.benchmarks.fact_queries.controls import Change, Controls, Known, Object
from tempkb.benchmarks.fact_queries.design import Release
from tempkb.benchmarks.fact_queries.prompts import (
    DATED,
    DATES,
    UNDATED,
    date_in_words,
    forms_of,
    ids_of,
)
from tempkb.benchmarks.fact_queries.spells import partition_of
from tempkb.benchmarks.fact_queries.tables import FACT_SPELLS, FACT_SUBJECTS, columns_of_facts
from tempkb.benchmarks.register import release_versions
from tempkb.benchmarks.work import ReleaseWork, make_table, working
from tempkb.core.filtering import LeftOut
from tempkb.core.windows import Window
from tempkb.store.quoting import literal
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version

MOST_SPELLS, MOST_WRONG_DATES = 2000, 5
"""Of how many spells of a release models are asked for the date, and with how many wrong ones, each."""
NO_NOUN = "no_subject: no noun is known for the wording"
NO_OTHER_WORDING = "object_last: the query begins with its answer, and no wording is known that ends with it"
NOT_ASKED = "previous: the subject has no answer in the window, so there is no query"
SAME_NAME = "previous: has the name of an answer of the window"
NOT_CURRENT = "control: the object that came is not an answer of the window"
NOTHING_FITS = "control: no objects of another subject's change fit"
PAIR_COLUMNS = columns_of_facts("""
    query_id VARCHAR: the query of the first window without the old object
    window_start
    date VARCHAR: label of the window
    relation, subject_id, query
    new ANSWER: the object that took the place
    old ANSWER: the object that is no answer any more
    split
""")
PAIRS = pa.schema([(one.name, one.arrow) for one in PAIR_COLUMNS])
"""Pairs: an object that is no answer any more in a window, and an answer that took its place, with the query."""
BLANK_NAME = "the name of the answer has no character that is not blank"


@dataclass(frozen=True)
class Tables:
    """The tables of a benchmark of facts."""

    queries: Table
    prompts: Table
    changes: Table | None = None


def build_prompts(tables: Tables, work: ReleaseWork) -> None:
    """Write the prompts of those windows of a release that do not stand.

    Raises:
        ContractError: subjects, spells, queries or changes of the release are not built.
    """
    windows, prompts = work.release.design.windows(), tables.prompts
    missing = [one for one in windows if not work.stands(prompts, partition_of(work.release.name, one))]
    if not missing:
        return
    builder = _Builder(work, tables)
    for window in windows[: windows.index(missing[-1]) + 1]:
        # Windows that are built are read as well, because their changes may serve as controls of later ones.
        rows = builder.read(window)
        if window in missing:
            builder.write(rows)


def read_pairs(store: Store, release: Release, tables: Tables) -> Iterator[pa.Table]:
    """Yield, for each window, the pairs of objects that its prompts compare, with the schema `PAIRS`.

    Raises:
        ContractError: subjects, spells, queries or changes of the release are not built.
    """
    with working(store, release) as work:
        builder = _Builder(work, tables)
        for window in release.design.windows():
            builder.read(window)
            yield work.connection.sql(_COMPARED).to_arrow_table().cast(PAIRS)


@dataclass
class _Read:
    """What was read of a window.

    Attributes:
        work: with what was read.
        changes: the changes of answers whose objects are both asked in the window.
        left_out: what cannot be asked, counted.
    """

    window: Window
    work: ReleaseWork
    changes: list[Change]
    left_out: LeftOut


class _Builder:
    """Builds the prompts of a release with one connection, whose tables have the texts and ids so far."""

    def __init__(self, work: ReleaseWork, tables: Tables) -> None:
        self.work, self.release, self.tables, self.connection = work, work.release, tables, work.connection
        self._controls = Controls(self.release.design.seed)
        # Only by the rule `handover` is it known what took over from what.
        self._changes = tables.changes if self.release.design.changes == "handover" else None
        self._before: list[Version] = []  # the queries of the window before
        work.read(FACT_SPELLS, self.release.name, "spells")
        work.read(FACT_SUBJECTS, self.release.name, "subjects")
        self._make_forms()
        make_table(self.connection, "before", _BEFORE, [])
        self.connection.execute(
            "CREATE TEMP TABLE names AS SELECT object_id, min(object_label) AS label, "
            "coalesce(min(object_aliases), []) AS aliases FROM spells GROUP BY object_id"
        )
        self._choose_dates()
        self.connection.execute("CREATE TEMP TABLE ids (text_no INTEGER, label VARCHAR, prompt_id VARCHAR)")

    def read(self, window: Window) -> _Read:
        """Make the tables `asked` and `pairs` of a window, without controls."""
        work = self.work.branch()
        own = work.read(self.tables.queries, partition_of(self.release.name, window), "queries")
        self.connection.execute(_ANSWERS)
        left_out = self._find_pairs(window, work)
        self.connection.execute(_KEEP_ANSWERS)
        self._before = own
        self.connection.execute(_ASKED)
        changes = [
            Change(subject, relation, Object(old, old_label), Object(new, new_label))
            for subject, relation, old, old_label, new, new_label in self.connection.execute(_CHANGES).fetchall()
        ]
        self._controls.add(window.key, changes)
        return _Read(window, work, changes, left_out)

    def write(self, read: _Read) -> None:
        """Write the prompts of the window that was just read."""
        n_drawn = self._draw_controls(read)
        read.left_out.add(NOTHING_FITS, read.window.label, max(0, len(read.changes) - n_drawn))
        self.connection.execute(_WANTED)
        self._add_ids()
        self._make_dated(read.window)
        self._register("choices", _with_ids(self.connection.sql(_CHOICES, params=[read.window.start]).to_arrow_table()))
        read.left_out.merge(self._counted(_LEFT_OUT))
        rows = self.work.rows(_PROMPTS, release=self.release.name, window_start=read.window.start)
        read.work.write(self.tables.prompts, partition_of(self.release.name, read.window), rows, read.left_out)

    def _make_forms(self) -> None:
        """Make `texts`, the different texts around answers, and `forms`, the texts of each query."""
        numbered = self.release.design.numbered_templates()
        by_relation = {
            relation: [(template, number) for template, number in numbered.items() if template.relation == relation]
            for relation in {one.relation for one in numbered}
        }
        subjects = self.connection.execute(
            "SELECT relation, subject_id, asked_as FROM subjects ORDER BY relation, subject_id"
        ).fetchall()
        numbers: dict[tuple[str, str], int] = {}
        rows: list[tuple[str, str, int, str, int]] = []
        for relation, subject, name in subjects:
            for template, number in by_relation[relation]:
                for variant, form in forms_of(template, name).items():
                    rows.append((subject, relation, number, variant, numbers.setdefault(form, len(numbers))))
        texts = [(number, *form) for form, number in numbers.items()]
        wordings = [
            (
                one.relation,
                number,
                one.ask_without_subject() is not None,
                one.begins_with_object,
                one.ending_with_object() is not None,
            )
            for one, number in numbered.items()
        ]
        make_table(self.connection, "forms", _FORMS, rows)
        make_table(self.connection, "texts", _TEXTS, texts)
        make_table(self.connection, "wordings", _WORDINGS, wordings)

    def _choose_dates(self) -> None:
        """Make `dates`: for some spells a window in which the object certainly holds, and some in which it cannot.

        Which spells and windows these are follows from hashes (TempLAMA's test of dates asks about all of them).
        """
        design = self.release.design
        rows = [
            (one.start, one.end, one.label, date_in_words(design.granularity, one.label)) for one in design.windows()
        ]
        make_table(self.connection, "windows", _WINDOWS, rows)
        self.connection.execute(_DATES, {"seed": str(design.seed), "most": MOST_SPELLS})

    def _find_pairs(self, window: Window, work: ReleaseWork) -> LeftOut:
        """Make `pairs(subject_id, relation, old_id, new_id)` of a window: what left, and what came for it."""
        if self._changes is None:
            gone = self.connection.execute(_GONE).fetchall()
            successors = one_to_one(self.connection.execute(_MAY_SUCCEED).fetchall())
            make_table(self.connection, "pairs", _PAIRS, [(*one, successors.get(one)) for one in gone])
            work.note(*self._before)
        elif window == self.release.design.windows()[0]:
            # There is no window before it, and so there are no changes.
            make_table(self.connection, "pairs", _PAIRS, [])
        else:
            work.read(self._changes, partition_of(self.release.name, window), "changes")
            self.connection.execute(_PAIRS_OF_CHANGES)
        self.connection.execute(_JUDGED)
        return self._counted(_LEFT_OUT_PAIRS)

    def _draw_controls(self, read: _Read) -> int:
        """Add the controls of a window's changes to `asked`, and return for how many changes there are some."""
        own: dict[str, set[str]] = {}
        for subject, objects, labels in self.connection.execute(_OWN).fetchall():
            own[subject] = {*objects, *labels}
        drawn = list(self._controls.draw(read.changes, Known(own)))
        # The earlier windows from which controls were drawn are sources, too.
        origins = {f"{self.release.name}.{one.window}" for one in drawn}
        table = self._changes or self.tables.queries
        read.work.note(*release_versions(self.work.store, table, self.release.name, origins))
        rows = [
            (one.change.subject_id, one.change.relation, control.object_id, control.label, stands_for.object_id)
            for one in drawn
            for control, stands_for in ((one.drawn.old, one.change.old), (one.drawn.new, one.change.new))
        ]
        make_table(self.connection, "controls", _CONTROLS, rows)
        self.connection.execute(_ASKED_CONTROLS)
        return len(drawn)

    def _add_ids(self) -> None:
        """Add the ids of those prompts to `ids` that no earlier window had."""
        new = self.connection.sql(_NEW_IDS).to_arrow_table()
        self._register("new_ids", _with_ids(new).select(["text_no", "label", "prompt_id"]))
        self.connection.execute("INSERT INTO ids FROM new_ids")

    def _make_dated(self, window: Window) -> None:
        """Make `dated(text_no, label, left_context, prompt_id)`, the prompts with the window's date."""
        prefix = date_in_words(self.release.design.granularity, window.label)
        new = self.connection.sql(_DATED_TEXTS, params={"prefix": prefix}).to_arrow_table()
        self._register("dated", _with_ids(new))

    def _counted(self, query: str) -> LeftOut:
        return LeftOut.of(self.connection.execute(query).fetchall())

    def _register(self, name: str, rows: pa.Table) -> None:
        self.connection.unregister(name)
        self.connection.register(name, rows)


def one_to_one(candidates: Iterable[tuple[str, str, str, str]]) -> dict[tuple[str, str, str], str]:
    """Pair objects that left with objects that came, each at most once, the first ones first.

    Args:
        candidates: (subject, relation, object that left, object that may have come for it), in order.

    Returns:
        The object that came, by (subject, relation, object that left).
    """
    successors: dict[tuple[str, str, str], str] = {}
    taken: set[tuple[str, str, str]] = set()
    for subject, relation, old, new in candidates:
        if (subject, relation, old) not in successors and (subject, relation, new) not in taken:
            successors[subject, relation, old] = new
            taken.add((subject, relation, new))
    return successors


def _with_ids(texts: pa.Table) -> pa.Table:
    """Add the column `prompt_id` to prompts with the columns left_context, label and right_context."""
    ids = ids_of(*(texts[name].to_pylist() for name in ("left_context", "label", "right_context")))
    return texts.append_column("prompt_id", pa.array(list(ids), pa.string()))


_FORMS = "subject_id VARCHAR, relation VARCHAR, template_no SMALLINT, variant VARCHAR, text_no INTEGER"
_TEXTS = "text_no INTEGER, left_context VARCHAR, right_context VARCHAR"
_WORDINGS = "relation VARCHAR, template_no SMALLINT, has_noun BOOLEAN, begins_with_object BOOLEAN, has_other BOOLEAN"
_BEFORE = "subject_id VARCHAR, relation VARCHAR, object_id VARCHAR, place BIGINT, age_days INTEGER"
_PAIRS = "subject_id VARCHAR, relation VARCHAR, old_id VARCHAR, new_id VARCHAR"
_CONTROLS = "subject_id VARCHAR, relation VARCHAR, object_id VARCHAR, label VARCHAR, stands_for_id VARCHAR"
_WINDOWS = "first_day DATE, end_day DATE, label VARCHAR, prefix VARCHAR"
_SPELL = "subject_id, relation, object_id, spell_no"
_BY_CHANCE = f"md5(concat_ws(' ', $seed, {_SPELL}, w.first_day))"
# The days of a spell are the first on which it may hold and the first on which it can no longer, so its dates are as
# wide as their precision; its members have the days on which it is certain. What has no end may hold for ever.
_DATES = f"""
    CREATE TEMP TABLE dates AS
    WITH certain AS (
        SELECT {_SPELL}, unnest(members, recursive := true) FROM spells
    ), rightly AS (
        SELECT {_SPELL}, w.first_day AS window_start, w.label, w.prefix, true AS is_right
        FROM certain AS s JOIN windows AS w
        ON w.first_day >= s.certain_from AND w.end_day <= coalesce(s.certain_to, DATE '9999-12-31')
        QUALIFY row_number() OVER (PARTITION BY {_SPELL} ORDER BY {_BY_CHANCE}) = 1
    ), wrongly AS (
        SELECT {_SPELL}, w.label, w.prefix
        FROM spells AS s CROSS JOIN windows AS w
        ANTI JOIN spells AS o
        ON o.subject_id = s.subject_id AND o.relation = s.relation AND o.object_id = s.object_id
            AND w.first_day < coalesce(o.valid_to, DATE '9999-12-31')
            AND w.end_day > coalesce(o.valid_from, DATE '0001-01-01')
        QUALIFY row_number() OVER (PARTITION BY {_SPELL} ORDER BY {_BY_CHANCE}) <= {MOST_WRONG_DATES}
    ), chosen AS (
        FROM rightly SEMI JOIN wrongly USING ({_SPELL})
        ORDER BY md5(concat_ws(' ', $seed, {_SPELL})) LIMIT $most
    )
    FROM chosen
    UNION ALL
    SELECT {_SPELL}, c.window_start, w.label, w.prefix, false FROM chosen AS c JOIN wrongly AS w USING ({_SPELL})
"""
_CHOICES = f"""
    SELECT a.query_id || '@' || d.label AS query_id, a.subject_id, a.object_id, a.label, a.split,
           CASE WHEN d.is_right THEN 'current' ELSE 'wrong_date' END AS role, NULL::VARCHAR AS stands_for_id,
           '{DATES}' AS variant, d.prefix || t.left_context AS left_context, t.right_context
    FROM dates AS d JOIN asked AS a USING (subject_id, relation, object_id)
    JOIN forms AS f ON f.subject_id = a.subject_id AND f.relation = a.relation AND f.template_no = a.template_no
        AND f.variant = '{UNDATED}'
    JOIN texts AS t USING (text_no)
    WHERE d.window_start = ? AND a.role = 'current' AND a.template_no = 1
"""
# By the released rule of DynamicTempLAMA an object may be listed twice.
_ANSWERS = """
    CREATE OR REPLACE TEMP TABLE answers AS
    SELECT query_id, subject_id, relation, template_no, split, one.entity_id AS object_id, one.label AS label, place,
           one.answer_age_days AS age_days
    FROM (
        SELECT query_id, subject_id, relation, template_no, split,
               unnest(answers) AS one, generate_subscripts(answers, 1) AS place
        FROM queries
    )
    QUALIFY row_number() OVER (PARTITION BY query_id, one.entity_id ORDER BY place) = 1
"""
_KEEP_ANSWERS = """
    CREATE OR REPLACE TEMP TABLE before AS
    SELECT subject_id, relation, object_id, place, age_days FROM answers WHERE template_no = 1
"""
_PAIRS_OF_CHANGES = """
    CREATE OR REPLACE TEMP TABLE pairs AS
    SELECT subject_id, relation, object_id AS old_id, paired_object_id AS new_id FROM changes
    WHERE change = 'updated' AND role = 'leaving'
"""
_GONE = """
    SELECT subject_id, relation, object_id FROM before
    ANTI JOIN (FROM answers WHERE template_no = 1) AS now USING (subject_id, relation, object_id)
    SEMI JOIN answers USING (subject_id, relation) ORDER BY ALL
"""
# In a window in which one object takes over from another, both are answers. So an object that came for one that left
# is no answer in the window before, or it began within that window, after the one that left.
_MAY_SUCCEED = """
    SELECT gone.subject_id, gone.relation, gone.object_id, now.object_id
    FROM (FROM before ANTI JOIN answers USING (subject_id, relation, object_id)) AS gone
    JOIN (FROM answers WHERE template_no = 1) AS now USING (subject_id, relation)
    LEFT JOIN before AS was
    ON was.subject_id = now.subject_id AND was.relation = now.relation AND was.object_id = now.object_id
    WHERE was.object_id IS NULL
       OR (was.age_days = 0 AND (gone.age_days IS DISTINCT FROM 0 OR gone.place < was.place))
    ORDER BY gone.subject_id, gone.relation, gone.place, now.place
"""
_JUDGED = """
    CREATE OR REPLACE TEMP TABLE judged AS
    WITH held AS (
        SELECT subject_id, relation, list(object_id) AS ids, list(label) AS labels FROM answers
        WHERE template_no = 1 GROUP BY subject_id, relation
    )
    SELECT p.*, old.label AS old_label, new.label AS new_label, h.ids IS NOT NULL AS is_asked,
           coalesce(list_contains(h.labels, old.label), false) AS has_same_name,
           coalesce(list_contains(h.ids, p.new_id), false) AS is_new_current
    FROM pairs AS p JOIN names AS old ON old.object_id = p.old_id LEFT JOIN names AS new ON new.object_id = p.new_id
    LEFT JOIN held AS h USING (subject_id, relation)
"""
_QUERIES = "(SELECT DISTINCT query_id, subject_id, relation, template_no, split FROM answers)"
_ASKED = f"""
    CREATE OR REPLACE TEMP TABLE asked AS
    SELECT query_id, subject_id, relation, template_no, split, object_id, label, 'current' AS role,
           NULL::VARCHAR AS stands_for_id
    FROM answers
    UNION ALL
    SELECT query_id, subject_id, relation, template_no, split, old_id, old_label, 'previous', NULL
    FROM judged JOIN {_QUERIES} USING (subject_id, relation) WHERE NOT has_same_name
"""
_ASKED_CONTROLS = f"""
    INSERT INTO asked
    SELECT query_id, subject_id, relation, template_no, split, object_id, label, 'control', stands_for_id
    FROM controls JOIN {_QUERIES} USING (subject_id, relation)
"""
_IS_COMPARED = "is_asked AND NOT has_same_name AND is_new_current"
_CHANGES = f"""
    SELECT subject_id, relation, old_id, old_label, new_id, new_label FROM judged
    WHERE {_IS_COMPARED}
"""
_COMPARED = f"""
    SELECT q.query_id, q.window_start, q.date, relation, subject_id, q.query,
           {{'entity_id': new_id, 'label': new_label, 'aliases': new.aliases}} AS new,
           {{'entity_id': old_id, 'label': old_label, 'aliases': old.aliases}} AS old, q.split
    FROM judged JOIN queries AS q USING (subject_id, relation)
    JOIN names AS new ON new.object_id = new_id JOIN names AS old ON old.object_id = old_id
    WHERE {_IS_COMPARED} AND q.template_no = 1 ORDER BY query_id, old_id
"""
_OWN = """
    SELECT subject_id, list(DISTINCT object_id), list(DISTINCT object_label) FROM spells SEMI JOIN judged
    USING (subject_id) GROUP BY subject_id
"""
_WANTED = """
    CREATE OR REPLACE TEMP TABLE wanted AS
    SELECT a.*, f.variant, f.text_no FROM asked AS a JOIN forms AS f USING (subject_id, relation, template_no)
"""
_NEW_IDS = """
    SELECT text_no, label, left_context, right_context FROM (SELECT DISTINCT text_no, label FROM wanted)
    ANTI JOIN ids USING (text_no, label) JOIN texts USING (text_no)
"""
_DATED_TEXTS = f"""
    SELECT text_no, label, $prefix || left_context AS left_context, right_context
    FROM (SELECT DISTINCT text_no, label FROM wanted WHERE variant = '{UNDATED}') JOIN texts USING (text_no)
"""
_PROMPTS = f"""
    SELECT $release AS release, $window_start AS window_start, query_id AS item_id, object_id AS target_id, variant,
           prompt_id, left_context, label AS target, right_context, role, stands_for_id, subject_id AS cluster_id, split
    FROM (
        SELECT w.*, i.prompt_id, t.left_context, t.right_context
        FROM wanted AS w JOIN ids AS i USING (text_no, label) JOIN texts AS t USING (text_no)
        UNION ALL BY NAME
        SELECT w.* REPLACE ('{DATED}' AS variant), d.prompt_id, d.left_context, t.right_context
        FROM wanted AS w JOIN dated AS d USING (text_no, label) JOIN texts AS t USING (text_no)
        WHERE w.variant = '{UNDATED}'
        UNION ALL BY NAME
        FROM choices
    )
    WHERE prompt_id IS NOT NULL ORDER BY item_id, target_id, variant
"""
_CHANGE_IN_WORDS = "subject_id || ' ' || relation || ' ' || old_id"
_LEFT_OUT_PAIRS = f"""
    SELECT {literal(NOT_ASKED)}, count(*), min({_CHANGE_IN_WORDS}) FROM judged WHERE NOT is_asked
    UNION ALL
    SELECT {literal(SAME_NAME)}, count(*), min({_CHANGE_IN_WORDS}) FROM judged WHERE has_same_name
    UNION ALL
    SELECT {literal(NOT_CURRENT)}, count(*), min({_CHANGE_IN_WORDS}) FROM judged
    WHERE is_asked AND NOT has_same_name AND NOT is_new_current AND new_id IS NOT NULL
"""
_LEFT_OUT = f"""
    SELECT {literal(NO_NOUN)}, count(*), min(query_id) FROM asked JOIN wordings USING (relation, template_no)
    WHERE NOT has_noun
    UNION ALL
    SELECT {literal(NO_OTHER_WORDING)}, count(*), min(query_id) FROM asked JOIN wordings USING (relation, template_no)
    WHERE begins_with_object AND NOT has_other
    UNION ALL
    SELECT {literal(BLANK_NAME)}, count(*), min(query_id || ' ' || object_id) FROM wanted
    JOIN ids USING (text_no, label) WHERE variant = '{UNDATED}' AND prompt_id IS NULL
"""
