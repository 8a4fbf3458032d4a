"""Where models compute, and with how many threads."""

from collections.abc import Iterator
from contextlib import contextmanager

from tempkb.core.errors import SettingsError

_SMALL = 10_000_000  # parameters, below which threads wait for one another longer than they compute


def usable_device(what: str, asked: str) -> str:
    """Return a device of this machine: what is asked for, or a GPU if there is one, else cpu.

    Args:
        asked: such as `cpu` or `cuda:1`; empty for the default.

    Raises:
        SettingsError: this machine has no such device.
    """
    if asked == "cpu":
        return asked
    import torch

    device = asked or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        said = str(error).partition("\n")[0]
        raise SettingsError(
            f"{what}: the device {device!r} cannot be used ({said}); expected one of this machine, such as cpu"
        ) from None
    return device


def threads_for(n_parameters: int | None) -> int | None:
    """Return with how many threads a CPU computes a model: one if it is small; None for as many as torch takes."""
    return 1 if (n_parameters or 0) < _SMALL else None


@contextmanager
def on_threads(n: int | None) -> Iterator[None]:
    """Compute with so many threads inside the block; None leaves their number as it is."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(n or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
