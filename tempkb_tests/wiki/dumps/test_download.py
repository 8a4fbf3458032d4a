"""Fetching from servers that misbehave: what arrives is what was listed, or one message says why not."""

import errno
import hashlib
import json
import re
import socket
import threading
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

from tempkb.core.errors import SettingsError, SourceError
from tempkb.wiki.dumps import download as download_module
from tempkb.wiki.dumps import http as http_module
from tempkb.wiki.dumps.catalogue import find_dumps
from tempkb.wiki.dumps.download import Download, Transfer
from tempkb.wiki.dumps.http import Brake, HttpMirror, Manners
from tempkb.wiki.dumps.offers import FolderMirror, OfferedFile, below, offers_of
from tempkb_tests.killed import KilledError
from tempkb_tests.wiki.dumps import server as faults
from tempkb_tests.wiki.dumps.server import drop_after, ignore_range, say, serving, wrong_range

# Longer than any buffer on the way, so that a dropped connection leaves some of it behind.
HISTORY = hashlib.sha256(b"x").digest() * 40_000
BZ2 = "pages-meta-history.xml.bz2"
TABLES = {"page.sql.gz": b"pages", "page_props.sql.gz": b"props", "redirect.sql.gz": b"redirects"}


@pytest.fixture
def server():
    with serving() as one:
        yield one


@pytest.fixture
def waits():
    """Seconds that were waited, by a clock that does not tick."""
    return []


@pytest.fixture
def mirror(server, waits):
    manners = Manners(tries=4, first_wait=1.0, longest_wait=100.0, timeout=0.5, slowest=10_000, patience=0.2)
    return HttpMirror(
        server.root, "me@example.org", manners=manners, pause=lambda seconds, _stopped: waits.append(seconds)
    )


@pytest.fixture
def dump(server):
    """A small complete dump: the place of its history."""
    folder = server.put_legacy("testwiki", "20260401", {BZ2: HISTORY, **TABLES})
    return f"{folder}/testwiki-20260401-{BZ2}"


def fetch(mirror, root):
    (offer,) = offers_of(mirror, "testwiki")
    return Download(mirror, offer, root).run()


def arrived(root, place=f"testwiki/20260401/testwiki-20260401-{BZ2}"):
    return (root / place).read_bytes()


def test_a_dump_is_fetched_whole_and_stands_in_the_catalogue(mirror, server, dump, tmp_path):
    paths = fetch(mirror, tmp_path)
    assert sorted(path.name for path in paths) == sorted(f"testwiki-20260401-{rest}" for rest in (BZ2, *TABLES))
    assert arrived(tmp_path) == HISTORY
    (found,) = find_dumps(tmp_path)
    assert (found.dump_id, found.flaws, found.is_listed) == ("testwiki-20260401", (), True)
    assert server.busiest <= 2
    assert all(agent.startswith("tempkb/") and "(me@example.org)" in agent for agent in server.agents)
    assert not [path for path in (tmp_path / "_arriving").rglob("*") if path.suffix in {".part", ".json"}]
    server.asked.clear()
    fetch(mirror, tmp_path)
    assert not server.requests_of(dump), "what is there and verified is not fetched again"


@pytest.mark.parametrize(
    ("fault", "ranges"),
    [
        pytest.param([drop_after(0)], 2, id="dropped before the first byte"),
        pytest.param([drop_after(300_000)], 2, id="dropped early"),
        pytest.param([drop_after(1_279_999)], 2, id="dropped at the last byte"),
        pytest.param([drop_after(300_000), wrong_range], 3, id="wrong range answered"),
        pytest.param([drop_after(300_000), ignore_range], 2, id="range ignored"),
        pytest.param([drop_after(300_000), say(416)], 3, id="range refused"),
        pytest.param([say(503), say(503), say(503)], 4, id="a storm of 503"),
        pytest.param([say(429, Retry_After="7")], 2, id="asked to wait"),
        pytest.param([drop_after(9_000)] * 9, 10, id="dropped again and again, but each time further"),
        pytest.param([faults.silence], 2, id="silence"),
        pytest.param([faults.drip], 2, id="a slow drip"),
        pytest.param([faults.drip_headers], 2, id="headers without an end"),
        pytest.param([faults.cut_without_length(5000)] * 3, 4, id="an early end that looks like one"),
    ],
)
def test_trouble_that_passes_leaves_no_trace(fault, ranges, mirror, server, dump, tmp_path):
    server.faults[dump] = list(fault)
    fetch(mirror, tmp_path)
    assert arrived(tmp_path) == HISTORY
    assert len(server.requests_of(dump)) == ranges


