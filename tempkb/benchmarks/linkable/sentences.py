"""Mentions and entities as plain sentences, for encoders and searchers that know no markers. Pure."""

from tempkb.wikitext.counting import words_before, words_behind

N_WORDS = 20
"""Words on either side of a mention: its sentence. What was not trained to link finds the subject of a longer text: the
article that has the mention, and not what the mention means."""


def sentence_around(left: str, right: str) -> tuple[str, str]:
    """Return the words before and after a mention that are nearest to it, as many as `N_WORDS` on either side."""
    return words_before(left, len(left), N_WORDS), words_behind(right, 0, N_WORDS)


def mention_sentence(left: str, mention: str, right: str) -> str:
    """Return a mention with the words around it, and first the mention alone, which is not marked among the words.

    >>> mention_sentence("At dawn ", "the port", ", still dark,  wakes.")
    'the port: At dawn the port, still dark, wakes.'
    """
    before, after = sentence_around(left, right)
    return " ".join(f"{mention}: {before}{mention}{after}".split())


def entity_sentence(title: str, description: str) -> str:
    """Return an entity's title and its description, joined as tools for retrieval join them.

    >>> entity_sentence("Aurora", "Aurora is a port.")
    'Aurora Aurora is a port.'
    """
    return f"{title} {description}".strip()
