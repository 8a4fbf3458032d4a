"""The screens of `tempkb show`: the revisions of a page around a cut, and one entity through all benchmarks."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from tempkb.commands.screens.console import Screen, duration, headed, print_sheet, say, show, write_file
from tempkb.commands.screens.failure import as_utf8
from tempkb.core.errors import SettingsError
from tempkb.core.windows import Window, parse_day
from tempkb.core.wording import counted
from tempkb.platform.api import open_store, unbuilt_cut
from tempkb.store.listings import Listing, as_csv, in_order
from tempkb.store.memory import asking
from tempkb.store.quoting import file_names
from tempkb.store.store import Store
from tempkb.wiki.revisions.tables import PAGE_WIKITEXTS, REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.wiki.revisions.windows import read_windows

_AFTER = 3  # number of revisions shown after the cut
_TEXT = 600  # number of characters shown of the text
_ITEMS = 10  # number of items shown of each kind
_REVISIONS = Listing(in_order("", "revision", "saved", "by", "bytes", "text", "visible", "note"))


def print_timeline(title: str, day: str | None) -> None:
    """Print the timeline of the page that had `title` at the cut `day`, by default the newest cut.

    Raises:
        SettingsError: the cut is not built, or no page had the title at that cut.
    """
    store, out = open_store(), Screen()
    title = as_utf8(title)
    window = _window(store, day)
    cut = datetime.combine(window.cut, datetime.min.time(), UTC)
    begin = cut - timedelta(days=store.home.settings.lookback_days)
    for winner in _winners(store, window.key, title):
        _print_head(winner, window.label)
        show(_REVISIONS, list(_rows(_log(store, winner["page_id"]), winner, begin, cut)))
        out.print(_why(winner, store.home.settings.lookback_days))
        text = _text(store, winner)
        if text:
            out.print(f"--- first {_TEXT} characters of the text ---\n{text[:_TEXT]}")


def print_entity(asked: str, csv_file: Path | None) -> None:
    """Print when an entity was born, the items about it with their sources, and what models make of them.

    Raises:
        SettingsError: there is no such entity, or there are several.
    """
    from tempkb.results.entity import read_entity, read_items

    store = open_store()
    found = list(read_items(store, read_entity(store, as_utf8(asked))))
    for listing, rows in found:
        if not rows:
            is_built = any(store.lake.partitions(name) for name in listing.needs)
            say(f"{listing.title}: none is about it" if is_built else f"{listing.title}: nothing of the kind is built")
            continue
        sheet = listing.sheet(rows)
        n = len(sheet.lines)
        some = f"; here the first {_ITEMS}, --csv writes all" if n > _ITEMS else ""
        print_sheet(sheet._replace(lines=sheet.lines[:_ITEMS], title=f"{listing.title} ({n:,}{some})"))
        say(listing.remark)
    if csv_file:
        write_file(csv_file, as_csv([{"kind": listing.title, **row} for listing, rows in found for row in rows]))


def _window(store: Store, day: str | None) -> Window:
    built = read_windows(store)
    if built and day is None:
        return built[-1]
    cut = parse_day(day) if day else date.max
    for window in built:
        if window.cut == cut:
            return window
    raise unbuilt_cut(STABLE_SNAPSHOTS.name, cut, [window.cut for window in built])


def _winners(store: Store, key: str, title: str) -> list[dict[str, Any]]:
    found = _select(store, STABLE_SNAPSHOTS.name, [key], "title = $title", {"title": title})
    if not found:
        order = "true ORDER BY jaro_winkler_similarity(lower(title), lower($title)) DESC, title LIMIT 5"
        near = ", ".join(row["title"] for row in _select(store, STABLE_SNAPSHOTS.name, [key], order, {"title": title}))
        raise SettingsError(f"no page had the title {title!r} at that cut; near it: {near or 'nothing'}")
    return found


def _log(store: Store, page_id: int) -> list[dict[str, Any]]:
    rows = _select(store, REVISION_LOG.name, None, "page_id = $page", {"page": page_id})
    return sorted(rows, key=lambda row: (row["revision_timestamp"], row["revision_id"]))


def _rows(
    log: list[dict[str, Any]], winner: dict[str, Any], begin: datetime, cut: datetime
) -> Iterator[tuple[object, ...]]:
    before = [at for at, row in enumerate(log) if row["revision_timestamp"] < cut]
    first = max((at for at in before if log[at]["revision_timestamp"] < begin), default=0)
    for at, row in enumerate(log[: (before[-1] if before else -1) + 1 + _AFTER]):
        if at < first:
            continue
        is_late = row["revision_timestamp"] >= cut
        end = min(log[at + 1]["revision_timestamp"] if at + 1 < len(log) else cut, cut)
        seconds = 0 if is_late else int((end - max(row["revision_timestamp"], begin)).total_seconds())
        note = "suppressed" if row["is_suppressed"] else "after the cut, so not used" if is_late else ""
        same = row["text_sha1"] is not None and row["text_sha1"] == winner["text_sha1"]
        yield (
            "=>" if row["revision_id"] == winner["revision_id"] else "=" if same and not note else "",
            str(row["revision_id"]),
            row["revision_timestamp"],
            row["contributor"],
            row["text_bytes"],
            (row["text_sha1"] or "")[:8],
            duration(seconds) if seconds > 0 else "",
            note,
        )


def _print_head(winner: dict[str, Any], label: str) -> None:
    article = f", article since {winner['article_since']:%Y-%m-%d}" if winner["article_since"] else ", never an article"
    item = f", item {winner['entity_id']}" if winner["entity_id"] else ""
    place = f"page {winner['page_id']}, namespace {winner['namespace']}{item}{article}"
    Screen().print(headed(winner["title"], f" ({place}) at the cut {winner['cut']}, the end of {label}"))


def _why(winner: dict[str, Any], lookback_days: int) -> str:
    days = counted(lookback_days, "day")
    why = (
        f"its text was visible for {duration(winner['standing_seconds'])} of the {days} before the cut "
        f"({winner['standing_share']:.0%}), longer than any other."
    )
    if winner["n_revisions_in_interval"] == 0:
        why = f"nothing was saved in the {days} before the cut."
    if winner["is_blank"]:
        why += " It is blank: no other text was visible."
    if winner["redirect_title"]:
        why += f" It redirects to {winner['redirect_title']!r}."
    return f"Revision {winner['revision_id']} won: {why}"


def _text(store: Store, winner: dict[str, Any]) -> str | None:
    values = {"page": winner["page_id"], "revision": winner["revision_id"]}
    rows = _select(store, PAGE_WIKITEXTS.name, None, "page_id = $page AND revision_id = $revision", values)
    return rows[0]["wikitext"] if rows else None


def _select(
    store: Store, table: str, partitions: list[str] | None, where: str, values: dict[str, Any]
) -> list[dict[str, Any]]:
    """Rows of a table by column name, read by DuckDB, because importing Arrow takes longer than the whole screen."""
    files = store.lake.files(table, partitions)
    if not files:
        return []
    with asking() as memory:
        query = f"SELECT * FROM read_parquet($files, union_by_name = true) WHERE {where}"
        found = memory.execute(query, {"files": file_names(files), **values})
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
