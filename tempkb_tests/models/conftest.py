"""Tiny models, saved once."""

import pytest

from tempkb_tests.models.tiny import saved_tiny


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """Saves a model of a kind once, and gives its folder."""
    folder = tmp_path_factory.mktemp("checkpoints")

    return lambda kind: saved_tiny(kind, folder / kind)
