"""A deliberately naive reading of an export: whole file, ElementTree, sort, brute force, second by second logic.

Shares no code with tempkb. Slow and plain on purpose.
"""

import bz2
import lzma
import subprocess
from calendar import timegm
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from time import strptime
from xml.etree import ElementTree as ET


@dataclass(frozen=True)
class Rev:
    page_id: int
    revision_id: int
    time: int
    content: object
    text: str | None
    weak: bool


def plain(path: Path) -> bytes:
    if path.suffix == ".bz2":
        return bz2.decompress(path.read_bytes())
    if path.suffix in {".xz", ".lzma"}:
        return lzma.decompress(path.read_bytes())
    if path.suffix == ".7z":
        return subprocess.run(["7zz", "e", "-so", str(path)], check=True, capture_output=True).stdout
    return path.read_bytes()


def histories(*paths: Path) -> dict[int, list[Rev]]:
    """All pages of the files, given oldest first, each history in the order (time, id)."""
    pages: dict[int, dict[int, Rev]] = defaultdict(dict)
    for path in paths:
        root = ET.fromstring(plain(path))
        for page in children(root, "page"):
            page_id = int(text_of(page, "id"))
            for element in children(page, "revision"):
                revision = read(page_id, element)
                pages[page_id][revision.revision_id] = revision
    return {page: sorted(revs.values(), key=lambda r: (r.time, r.revision_id)) for page, revs in pages.items()}


def children(element, name):
    return [child for child in element if child.tag.rpartition("}")[2] == name]


def text_of(element, name):
    found = children(element, name)
    return (found[0].text or "") if found else ""


def read(page_id, element) -> Rev:
    revision_id = int(text_of(element, "id"))
    time = timegm(strptime(text_of(element, "timestamp"), "%Y-%m-%dT%H:%M:%SZ"))
    node = children(element, "text")[0]
    suppressed = node.get("deleted") is not None or node.get("bytes") == "-1"
    is_stub = node.get("id") is not None and node.text is None and node.get("bytes") != "0"
    if suppressed:
        return Rev(page_id, revision_id, time, ("suppressed", revision_id), None, True)
    if is_stub:
        sha1 = node.get("sha1") or text_of(element, "sha1")
        return Rev(page_id, revision_id, time, sha1 or ("own", revision_id), None, False)
    text = node.text or ""
    return Rev(page_id, revision_id, time, text, text, not text.strip())


def winner(history: list[Rev], cut: int, lookback: int):
    """(revision_id, seconds) of the text that stood longest in [cut - lookback, cut); None if nothing stood."""
    known = [revision for revision in history if revision.time < cut]
    stood, last_end, carrier, weak = {}, {}, {}, {}
    for at, revision in enumerate(known):
        end = known[at + 1].time if at + 1 < len(known) else cut
        seconds = min(end, cut) - max(revision.time, cut - lookback)
        if seconds > 0:
            stood[revision.content] = stood.get(revision.content, 0) + seconds
            last_end[revision.content] = end
            carrier[revision.content] = revision.revision_id
            weak[revision.content] = revision.weak
    if not stood:
        return None
    candidates = [content for content in stood if not weak[content]] or list(stood)
    best = max(candidates, key=lambda content: (stood[content], last_end[content]))
    return carrier[best], stood[best]
