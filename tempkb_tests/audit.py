"""`make audit`: ask PyPI for known vulnerabilities of the pinned versions in `constraints.txt`.

pip-audit has an environment of its own, so that none of its packages is among those that it looks up. Ends with 1 if
a version is vulnerable. Where nothing can be asked, one line says why, since a list that nobody answered is no good news.
"""

import json
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".venv" / "audit"


def main() -> None:
    """Audit, and say what was found."""
    program = HOME / "bin" / "pip-audit"
    if not program.exists():
        venv.create(HOME, with_pip=True)
        done = run([HOME / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "pip-audit"])
        if done.returncode:
            print(f"Not audited: pip-audit cannot be installed ({last_line(done.stderr)}).")
            return
    done = run(
        [
            program,
            "--requirement",
            ROOT / "constraints.txt",
            "--no-deps",
            "--disable-pip",
            "--format",
            "json",
            "--progress-spinner",
            "off",
        ]
    )
    said, is_bad = verdict(done.stdout, done.stderr)
    print(said)
    sys.exit(1 if is_bad else 0)


def run(command: list[object]) -> subprocess.CompletedProcess[str]:
    """Run a command, its words kept."""
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)


def verdict(answer: str, errors: str) -> tuple[str, bool]:
    """Put pip-audit's answer into words: (what to print, is a version vulnerable?).

    Args:
        answer: its JSON; something else when it could not ask.
        errors: what it wrote to standard error.
    """
    try:
        packages = json.loads(answer)["dependencies"]
    except (ValueError, KeyError):
        return f"Not audited: pip-audit gave no answer ({last_line(errors)}). It needs a network.", False
    unknown = [f"{one['name']}: {one['skip_reason']}" for one in packages if "skip_reason" in one]
    found = [
        f"{one['name']} {one['version']}: {flaw['id']}, mended in {', '.join(flaw['fix_versions']) or 'no version yet'}"
        for one in packages
        for flaw in one.get("vulns", ())
    ]
    n = len(packages) - len(unknown)
    if not n:
        return f"Not audited: PyPI told nothing of any of {len(packages)} versions ({unknown[0]}).", False
    told = f"{n} of {len(packages)} pinned versions audited, {len(found)} vulnerabilities known."
    return "\n".join([*found, *(f"not audited: {one}" for one in unknown), told]), bool(found)


def last_line(text: str) -> str:
    """The last line that says something."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no reason given")[:200]


if __name__ == "__main__":
    main()
