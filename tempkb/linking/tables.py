"""The tables of linking: linkers, vectors of entities, where linkers rank the entities of mentions, and thresholds."""

from collections.abc import Iterable

from tempkb.dumps.tables import WIKI
from tempkb.store.lake import RESUMABLE
from tempkb.store.tables import SEPARATOR, Column, Family, Rule, Table
from tempkb.store.types import BINARY, BOOL, DATE, FLOAT64, INT32, INT64, STRING, list_of

KINDS = ("bi-encoder", "sentence-encoder", "bm25", "prior")
"""What links: a bi-encoder trained by tempkb; any other encoder of sentences; BM25; the mention prior."""
BASELINES = ("bm25", "prior")
"""Names, and kinds, of the linkers that have no weights; every home has them."""
N_TOP = 64
"""How many candidates of a mention are kept."""

MEASURES = ("margin", "top_score")
"""What may tell that a mention has no entity among the candidates: the best score, or by how much it is the best."""

FILES = ("weights", "config", "tokenizer")
DIGESTS = tuple(f"{one}_sha256" for one in FILES)
"""Columns of the digests to which a linker's name is bound."""

TRAINING = "training.json"
"""File of a checkpoint that was trained here: the curves of its training, and what of its row was known before."""

_LINKER = Column("linker", STRING, "name of the linker")
_RELEASE = Column("release", STRING, "release of TempEL")

LINKERS = Table(
    name="linkers",
    meaning="Linkers: bi-encoders that were trained on a snapshot of a release, other encoders, and baselines.",
    columns=(
        _LINKER,
        Column("kind", STRING, f"{', '.join(KINDS)}"),
        Column("release", STRING, "release on which it was trained; null if tempkb did not train it"),
        Column("cut", DATE, "snapshot on whose mentions it was trained; null if tempkb did not train it"),
        Column("seed", INT32, "seed of its training; null if tempkb did not train it"),
        Column("preset", STRING, "preset of its training; null if tempkb did not train it"),
        Column("recipe", STRING, "all numbers of its training, as JSON; null if tempkb did not train it"),
        Column(
            "trained_from",
            STRING,
            "digests of its mentions, its base, and the linker whose wrong entities it learnt from, as JSON; or null",
        ),
        Column("base", STRING, "checkpoint with which its training began; null if it began with random weights"),
        Column(
            "checkpoint",
            STRING,
            "folder, or id on the Hugging Face hub, of its weights; within the home if tempkb trained it; null for a "
            "baseline",
        ),
        Column("hub_revision", STRING, "commit on the hub; null for a folder"),
        Column("weights_sha256", STRING, "SHA-256 of the weights; of several files, that of their names and digests"),
        Column("config_sha256", STRING, "SHA-256 of the names and digests of the files that say how they are used"),
        Column("tokenizer_sha256", STRING, "SHA-256 of the names and digests of the tokenizers' files"),
        Column("n_towers", INT32, "2 if mentions and entities have weights of their own, else 1; null for a baseline"),
        Column("n_parameters", INT64, "number of parameters; null for a baseline"),
        Column("dim", INT32, "length of its vectors; null for a baseline"),
        Column("max_tokens", INT32, "most tokens that it reads, special ones included; null for a baseline"),
        Column("n_train_mentions", INT64, "number of mentions on which it was trained; or null"),
        Column(
            "validation_accuracy",
            FLOAT64,
            "share of the snapshot's validation mentions whose entity it ranks first "
            "among the entities of all validation mentions; or null",
        ),
    ),
    key=("linker",),
    family=Family.LINKER,
    partitioned_by="linker",
    partition_columns=("linker",),
    rules=(
        Rule("known_kind", "the kind has a known value", f"kind NOT IN ({', '.join(repr(kind) for kind in KINDS)})"),
        Rule(
            "encoder_is_known",
            "an encoder has digests and a dimension, and a baseline has none",
            "(kind IN ('bm25', 'prior')) <> (weights_sha256 IS NULL AND dim IS NULL)",
        ),
    ),
)

