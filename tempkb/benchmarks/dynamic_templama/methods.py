"""The methods of DynamicTempLAMA, which the code that all benchmarks share calls."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa

from tempkb.benchmarks.card import plot_bars
from tempkb.benchmarks.dynamic_templama.building import build_changes, count_tokens
from tempkb.benchmarks.dynamic_templama.reading import PROMPTING
from tempkb.benchmarks.dynamic_templama.tables import (
    ANSWER_TOKENS,
    ARRIVALS,
    DYNAMIC_TEMPLAMA_CHANGES,
    DYNAMIC_TEMPLAMA_PROMPTS,
    DYNAMIC_TEMPLAMA_QUERIES,
)
from tempkb.benchmarks.fact_queries.card import card_of
from tempkb.benchmarks.fact_queries.design import DYNAMIC, Release, read_entry
from tempkb.benchmarks.fact_queries.exporting import configs_of, tasks_of, write_files
from tempkb.benchmarks.fact_queries.life import (
    closing_of,
    design_of,
    prompts_step,
    queries_step,
    shared_partitions,
    spells_step,
    window_partitions,
)
from tempkb.benchmarks.fact_queries.prompt_building import Tables
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS, FACT_SUBJECTS
from tempkb.benchmarks.methods import Closing, Made, Methods, Step, Versions
from tempkb.benchmarks.register import release_files
from tempkb.core.files import toml_beside
from tempkb.engine.tasks import Picture, Rows, Shows
from tempkb.store.listings import Sheet
from tempkb.store.materialise import glance
from tempkb.store.memory import asking, view_files
from tempkb.store.promises import Promise
from tempkb.store.store import Store
from tempkb.store.versions import Version


def changes_in_words(store: Store, release: Release) -> str:
    """Return the card's text about changes; empty if a release has none."""
    files = release_files(store, DYNAMIC_TEMPLAMA_CHANGES, release.name)
    if not files:
        return ""
    with asking() as connection:
        view_files(connection, "changes", files)
        counted = connection.execute(
            "SELECT change, coalesce(role, ''), count(*) FROM changes GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    counts = "\n".join(f"| {change} | {role} | {n:,} |" for change, role, n in counted)
    texts, rule = toml_beside(__file__, "card.toml"), release.design.changes
    return str(texts["changes"].format(rule=rule, explanation=texts["rules"][rule], counts=counts))


# There are no changes in the study's first window, nor outside of it: a partner there has no row.
UPDATES_ARE_WHOLE = Promise(
    "updates_are_found_from_either_side",
    "An update by the rule `handover` has a row of the arriving and one of the leaving object, within the study.",
    DYNAMIC_TEMPLAMA_CHANGES,
    """
    SELECT one.release, window_start, one.subject_id, one.relation, object_id, role, paired_object_id
    FROM dynamic_templama_changes AS one JOIN fact_releases AS r USING (release)
    ANTI JOIN dynamic_templama_changes AS other
    ON other.release = one.release AND other.subject_id = one.subject_id AND other.relation = one.relation
       AND other.object_id = one.paired_object_id AND other.window_start = one.paired_window_start
       AND other.paired_object_id = one.object_id AND other.paired_window_start = one.window_start
       AND other.role <> one.role
    WHERE r.design->>'changes' = 'handover' AND one.change = 'updated' AND (role IS NULL
          OR (paired_window_start > r.study_from AND paired_window_start < r.study_to))
    """,
    (FACT_RELEASES,),
)


_CHANGES = ("unchanged", "updated", "new", "deleted", "undatable")

_TABLES = Tables(DYNAMIC_TEMPLAMA_QUERIES, DYNAMIC_TEMPLAMA_PROMPTS, DYNAMIC_TEMPLAMA_CHANGES)


def _partitions(release: Release) -> Mapping[str, Sequence[str]]:
    windows = window_partitions(release)
    # The first window has no changes, because there is no window before it.
    return {
        **shared_partitions(release),
        DYNAMIC_TEMPLAMA_QUERIES.name: windows,
        DYNAMIC_TEMPLAMA_CHANGES.name: windows[1:],
        DYNAMIC_TEMPLAMA_PROMPTS.name: windows,
    }


def _shows_of_changes(store: Store, release: Release, versions: Versions) -> Shows:
    changes = versions[DYNAMIC_TEMPLAMA_CHANGES.name]
    if not changes:
        return {}
    dates = [one.label for one in release.design.windows()[1:]]
    shown, series = _counts(changes, dates)
    without = {one: counts for one, counts in series.items() if one != "unchanged"}
    return {
        DYNAMIC_TEMPLAMA_CHANGES.name: {
            "glance": Picture(glance(shown, without)),
            "picture": Picture(plot_bars("Answers by change", shown, series)),
            "sample": Rows(_sample(store, release.name, changes)),
        }
    }


def _counts(versions: Sequence[Version], dates: Sequence[str]) -> tuple[list[str], dict[str, list[int]]]:
    """The windows with changes, and the number of answers in each, by change."""
    with asking() as connection:
        view_files(connection, "changes", [path for one in versions for path in one.paths()])
        counted = connection.execute(
            f"""
            SELECT change, window_start, coalesce(sum(n_times) FILTER (WHERE {ARRIVALS}), 0)
            FROM changes GROUP BY ALL
            """
        ).fetchall()
    starts = sorted({row[1] for row in counted})
    by_key = {(change, start): int(n) for change, start, n in counted}
    shown = [date for date, one in zip(dates, versions, strict=True) if one.rows]
    return shown, {change: [by_key.get((change, start), 0) for start in starts] for change in _CHANGES}


def _sample(store: Store, release: str, versions: Sequence[Version]) -> pa.Table:
    """Ten changes, with names."""
    with asking() as connection:
        view_files(connection, "changes", [path for one in versions for path in one.paths()])
        view_files(connection, "spells", store.lake.files(FACT_SPELLS.name, [release]))
        view_files(connection, "subjects", store.lake.files(FACT_SUBJECTS.name, [release]))
        return connection.sql(
            """
            WITH named AS (SELECT object_id, any_value(object_label) AS object FROM spells GROUP BY object_id)
            SELECT window_start, s.label AS subject, relation, n.object, change, change_detail, role,
                   paired_object_id, len(previous_object_ids) AS answers_before
            FROM changes JOIN subjects AS s USING (subject_id, relation) JOIN named AS n USING (object_id)
            WHERE change <> 'unchanged' ORDER BY hash(subject_id, relation, window_start), n.object LIMIT 10
            """
        ).to_arrow_table()


def _closing(store: Store, release: Release) -> Closing:
    """Queries by relation, and changes by window."""
    changes = store.read(DYNAMIC_TEMPLAMA_CHANGES.name, release=release.name)
    # An update has two rows; the one of the arriving object is counted.
    by_change = Counter(
        (str(row["window_start"]), row["change"])
        for row in changes.select(["window_start", "change", "role"]).to_pylist()
        if row["role"] != "leaving"
    )
    starts = sorted(map(str, set(changes["window_start"].to_pylist())))
    rows = [(start, *(by_change[start, kind] for kind in _CHANGES)) for start in starts]
    return closing_of(store, release, DYNAMIC_TEMPLAMA_QUERIES, [Sheet(("window", *_CHANGES), rows)])


_CHANGES_STEP = Step(
    DYNAMIC_TEMPLAMA_CHANGES.name,
    (Made(DYNAMIC_TEMPLAMA_CHANGES, (DYNAMIC_TEMPLAMA_QUERIES, FACT_SPELLS)),),
    build_changes,
    (UPDATES_ARE_WHOLE,),
    _shows_of_changes,
)
_PROMPTS_STEP = prompts_step(_TABLES, (DYNAMIC_TEMPLAMA_CHANGES,))
_TOKENS_STEP = Step(
    ANSWER_TOKENS.name,
    (Made(ANSWER_TOKENS, (FACT_SPELLS,)),),
    count_tokens,
)

METHODS = Methods(
    design=design_of(DYNAMIC),
    read_entry=read_entry,
    partitions=_partitions,
    steps=(
        spells_step(DYNAMIC),
        queries_step(DYNAMIC_TEMPLAMA_QUERIES),
        _CHANGES_STEP,
        _PROMPTS_STEP,
    ),
    files=write_files(DYNAMIC_TEMPLAMA_QUERIES),
    configs=configs_of(_TABLES),
    lm_eval=tasks_of(_TABLES, PROMPTING),
    card=card_of("DynamicTempLAMA", DYNAMIC_TEMPLAMA_QUERIES, changes_in_words),
    closing=_closing,
    measures={"tokens": _TOKENS_STEP},
)
