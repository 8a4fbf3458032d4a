"""Words of a text in any language, for BM25 and for comparing descriptions. Pure."""

import unicodedata
from collections.abc import Sequence

from tempkb.wikitext.counting import split_words


class _Signs(dict[int, int]):
    """For `str.translate`: letters, marks and digits as they are, and a blank for everything else."""

    def __missing__(self, code: int) -> int:
        kept = code if unicodedata.category(chr(code))[0] in "LMN" else ord(" ")
        self[code] = kept
        return kept


_SIGNS = _Signs()


def words_of(text: str) -> list[str]:
    """Return the words of a text: letters, marks and digits between other signs, in lower case, as often as they occur.

    There are no stems and no stop words, which would be those of one language. In scripts without blanks each letter is
    a word.

    >>> words_of("The 2021–22 rowing cup (Varland's)")
    ['the', '2021', '22', 'rowing', 'cup', 'varland', 's']
    """
    return split_words(text.lower().translate(_SIGNS))


def mean_similarity(texts: Sequence[Sequence[int]]) -> float | None:
    """Return how similar consecutive texts of a list are: the mean Jaccard similarity of their words.

    All are cut to the number of words of the shortest, since a longer text has more words of its own. Texts without a
    word are left out.

    Args:
        texts: numbers of the words of each text.

    Returns:
        A number from 0 to 1; None if fewer than two texts have words.

    >>> mean_similarity([(1, 2, 3), (2, 1), (), (3, 1, 9)])
    0.6666666666666666
    """
    texts = [text for text in texts if len(text)]
    if len(texts) < 2:
        return None
    shortest = min(map(len, texts))
    cut = [frozenset(text[:shortest]) for text in texts]
    pairs = [len(one & other) / len(one | other) for one, other in zip(cut, cut[1:], strict=False)]
    return sum(pairs) / len(pairs)
