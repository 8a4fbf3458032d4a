"""Where an answer ends in what a model goes on to say. Pure.

A text that continues a question ends at the first of these places:

- **line end**: the first; where nothing precedes it, the answer is empty.
- **right context**: where the text goes on as the question does behind its gap. What is looked for is the right
  context, or its first 16 characters; where it begins with a mark other than a period (a comma, a bracket), that mark
  before a blank or the end of the line. A right context that begins with a period says no more than that the sentence
  ends.
- **sentence end**: a period, question or exclamation mark (and quotes or brackets that close behind it) before a blank
  or the end of the line. It is none before a lower-case letter (`Acme Inc. of Rome`, `Yahoo! and`), and a period is
  none, but for the end of the line,

  - behind a single letter (`J. K. Rowling`, `John F. Kennedy`),
  - behind letters with periods between them that begin the answer (`A.C. Milan`, `U.S. Steel`),
  - behind a title that stands before names (`St. Louis`, `Dr. Strange`).

  So `Juventus F.C. The club` ends before `The`, and `Sammy Davis Jr. He` before `He`.

The mark that ends a sentence is not the answer's, unless something closes behind it, or it is the period of an
abbreviation: letters with periods between them, a single letter, `Jr.`, `Sr.`, `Inc.`, `Ltd.`, `Co.`, `Corp.`, `Bros.`,
and titles. Whether the text goes on decides, so one more word may be needed than the answer has.
"""

import math
import re
from dataclasses import dataclass

from tempkb.models.decoding.generated import Stopped

_N_RIGHT = 16  # characters of a right context by which it is recognised
_LINE_END = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SENTENCE_END = re.compile(r"[.!?]+[\"'”’»)\]]*(?=\s|\Z)")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")  # U.S, F.C, before their last period
_TITLES = frozenset(
    ("St", "Dr", "Mr", "Mrs", "Ms", "Mt", "Ft", "Prof", "Gen", "Col", "Lt", "Sgt", "Capt", "Sen", "Rep", "Gov", "Rev")
) | {"Hon", "No", "Nos", "vs"}
_ABBREVIATIONS = _TITLES | {"Jr", "Sr", "Inc", "Ltd", "Co", "Corp", "Bros"}


@dataclass(frozen=True, slots=True)
class Ending:
    """Where an answer ends: the character behind its last, the one behind what ends it, and what that is."""

    end: int
    stop: int
    stopped: Stopped


def ending(text: str, right: str, *, is_all: bool) -> Ending | None:
    """Return where the answer ends, or None if it does not within the text.

    Args:
        text: what was said so far.
        right: the question behind its gap.
        is_all: whether nothing more will come; else what comes next may decide.

    >>> ending(" Juventus F.C. The club", ".", is_all=False)
    Ending(end=14, stop=14, stopped='sentence_end')
    >>> ending(" Paris.", ".", is_all=False) is None  # "Paris.com" would be another name
    True
    """
    line = _LINE_END.search(text)
    shown = text[: line.start()] if line else text
    is_over = is_all or line is not None
    sentence, pending = _sentence(shown, is_over=is_over)
    found = [one for one in (sentence, _right(shown, right, is_over=is_over)) if one]
    if line:
        found.append(Ending(line.start(), line.end(), "line_end"))
    first = min(found, key=lambda one: (one.end, one.stop), default=None)
    return first if first and first.end <= pending else None


def answer_in(text: str, right: str) -> tuple[str, Ending | None]:
    """Return the answer in all that was said, without blanks around it, and where it ends; None if nothing ended it.

    >>> answer_in(" Paris. It is", ".")
    ('Paris', Ending(end=6, stop=7, stopped='sentence_end'))
    """
    found = ending(text, right, is_all=True)
    name = (text if found is None else text[: found.end]).strip()
    return (name if found is not None and found.stopped == "sentence_end" else without_period(name)), found


def without_period(text: str) -> str:
    """Return a text without the period that ends its sentence.

    >>> without_period("Paris."), without_period("Sammy Davis Jr.")
    ('Paris', 'Sammy Davis Jr.')
    """
    return text[:-1] if text.endswith(".") and not _is_abbreviated(text[:-1]) else text


def _right(text: str, right: str, *, is_over: bool) -> Ending | None:
    right = right.rstrip()
    core = right.lstrip()
    if not core or core[0] == ".":
        return None
    first = len(text) - len(text.lstrip())
    if not core[0].isalnum():
        pattern = re.escape(core[0]) + (r"(?=\s|\Z)" if is_over else r"(?=\s)")
    else:
        pattern = (r"\s+" if right != core else "") + re.escape(core[:_N_RIGHT])
    found = re.compile(pattern).search(text, first)
    return Ending(found.start(), found.end(), "right_context") if found else None


def _sentence(text: str, *, is_over: bool) -> tuple[Ending | None, float]:
    """Where the first sentence ends, and from where on it is undecided whether one does."""
    for found in _SENTENCE_END.finditer(text):
        rest = text[found.end() :].lstrip()
        if not rest and not is_over:
            return None, found.start()
        mark = found.group().rstrip("\"'”’»)]")
        before = text[: found.start()]
        if rest and (rest[0].islower() or (mark == "." and _goes_on(before))):
            continue
        is_kept = mark != found.group() or (mark == "." and _is_abbreviated(before))
        end = found.end() if is_kept else found.start()
        return Ending(end, found.end(), "sentence_end"), math.inf
    return None, math.inf


def _goes_on(before: str) -> bool:
    """Whether what ends in a period is a part of a name that goes on behind it."""
    words = before.split()
    last = words[-1] if words else ""
    is_dotted_beginning = len(words) == 1 and _DOTTED.fullmatch(last) is not None
    return _is_letter(last) or last in _TITLES or is_dotted_beginning


def _is_abbreviated(before: str) -> bool:
    """Whether the period behind this text belongs to its last word."""
    last = before.split()[-1] if before.strip() else ""
    return _is_letter(last) or last in _ABBREVIATIONS or _DOTTED.fullmatch(last) is not None


def _is_letter(word: str) -> bool:
    return len(word) == 1 and word.isalpha()
