"""What people may ask for when models are to answer. No torch here."""

from dataclasses import dataclass

from tempkb.options import option
from tempkb.scores.requests import AskRequest
from tempkb.values import text


@dataclass(frozen=True)
class GenerateRequest(AskRequest):
    """Which questions models are to answer, and how."""

    decoder: str = option(
        "",
        text,
        "Name of the decoder, such as greedy; by default the one that each benchmark names.",
        metavar="NAME",
        help="Without its family, such as greedy; by default the one that a benchmark names.",
    )

    @property
    def template(self) -> str:
        """The decoder."""
        return self.decoder
