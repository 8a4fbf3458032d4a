"""placeholder until A's is merged"""

from collections.abc import Sequence


def estimates(source: str, groups: Sequence[str]) -> str:
    """source: groups, form (mean | share | exp), cluster, n, s, items."""
    by = ", ".join(groups)
    z = 1.959963984540054
    t = f"""({z} + ({z}**3 + {z}) / (4 * df) + (5 * {z}**5 + 16 * {z}**3 + 3 * {z}) / (96 * df**2)
        + (3 * {z}**7 + 19 * {z}**5 + 17 * {z}**3 - 15 * {z}) / (384 * df**3))"""
    return f"""
    SELECT {by},
           CASE form WHEN 'exp' THEN exp(theta) ELSE theta END AS value,
           CASE form WHEN 'exp' THEN exp(theta) * error ELSE error END AS standard_error,
           CASE WHEN df >= 9 THEN CASE form WHEN 'exp' THEN exp(theta - {t} * error) ELSE theta - {t} * error END END
               AS low,
           CASE WHEN df >= 9 THEN CASE form WHEN 'exp' THEN exp(theta + {t} * error) ELSE theta + {t} * error END END
               AS high,
           n_items, n_clusters
    FROM (
        SELECT *, n_clusters - 1 AS df,
               CASE WHEN n_clusters > 1 THEN sqrt(n_clusters / (n_clusters - 1) * squares) / total END AS error
        FROM (
            SELECT {by}, form, any_value(theta) AS theta, any_value(total) AS total, count(*) AS n_clusters,
                   sum((s - theta * n) ** 2) AS squares, sum(items)::BIGINT AS n_items
            FROM (
                SELECT *, sum(s) OVER same / sum(n) OVER same AS theta, sum(n) OVER same AS total FROM ({source})
                WINDOW same AS (PARTITION BY {by})
            ) GROUP BY {by}, form
        )
    )
    """
