"""`tempkb docs`: the pages of the documentation, which an installation holds, too."""

from pathlib import Path

import click

import tempkb
from tempkb.core.errors import SettingsError


def list_pages() -> None:
    """Print the name and the heading of every page."""
    for name, path in _pages("*.md").items():
        click.echo(f"{name:13} {path.read_text('utf-8').split(chr(10), 1)[0].removeprefix('# ')}")


def print_page(name: str) -> None:
    """Print a page, in Markdown as it is written.

    Args:
        name: such as `results` or `tables/results`; `docs/results.md`, as the pages name one another, is the same.

    Raises:
        SettingsError: there is no such page.
    """
    found = _pages("**/*.md").get(name.removeprefix("docs/").removesuffix(".md"))
    if found is None:
        raise SettingsError(f"docs {name}: no such page; there: {', '.join(_pages('*.md'))}")
    click.echo(found.read_text("utf-8"), nl=False)


def _pages(pattern: str) -> dict[str, Path]:
    """Return pages by name: beside the code in an installation, and beside its folder in a clone."""
    package = Path(tempkb.__file__).parent
    folder = next(one for one in (package / "docs", package.parent / "docs") if one.is_dir())
    return {f"{path.relative_to(folder).with_suffix('')}": path for path in sorted(folder.glob(pattern))}
