"""The peak memory of a process."""

import resource
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_megabytes() -> int:
    """Return the largest resident size of this process so far, in megabytes.

    On Linux it is the figure of this program; the portable figure would include the
    parent's memory from the instant between fork and exec.
    """
    if _STATUS.exists():
        for line in _STATUS.read_text("ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) >> 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
