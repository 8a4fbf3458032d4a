"""Dump files in every compression, whole, cut, damaged, and as bombs."""

import bz2
import gzip
import lzma
import re
import shutil
from functools import cache

import py7zr
import pytest
import zstandard

from tempkb.core.errors import SourceError
from tempkb.wiki.dumps.catalogue import DumpFile, last_revision
from tempkb.wiki.dumps.files import DamageError, Progress, SevenZipBrokenError, SevenZipReader, open_dump
from tempkb.wiki.dumps.looking import look_at

TEXT = b"<mediawiki>" + b"".join(b"<page>%d</page>" % (n * n) for n in range(40_000)) + b"</mediawiki>\n"


def multi(compress):
    """Two streams, one after the other, as multistream and multi-member files are."""
    return compress(TEXT[:100_000]) + compress(TEXT[100_000:])


# A frame of zstd that readers skip, as pzstd writes before each frame.
NOTE = b"\x5f\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"note"

PACKED = {
    "plain.xml": lambda: TEXT,
    "one.xml.bz2": lambda: bz2.compress(TEXT),
    "multi.xml.bz2": lambda: multi(bz2.compress),
    "one.xml.gz": lambda: gzip.compress(TEXT),
    "multi.xml.gz": lambda: multi(gzip.compress),
    "one.xml.xz": lambda: lzma.compress(TEXT),
    "padded.xml.xz": lambda: lzma.compress(TEXT) + bytes(8),
    "padded-by-far.xml.gz": lambda: gzip.compress(TEXT) + bytes(600_000),
    "padded-between.xml.bz2": lambda: bz2.compress(TEXT[:100_000]) + bytes(600_000) + bz2.compress(TEXT[100_000:]),
    "one.xml.lzma": lambda: lzma.compress(TEXT, lzma.FORMAT_ALONE),
    "one.xml.zst": lambda: zstandard.compress(TEXT),
    "multi.xml.zst": lambda: multi(zstandard.compress),
    "noted.xml.zst": lambda: NOTE + zstandard.compress(TEXT[:100_000]) + NOTE + zstandard.compress(TEXT[100_000:]),
    "misnamed.xml": lambda: bz2.compress(TEXT),
    "utf8-mark.xml": lambda: b"\xef\xbb\xbf" + TEXT,
    "utf16.xml": lambda: TEXT.decode().encode("utf-16"),
    "utf16-without-mark.xml": lambda: TEXT.decode().encode("utf-16-be"),
    "utf16.xml.bz2": lambda: bz2.compress(TEXT.decode().encode("utf-16")),
}


@cache
def packed(name):
    """Pack the text: not on import, which each worker does."""
    return PACKED[name]()


