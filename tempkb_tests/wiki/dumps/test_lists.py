"""Lists of files: what they say, and a thousand spoilt ones, none of which makes a dump shorter unnoticed."""

import contextlib
import hashlib
import json
from datetime import date
from pathlib import Path

import pytest

from tempkb.core.errors import SourceError
from tempkb.wiki.dumps.catalogue import find_dumps
from tempkb.wiki.dumps.offers import FolderMirror, offers_of, read_status, read_sums, wikis_in
from tempkb_tests.damage import spoil
from tempkb_tests.wiki.dumps.server import Server, serving

PARTS = {f"p{first}p{first + 99}": b"part %d" % first for first in range(1, 1200, 100)}
TABLES = {"page.sql.gz": b"pages", "page_props.sql.gz": b"props", "redirect.sql.gz": b"redirects"}
LEGACY = {
    f"pages-meta-history{n}.xml-p{n}p{n}.{form}": b"%d %s" % (n, form.encode())
    for n in range(1, 9)
    for form in ("7z", "bz2")
}


@pytest.fixture
def server():
    with serving() as one:
        yield one


def laid_out(server: Server, root):
    """The server's files as a folder."""
    server.write_to(root)
    return FolderMirror(root)


def verdict(root, whole):
    """What a spoilt list makes of a dump: `told` if it does not count, `refused` if a file does not fit, else `same`."""
    dumps = find_dumps(root)
    if not dumps:
        pytest.fail("the dump has vanished")
    (dump,) = dumps
    if dump.flaws:
        assert all(len(flaw) > 10 for flaw in dump.flaws)
        return "told"
    # In another compression a part is the same part.
    assert {file.path.stem for file in dump.files} == whole
    return "same" if all(is_as_told(file) for file in dump.files) else "refused"


def is_as_told(file):
    with contextlib.suppress(SourceError):
        file.verify()
        return True
    return False


@pytest.mark.parametrize("layout", ["content", "legacy"])
def test_spoilt_lists_are_told(layout, server, tmp_path):
    if layout == "content":
        folder = server.put_content("testwiki", "2026-05-01", PARTS)
        place, seed = f"{folder}/SHA256SUMS", 61
    else:
        folder = server.put_legacy("testwiki", "20260501", LEGACY | TABLES)
        place, seed = f"{folder}/dumpstatus.json", 62
    mirror = laid_out(server, tmp_path)
    whole = {Path(file.name).stem for offer in offers_of(mirror, "testwiki") for file in offer.files}
    assert len(whole) == (12 if layout == "content" else 11)
    listed = tmp_path / place

    def judge(path, _mutation, _plain):
        listed.write_bytes(path.read_bytes())
        return verdict(tmp_path, whole)

    (tmp_path / "named").mkdir()
    spoil(tmp_path / "named", "list.txt", listed.read_bytes(), b"{} other " * 400, 500, seed, judge)


def test_a_list_that_was_cut_between_two_lines(server, tmp_path):
    folder = server.put_content("testwiki", "2026-05-01", PARTS)
    mirror = laid_out(server, tmp_path)
    listed = tmp_path / folder / "SHA256SUMS"
    listed.write_text("".join(listed.read_text().splitlines(keepends=True)[:-1]))
    (offer,) = offers_of(mirror, "testwiki")
    assert offer.flaws == ["testwiki-2026-05-01-p1101p1200.xml.bz2 exists, but no list of files names it"]


@pytest.mark.parametrize(
    ("jobs", "flaws"),
    [
        ({}, []),
        ({"metahistory7zdump": "in-progress"}, ["job metahistory7zdump is in-progress"]),
        ({"metahistory7zdump": "failed"}, []),
        ({"metahistorybz2dump": "waiting"}, ["job metahistorybz2dump is waiting"]),
        ({"pagepropstable": "failed"}, ["job pagepropstable is failed"]),
        ({"pagetable": "waiting"}, ["job pagetable is waiting"]),
        ({"redirecttable": "in-progress"}, ["job redirecttable is in-progress"]),
        ({"articlesdump": "in-progress"}, []),
    ],
)
def test_a_dump_is_complete_when_the_jobs_we_read_are_done(jobs, flaws, server, tmp_path):
    server.put_legacy("testwiki", "20260501", {"pages-meta-history.xml.bz2": b"x", **TABLES}, **jobs)
    (offer,) = offers_of(laid_out(server, tmp_path), "testwiki")
    assert offer.flaws == flaws
    kinds = {file.kind for file in offer.files}
    assert ("history" in kinds) == (jobs.get("metahistorybz2dump") is None)


def test_a_content_export_does_not_wait_for_the_older_kind(server, tmp_path):
    """Both of one day are one dump; its tables come from the one, its history from the other."""
    server.put_content("testwiki", "2026-05-01", {"p1p9": b"new"})
    server.put_legacy("testwiki", "20260501", TABLES, metahistory7zdump="waiting")
    (offer,) = offers_of(laid_out(server, tmp_path), "testwiki")
    assert (offer.dump_id, offer.flaws) == ("testwiki-20260501", [])
    assert sorted(file.kind for file in offer.files) == ["history", "page", "page_props", "redirect"]


@pytest.mark.parametrize("job", ["pagetable", "pagepropstable"])
def test_tables_that_are_still_being_made_are_waited_for(job, server, tmp_path):
    """The history is there; without the table no page would have an item, and the windows would stand so for good."""
    server.put_content("testwiki", "2026-05-01", {"p1p9": b"new"})
    some = {name: data for name, data in TABLES.items() if job != name.split(".")[0].replace("_", "") + "table"}
    server.put_legacy("testwiki", "20260501", some, **{job: "waiting"})
    (offer,) = offers_of(laid_out(server, tmp_path), "testwiki")
    assert offer.flaws == [f"job {job} is waiting"]


