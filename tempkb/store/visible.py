"""Text of others (titles, file names, rows) in a form that cannot control the terminal."""

import unicodedata

# Format characters that are part of how words are written: joiners of Persian and Indic scripts, number signs.
_WRITTEN = frozenset("\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2")
# Control characters; format characters, such as those that turn the direction of text; separators of lines and
# paragraphs; halves of characters.
_HIDDEN = frozenset(("Cc", "Cf", "Zl", "Zp", "Cs"))
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str, keep: str = "") -> str:
    r"""Return a text with its control and format characters as escapes.

    Args:
        keep: characters to keep as they are, such as a newline in a message of several lines.

    >>> print(visible("red \x1b[31m, turned \u202e, a\nb"))
    red \x1b[31m, turned \u202e, a\nb
    """
    if text.isprintable():
        return text
    return "".join(one if one in keep or not _is_hidden(one) else _escape(one) for one in text)


def _is_hidden(one: str) -> bool:
    return unicodedata.category(one) in _HIDDEN and one not in _WRITTEN


def _escape(one: str) -> str:
    code = ord(one)
    return _NAMED.get(one) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )
