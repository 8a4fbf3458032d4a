"""Names of Dagster's jobs, which commands know without importing Dagster."""

DUMPS_JOB = "register_dump"
WINDOWS_JOB = "build_windows"
WIKIDATA_JOB = "read_wikidata"
RETIRE_JOB = "retire_dumps"
MODELS_JOB = "score_models"
GENERATIONS_JOB = "generate_answers"
LINKERS_JOB = "link_mentions"
RESULTS_JOB = "compare_models"

ONLY_ITEMS = {"ops": {"revisions": {"config": {"only_items": True}}}}
"""Configuration of a run that only brings the Wikidata items of windows up to date."""
