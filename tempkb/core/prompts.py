"""A prompt: a statement with one part whose log-probability is asked for. Pure."""

import hashlib
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii

from tempkb.core.errors import ContractError

FORMAT = 1  # of prompt ids; a change gives every prompt a new id
HAS_TWO_PERIODS = "target LIKE '%.' AND right_context LIKE '.%'"
"""SQL: does the target's own period stand before that of the sentence? Where it does, `with_one_period` is a prompt."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A statement in three parts: left + target + right, with nothing added between them.

    Attributes:
        left: the text before the target, with the blank that separates them.
        target: the part that is scored; it has at least one character that is not blank.
        right: the text after the target, to the end of its sentence.
    """

    left: str
    target: str
    right: str = ""

    def __post_init__(self) -> None:
        if not self.target.strip():
            raise ContractError(
                f"The prompt {self.statement!r} has the target {self.target!r}; expected at least one character that "
                "is not blank. Leave out items without an answer before making prompts."
            )

    @property
    def statement(self) -> str:
        """The whole text."""
        return f"{self.left}{self.target}{self.right}"

    @property
    def with_one_period(self) -> "Prompt | None":
        """The prompt whose target's own period ends the sentence, too; None if the target has none before a period.

        >>> Prompt("The singer is ", "Sammy Davis Jr.", ".").with_one_period.statement
        'The singer is Sammy Davis Jr.'
        """
        if self.target.endswith(".") and self.right.startswith("."):
            return Prompt(self.left, self.target, self.right[1:])
        return None

    @property
    def prompt_id(self) -> str:
        """32 hex digits that depend on the three parts alone, so that equal prompts of two releases have one id."""
        # Canonical JSON of a list; `json.dumps` needs most of the time that a million ids take.
        parts = ",".join(map(encode_basestring_ascii, (self.left, self.target, self.right)))
        return hashlib.sha256(f"[{FORMAT},{parts}]".encode("ascii")).hexdigest()[:32]


def _in_json(text: str) -> str:
    """SQL of a text as canonical JSON has it, without its quotes: in ASCII, others by the units of UTF-16."""
    return f"""
        CASE WHEN regexp_full_match({text}, '[ !#-\\[\\]-~]*') THEN {text} ELSE array_to_string(list_transform(
            string_split({text}, ''), lambda one: CASE
                WHEN ord(one) < 32 OR one IN ('"', '\\') THEN lower((to_json(one)::VARCHAR)[2:-2])
                WHEN ord(one) < 127 THEN one
                WHEN ord(one) < 65536 THEN printf('\\u%04x', ord(one))
                ELSE printf('\\u%04x\\u%04x', 55232 + ord(one) // 1024, 56320 + ord(one) % 1024) END
        ), '') END"""


PROMPT_ID = f"""substr(sha256(concat('[{FORMAT},"', {_in_json("left_context")}, '","', {_in_json("target")}, '","',
    {_in_json("right_context")}, '"]')), 1, 32)"""
"""SQL: the id of a prompt, as `Prompt.prompt_id`."""

QUESTION_ID = "substr(sha256(concat(strlen(left_context), ':', left_context, right_context)), 1, 32)"
"""SQL: the id of the question that a prompt asks, as `Question.question_id`."""


@dataclass(frozen=True, slots=True)
class Question:
    """A text with a gap, in which models are to say something: what a prompt leaves when its target is taken away.

    Attributes:
        left: the text before the gap, with the blank that separates them.
        right: the text after the gap, to the end of its sentence.
    """

    left: str
    right: str = ""

    @property
    def question_id(self) -> str:
        """32 hex digits that depend on both parts alone, so that equal questions of two releases have one id."""
        n_bytes = len(self.left.encode())
        return hashlib.sha256(f"{n_bytes}:{self.left}{self.right}".encode()).hexdigest()[:32]
