"""Blanks of every width and line ends of every kind become one. Pure."""

_BLANKS = (
    "\r\n",
    "\t",
    "\u00a0",
    "\u2009",
    "\u202f",
    "\u2028",
    "\u2029",
    "\x85",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1d",
    "\x1e",
    "\r",
)


def with_plain_blanks(text: str) -> str:
    """Replace blanks of every width by one kind, and all line ends by one kind."""
    for blank in _BLANKS:
        if blank in text:
            text = text.replace(blank, "\n" if blank == "\r\n" else " ")
    return text


def in_one_line(text: str) -> str:
    r"""Return a text without line ends, which may come from entities such as `&#10;`.

    >>> in_one_line("a\nb\u2028c")
    'a b c'
    """
    return with_plain_blanks(text).replace("\n", " ")
