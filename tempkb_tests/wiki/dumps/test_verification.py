"""Which dumps may go, and that a removal leaves nothing that counts."""

import shutil
from datetime import date

import pytest
from click.testing import CliRunner

from tempkb.commands.cli import main
from tempkb.core.files import LinkError
from tempkb.platform.api import open_store
from tempkb.platform.planning.due import retirable
from tempkb.wiki.dumps.catalogue import find_dumps
from tempkb.wiki.dumps.verification import empty_bin, remove_dump, superfluous
from tempkb_tests.wiki.dumps.server import serving
from tempkb_tests.wiki.dumps.test_lists import TABLES, laid_out

FILES = {"pages-meta-history.xml.7z": b"seven", "pages-meta-history.xml.bz2": b"bz", **TABLES}


@pytest.fixture
def root(tmp_path):
    """Four dumps of a wiki's pages, the last not complete; two of Wikidata's entities."""
    with serving() as server:
        for month in ("01", "02", "03"):
            server.put_legacy("testwiki", f"2026{month}01", FILES)
        server.put_legacy("testwiki", "20260401", FILES, metahistory7zdump="in-progress")
        server.put_content("testwiki", "2026-02-01", {"p1p9": b"content"})
        for day in ("20260105", "20260406"):
            server.files[f"wikidatawiki/entities/{day}/wikidata-{day}-all.json.gz"] = b"entities"
        laid_out(server, tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("keep", "needed", "gone"),
    [
        (0, [], []),
        (1, [], ["testwiki-20260101", "testwiki-20260201", "wikidatawiki-20260105"]),
        (2, [], ["testwiki-20260101"]),
        (9, [], []),
        (1, ["testwiki-20260101", "wikidatawiki-20260105"], ["testwiki-20260201"]),
    ],
)
def test_the_newest_stay_and_those_that_are_waited_for(keep, needed, gone, root):
    assert [dump.dump_id for dump in superfluous(find_dumps(root), keep, needed)] == gone


@pytest.mark.parametrize("place", ["testwiki", "testwiki/20260101", "_arriving/testwiki", "_removed", "sums"])
def test_a_dump_behind_a_link_stays(place, root, tmp_path):
    dump = find_dumps(root)[0]
    assert dump.dump_id == "testwiki-20260101"
    link, elsewhere = root / place, tmp_path / "elsewhere"
    (elsewhere / "20260101").mkdir(parents=True)
    (elsewhere / "20260101" / "mine").write_text("mine")
    if link.exists():
        shutil.copytree(link, elsewhere, dirs_exist_ok=True)
        shutil.rmtree(link)
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    with pytest.raises(LinkError, match=f"^{link}: found a link to {elsewhere}; expected .*: rm {link}$"):
        remove_dump(root, dump)
    assert sorted(elsewhere.rglob("*")) == before
    assert link.is_symlink()
    if place == "_removed":
        with pytest.raises(LinkError):
            empty_bin(root)
    link.unlink()
    remove_dump(root, dump)
    assert not (root / "testwiki" / "20260101").exists()


def test_of_a_dump_with_a_file_on_another_disk_only_the_link_goes(root, tmp_path):
    dump = find_dumps(root)[0]
    path, disk = dump.files[0].path, tmp_path / "disk"
    path.rename(disk)
    path.symlink_to(disk)
    remove_dump(root, dump)
    assert disk.exists()
    assert not path.is_symlink()


@pytest.mark.parametrize(
    ("wiki", "gone"),
    [
        ("simplewiki", ["simplewiki-20260201", "wikidatawiki-20260105"]),
        # Whose the dumps are is not known before the first build.
        ("", ["wikidatawiki-20260105"]),
    ],
)
def test_dumps_of_other_wikis_in_a_shared_folder_stay(wiki, gone, home_folder, configure):
    others = ["dewiki/20260301", "dewiki/20260501", "wikidatawiki/20260102"] if wiki else []
    for place in ["simplewiki/20260201", "simplewiki/20260401", *others]:
        folder = home_folder / "dumps" / place
        folder.mkdir(parents=True)
        (folder / f"{place.replace('/', '-')}-pages-meta-history.xml").touch()
    for day in ("20260105", "20260406"):
        folder = home_folder / "dumps" / "wikidatawiki" / "entities" / day
        folder.mkdir(parents=True)
        (folder / f"wikidata-{day}-all.json.gz").touch()
    named = {"wiki": wiki} if wiki else {}
    configure(keep_dumps="1", first_window="2026-04-01", wikidata_days="0", **named)
    assert [dump.dump_id for dump in retirable(open_store(), date(2026, 5, 15))] == gone


def test_all_of_a_dump_goes_and_only_that(root):
    (dump,) = [one for one in find_dumps(root) if one.dump_id == "testwiki-20260201"]
    assert remove_dump(root, dump) > 20
    assert not list(root.rglob("*20260201*"))
    assert not list(root.rglob("*2026-02-01*"))
    assert not (root / "other").exists()
    assert [one.dump_id for one in find_dumps(root) if not one.flaws] == [
        "testwiki-20260101",
        "wikidatawiki-20260105",
        "testwiki-20260301",
        "wikidatawiki-20260406",
    ]


def test_a_removal_that_is_killed_leaves_no_complete_dump(root, monkeypatch):
    (dump,) = [one for one in find_dumps(root) if one.dump_id == "testwiki-20260301"]

    def killed(_path, **_options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("tempkb.core.files.shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            remove_dump(root, dump)
    assert "testwiki-20260301" not in [one.dump_id for one in find_dumps(root)]
    (other,) = [one for one in find_dumps(root) if one.dump_id == "testwiki-20260101"]
    remove_dump(root, other)
    assert not (root / "_removed").exists(), "the next removal clears what was left"


def test_what_has_come_of_an_interrupted_fetch_goes_too(root):
    part = root / "_arriving/testwiki/20260401/testwiki-20260401-pages-meta-history.xml.7z.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(bytes(5000))
    (dump,) = [one for one in find_dumps(root) if one.dump_id == "testwiki-20260401"]
    assert dump.flaws
    assert remove_dump(root, dump) > 5000
    assert not list(root.rglob("*20260401*"))


def test_what_a_killed_removal_has_left_of_a_dump_goes_with_gc(home_folder):
    left = home_folder / "dumps" / "_removed" / "0a1b" / "demowiki-20240101-page.sql.gz"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half a dump")
    done = CliRunner().invoke(main, ["gc"])
    assert done.exit_code == 0, done.output
    assert not left.parent.parent.exists()
