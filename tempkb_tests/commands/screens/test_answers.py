"""What models said, before `tempkb results` has judged it."""

import pyarrow as pa
from click.testing import CliRunner

from tempkb.commands.cli import main
from tempkb.models.generations.tables import GENERATIONS
from tempkb.platform.api import open_store
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
