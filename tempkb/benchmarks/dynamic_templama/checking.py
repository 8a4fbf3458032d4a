"""The promise of DynamicTempLAMA's changes, as a query that returns what breaks it. Does not use Dagster."""

from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_CHANGES
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES
from tempkb.store.promises import Promise

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
