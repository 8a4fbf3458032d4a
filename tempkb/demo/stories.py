"""Writes pages whose histories are told one by one: the trap pages of `data/stories.toml`, and those of other files."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from tempkb.demo.pages import Clock, Page, Pages
from tempkb.demo.words import words_of


def write_stories(pages: Pages) -> None:
    """Add all trap pages of entries 1 to 9. Needs at least eight quarters."""
    words = words_of("stories")
    write_pages(pages, words["pages"], words["form"])
    _edit_war(pages.story("war"), pages.clock, words["form"])


def write_pages(pages: Pages, all_told: Sequence[dict[str, Any]], form: str) -> None:
    """Add the pages of a file, each with its edits, then its moves; `form` is what a single line is put into."""
    for told in all_told:
        page = pages.new(told.get("story", ""), told["title"], told.get("namespace", 0))
        page.in_two_elements = told.get("in_two_elements", False)
        for one in told["edits"]:
            _edit(page, pages.clock, form, **one)
        for one in told.get("moves", ()):
            _move(page, pages.clock, **one)
        if "deleted_at" in told:
            page.deleted_at = pages.clock.at(told["deleted_at"])
        if "merged_into" in told:
            when, item = told["merged_into"]
            page.merged_into = pages.clock.at(when), item


def _edit(
    page: Page, clock: Clock, form: str, *, at: str = "0", line: str = "", text: str | None = None, **more: Any
) -> None:
    """Add an edit as the files have it; the instants among its attributes are written as `at` is."""
    more.setdefault("comment", "" if page.edits else "new page")
    instants: dict[str, Any] = {
        name: clock.at(more.pop(name)) for name in ("entered", "suppressed_from") if name in more
    }
    whole = form.format(title=page.names[0].title, line=line) if text is None else text
    page.edit(clock.at(at), whole, user=more.pop("user", "Ada") or None, **instants, **more)


def _move(page: Page, clock: Clock, *, at: str, title: str, namespace: int = 0, minutes: int = 0, **more: Any) -> None:
    page.move(clock.at(at) + timedelta(minutes=minutes), namespace, title, **more)


def _edit_war(page: Page, clock: Clock, form: str) -> None:
    # 39 texts of eighteen hours, and thirty-four hours of the chosen one: 4.7 per cent.
    at = clock.before(3, 30)
    for number in range(40):
        text = form.format(title="Border Stone", line=f"It belongs to side {number}.")
        page.edit(at, text, "no!", user=("Ben", "Cem")[number % 2])
        at += timedelta(hours=34) if number == 17 else timedelta(hours=17, minutes=35)