ENTITY_VECTORS = Table(
    name="entity_vectors",
    meaning="What a linker makes of entities: one vector for each distinct title and description, over all snapshots.",
    columns=(
        _LINKER,
        Column("cut", DATE, "the first of the snapshots, in the order in which they were encoded, that has the text"),
        Column("text_sha256", STRING, "digest of title and description, as in entity_texts"),
        Column("vector", BINARY, "float16, little endian, `dim` of them", is_bulk=True),
    ),
    key=("text_sha256",),
    family=Family.LINKER,
    partitioned_by="linker and first snapshot",
    partition_columns=("linker", "cut"),
    persist="view",
    # A vector has up to some thousand bytes, and a row group is in memory at once.
    row_group_rows=8_192,
)

LINKING_SCORES = Table(
    name="linking_scores",
    meaning="Where linkers rank the entity of each mention of TempEL, among the candidates of a snapshot or of a pool. "
    "A miss has no rank, so count ranks and do not average them: an average leaves the misses out. Accuracy by hand: "
    "`SELECT release, linker, cut, category, count(*) FILTER (WHERE rank = 1) / count(*) AS accuracy "
    "FROM linking_scores WHERE pool = 'own' AND subset = 'test' GROUP BY ALL ORDER BY ALL`.",
    columns=(
        WIKI,
        _LINKER,
        _RELEASE,
        Column("cut", DATE, "snapshot of the mentions"),
        Column(
            "pool",
            STRING,
            "among which candidates: own (those of the mentions' own snapshot), the day of another snapshot, or "
            "fixed-N (N entities, as many at each snapshot: those of the tests, filled up with pages that are articles "
            "at all snapshots)",
        ),
        Column("subset", STRING, "subset of the mention: test or validation"),
        Column("target_page_id", INT64, "the mention's entity"),
        Column("anchor_page_id", INT64, "article with the mention"),
        Column("start_char", INT32, "offset of the mention in that article's text, in code points"),
        Column("category", STRING, "continual or new"),
        Column("model_cut", DATE, "snapshot on which the linker was trained; null if tempkb did not train it"),
        Column("seed", INT32, "seed of its training; null if tempkb did not train it"),
        Column(
            "rank",
            INT32,
            "place of the entity, from 1: by score, then by page_id; null if it is not among the first "
            f"{N_TOP}, is no candidate, or has no score (BM25 and prior give none to what shares nothing): a miss, "
            "which an average over ranks leaves out",
        ),
        Column("gold_is_candidate", BOOL, "whether the entity is among the candidates"),
        Column("anchor_is_candidate", BOOL, "whether the article with the mention is among them; BM25 skips it"),
        Column("n_candidates", INT64, "number of candidates"),
        Column("n_tied", INT32, "number of other candidates with the same score as the entity; null without a rank"),
        Column("top_page_ids", list_of(INT64), f"the first {N_TOP} candidates, best first", is_bulk=True),
        Column("top_scores", list_of(FLOAT64), "their scores, rounded to nine decimals", is_bulk=True),
        Column(
            "top_similarity",
            FLOAT64,
            "mean Jaccard similarity of the words of consecutive descriptions in that list, all cut to the shortest "
            "(the paper's figure 4a); null with fewer than two",
        ),
    ),
    key=("target_page_id", "anchor_page_id", "start_char"),
    family=Family.LINKER,
    partitioned_by="linker, release, snapshot and pool",
    partition_columns=("linker", "release", "cut", "pool"),
    persist="view",
    code_version="2",
    rules=(
        Rule("rank_is_a_place", f"a rank is between 1 and {N_TOP}", f"rank NOT BETWEEN 1 AND {N_TOP}"),
        Rule(
            "rank_names_the_entity",
            "the candidate at the place of the rank is the entity, and without a rank it is not in the list",
            "coalesce(top_page_ids[rank] <> target_page_id, list_contains(top_page_ids, target_page_id))",
        ),
        Rule("a_score_for_each", "each candidate of the list has a score", "len(top_page_ids) <> len(top_scores)"),
        Rule(
            "only_candidates_have_ranks",
            "an entity that is no candidate has no rank",
            "NOT gold_is_candidate AND rank IS NOT NULL",
        ),
    ),
)

