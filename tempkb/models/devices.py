"""Where models compute."""

from tempkb.core.errors import SettingsError


def usable_device(what: str, asked: str) -> str:
    """Return a device of this machine: what is asked for, or a GPU if there is one, else cpu.

    Args:
        asked: such as `cpu` or `cuda:1`; empty for the default.

    Raises:
        SettingsError: this machine has no such device.
    """
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
