"""The end of a command that cannot do what it was asked for: one message, exit code 1."""

import sys
from typing import NoReturn

import click


def fail(message: str) -> NoReturn:
    """Print a message to standard error and leave."""
    click.echo(f"tempkb: {message}", err=True)
    sys.exit(1)