NIL_THRESHOLDS = Table(
    name="nil_thresholds",
    meaning="From where on each linker says that a mention's entity is not among the candidates, chosen on validation "
    "mentions of later snapshots in pools of earlier ones, of which entities that came in between are absent. Of a "
    "linker that tempkb trained these are pools of the day of its training or later ones.",
    columns=(
        _LINKER,
        Column(
            "measure",
            STRING,
            "margin (the best score minus the second one) or top_score; `tempkb link` uses the one with the larger auc",
        ),
        Column("releases", list_of(STRING), "releases whose validation mentions they are"),
        Column("pools", list_of(STRING), "snapshots whose candidates they were linked with"),
        Column("n_present", INT64, "number of mentions whose entity is a candidate, once for each pool"),
        Column("n_absent", INT64, "number of those whose entity is none"),
        Column("n_present_entities", INT64, "number of entities of the former"),
        Column("n_absent_entities", INT64, "number of entities of the latter"),
        Column("auc", FLOAT64, "share of pairs of a present and an absent mention in which the present one is higher"),
        Column(
            "low", FLOAT64, "lower end of its 95 % interval, clustered by entity; null under ten entities of a side"
        ),
        Column("high", FLOAT64, "upper end"),
        Column(
            "threshold",
            FLOAT64,
            "p up to which there is no such article: where the share of refused absent mentions exceeds that of "
            "refused present ones by most; null where reason says why there is none",
        ),
        Column("refused_present", FLOAT64, "share of the present mentions with a p up to the threshold; or null"),
        Column("refused_absent", FLOAT64, "share of the absent mentions with a p up to the threshold; or null"),
        Column("reason", STRING, "why there is no threshold; or null"),
        Column(
            "present_values",
            list_of(FLOAT64),
            "the measure of present mentions, ascending, at most 1,000 of them, evenly spaced: p of a mention is (1 + "
            "those that are not above its own) / (1 + all)",
            is_bulk=True,
        ),
    ),
    key=("linker", "measure"),
    family=Family.LINKER,
    partitioned_by="linker",
    partition_columns=("linker",),
    rules=(
        Rule(
            "threshold_or_reason",
            "there is a threshold, or why there is none",
            "(threshold IS NULL) = (reason IS NULL)",
        ),
        Rule(
            "threshold_where_it_tells",
            "a threshold needs an interval of the AUC above one half",
            "threshold IS NOT NULL AND coalesce(low <= 0.5, true)",
        ),
    ),
)

TABLES = (LINKERS, ENTITY_VECTORS, LINKING_SCORES, NIL_THRESHOLDS)


def vectors_partition(linker: str, cut: str) -> str:
    """Return the partition of the vectors that a linker made first for a snapshot (YYYY-MM-DD)."""
    return SEPARATOR.join((linker, cut))


def scores_partition(linker: str, release: str, cut: str, pool: str) -> str:
    """Return the partition of a linker's scores for the mentions of a snapshot (YYYY-MM-DD) in a pool."""
    return SEPARATOR.join((linker, release, cut, pool))


def parts_of(partition: str) -> tuple[str, str, str, str]:
    """Return linker, release, snapshot (YYYY-MM-DD) and pool of a partition of scores."""
    linker, _, rest = partition.partition(SEPARATOR)
    # Names of releases may have the separator; days and pools have not.
    release, cut, pool = rest.rsplit(SEPARATOR, 2)
    return linker, release, cut, pool


def earlier_pools(partitions: Iterable[str], linker: str) -> list[str]:
    """Return those of some partitions of scores in which a linker ranks the candidates of a snapshot before theirs."""
    parts = {key: parts_of(key) for key in partitions}
    # A day is before another one if its text is; other pools begin with a letter.
    return [key for key, (own, _, cut, pool) in parts.items() if own == linker and pool < cut]


def linker_of(partition: str) -> str:
    """Return the linker of a partition of any of these tables."""
    return partition.partition(SEPARATOR)[0]


def drafts_of(linker: str) -> str:
    """Return the name of the folder of drafts of the runs that train a linker or encode with it."""
    return f"{RESUMABLE}linker-{linker}"
