"""Trials of releases over generated worlds: each gives equal cells, or is refused and leaves nothing.

What a release holds is counted from its rows alone, by no code of the room.
"""

import gzip
import re
from collections import defaultdict
from datetime import date
from itertools import product
from pathlib import Path

from tempkb.benchmarks.register import create, keep
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb.benchmarks.tempel.design import make_design
from tempkb.core.errors import DesignError
from tempkb.platform.api import open_store
from tempkb_tests.benchmarks.building import build_release
from tempkb_tests.conftest import run_tempkb

CATEGORIES, SUBSETS = ("continual", "new"), ("train", "validation", "test")
_PAGE = re.compile(r"<title>([^<]*)</title>\s*<ns>(\d+)</ns>\s*<id>(\d+)</id>")
_DUMP_DAY = "20220201"
_SQL = """-- MySQL dump 10.19
DROP TABLE IF EXISTS `{name}`;
CREATE TABLE `{name}` (
{columns}
);
INSERT INTO `{name}` VALUES {rows};
-- Dump completed on 2022-02-01  0:00:00
"""


def invent_items(history: Path, folder: Path, wiki: str) -> list[Path]:
    """Write a page and a page_props dump in which each article of a history has an invented Wikidata item."""
    pages = []
    for title, namespace, number in _PAGE.findall(history.read_text("utf-8")):
        plain = title.replace("&amp;", "&").replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">")
        plain = plain.split(":", 1)[1] if namespace != "0" and ":" in plain else plain
        pages.append((int(number), int(namespace), plain.replace(" ", "_").replace("'", "\\'")))
    tables = {
        "page": (
            ("page_id", "page_namespace", "page_title", "page_is_redirect"),
            [f"({number},{namespace},'{title}',0)" for number, namespace, title in pages],
        ),
        "page_props": (
            ("pp_page", "pp_propname", "pp_value"),
            [f"({number},'wikibase_item','Q{number}')" for number, namespace, _ in pages if namespace == 0],
        ),
    }
    written = []
    for name, (columns, rows) in tables.items():
        path = folder / f"{wiki}-{_DUMP_DAY}-{name}.sql.gz"
        declared = ",\n".join(f"  `{column}` varbinary(255)" for column in columns)
        path.write_bytes(gzip.compress(_SQL.format(name=name, columns=declared, rows=",".join(rows)).encode()))
        written.append(path)
    return written


def build_history(history: Path, home: Path, wiki: str, first_window: str) -> None:
    """Build a home of yearly windows from a generated history with invented items."""
    folder = home / "dumps" / wiki / _DUMP_DAY
    folder.mkdir(parents=True)
    history.rename(folder / f"{wiki}-{_DUMP_DAY}-pages-meta-history.xml")
    invent_items(folder / f"{wiki}-{_DUMP_DAY}-pages-meta-history.xml", folder, wiki)
    run_tempkb(home, "build", TEMPKB_GRANULARITY="year", TEMPKB_FIRST_WINDOW=first_window)


def trial(preset: str, cuts: list[date], seed: int, **changes: str) -> str:
    """Make a release over the home that the environment names; check what it left, and say what came of it."""
    store = open_store()
    name = f"{preset}-{len(cuts)}-{seed}"
    release = create(store.home, TEMPEL, preset, make_design(preset, cuts, {"seed": str(seed), **changes}), name)
    keep(store.home, release)
    refused = ""
    try:
        warnings = build_release(store, TEMPEL, release)
    except DesignError as error:
        refused = str(error)
    if refused:
        assert not (store.home.path / "releases" / f"{name}.json").exists()
        assert all(path.read_bytes().startswith(b"- ") for path in store.home.lake.glob(f"*/{name}*/CURRENT"))
        assert refused.endswith(f"Nothing was kept of release {name!r}")
        return f"refused: {refused.splitlines()[-1]}"
    entities, n_mentions = defaultdict(set), defaultdict(int)
    for row in store.read("tempel_mentions", release=name).to_pylist():
        cell = row["category"], row["subset"], row["cut"]
        entities[cell].add(row["target_page_id"])
        n_mentions[cell] += 1
    said = []
    for category in CATEGORIES:
        cells = list(product([category], SUBSETS, cuts))
        if not any(n_mentions[cell] for cell in cells):
            assert category == "new"
            assert any("has no new entities" in warning for warning in warnings)
            continue
        for subset in SUBSETS:
            found = {(len(entities[category, subset, cut]), n_mentions[category, subset, cut]) for cut in cuts}
            assert len(found) == 1, f"{name}: {category} {subset}: {found}"
            (counts,) = found
            assert min(counts) > 0, f"{name}: {category} {subset} is empty"
            said.append(f"{category} {subset} {counts[0]}/{counts[1]}")
    (row,) = store.read("tempel_releases", release=name).to_pylist()
    assert row["is_equal"]
    return "equal: " + ", ".join(said)
