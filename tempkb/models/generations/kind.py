"""What models say, as a kind of answers: the same runs keep it that keep scores."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tempkb.benchmarks.prompting import Prompting, Way
from tempkb.core.model_words import Family
from tempkb.core.prompts import QUESTION_ID, Question
from tempkb.models.generations.tables import GENERATIONS
from tempkb.models.scorers import WAYS, decoder_name, require_way
from tempkb.models.scores.kinds import SCORES, Asker, Kind
from tempkb.models.scores.requests import GenerateRequest

if TYPE_CHECKING:
    import pyarrow as pa

    from tempkb.models.batching import Limits
    from tempkb.models.loading import LoadedModel


class _Generations(Kind):
    """Texts in the gaps of questions."""

    request, doing, drafts = GenerateRequest, "generating", "generations"
    noted = "generated"
    otherwise = "; or name a decoder with --decoder, since benchmarks have one for some families of models only"
    table, column = GENERATIONS, "decoder"
    key, key_sql = "question_id", QUESTION_ID
    first = "rank = 1"
    templates = WAYS
    require, named = staticmethod(require_way), staticmethod(decoder_name)
    asked, texts = Question, ("left_context", "right_context")
    # A beam search of 100 takes seconds a question, and what a killed run has not finished is lost.
    n_of_shard = 256

    def ways(self, prompting: Prompting, family: Family, template: str, variants: Sequence[str]) -> list[Way]:
        """Return the benchmark's own decoder and forms of questions, if it asks models of this family."""
        own = prompting.answered.get(family)
        if own is None and not template:
            return []
        if own is None:
            return [Way(template, tuple(variants or prompting.defaults[:1]))]
        return [Way(template or own.template, tuple(variants or own.variants), own.condition)]

    def asker(self, model: "LoadedModel", template: str, limits: "Limits") -> Asker:
        """Return a decoder of questions."""
        from tempkb.models.decoding.decoder import Decoder

        decoder = Decoder(model, template, limits)
        about = {"template_sha256": decoder.template_sha256, "template_states_date": decoder.states_date}
        return Asker(decoder.stream, {name: value for name, value in about.items() if value is not None})

    def rows(self, model: str, name: str, ids: Sequence[str], answers: Sequence[Any]) -> "pa.Table":
        """Return a row of `generations` for each answer, of which a question may have several."""
        import pyarrow as pa

        found = [(one, answer) for one, some in zip(ids, answers, strict=True) for answer in some]
        columns = {
            column: [getattr(answer, column) for _, answer in found]
            for column in GENERATIONS.column_names()
            if column not in ("question_id", "model", "decoder")
        }
        about = {
            "question_id": [one for one, _ in found],
            "model": [model] * len(found),
            "decoder": [name] * len(found),
        }
        return pa.table({**about, **columns}, schema=GENERATIONS.schema)


SAID = _Generations()
KINDS = (SCORES, SAID)
"""All kinds of answers that models give."""
