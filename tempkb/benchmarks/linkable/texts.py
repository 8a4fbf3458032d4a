"""What linkers read of an entity: its title and its description, and their digest. Pure."""

import hashlib
from json.encoder import encode_basestring_ascii

import pyarrow as pa

from tempkb.wiki.wikitext.counting import words_behind, words_in

N_WORDS = 128
"""Words of a description, at most; TempEL's models read no more tokens."""
N_CHARS = 2_000
"""Characters of a description, at most; 128 words are rarely as many, unless a text is not written in words."""

DESCRIBED = pa.schema(
    [
        ("page_id", pa.int64()),
        ("entity_id", pa.string()),
        ("title", pa.string()),
        ("revision_id", pa.int64()),
        ("description", pa.string()),
        ("text_sha256", pa.string()),
    ]
)
"""A candidate with what linkers read of it."""


def described(text: str) -> str:
    """Return the description of an entity: the first words of its article, with single blanks between them.

    It has at most `N_WORDS` words and `N_CHARS` characters, and is cut between words, unless one word is longer.

    >>> described("Aurora  is a port.   History ")
    'Aurora is a port. History'
    """
    plain = " ".join(words_behind(text, 0, N_WORDS).split())
    if len(plain) <= N_CHARS:
        return plain
    ends = (word.end() for word in words_in(plain))
    return plain[: max((end for end in ends if end <= N_CHARS), default=N_CHARS)].rstrip()


def text_sha256(title: str, description: str) -> str:
    """Return the digest of what linkers read of an entity: 64 hex digits, of canonical JSON."""
    parts = ",".join(map(encode_basestring_ascii, (title, description)))
    return hashlib.sha256(f"[{parts}]".encode("ascii")).hexdigest()
