"""What commands share: options that follow from declarations, the words that were typed, and the end of a run."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tempkb.commands.screens.failure import fail_all, warn
from tempkb.core.options import Option, as_word, options_of

if TYPE_CHECKING:
    from tempkb.commands.runs.jobs import Summary

_Command = TypeVar("_Command", bound=Callable[..., Any])

YES = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")


def options(request: type, *names: str) -> Callable[[_Command], _Command]:
    """Return a decorator that gives a command options of a request: those that are named, by default all."""
    declared = options_of(request)

    def decorate(command: _Command) -> _Command:
        for name in reversed(names or tuple(declared)):
            flags, how = click_option(declared[name], declared[name].default_in_words)
            command = click.option(*flags, **how)(command)
        return command

    return decorate


def click_option(one: Option, default: str = "") -> tuple[list[str], dict[str, Any]]:
    """Return what click is told of an option: how it is called, and the arguments of `click.Option`.

    Args:
        default: the default that the help shows; empty if it shows none.
    """
    how: dict[str, Any] = {"help": one.meaning}
    if isinstance(one.default, bool):
        return [one.typed_as, one.name], {**how, "is_flag": True}
    kind = click.Path(exists=True) if one.is_file else one.click_type
    how |= {"metavar": one.metavar or None, "type": kind, "multiple": one.many, "show_default": bool(default)}
    return [one.typed_as, one.name], {**how, "default": () if one.many else default or ("" if kind is None else None)}


def add_upkeep(
    group: click.Group, kind: str, screens: tuple[str, str, str], example: str, listed: str, shown: str, removed: str
) -> None:
    """Add the commands list, show and rm to the group of things that have names.

    Args:
        kind: what they are, in the singular.
        screens: module of the screens, and the functions that print all of them and one by its name.
        example: of a name.
        listed: the help of list, and so on.
    """
    module, every, single = screens

    def screen(name: str) -> Callable[..., None]:
        function: Callable[..., None] = getattr(import_module(f"tempkb.commands.screens.{module}"), name)
        return function

    def rm(name: str, yes: bool) -> None:
        from tempkb.commands.screens.upkeep import remove_what

        remove_what(**{kind: name}, force=False, ask=not yes)

    def with_example(said: str, typed: str) -> str:
        return f"{said}\n\n\b\nExample:\n  tempkb {kind} {typed}"

    named = click.argument("name")
    group.command("list", help=listed)(lambda: screen(every)())
    group.command("show", help=with_example(shown, f"show {example}"))(named(lambda name: screen(single)(name)))
    group.command("rm", help=with_example(removed, f"rm {example} --yes"))(named(YES(rm)))


def words_typed(asked: Mapping[str, Any]) -> dict[str, str]:
    """Return the words of a request that were typed; values are as click hands them over."""
    return {name: word for name, value in asked.items() if (word := as_word(value))}


def close(summary: "Summary", screen: Callable[..., None] | None = None, *shown: Any) -> None:
    """End a command that has run something: its notes, its screen, and what failed, with which it exits."""
    for note in summary.notes:
        warn(note)
    if screen is not None:
        screen(*shown)
    if summary.failures:
        fail_all(summary.failures)
