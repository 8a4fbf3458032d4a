"""`tempkb status`: what is stale and what to type, and why dumps that lie here are not taken."""

from dataclasses import replace

from tempkb.commands.screens import status
from tempkb.platform.rooms import TABLES
from tempkb.store.drafts import Provenance
from tempkb.store.store import Store
from tempkb.wiki.mentions.tables import PAGE_TEXTS
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb_tests.wiki.revisions.builds import build_files, export, page, revision

CHANGED = "out of date, since tempkb, the settings or what they were made from has changed: "


def said_by_status(capsys):
    status.print_status()
    lines = capsys.readouterr().out.splitlines()
    return [line for line in lines if line.startswith(("out of date", "made by", "not taken", "windows that"))]


def test_what_is_stale_is_said_with_what_to_type(home_folder, tmp_path, monkeypatch, capsys):
    path = tmp_path / "testwiki-20210701-pages-meta-history.xml"
    path.write_bytes(export(page(1, revision(11, "2021-02-03T00:00:00Z"))))
    store, _, _ = build_files(path, first_window="2021-01-01")
    store.write(PAGE_TEXTS, "2021-01-01", [PAGE_TEXTS.schema.empty_table()], Provenance())
    monkeypatch.setenv("TEMPKB_NAMESPACES", "all")
    # As it is after a change of the code: snapshots rest on the dump, texts on what the home holds.
    changed = replace(STABLE_SNAPSHOTS, code_version="later")
    tables = [changed if table is STABLE_SNAPSHOTS else table for table in TABLES]
    monkeypatch.setattr(status, "open_store", lambda: Store(store.home, tables))
    of_texts, of_snapshots = said_by_status(capsys)
    assert of_texts.startswith(f"{CHANGED}page_texts (1 partition); renew: ")
    assert of_texts.endswith("tempkb build")
    # What was read stands, whatever the code is by now.
    assert of_snapshots.startswith(
        "made by rules of earlier versions of tempkb, and stays as it is: stable_snapshots (2 partitions); windows are "
    )
    assert of_snapshots.endswith("tempkb build --rebuild --window 2021-01-01..2021-07-01 --dump FILE")


def test_a_dump_here_that_would_serve_a_missing_window_is_named(home_folder, monkeypatch, capsys):
    for name, value in (("WIKI", "testwiki"), ("FIRST_WINDOW", "2021-01-01")):
        monkeypatch.setenv(f"TEMPKB_{name}", value)
    history = home_folder / "dumps/testwiki/20210401/testwiki-20210401-pages-meta-history.xml"
    history.parent.mkdir(parents=True)
    history.write_bytes(export(page(1, revision(11, "2021-02-03T00:00:00Z"))))
    listed = history.parent.parent / "20210410"
    listed.mkdir()
    (listed / "dumpstatus.json").write_text('{"jobs": {"metahistorybz2dump": {"status": "waiting"}}}')
    to_build, unlisted, incomplete = said_by_status(capsys)
    assert to_build.startswith("windows that a dump serves and that are not built: 2021-Q1; build them: ")
    assert unlisted.startswith("not taken: testwiki-20210401: lies here, but no list of its publisher says what ")
    assert incomplete.startswith("not taken: testwiki-20210410: lies here, but job metahistorybz2dump is waiting")
    # What a mirror shows is asked by another command.
    monkeypatch.setenv("TEMPKB_MIRROR", str(home_folder / "mirror"))
    pointed_at = said_by_status(capsys)[-1]
    assert pointed_at.startswith("windows that have ended and that no dump here serves: 2021-Q2 to ")
    assert pointed_at.endswith("tempkb plan")
