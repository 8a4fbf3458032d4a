"""Tiny models: saved once, and on one thread, on which they are fastest."""

import pytest
import torch

from tempkb_tests.models.tiny import saved_tiny


@pytest.fixture(autouse=True, scope="package")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """Saves a model of a kind once, and gives its folder."""
    folder = tmp_path_factory.mktemp("checkpoints")

    return lambda kind: saved_tiny(kind, folder / kind)
