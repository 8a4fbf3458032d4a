"""Templates, expanded offline from versioned tables (`templates.toml`, `languages/`). Pure.

What no table knows is dropped and counted by name, so that the tables can
grow. TempEL asked MediaWiki's API instead, which expands with today's
templates and one request after another.
"""

from collections import Counter
from collections.abc import Callable
from datetime import date

from tempkb.wikitext.braces import Braces, match_braces, replace_braces, split_arguments, unclosed_regions
from tempkb.wikitext.calls import read_call
from tempkb.wikitext.renderers import foreign_words
from tempkb.wikitext.shown import renderers

# MediaWiki stops at a hundred; nobody nests words in prose deeper than this.
_DEEPEST = 24
# A text with more braces that never close than this is no article; the rest of such pieces is dropped unread.
_MOST_MENDED = 20


class Expansion:
    """Expands the templates of one wikitext.

    Args:
        text: wikitext without comments and extension tags.
        day: when the revision was saved, for ages.
        language: of the wiki, whose table wins over the common one; `en` where many languages are written.

    Attributes:
        dropped: names of templates that were dropped, with how often.
        unclosed: how many braces were opened and never closed.
    """

    def __init__(self, text: str, day: date | None, *, language: str) -> None:
        self._text, self._day, self._language = text, day, language
        self._renderers = renderers(language)
        self.dropped: Counter[str] = Counter()
        self.unclosed = 0

    def expand(self, mend: Callable[[str], str]) -> str:
        """Return the text with every template replaced by what it shows.

        Args:
            mend: gives what stands for a piece of text that begins with braces which are never closed.
        """
        if "{{" not in self._text:
            return self._text
        outermost, opened = match_braces(self._text)
        if not opened:
            return replace_braces(self._text, outermost, 0, len(self._text), self._shown)
        self.unclosed = len(opened)
        pieces, at, first = [], 0, 0
        regions = [*unclosed_regions(self._text, outermost, opened), (len(self._text), len(self._text))]
        for mended, (start, end) in enumerate(regions):
            last = first
            while last < len(outermost) and outermost[last].end <= start:
                last += 1
            pieces.append(replace_braces(self._text, outermost[first:last], at, start, self._shown))
            if mended < _MOST_MENDED:
                pieces.append(mend(self._text[start:end]))
            first, at = last, end
            while first < len(outermost) and outermost[first].start < end:
                first += 1
        return "".join(pieces)

    def _shown(self, braces: Braces, depth: int = 0) -> str:
        if braces.width == 3 or depth > _DEEPEST:
            return ""
        name = self._name(braces)
        renderer = self._renderers.get(name)
        if renderer is None and name.startswith("lang-") and len(name) < 12:
            renderer = foreign_words
        if renderer is None:
            self.dropped[name.partition(":")[0] if name.startswith("#") or ":" in name else name] += 1
            return ""
        parts = split_arguments(self._text, braces, lambda inside: self._shown(inside, depth + 1))
        head, colon, value = parts[0].partition(":")
        arguments = [value, *parts[1:]] if colon and _plain_name(head) == name else parts[1:]
        return renderer(read_call(arguments, name, self._day, language=self._language))

    def _name(self, braces: Braces) -> str:
        start = braces.start + 2
        end = braces.inside[0].start if braces.inside else braces.end - 2
        pipe = self._text.find("|", start, end)
        name = _plain_name(self._text[start : min(end, start + 120) if pipe < 0 else pipe])
        head = name.partition(":")[0].strip()
        return head if head != name and head in _PARSER_FUNCTIONS else name


def _plain_name(text: str) -> str:
    return " ".join(text.replace("_", " ").lower().split()).removeprefix("template:")


_PARSER_FUNCTIONS = {"formatnum", "lc", "uc", "ucfirst", "lcfirst", "nowrap"}