def test_a_server_that_asks_us_to_wait_is_waited_for(mirror, server, dump, tmp_path, waits):
    server.faults[dump] = [say(429, Retry_After="7"), say(503, Retry_After="999999"), say(503)]
    fetch(mirror, tmp_path)
    told, capped, grown = waits
    assert (told, capped) == (7.0, 100.0)
    assert 3.0 <= grown <= 5.0, "the third wait is four times the first, within the jitter of a quarter"


def test_what_has_come_is_kept_for_a_later_try(mirror, server, dump, tmp_path):
    server.faults[dump] = [drop_after(300_000)] + [say(503)] * 3
    with pytest.raises(
        SourceError, match=r"the server answered 503 .* 4 times; 300000 bytes have arrived and are kept"
    ):
        fetch(mirror, tmp_path)
    assert find_dumps(tmp_path)[0].flaws, "a dump that is still arriving is not complete"
    server.asked.clear()
    fetch(mirror, tmp_path)
    assert server.requests_of(dump) == ["bytes=300000-"]
    assert arrived(tmp_path) == HISTORY


def test_a_server_that_never_gives_more_is_given_up(mirror, server, dump, tmp_path, waits):
    server.faults[dump] = [faults.cut_without_length(1000)] * 50
    with pytest.raises(SourceError, match=r"the answer ended after 1000 of 1280000 bytes, 4 times"):
        fetch(mirror, tmp_path)
    assert len(waits) == 3, "before each further try"


def test_a_server_whose_name_nobody_knows_is_given_up_at_once(dump, waits, monkeypatch):
    def resolve(*_named, **_options):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    mirror = HttpMirror("https://nowhere.invalid", "me@example.org", pause=lambda seconds, _: waits.append(seconds))
    with pytest.raises(SourceError, match=r"no server has the name nowhere\.invalid"):
        mirror.small_file(dump)
    assert not waits


def test_headers_have_thirty_seconds_where_a_read_has_more(server, dump, monkeypatch):
    assert http_module._HEADERS == 30
    monkeypatch.setattr(http_module, "_HEADERS", 0.25)
    server.faults[dump] = [faults.drip_headers]
    mirror = HttpMirror(server.root, "me@example.org", manners=Manners(tries=1, timeout=60.0))
    with pytest.raises(SourceError, match=r"no answer \(its headers did not arrive within 0\.25 s\), 1 times"):
        mirror.small_file(dump)


@pytest.mark.parametrize(
    ("free", "most", "said"),
    [
        (500_000, 10**12, "the 500000 bytes that are free on the disk, of a file whose size nobody states"),
        (10**13, 700_000, "700000 bytes of a file whose size nobody states"),
    ],
)
def test_a_file_without_a_size_ends_at_the_limit(free, most, said, mirror, server, dump, tmp_path, monkeypatch):
    assert download_module._MOST == 10**12
    monkeypatch.setattr(download_module, "_MOST", most)
    monkeypatch.setattr(download_module.shutil, "disk_usage", lambda _path: SimpleNamespace(free=free))
    server.faults[dump] = [faults.longer_than_told]
    file, draft = OfferedFile(dump, "history"), tmp_path / "file.part"
    with pytest.raises(SourceError, match=f"more than {said}; nothing is kept"):
        Transfer(mirror, file, draft, lambda _n: None, threading.Event()).run()
    assert not draft.exists()


def test_a_file_without_a_size_below_the_limit_is_kept(mirror, server, dump, tmp_path):
    server.faults[dump] = [faults.longer_than_told]
    draft = tmp_path / "file.part"
    Transfer(mirror, OfferedFile(dump, "history"), draft, lambda _n: None, threading.Event()).run()
    assert draft.read_bytes() == HISTORY + b"more and more"


@pytest.mark.parametrize("length", ["9" * 5000, "\xb2"])
def test_a_length_that_is_no_number_counts_as_none(length, mirror, server, dump):
    server.faults[dump] = [faults.with_length(length)]
    assert mirror.small_file(dump.replace(BZ2, "page.sql.gz")) == b"pages"
    assert mirror.small_file(dump) == HISTORY


