"""The table of models: which language models a home knows, and by which files."""

from tempkb.core.model_words import NAME_PATTERN
from tempkb.store.columns import columns, rules
from tempkb.store.lake import RESUMABLE
from tempkb.store.tables import Family, Table

READY, NOT_LOADED, ELSEWHERE = "ready", "not_loaded", "elsewhere"
DIGESTS = ("weights_sha256", "config_sha256", "tokenizer_sha256", "chat_template_sha256")
"""Columns of the digests to which a model's name is bound."""

MODELS = Table(
    name="models",
    meaning="Language models, each bound for good to the digests of its files.",
    columns=columns("""
        model
        checkpoint VARCHAR: folder (inside the home: relative to it), or hub id, from which it was last read
        hub_revision, weights_sha256
        config_sha256 VARCHAR: SHA-256 of config.json
        tokenizer_sha256
        chat_template_sha256 VARCHAR: SHA-256 of the chat template; null if it has none
        family VARCHAR: masked, seq2seq or causal; null if the model was not loaded and no family was named
        n_parameters BIGINT: number of parameters; those that are used twice are counted once
        context_tokens BIGINT: most tokens that it reads, special ones included; null if nothing limits them
        knows_certainly_until, knows_possibly_until
        status VARCHAR: ready; not_loaded: the checkpoint could not be used; elsewhere: it was run elsewhere
        reason VARCHAR: why the model cannot be asked here; null if it is ready
    """),
    key=("model",),
    family=Family.MODEL,
    partitioned_by="model",
    partition_columns=("model",),
    rules=rules(f"""
        name_is_a_slug: a name has lower-case letters, digits, dots, underscores and single hyphens
            NOT regexp_full_match(model, '{NAME_PATTERN}')
        known_status: the status has a known value
            status NOT IN ('ready', 'not_loaded', 'elsewhere')
        other_status_has_a_reason: a model that is not ready has a reason, and one that is ready has none
            (status = 'ready') <> (reason IS NULL)
        ready_model_is_known: a model that is ready has digests, a family and a number of parameters
            status = 'ready' AND (weights_sha256 IS NULL OR config_sha256 IS NULL OR tokenizer_sha256 IS NULL
            OR family IS NULL OR n_parameters IS NULL)
        known_family: family is masked, seq2seq or causal
            family NOT IN ('masked', 'seq2seq', 'causal')
        dates_are_in_order: both dates are known or neither, and what is certain does not reach beyond what is possible
            (knows_certainly_until IS NULL) <> (knows_possibly_until IS NULL)
            OR knows_certainly_until > knows_possibly_until
    """),
)


def drafts_of(kind: str, name: str) -> str:
    """Return the name of the folder of drafts of the runs that make something of a model or a linker."""
    return f"{RESUMABLE}{kind}-{name}"
