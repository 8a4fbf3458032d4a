"""Building a home's windows from files, without Dagster: what the tests of the room share."""

from datetime import date
from pathlib import Path

from tempkb.core.settings import load_home
from tempkb.core.windows import windows_until
from tempkb.platform.rooms import TABLES
from tempkb.store.store import Store
from tempkb.wiki.dumps.catalogue import horizon_day, name_dump
from tempkb.wiki.revisions.building import Plan, build

NS_ALL = {"namespaces": "all", "workers": 1}


def build_files(*paths: Path, until: date | None = None, since: date | None = None, rebuild: bool = False, **settings):
    """Build all windows of the home that the environment names; return (store, report, windows)."""
    home = load_home(**{**NS_ALL, **settings})
    dump = name_dump(paths, home.chosen_wiki)
    store = Store(home, TABLES)
    horizon = until or horizon_day(dump)
    known = windows_until(home.settings.first_window, horizon, home.settings.granularity)
    windows = [window for window in known if since is None or window.start >= since]
    tables = None
    report = build(store, [Plan(dump, tables, tuple(windows))], known, lambda line: None, rebuild=rebuild)
    return store, report, windows


def winners(store):
    """{(page, cut): (revision, seconds)} of all snapshots."""
    rows = store.read("stable_snapshots").to_pylist()
    return {(row["page_id"], row["cut"]): (row["revision_id"], row["standing_seconds"]) for row in rows}


PAGE = "  <page>\n    <title>{title}</title>\n    <ns>{ns}</ns>\n    <id>{page_id}</id>\n{revisions}  </page>\n"
REVISION = """    <revision>
      <id>{rev}</id>
      <timestamp>{time}</timestamp>
      <contributor><username>Ada</username><id>1</id></contributor>
      <comment>{comment}</comment>
      <model>wikitext</model>
      <format>text/x-wiki</format>
      <text bytes="{size}" xml:space="preserve">{text}</text>
    </revision>
"""
HEAD = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">\n'
    "  <siteinfo><dbname>testwiki</dbname><case>first-letter</case>"
    '<namespaces><namespace key="0" /><namespace key="1">Talk</namespace><namespace key="118">Draft</namespace>'
    "</namespaces></siteinfo>\n"
)


def revision(rev, time, text="text", comment="edit"):
    return REVISION.format(rev=rev, time=time, text=text, comment=comment, size=len(text.encode()))


def page(page_id, *revisions, title=None, ns=0):
    return PAGE.format(page_id=page_id, title=title or f"Page {page_id}", ns=ns, revisions="".join(revisions))


def export(*pages):
    return (HEAD + "".join(pages) + "</mediawiki>\n").encode()