@pytest.mark.parametrize("name", PACKED)
def test_gives_the_plain_bytes(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(packed(name))
    progress = Progress()
    pieces = list(open_dump(path, progress))
    assert b"".join(pieces) == TEXT
    assert progress.done == progress.total == path.stat().st_size


@pytest.mark.parametrize("name", [name for name in PACKED if "plain" not in name and not name.startswith("utf")])
def test_a_file_that_ends_early_is_told_from_one_that_ends(tmp_path, name):
    path = tmp_path / name
    data = packed(name).rstrip(b"\0")
    path.write_bytes(data[: len(data) - 5])
    got, damage = read_until_damage(path)
    assert re.search(rf"{name}: (cut|damaged) at byte \d+ \(compressed bytes\): .*Fetch the file again", str(damage))
    assert TEXT.startswith(got)


def read_until_damage(path):
    """What comes before the damage, and the damage."""
    got = b""
    try:
        for piece in open_dump(path):
            got += piece
    except DamageError as damage:
        return got, damage
    return got, None


@pytest.mark.parametrize("name", ["one.xml.bz2", "one.xml.gz", "one.xml.xz", "one.xml.zst"])
def test_a_flipped_byte_in_the_middle_is_damage(tmp_path, name):
    data = bytearray(packed(name))
    data[len(data) // 2] ^= 0xFF
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DamageError, match="damaged at byte"):
        for _ in open_dump(path):
            pass


@pytest.mark.parametrize("n_zeros", [0, 600_000])
def test_rubbish_after_a_stream_is_damage_not_silence(tmp_path, n_zeros):
    path = tmp_path / "x.xml.bz2"
    path.write_bytes(bz2.compress(TEXT) + bytes(n_zeros) + b"rubbish that is no stream")
    with pytest.raises(DamageError):
        list(open_dump(path))


def test_a_file_of_another_kind_than_its_name_says(tmp_path):
    path = tmp_path / "x.xml.bz2"
    path.write_bytes(b"<html>404</html>")
    with pytest.raises(DamageError, match=r"these are not the first bytes of a \.bz2 file"):
        list(open_dump(path))


def test_a_missing_file_and_a_strange_encoding_are_named(tmp_path):
    with pytest.raises(SourceError, match=r"nowhere\.xml: no such file"):
        open_dump(tmp_path / "nowhere.xml")
    path = tmp_path / "latin.xml"
    path.write_bytes(b'<?xml version="1.0" encoding="iso-8859-1"?><mediawiki/>')
    with pytest.raises(SourceError, match="encoding 'iso-8859-1', at byte 20; expected UTF-8 or UTF-16"):
        list(open_dump(path))


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "history.xml.7z"
    with py7zr.SevenZipFile(path, "w") as written:
        written.writestr(TEXT, "history.xml")
    return path


READERS = [*filter(shutil.which, ("7zz", "7z", "7za")), "py7zr"]


@pytest.mark.parametrize("program", READERS)
def test_every_reader_of_7z_gives_the_same_bytes(archive, program):
    assert b"".join(SevenZipReader(archive, program).pieces(1 << 20)) == TEXT


@pytest.mark.slow
@pytest.mark.parametrize("program", READERS)
def test_a_cut_7z_and_one_of_several_files_are_refused(tmp_path, archive, program):
    cut = tmp_path / "cut.7z"
    cut.write_bytes(archive.read_bytes()[:-40])
    with pytest.raises(SevenZipBrokenError):
        list(SevenZipReader(cut, program).pieces(1 << 20))
    several = tmp_path / "several.7z"
    with py7zr.SevenZipFile(several, "w") as written:
        written.writestr(TEXT, "a.xml")
        written.writestr(TEXT, "b.xml")
    with pytest.raises(SevenZipBrokenError, match="expected one file inside"):
        list(SevenZipReader(several, program).pieces(1 << 20))


def test_a_reader_of_7z_that_is_left_early_leaves_nothing_running(archive):
    for program in READERS:
        pieces = SevenZipReader(archive, program).pieces(1000)
        next(iter(pieces))
        pieces.close()


def test_an_archive_that_needs_more_memory_than_there_is_says_so_and_is_not_called_damaged(tmp_path, monkeypatch):
    path = tmp_path / "testwiki.xml.7z"
    with py7zr.SevenZipFile(path, "w") as archive:
        archive.writestr(TEXT, "x")

    def too_large(_self, _size):
        raise SevenZipBrokenError("7zz: ERROR: Can't allocate required memory!")

    monkeypatch.setattr(SevenZipReader, "pieces", too_large)
    said = r"testwiki\.xml\.7z: reading it needs more memory than there is \(7zz: .*use fewer workers"
    # The look at the beginning, and the one for the last revision of a file without a day in its name.
    for look in (lambda: look_at(path, "history"), lambda: last_revision([DumpFile(path, "history")])):
        with pytest.raises(SourceError, match=said) as refused:
            look()
        assert not isinstance(refused.value, DamageError)


def test_without_any_program_py7zr_reads_and_says_so(tmp_path, archive, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    progress = Progress()
    assert b"".join(open_dump(archive, progress)) == TEXT
    assert progress.note == "py7zr"