def test_when_one_file_fails_the_others_do_not_wait_on(mirror, server, dump, tmp_path):
    paused = []
    mirror.pause = lambda seconds, stopped: paused.append(stopped.wait(20))
    server.faults[dump] = [say(503)] * 9
    del server.files[dump.replace(BZ2, "page.sql.gz")]
    with pytest.raises(SourceError, match=r"page\.sql\.gz: the server answered 404"):
        fetch(mirror, tmp_path)
    assert all(paused), "it was woken"


def test_a_draft_that_is_linked_to_a_mirrors_file_is_never_written_over(mirror, server, dump, tmp_path):
    """A fetch from a folder was killed; now the mirror is a server."""
    precious = tmp_path / "precious.bz2"
    precious.write_bytes(b"a mirror's own file")
    draft = tmp_path / "home/_arriving" / f"{dump}.part"
    draft.parent.mkdir(parents=True)
    draft.hardlink_to(precious)
    fetch(mirror, tmp_path / "home")
    assert precious.read_bytes() == b"a mirror's own file"
    assert arrived(tmp_path / "home") == HISTORY


def test_a_fetch_that_is_killed_right_behind_a_file_leaves_nothing_of_its_arrival(mirror, dump, tmp_path):
    """All files are here then, so the next fetch looks at none of them."""

    def killed(*_told):
        raise KilledError

    with mock.patch.object(download_module, "note_sums", killed), pytest.raises(KilledError):
        fetch(mirror, tmp_path)
    fetch(mirror, tmp_path)
    assert arrived(tmp_path) == HISTORY
    left = [path.name for path in (tmp_path / "_arriving").rglob("*") if path.is_file()]
    assert left == [".testwiki-20260401.lock"]


def test_a_part_of_another_file_is_not_gone_on_with(mirror, server, dump, tmp_path):
    server.faults[dump] = [drop_after(300_000)] + [say(503)] * 3
    with pytest.raises(SourceError):
        fetch(mirror, tmp_path)
    other = HISTORY[::-1]
    server.put_legacy("testwiki", "20260401", {BZ2: other, **TABLES})
    server.asked.clear()
    fetch(mirror, tmp_path)
    assert server.requests_of(dump) == [""]
    assert arrived(tmp_path) == other


def test_a_file_that_changes_between_two_parts_is_not_pieced_together(mirror, server, dump, tmp_path):
    def change():
        server.files[dump] = HISTORY[::-1]

    server.faults[dump] = [faults.then(change, drop_after(300_000))]
    with pytest.raises(SourceError, match=r"its sha1 is [0-9a-f]{40}, but the checksum list says .* nothing is kept"):
        fetch(mirror, tmp_path)
    assert not (tmp_path / dump).exists()
    assert not list((tmp_path / "_arriving").rglob("*history*.part"))


def test_a_mixture_that_no_etag_tells_of_is_fetched_anew(mirror, server, dump, tmp_path):
    """The first part is of another version; the sum of the whole tells, and the second try is good."""

    def restore():
        server.files[dump] = HISTORY

    server.files[dump] = bytes(len(HISTORY))

    def first(handler, data):
        handler.head(200, len(data))
        handler.wfile.write(data[:300_000])
        handler.wfile.flush()
        handler.hang_up()
        restore()
        return True

    server.faults[dump] = [first]
    fetch(mirror, tmp_path)
    assert arrived(tmp_path) == HISTORY
    assert server.requests_of(dump) == ["", "bytes=300000-", ""]


def test_a_wrong_sum_is_named_and_nothing_is_kept(mirror, server, dump, tmp_path):
    server.files[dump] = HISTORY[:-1] + b"?"
    with pytest.raises(SourceError, match=r"its sha1 is .* but the checksum list says .*; fetched 2 times"):
        fetch(mirror, tmp_path)
    assert not (tmp_path / dump).exists()
    assert len(server.requests_of(dump)) == 2


@pytest.mark.parametrize("fault", [None, faults.longer_than_told], ids=["a length is told", "no length is told"])
def test_a_file_that_grows_is_not_kept(fault, mirror, server, dump, tmp_path):
    if fault:
        server.faults[dump] = [fault]
    else:
        server.files[dump] = HISTORY + b"more"
    with pytest.raises(SourceError, match=r"is being changed; nothing is kept|more than the expected 1280000 bytes"):
        fetch(mirror, tmp_path)
    assert not (tmp_path / dump).exists()


