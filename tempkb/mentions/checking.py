"""The promises of the room's tables, as queries that return rows which break them. Does not use Dagster."""

from tempkb.mentions.tables import ENTITY_POPULARITY, INVERTED_INDEX, MENTION_PRIORS, MENTIONS
from tempkb.store.promises import Promise, no_empty_window_between

PROMISES = (
    Promise(
        "priors_of_a_surface_add_up",
        "At each cut the priors of a surface sum to one, and there are as many links as mentions of whole articles.",
        MENTION_PRIORS,
        """
        SELECT cut, surface, sum(prior) FROM mention_priors GROUP BY cut, surface HAVING abs(sum(prior) - 1) > 1e-9
        UNION ALL
        SELECT cut, 'links', sum(n) FROM (
            SELECT cut, sum(n_links) AS n FROM mention_priors GROUP BY cut
            UNION ALL
            SELECT cut, -count(*) AS n FROM mentions WHERE via_redirect <> 'section' GROUP BY cut
        ) GROUP BY cut HAVING sum(n) <> 0
        """,
        (MENTIONS,),
    ),
    Promise(
        "the_index_counts_every_mention",
        "At each cut the index counts every mention of a whole article.",
        INVERTED_INDEX,
        """
        SELECT cut, sum(n) FROM (
            SELECT cut, sum(n_mentions) AS n FROM inverted_index GROUP BY cut
            UNION ALL
            SELECT cut, -count(*) AS n FROM mentions WHERE via_redirect <> 'section' GROUP BY cut
        ) GROUP BY cut HAVING sum(n) <> 0
        """,
        (MENTIONS,),
    ),
    *map(no_empty_window_between, (MENTIONS, INVERTED_INDEX, MENTION_PRIORS, ENTITY_POPULARITY)),
)
