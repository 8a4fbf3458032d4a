"""What models said, before `tempkb results` has judged it."""

import pyarrow as pa
import pytest
from click.testing import CliRunner

from tempkb.commands.cli import main
from tempkb.core.errors import SettingsError
from tempkb.models.generations.tables import GENERATIONS
from tempkb.platform.api import open_store
from tempkb.results.requests import AnswersRequest
from tempkb.store.drafts import Provenance

ROW = {"question_id": "q", "rank": 1, "model": "t5", "decoder": "d", "status": "answered", "text": "Salt"}


def test_answers_that_were_not_judged_say_so(home_folder):
    store = open_store()
    rows = pa.Table.from_pylist([ROW | {"token_ids": [], "token_log_probs": []}], GENERATIONS.schema)
    store.write(GENERATIONS, "t5--d", [rows], Provenance())
    done = CliRunner().invoke(main, ["answers", "t5"])
    assert done.exit_code == 1
    assert "answers: those of t5 were not judged yet; judge them: " in done.output
    assert done.output.endswith("tempkb results\n")


def test_what_an_answer_names_is_typed_as_screens_have_it_or_as_tables_do():
    assert [AnswersRequest.of({"kind": word}).kind for word in ("stale", "old", "new", "other_name")] == [
        "old",
        "old",
        "new",
        "other_name",
    ]
    with pytest.raises(
        SettingsError, match="kind: found 'odd'; expected new, stale, other_object, other_name, none or"
    ):
        AnswersRequest.of({"kind": "odd"})