def test_a_redirect_to_another_host_is_refused(mirror, server, dump, tmp_path):
    server.faults[dump] = [say(302, Location="http://192.0.2.1/evil.bz2")]
    with pytest.raises(SourceError, match=r"redirects to http://192\.0\.2\.1/evil\.bz2, another host"):
        fetch(mirror, tmp_path)
    server.faults[dump] = [say(302, Location=f"/{dump}")]
    fetch(mirror, tmp_path)
    server.faults["testwiki/"] = [say(301, Location="/testwiki/")] * 3
    with pytest.raises(SourceError, match="redirects too often"):
        offers_of(mirror, "testwiki")


# Bytes of the header: the third target has a sign that looks like several letters, the last is no UTF-8.
@pytest.mark.parametrize("target", ["http://[", "http://[x]/", "http://127.0.0.1\xe2\x84\x80/", "/\xff"])
def test_a_redirect_to_what_is_no_address_is_one_clear_error(target, mirror, server, dump, tmp_path):
    server.faults[dump] = [say(302, Location=target)]
    with pytest.raises(SourceError, match="the server redirects to what is not an address"):
        fetch(mirror, tmp_path)


@pytest.mark.parametrize(
    ("asked", "target", "said"),
    [
        ("https://dumps.example.org/a", "https://dumps.example.org:443/b", ""),
        ("http://dumps.example.org/a", "https://dumps.example.org/a", ""),
        ("http://dumps.example.org:8080/a", "http://dumps.example.org:8080/b", ""),
        ("https://dumps.example.org/a", "https://dumps.example.org:8443/a", "another port"),
        ("http://dumps.example.org:8080/a", "https://dumps.example.org/a", "another port"),
        ("http://dumps.example.org/a", "https://dumps.example.org:8443/a", "another port"),
        ("https://dumps.example.org/a", "http://dumps.example.org/a", "without encryption"),
        ("https://dumps.example.org/a", "https://dumps.example.org.evil.net/a", "another host"),
        ("https://dumps.example.org/a", "https://dumps.example.org@evil.net/a", "another host"),
        ("https://dumps.example.org/a", "https://dumps.example.org:port/a", "which is not an address"),
        ("https://dumps.example.org/a", "file:///etc/passwd", "which is not the address of a web server"),
    ],
)
def test_a_redirect_stays_with_the_server_that_was_asked(server, asked, target, said):
    mirror = HttpMirror(asked.rpartition("/")[0], "me@example.org")
    answers = [type("Answer", (), {"status_code": 302, "headers": {"Location": target}, "close": lambda _self: None})()]
    answers.append(type("Answer", (), {"status_code": 200})())
    mirror._session.get = lambda *_arguments, **_options: answers.pop(0)
    if said:
        with pytest.raises(
            SourceError, match=f"{re.escape(asked)}: the server redirects to .*, {said}; expected the file"
        ):
            mirror._ask(asked, {})
    else:
        assert mirror._ask(asked, {}).status_code == 200


def test_a_link_that_leads_out_of_a_folder_mirror_is_refused(mirror, dump, tmp_path):
    """A mirror that others fill must not make a home read, or show, what lies elsewhere on the machine."""
    fetch(mirror, tmp_path / "mirror")
    folder, secret = FolderMirror(tmp_path / "mirror"), tmp_path / "secret"
    real = tmp_path / "mirror" / dump
    real.rename(secret)
    real.symlink_to(secret)
    (offer,) = offers_of(folder, "testwiki")
    said = f"{real}: a link that leads to {secret}, outside of the mirror {tmp_path / 'mirror'}"
    assert [flaw for flaw in offer.flaws if said in flaw]
    offer.flaws.clear()
    with pytest.raises(SourceError, match=re.escape(said)):
        Download(folder, offer, tmp_path / "home").run()
    assert not (tmp_path / "home" / dump).exists()
    # Within the mirror a link is as good as a file, and so is any link in the home's own folder.
    secret.rename(tmp_path / "mirror" / "elsewhere.bz2")
    real.unlink()
    real.symlink_to(tmp_path / "mirror" / "elsewhere.bz2")
    (offer,) = offers_of(folder, "testwiki")
    assert offer.flaws == []
    Download(folder, offer, tmp_path / "home").run()
    assert arrived(tmp_path / "home") == HISTORY
    (tmp_path / "mirror" / "elsewhere.bz2").rename(secret)
    (tmp_path / "home" / dump).unlink()
    (tmp_path / "home" / dump).symlink_to(secret)
    assert find_dumps(tmp_path / "home")[0].flaws == ()


