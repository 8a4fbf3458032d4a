"""Mentions over real English articles of 2014 and 2016, read as one history: `TEMPKB_REAL_DATA=folder make real`."""

import tempkb
from tempkb.store.memory import in_memory
from tempkb.wikitext.counting import words_before, words_behind
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.real.data import DUMPS, REAL, as_history

pytestmark = REAL
FILES = (
    "yohasebe+wp2txt/ad8949a2dd/testdata_en.bz2",
    "piskvorky+gensim/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2",
)
CUTS = ("2014-12-01", "2016-05-01")


def rows(query: str, **tables) -> list[tuple]:
    """Run a query over some tables of the home."""
    with in_memory() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return connection.execute(query).fetchall()


def test_two_cuts_of_the_same_articles(tmp_path, monkeypatch):
    settings = {"TEMPKB_GRANULARITY": "month", "TEMPKB_WORKERS": "2", "TEMPKB_FIRST_WINDOW": "2014-11-01"}
    files = [as_history(DUMPS / name, tmp_path) for name in FILES]
    run_tempkb(tmp_path / "home", "build", "--windows", "2014-11-01..2014-12-01", "--dump", *files, **settings)
    run_tempkb(tmp_path / "home", "build", "--windows", "2016-04-01..2016-05-01", "--dump", *files, **settings)
    monkeypatch.setenv("TEMPKB_HOME", str(tmp_path / "home"))
    tables = {name: tempkb.read(name) for name in ("stable_snapshots", "mentions", "mention_priors", "page_texts")}
    articles = rows(
        """
        SELECT count(*), count(*) FILTER (WHERE n = 2), count(*) FILTER (WHERE n = 2 AND texts = 2) FROM (
            SELECT page_id, count(*) AS n, count(DISTINCT revision_id) AS texts FROM stable_snapshots
            WHERE redirect_title IS NULL AND NOT is_blank GROUP BY page_id)
        """,
        **tables,
    )[0]
    print(f"\n{articles[0]} articles, {articles[1]} of them at both cuts, {articles[2]} of these with two texts")
    left_out = {
        (row["partition"], row["reason"]): row["n"]
        for row in tempkb.read("exclusions", table_name="mentions").to_pylist()
    }
    for cut, window in zip(CUTS, ("2014-11-01", "2016-04-01"), strict=True):
        (found,) = rows(
            f"SELECT count(*), count(*) FILTER (WHERE via_redirect <> 'no') FROM mentions WHERE cut = DATE '{cut}'",
            **tables,
        )
        lost = {reason: n for (partition, reason), n in left_out.items() if partition == window}
        print(
            f"{cut}: {found[0] + sum(lost.values()):,} links, {found[0]:,} resolved, {found[1]:,} of them by redirects; {lost}"
        )
        assert found[0] > 100
        assert lost["red link"] > found[0]  # only some hundred of five million articles are there
    print("the most ambiguous surfaces:")
    for row in rows(
        """
        SELECT p.surface, string_agg(s.title || ' ' || round(p.prior, 2), ', ' ORDER BY p.prior DESC, s.title)
        FROM mention_priors AS p JOIN stable_snapshots AS s ON s.cut = p.cut AND s.page_id = p.target_page_id
        WHERE p.cut = DATE '2014-12-01' GROUP BY p.surface
        ORDER BY count(*) DESC, 1 - max(p.prior) DESC, p.surface LIMIT 10
        """,
        **tables,
    ):
        print(f"  {row[0]}: {row[1]}")
    print("mentions in articles whose texts differ:")
    sample = rows(
        """
        WITH changed AS (SELECT page_id FROM stable_snapshots GROUP BY page_id HAVING count(DISTINCT revision_id) = 2)
        SELECT m.cut, m.surface, s.title, t.text, m.start_char, m.end_char
        FROM mentions AS m SEMI JOIN changed ON changed.page_id = m.source_page_id
        JOIN stable_snapshots AS s ON s.cut = m.cut AND s.page_id = m.target_page_id
        JOIN page_texts AS t ON t.page_id = m.source_page_id AND t.revision_id = m.source_revision_id
        WHERE lower(m.surface) <> lower(s.title) ORDER BY md5(concat(m.source_page_id, m.start_char, m.cut)) LIMIT 5
        """,
        **tables,
    )
    for cut, surface, title, text, start, end in sample:
        left, right = words_before(text, start, 12), words_behind(text, end, 8)
        print(f"  {cut} {left!r} [{surface} -> {title}] {right!r}")
        assert text[start:end] == surface
    assert len(sample) == 5
