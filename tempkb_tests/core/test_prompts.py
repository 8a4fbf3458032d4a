"""Prompts and their ids."""

import hashlib
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tempkb.core.errors import ContractError
from tempkb.core.prompts import PROMPT_ID, Prompt
from tempkb.store.memory import in_memory

COLUMNS = ("left_context", "target", "right_context")


def test_the_id_is_the_digest_of_the_parts_as_canonical_json():
    written_by_hand = b'[1,"Ada lives in ","Z\\u00fcrich","."]'
    assert Prompt("Ada lives in ", "Zürich", ".").prompt_id == hashlib.sha256(written_by_hand).hexdigest()[:32]
    assert Prompt("Ada lives in ", "Zürich", ".").prompt_id == "066c238b64b94f60f0e3503092d60755"


@given(st.text(), st.text(min_size=1).filter(str.strip), st.text())
def test_the_id_is_that_of_the_library_of_json(left, target, right):
    parts = json.dumps([1, left, target, right], separators=(",", ":")).encode("ascii")
    assert Prompt(left, target, right).prompt_id == hashlib.sha256(parts).hexdigest()[:32]


def test_the_id_depends_on_where_the_target_is():
    same_statement = [
        Prompt("a b", " c", ""),
        Prompt("a ", "b", " c"),
        Prompt("a", " b", " c"),
        Prompt("", "a", " b c"),
    ]
    assert len({prompt.statement for prompt in same_statement}) == 1
    assert len({prompt.prompt_id for prompt in same_statement}) == 4


@pytest.mark.parametrize("target", ["", " ", "\n\u00a0"])
def test_a_target_without_a_sign_is_refused(target):
    with pytest.raises(ContractError, match="at least one character that is not blank"):
        Prompt("Ada lives in ", target, ".")


HARD = ("a", "Côte d’Ivoire", 'say "x" \\ [y]', "\t\n\r\b\f\x1f\x7f", "\u2028 \ud7ff 😀🇩🇪 e\u0301", "]~ {} / ' <")


def test_sql_gives_the_same_ids():
    parts = [
        (left, target, right) for left in (*HARD, "") for target in HARD if target.strip() for right in (*HARD, "")
    ]
    with in_memory() as connection:
        connection.register("prompts", pa.table(dict(zip(COLUMNS, zip(*parts, strict=True), strict=True))))
        found = connection.sql(f"SELECT {', '.join(COLUMNS)}, {PROMPT_ID} FROM prompts").fetchall()
    assert {tuple(row) for row in found} == {(*one, Prompt(*one).prompt_id) for one in parts}