def test_a_folder_or_list_that_is_a_link_out_of_the_mirror_is_refused(mirror, dump, tmp_path):
    fetch(mirror, tmp_path / "secret")
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror/testwiki").symlink_to(tmp_path / "secret/testwiki")
    with pytest.raises(SourceError, match="mirror/testwiki: a link that leads to .*secret/testwiki, outside of the"):
        offers_of(FolderMirror(tmp_path / "mirror"), "testwiki")


def test_a_file_that_is_gone_is_named(mirror, server, dump, tmp_path):
    del server.files[dump]
    with pytest.raises(SourceError, match=r"the server answered 404 .*; expected the file. Old dumps are removed"):
        fetch(mirror, tmp_path)


def test_a_full_disk_is_told_before_and_while(mirror, server, dump, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(download_module.shutil, "disk_usage", lambda _path: type("Usage", (), {"free": 1000}))
        with pytest.raises(
            SourceError, match=r"1280019 bytes of testwiki-20260401 are still to be fetched, but only 1000 are"
        ):
            fetch(mirror, tmp_path)
    assert not server.requests_of(dump)
    real = Path.open

    def full(path, *arguments, **options):
        handle = real(path, *arguments, **options)
        if not path.name.endswith(".part") or "w" not in (arguments[0] if arguments else ""):
            return handle

        def write(data):
            if handle.tell() > 200_000:
                raise OSError(errno.ENOSPC, "No space left on device")
            return handle.write(data)

        limited = mock.MagicMock(wraps=handle)
        limited.__enter__.return_value = limited
        limited.__exit__.side_effect = lambda *_: handle.close()
        limited.write.side_effect = write
        return limited

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", full)
        with pytest.raises(
            SourceError, match=r"the disk is full after \d+ bytes; make room .* What has arrived is kept"
        ):
            fetch(mirror, tmp_path)
    assert not (tmp_path / dump).exists()
    fetch(mirror, tmp_path)
    assert arrived(tmp_path) == HISTORY


def test_a_content_export_counts_once_its_mark_stands(mirror, server, tmp_path):
    folder = server.put_content("testwiki", "2026-05-01", {"p1p500": HISTORY, "p501r1r9": b"two"})
    del server.files[f"{folder}/_SUCCESS"]
    (offer,) = offers_of(mirror, "testwiki")
    assert offer.flaws == ["there is no _SUCCESS, which marks the end"]
    with pytest.raises(SourceError, match="testwiki-20260501 is not complete: there is no _SUCCESS"):
        Download(mirror, offer, tmp_path).run()
    server.files[f"{folder}/_SUCCESS"] = b""
    fetch(mirror, tmp_path)
    (dump,) = find_dumps(tmp_path)
    assert (dump.flaws, len(dump.history)) == ((), 2)
    dump.history[0].path.unlink()
    assert find_dumps(tmp_path)[0].flaws == ("file testwiki-2026-05-01-p1p500.xml.bz2 is missing",)


@pytest.mark.parametrize(
    "name",
    [
        "../../../../../etc/cron.d/tempkb",
        "/etc/cron.d/tempkb",
        "..",
        "testwiki-2026-05-01-p1p5.xml/../../x",
        ".hidden",
        "a\\b",
    ],
)
def test_a_name_that_leaves_its_folder_is_refused(name, mirror, server, tmp_path):
    folder = server.put_content("testwiki", "2026-05-01", {"p1p500": b"one"})
    server.files[f"{folder}/SHA256SUMS"] += f"{'0' * 64}  {name}\n".encode()
    (offer,) = offers_of(mirror, "testwiki")
    assert f"names {name!r}, which is not a file of testwiki-20260501" in offer.flaws[0]
    server.files.clear()
    folder = server.put_legacy("testwiki", "20260401", {BZ2: b"one", **TABLES})
    status = json.loads(server.files[f"{folder}/dumpstatus.json"])
    status["jobs"]["metahistorybz2dump"]["files"][name] = {"size": 1, "sha1": "0" * 40, "url": "/x"}
    server.files[f"{folder}/dumpstatus.json"] = json.dumps(status).encode()
    (offer,) = offers_of(mirror, "testwiki")
    if name != "..":
        assert f"names {name!r}, which is not a plain file name" in offer.flaws[0]
    with pytest.raises(SourceError):
        Download(mirror, offer, tmp_path).run()
    with pytest.raises(SourceError, match="not a plain path below its root"):
        below(tmp_path, name)
    assert not list(tmp_path.rglob("*cron*"))


def test_links_of_an_index_cannot_lead_elsewhere(mirror, server, dump):
    server.files["testwiki/"] = (
        b'<html><a href="../">up</a><a href="/etc/">etc</a><a href="http://192.0.2.1/20260501/">far</a>'
        b'<a href="20260401/">good</a><a href="%2e%2e/">sly</a></html>'
    )
    assert [offer.dump_id for offer in offers_of(mirror, "testwiki")] == ["testwiki-20260401"]


def test_a_truncated_index_is_asked_for_again(mirror, server, dump, waits):
    server.faults["testwiki/"] = [faults.cut_without_length(80), drop_after(80)]
    assert [offer.dump_id for offer in offers_of(mirror, "testwiki")] == ["testwiki-20260401"]
    assert len(waits) == 2
    server.faults["testwiki/"] = [faults.cut_without_length(80)] * 4
    with pytest.raises(SourceError, match=r"/testwiki/: the page ends early, 4 times; try again later"):
        offers_of(mirror, "testwiki")


def test_nobody_to_write_to_is_an_error_that_says_how():
    with pytest.raises(SettingsError, match=r"contact: found ''; .* TEMPKB_CONTACT=me@example\.org"):
        HttpMirror("https://dumps.wikimedia.org", "")
    with pytest.raises(SettingsError, match=r"mirror: found 'ftp://x'; expected a folder or https"):
        HttpMirror("ftp://x", "me@example.org")
    for root in ("http://[", "http://:80", "http://127.0.0.1:99999"):
        with pytest.raises(SettingsError, match=rf"mirror: found '{re.escape(root)}'; expected a folder or https"):
            HttpMirror(root, "me@example.org")


def test_all_connections_together_keep_below_the_bandwidth():
    now, slept = [0.0], []
    brake = Brake(1000, clock=lambda: now[0], sleep=slept.append)
    brake.passed(500)
    brake.passed(1500)
    now[0] = 10.0
    brake.passed(100)
    assert slept == pytest.approx([0.5, 2.0, 0.1])


def test_a_folder_is_a_mirror_too(server, mirror, dump, tmp_path):
    fetch(mirror, tmp_path / "mirror")
    folder = FolderMirror(tmp_path / "mirror")
    (offer,) = offers_of(folder, "testwiki", since=date(2026, 1, 1))
    Download(folder, offer, tmp_path / "home").run()
    assert arrived(tmp_path / "home") == HISTORY
    (tmp_path / "mirror" / dump).unlink()
    assert find_dumps(tmp_path / "home")[0].flaws == ()
    (tmp_path / "mirror" / dump).write_bytes(HISTORY[:-1] + b"?")
    (offer,) = offers_of(folder, "testwiki")
    (tmp_path / "home" / dump).unlink()
    with pytest.raises(SourceError, match="its sha1 is"):
        Download(folder, offer, tmp_path / "home").run()


def test_sums_are_computed_once_and_again_when_a_file_changes(mirror, server, dump, tmp_path, monkeypatch):
    fetch(mirror, tmp_path)
    (found,) = find_dumps(tmp_path)
    (history,) = found.history
    with monkeypatch.context() as patched:
        patched.setattr("tempkb.wiki.dumps.sums.pieces_of", lambda _path: pytest.fail("read again"))
        history.verify()
        assert history.sha256 == hashlib.sha256(HISTORY).hexdigest()
    history.path.write_bytes(HISTORY[:-1] + b"?")
    with pytest.raises(SourceError, match="but the publisher gives .* Remove it and fetch it again"):
        find_dumps(tmp_path)[0].history[0].verify()
