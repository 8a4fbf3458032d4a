"""A command that says on standard error what its workers needed: `workers MEGABYTES_OF_THE_LARGEST CPU_SECONDS`."""

import sys
from typing import Any

from tempkb.commands.cli import main
from tempkb.wiki.revisions import making
from tempkb.wiki.revisions.building import Report, build


def _told(*arguments: Any, **named: Any) -> Report:
    report = build(*arguments, **named)
    sys.stderr.write(f"workers {report.peak_mb} {report.cpu_seconds:.2f}\n")
    return report


if __name__ == "__main__":
    making.build = _told
    main(sys.argv[1:])
