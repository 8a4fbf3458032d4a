"""What is said of a failed run, from the chain of errors that Dagster keeps of it."""

import json

import pytest
from dagster._utils.error import serializable_error_info_from_exc_info

from tempkb.core.errors import ModelError
from tempkb.core.failures import innermost


def chain(*errors):
    """The errors as Dagster keeps them, the outermost first, each caused by the next."""
    try:
        raise_all(errors)
    except RuntimeError as error:
        return serializable_error_info_from_exc_info((type(error), error, error.__traceback__))


def raise_all(errors):
    first, *others = errors
    if not others:
        raise first
    try:
        raise_all(others)
    except Exception as cause:
        raise first from cause


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ([RuntimeError("step"), ModelError("Fetch it."), json.JSONDecodeError("bad", "x", 0)], "Fetch it."),
        ([RuntimeError("step"), ModelError("Fetch it."), OSError("no file")], "Fetch it."),
        ([RuntimeError("step"), ModelError("linker x"), ModelError("inside")], "linker x"),
        ([RuntimeError("step"), ValueError("odd")], "ValueError: odd (this looks like a defect of tempkb"),
        ([RuntimeError("step"), OSError(28, "No space left on device", "/a/b")], "/a/b: No space left on device; "),
    ],
)
def test_the_first_error_of_tempkb_in_the_chain_is_said(errors, said):
    assert innermost(chain(*errors)).startswith(said)
