"""Texts in LaTeX."""


def escaped(text: str) -> str:
    r"""Return a text in which characters that have a meaning in LaTeX are as it prints them.

    >>> print(escaped("a_b, 5 %"))
    a\_b, 5 \%
    """
    return "".join(f"\\{sign}" if sign in "&%$#_{}" else sign for sign in text)
