"""Tests that need a GPU: `make gpu`. Elsewhere they are skipped with the reason."""

import pytest


@pytest.fixture(autouse=True)
def gpu():
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs an NVIDIA GPU, and is run by make gpu")