def test_wikidatas_pages_are_not_its_entities(server, tmp_path):
    server.put_legacy(
        "wikidatawiki", "20260504", {"pages-meta-history.xml.7z": b"x" * 99, **TABLES}, pagetable="waiting"
    )
    place = "wikidatawiki/entities/20260504/wikidata-20260504"
    server.files[f"{place}-all.json.gz"] = b"entities"
    digest = hashlib.sha1(b"entities", usedforsecurity=False).hexdigest()
    server.files[f"{place}-sha1sums.txt"] = f"{digest}  wikidata-20260504-all.json.gz\n".encode()
    (offer,) = offers_of(laid_out(server, tmp_path), "wikidatawiki", entities_only=True)
    assert ([file.kind for file in offer.files], offer.flaws) == (["entities"], [])


def test_tables_alone_are_a_dump_without_a_history(server, tmp_path):
    server.put_legacy("testwiki", "20260501", TABLES, metahistory7zdump="failed", metahistorybz2dump="failed")
    (offer,) = offers_of(laid_out(server, tmp_path), "testwiki")
    assert (offer.flaws, len(offer.files)) == ([], 3)


def test_of_a_folder_one_compression_is_enough(server, tmp_path):
    folder = server.put_legacy("testwiki", "20260501", LEGACY | TABLES)
    mirror = laid_out(server, tmp_path)
    for path in (tmp_path / folder).glob("*history[1-4]*.7z"):
        path.unlink()
    (offer,) = offers_of(mirror, "testwiki")
    assert offer.flaws == []
    assert (
        sorted(file.name.rpartition(".")[2] for file in offer.files if file.kind == "history")
        == ["7z"] * 4 + ["bz2"] * 4
    )
    path = tmp_path / folder / "testwiki-20260501-pages-meta-history1.xml-p1p1.bz2"
    path.write_bytes(path.read_bytes() + b"more")
    (offer,) = offers_of(mirror, "testwiki")
    assert offer.flaws == [f"{path.name} has 9 of 5 bytes"]
    path.unlink()
    (offer,) = offers_of(mirror, "testwiki")
    assert offer.flaws == ["file testwiki-20260501-pages-meta-history1.xml-p1p1.7z is missing"]


def test_wikidatas_entities_are_complete_with_their_sum(server, tmp_path):
    place = "wikidatawiki/entities/20260504/wikidata-20260504"
    server.files[f"{place}-all.json.gz"] = server.files[f"{place}-all.json.bz2"] = b"entities"
    mirror = laid_out(server, tmp_path)
    (offer,) = offers_of(mirror, "wikidatawiki")
    assert (offer.is_listed, [file.name for file in offer.files]) == (False, ["wikidata-20260504-all.json.gz"])
    digest = hashlib.sha1(b"entities", usedforsecurity=False).hexdigest()
    sums = f"{digest}  wikidata-20260504-all.json.gz\n{digest}  wikidata-20260504-all.json.bz2\n{digest}  wikidata-20260504-all.nt.gz\n"
    (tmp_path / f"{place}-sha1sums.txt").write_text(sums)
    (offer,) = offers_of(mirror, "wikidatawiki", since=date(2026, 5, 4))
    assert (offer.is_listed, offer.flaws, offer.files[0].checksum) == (True, [], f"sha1:{digest}")
    assert offers_of(mirror, "wikidatawiki", since=date(2026, 5, 5)) == []
    assert wikis_in(mirror) == ["wikidatawiki"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"0" * 64 + b"  name", "x, line 1: the list ends in the middle of a line"),
        (b"0" * 63 + b"  name\n", "x, line 1: found '000"),
        (b"<html>\n", "x, line 1: found '<html>'"),
        (b"0" * 64 + b"  a\n" + b"1" * 64 + b"  a\n", "x, line 2: 'a' has two different checksums"),
        (b"\xff\xfe\n", "x, line 1: found"),
    ],
)
def test_a_list_of_sums_that_is_none(data, said):
    with pytest.raises(SourceError, match=said):
        read_sums(data, "x")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "x: broken at character 1"),
        (b"[" * 100_000, "x: broken at character"),
        (b"[]", "x: found no jobs"),
        (b'{"jobs": {"a": 3}}', "x: job 'a' has no status and files"),
        (b'{"jobs": {"a": {"status": "done", "files": {"b": 7}}}}', "x: the files of job 'a' are not described"),
        (b'{"jobs": \xff}', "x: broken"),
    ],
)
def test_a_status_that_is_none(data, said):
    with pytest.raises(SourceError, match=said):
        read_status(data, "x")


def test_a_done_file_without_a_sum_is_refused(server, tmp_path):
    folder = server.put_legacy("testwiki", "20260501", {"pages-meta-history.xml.bz2": b"x", **TABLES})
    said = json.loads(server.files[f"{folder}/dumpstatus.json"])
    del said["jobs"]["pagetable"]["files"]["testwiki-20260501-page.sql.gz"]["sha1"]
    del said["jobs"]["pagetable"]["files"]["testwiki-20260501-page.sql.gz"]["md5"]
    server.files[f"{folder}/dumpstatus.json"] = json.dumps(said).encode()
    (offer,) = offers_of(laid_out(server, tmp_path), "testwiki")
    assert "testwiki-20260501-page.sql.gz has no size and checksum though its job is done" in offer.flaws[0]
