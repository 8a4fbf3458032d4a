"""A real dump, served as Wikimedia does: planned, fetched in pieces, built, tried on a sample."""

import gzip
import io
import json

import mwxml

from tempkb.wiki.dumps.files import open_dump
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.real.data import DUMPS, REAL
from tempkb_tests.wiki.dumps.server import drop_after, serving

pytestmark = REAL


def test_a_real_wiki_from_server_to_tables(tmp_path):
    """The whole aawiki of January 2026: 507 pages, 1,307 revisions, fetched over a line that breaks."""
    history = DUMPS / "dkpro+dkpro-jwpl/aawiki-20260101-pages-meta-history.xml.7z"
    variables = {
        "TEMPKB_WIKI": "aawiki",
        "TEMPKB_CONTACT": "me@example.org",
        "TEMPKB_NAMESPACES": "all",
        "TEMPKB_GRANULARITY": "year",
    }
    with serving() as server:
        folder = server.put_legacy("aawiki", "20260101", {"pages-meta-history.xml.7z": history.read_bytes()})
        variables["TEMPKB_MIRROR"] = server.root
        without_tables = run_tempkb(tmp_path / "home", "plan", **variables).stdout
        assert "No complete dump reaches" in without_tables
        files = {"pages-meta-history.xml.7z": history.read_bytes(), **_tables(history)}
        server.put_legacy("aawiki", "20260101", files)
        place = f"{folder}/aawiki-20260101-pages-meta-history.xml.7z"
        server.faults[place] = [drop_after(70_000), drop_after(70_000)]
        size = f"{sum(map(len, files.values())) / 1000:.1f} kB"
        assert size in run_tempkb(tmp_path / "home", "plan", **variables).stdout
        assert "fetched: aawiki-20260101" in run_tempkb(tmp_path / "home", "fetch", **variables).stdout
        assert len(server.requests_of(place)) == 3
        server.faults.clear()
        variables.pop("TEMPKB_MIRROR")
        run_tempkb(tmp_path / "home", "build", **variables)
        query = "SELECT count(DISTINCT page_id) AS pages, count(*) AS revisions FROM revision_log"
        assert json.loads(run_tempkb(tmp_path / "home", "sql", query, "--json").stdout) == {
            "pages": 507,
            "revisions": 1307,
        }
        built = run_tempkb(
            tmp_path / "sample", "build", "--sample", "5", "--all", "--dump", str(history), **variables
        ).stdout
        held = json.loads(run_tempkb(tmp_path / "sample", "sql", query, "--json").stdout)["pages"]
        assert 70 < held < 135, "one in five of 507, give or take"
        assert "windows are built." in built


def _tables(history):
    """The table of the history's pages, and two of no rows, with mysqldump's own head and end."""
    columns = {
        "page": "`page_id` int, `page_namespace` int, `page_title` varbinary(255), `page_is_redirect` tinyint",
        "page_props": "`pp_page` int, `pp_propname` varbinary(60), `pp_value` blob",
        "redirect": "`rd_from` int, `rd_namespace` int, `rd_title` varbinary(255), `rd_interwiki` varbinary(32)",
    }
    rows = {"page": f"INSERT INTO `page` VALUES {','.join(_pages(history))};\n"}
    return {
        f"{name}.sql.gz": gzip.compress(
            f"-- MariaDB dump 10.19\nCREATE TABLE `{name}` (\n  {told.replace(', ', ',' + chr(10) + '  ')}\n) ENGINE=InnoDB;\n"
            f"{rows.get(name, '')}-- Dump completed on 2026-01-02  3:04:05\n".encode(),
            mtime=0,
        )
        for name, told in columns.items()
    }


def _pages(history):
    """The rows of `page`, as the history has them."""
    for page in mwxml.Dump.from_file(io.BytesIO(b"".join(open_dump(history)))):
        title = page.title.replace(" ", "_").replace("\\", "\\\\").replace("'", "\\'")
        yield f"({page.id},{page.namespace},'{title}',{int(page.redirect is not None)})"
