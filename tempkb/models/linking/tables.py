"""The tables of linking: linkers, vectors of entities, where linkers rank the entities of mentions, and thresholds."""

from collections.abc import Iterable
from functools import partial

from tempkb.engine.room import Room
from tempkb.store.columns import columns, rules
from tempkb.store.tables import SEPARATOR, Family, Table

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

_columns = columns.extended("""
    seed INTEGER: seed of its training; null if tempkb did not train it
""")

_table_of_linkers = partial(Table, family=Family.LINKER, partitioned_by="linker", partition_columns=("linker",))

LINKERS = _table_of_linkers(
    name="linkers",
    meaning="Linkers: bi-encoders that were trained on a snapshot of a release, other encoders, and baselines.",
    columns=_columns(f"""
        linker
        kind VARCHAR: {", ".join(KINDS)}
        release VARCHAR: release on which it was trained; null if tempkb did not train it
        cut DATE: snapshot on whose mentions it was trained; null if tempkb did not train it
        seed
        preset VARCHAR: preset of its training; null if tempkb did not train it
        recipe VARCHAR: all numbers of its training, as JSON; null if tempkb did not train it
        trained_from VARCHAR: digests of its mentions, its base, and the linker whose wrong entities it learnt from, as
            JSON; or null
        base VARCHAR: checkpoint with which its training began; null if it began with random weights
        checkpoint VARCHAR: folder, or id on the Hugging Face hub, of its weights; within the home if tempkb trained it;
            null for a baseline
        hub_revision, weights_sha256
        config_sha256 VARCHAR: SHA-256 of the names and digests of the files that say how they are used
        tokenizer_sha256
        n_towers INTEGER: 2 if mentions and entities have weights of their own, else 1; null for a baseline
        n_parameters BIGINT: number of parameters; null for a baseline
        dim INTEGER: length of its vectors; null for a baseline
        max_tokens INTEGER: most tokens that it reads, special ones included; null for a baseline
        n_train_mentions BIGINT: number of mentions on which it was trained; or null
        validation_accuracy DOUBLE: share of the snapshot's validation mentions whose entity it ranks first among the
            entities of all validation mentions; or null
    """),
    key=("linker",),
    rules=rules(f"""
        known_kind: the kind has a known value
            kind NOT IN ({", ".join(repr(kind) for kind in KINDS)})
        encoder_is_known: an encoder has digests and a dimension, and a baseline has none
            (kind IN ('bm25', 'prior')) <> (weights_sha256 IS NULL AND dim IS NULL)
    """),
)

ENTITY_VECTORS = Table(
    name="entity_vectors",
    meaning="What a linker makes of entities: one vector for each distinct title and description, over all snapshots.",
    columns=_columns("""
        linker
        cut DATE: the first of the snapshots, in the order in which they were encoded, that has the text
        text_sha256 VARCHAR: digest of title and description, as in entity_texts
        vector BLOB (bulk): float16, little endian, `dim` of them
    """),
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
    columns=_columns(f"""
        wiki, linker
        release VARCHAR: release of TempEL
        cut DATE: snapshot of the mentions
        pool VARCHAR: among which candidates: own (those of the mentions' own snapshot), the day of another snapshot, or
            fixed-N (N entities, as many at each snapshot: those of the tests, filled up with pages that are articles at
            all snapshots)
        subset VARCHAR: subset of the mention: test or validation
        target_page_id BIGINT: the mention's entity
        anchor_page_id
        start_char INTEGER: offset of the mention in that article's text, in code points
        category VARCHAR: continual or new
        model_cut DATE: snapshot on which the linker was trained; null if tempkb did not train it
        seed
        rank INTEGER: place of the entity, from 1: by score, then by page_id; null if it is not among the first {N_TOP},
            is no candidate, or has no score (BM25 and prior give none to what shares nothing): a miss, which an average
            over ranks leaves out
        gold_is_candidate BOOLEAN: whether the entity is among the candidates
        anchor_is_candidate BOOLEAN: whether the article with the mention is among them; BM25 skips it
        n_candidates BIGINT: number of candidates
        n_tied INTEGER: number of other candidates with the same score as the entity; null without a rank
        top_page_ids BIGINT[] (bulk): the first {N_TOP} candidates, best first
        top_scores DOUBLE[] (bulk): their scores, rounded to nine decimals
        top_similarity DOUBLE: mean Jaccard similarity of the words of consecutive descriptions in that list, all cut to
            the shortest (the paper's figure 4a); null with fewer than two
    """),
    key=("target_page_id", "anchor_page_id", "start_char"),
    family=Family.LINKER,
    partitioned_by="linker, release, snapshot and pool",
    partition_columns=("linker", "release", "cut", "pool"),
    persist="view",
    code_version="2",
    rules=rules(f"""
        rank_is_a_place: a rank is between 1 and {N_TOP}
            rank NOT BETWEEN 1 AND {N_TOP}
        rank_names_the_entity: the candidate at the rank is the entity, and without a rank it is not in the list
            coalesce(top_page_ids[rank] <> target_page_id, list_contains(top_page_ids, target_page_id))
        a_score_for_each: each candidate of the list has a score
            len(top_page_ids) <> len(top_scores)
        only_candidates_have_ranks: an entity that is no candidate has no rank
            NOT gold_is_candidate AND rank IS NOT NULL
    """),
)

NIL_THRESHOLDS = _table_of_linkers(
    name="nil_thresholds",
    meaning="From where on each linker says that a mention's entity is not among the candidates, chosen on validation "
    "mentions of later snapshots in pools of earlier ones, of which entities that came in between are absent. Of a "
    "linker that tempkb trained these are pools of the day of its training or later ones.",
    columns=_columns("""
        linker
        measure VARCHAR: margin (the best score minus the second one) or top_score; `tempkb link` uses the one with the
            larger auc
        releases VARCHAR[]: releases whose validation mentions they are
        pools VARCHAR[]: snapshots whose candidates they were linked with
        n_present BIGINT: number of mentions whose entity is a candidate, once for each pool
        n_absent
        n_present_entities BIGINT: number of entities of the former
        n_absent_entities BIGINT: number of entities of the latter
        auc DOUBLE: share of pairs of a present and an absent mention in which the present one is higher
        low DOUBLE: lower end of its 95 % interval, clustered by entity; null under ten entities of a side
        high
        threshold DOUBLE: p up to which there is no such article: where the share of refused absent mentions exceeds
            that of refused present ones by most; null where reason says why there is none
        refused_present DOUBLE: share of the present mentions with a p up to the threshold; or null
        refused_absent DOUBLE: share of the absent mentions with a p up to the threshold; or null
        reason VARCHAR: why there is no threshold; or null
        present_values DOUBLE[] (bulk): the measure of present mentions, ascending, at most 1,000 of them, evenly
            spaced: p of a mention is (1 + those that are not above its own) / (1 + all)
    """),
    key=("linker", "measure"),
    rules=rules("""
        threshold_or_reason: there is a threshold, or why there is none
            (threshold IS NULL) = (reason IS NULL)
        threshold_where_it_tells: a threshold needs an interval of the AUC above one half
            threshold IS NOT NULL AND coalesce(low <= 0.5, true)
    """),
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


ROOM = Room("linking", TABLES, (), "tempkb.models.linking.steps")
