"""`make docs`: writes the parts of `docs/` that are generated from the declarations; a test fails if they differ.

Only the text between `<!-- begin NAME -->` and `<!-- end NAME -->` is generated; the other text of a file is kept. The
pages of `docs/tables` are generated as a whole.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.ecbd.design import Design as Cloze
from tempkb.benchmarks.fact_queries.design import Design as Facts
from tempkb.benchmarks.tempel.design import Design as Linking
from tempkb.commands.screens.tables import columns_of
from tempkb.core.options import options_of
from tempkb.core.record import IDENTITY, OF_WIKIDATA
from tempkb.core.settings import Settings, load_home
from tempkb.engine.room import Room
from tempkb.platform.rooms import ROOMS, TABLES, VIEWS
from tempkb.results.papers.items import papers
from tempkb.store.store import Store
from tempkb.store.tables import SIDE_TABLES, Table, View

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs/tables"
"""A page for each group of tables."""
DESIGNS = {"tempel": Linking, "ecbd": Cloze, "templama and dynamic-templama": Facts}
_BESIDE = "beside"
_BLOCK = r"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)"


def main() -> None:
    """Write all blocks and pages, and remove pages of what is no longer declared."""
    written = documents()
    for path, text in written.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    for path in {*PAGES.glob("*.md")} - {*written}:
        path.unlink()


def documents() -> dict[Path, str]:
    """Return the text that each document with blocks, and each generated page, should have."""
    blocks = {
        "tables.md": {"tables": tables},
        "settings.md": {"settings": settings},
        "papers.md": {"papers": of_papers},
        "releases.md": {"options": options, "parts": parts},
        "architecture.md": {"rooms": rooms, "tables": graph, "jobs": jobs},
    }
    filled = {(path := ROOT / "docs" / name): _filled(path, made) for name, made in blocks.items()}
    return filled | {PAGES / f"{name}.md": _page(name, *declared) for name, declared in _groups().items()}


def tables() -> str:
    """Return the groups of tables and views, each with links to its page."""
    return "\n".join([*(_contents(name, *declared) for name, declared in _groups().items()), ""])


def _groups() -> dict[str, tuple[Sequence[Table], Sequence[View]]]:
    """Return tables and views by module, and those beside every table."""
    return {room.name: (room.tables, room.views) for room in ROOMS} | {_BESIDE: (SIDE_TABLES, ())}


def _page(name: str, tables: Sequence[Table], views: Sequence[View]) -> str:
    of = "every table" if name == _BESIDE else name
    lines = [f"# Tables {'beside' if name == _BESIDE else 'of'} {of}", ""]
    lines += ["Generated from the declarations by `make docs`. [All groups](../tables.md).", ""]
    lines += [line for table in tables for line in _of_table(table)]
    lines += [line for view in views for line in _of_view(view)]
    return "\n".join(lines)


def _contents(group: str, tables: Sequence[Table], views: Sequence[View]) -> str:
    page = f"tables/{group}.md"
    names = [one.name for one in (*tables, *views)]
    return f"- [{group}]({page}): " + ", ".join(f"[{name}]({page}#{name})" for name in names)


def settings() -> str:
    """Return a table of all settings: default, allowed values, meaning."""
    defaults = _defaults()
    lines = ["| setting | default | allowed values | meaning |", "|---|---|---|---|"]
    for name, field in options_of(Settings).items():
        shown = _shown(getattr(defaults, name))
        default = field.default_in_words or (f"`{shown}`" if shown else "none")
        lines.append(_row(f"`{name}`", default, field.allowed, field.meaning))
    home = ", ".join(f"`{name}`" for name in IDENTITY)
    of_wikidata = ", ".join(f"`{name}`" for name in OF_WIKIDATA)
    return "\n".join(
        [
            *lines,
            "",
            f"These define a home and cannot be changed after its first build: {home}.",
            "",
            f"These cannot be changed after the first Wikidata dump was read: {of_wikidata}.",
            "",
        ]
    )


def of_papers() -> str:
    """For each paper a table of its tables and figures: what they show, what makes them, and how ours differ."""
    lines = []
    for paper in papers().values():
        lines += [f"## {paper.title}", "", f"`tempkb paper {paper.name} ITEM`", ""]
        lines += ["| item | shows | made from | beside the paper |", "|---|---|---|---|"]
        for name, item in paper.items.items():
            # What computes rows in place of a query is named by its function.
            places = [*(f"`{need}`" for need in item.needs), *([f"`{item.rows}`"] if item.rows else [])]
            made = {"data": ", ".join(places), "text": item.see}.get(item.kind, f"**{item.kind}**")
            marked = f"{made} (**scores**)" if item.imported else made
            lines.append(_row(f"`{name}`", item.shows, marked, item.differs))
        lines.append("")
    return "\n".join(lines)


def options() -> str:
    """For each benchmark a table of what its command takes, and of what its releases can be exported with."""
    parts = []
    for one in BENCHMARKS:
        parts += [
            f"### tempkb release {one.command}",
            "",
            one.meaning,
            "",
            "| option | default | meaning |",
            "|---|---|---|",
        ]
        for number, option in enumerate(one.all_options):
            shown = option.name.upper() if number == 0 else f"--{option.name.replace('_', '-')}"
            parts.append(_row(f"`{shown}`", f"`{option.default}`" if option.default else "", option.meaning))
        parts.append("")
    return "\n".join(parts)


def parts() -> str:
    """For each design a table of the parts that `--set` changes."""
    lines = []
    for benchmarks, design in DESIGNS.items():
        lines += [
            f"### --set of {benchmarks}",
            "",
            "| part | default | allowed values | meaning |",
            "|---|---|---|---|",
        ]
        for name, one in options_of(design).items():
            lines.append(
                _row(f"`{name}`", f"`{one.default_in_words or _shown(one.default)}`", one.allowed, one.meaning)
            )
        lines.append("")
    return "\n".join(lines)


def rooms() -> str:
    """Return the rooms as Mermaid, with an arrow if a room reads tables of another one."""
    room_of = {table.name: room.name for room in ROOMS for table in room.tables}
    edges = {(room_of[parent], room_of[child]) for parent, child in edges_of_tables() if parent in room_of}
    lines = [f'    {room.name}["{room.name}<br/>{_counted(room)}"]' for room in ROOMS]
    order = [room.name for room in ROOMS]
    apart = sorted(((a, b) for a, b in edges if a != b), key=lambda one: (order.index(one[0]), order.index(one[1])))
    return _mermaid("flowchart LR", [*lines, *(f"    {a} --> {b}" for a, b in apart)])


def graph() -> str:
    """For each room its tables and what they follow from, as Mermaid; tables of other rooms are rounded."""
    edges = edges_of_tables()
    parts = []
    for room in ROOMS:
        own = [table.name for table in room.tables]
        inside = [(parent, child) for parent, child in edges if child in own]
        others = sorted({parent for parent, _ in inside} - set(own))
        lines = [f"    {name}([{name}])" for name in others] + [f"    {name}[{name}]" for name in own]
        parts += [f"### {room.name}", "", _mermaid("flowchart LR", [*lines, *(f"    {a} --> {b}" for a, b in inside)])]
    return "\n".join(parts)


def jobs() -> str:
    """Return the jobs with the tables that they build, and the sensors and schedules that start jobs."""
    made = _definitions()
    lines = ["| job | what it does | tables |", "|---|---|---|"]
    graph, order = made.resolve_asset_graph(), [table.name for table in TABLES]
    for job in made.jobs or ():
        # A job of ops alone has no selection.
        selection = getattr(job, "selection", None)
        chosen = selection.resolve(graph) if selection is not None else ()
        names = sorted({key.path[-1] for key in chosen}, key=order.index)
        shown = ", ".join(f"`{name}`" for name in names) or "none"
        lines.append(_row(f"`{job.name}`", str(job.description), shown))
    lines += ["", "| sensor or schedule | what it does | jobs |", "|---|---|---|"]
    for one in made.sensors or ():
        lines.append(_row(f"`{one.name}`", str(one.description), _started(one)))
    for one in made.schedules or ():
        lines.append(_row(f"`{one.name}`", str(one.description), f"`{one.job_name}`"))
    return "\n".join([*lines, ""])


def edges_of_tables() -> list[tuple[str, str]]:
    """Return (table, table that follows from it), as the asset graph has them, in the order of the data."""
    graph = _definitions().resolve_asset_graph()
    order = {table.name: number for number, table in enumerate(TABLES)}
    edges = {
        (parent.path[-1], key.path[-1]) for key in graph.get_all_asset_keys() for parent in graph.get(key).parent_keys
    }
    return sorted(edges, key=lambda one: (order[one[1]], order[one[0]]))


_MADE: dict[str, Any] = {}


def _definitions() -> Any:
    if not _MADE:
        from tempkb.platform.definitions import build_definitions

        _MADE["definitions"] = build_definitions(_bare_home())
    return _MADE["definitions"]


def _bare_home() -> Any:
    """A home that was never written to, without any TEMPKB_ variable but its own."""
    before = dict(os.environ)
    for name in [name for name in before if name.startswith("TEMPKB_")]:
        del os.environ[name]
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TEMPKB_HOME"] = folder
            return load_home()
    finally:
        os.environ.clear()
        os.environ.update(before)


@cache
def _bare_store() -> Store:
    return Store(_bare_home(), TABLES, None, VIEWS)


def _defaults() -> Settings:
    return _bare_home().settings  # type: ignore[no-any-return]


def _filled(path: Path, blocks: Mapping[str, Callable[[], str]]) -> str:
    text = path.read_text("utf-8")
    for name, made in blocks.items():
        body = made()
        text, n = re.subn(
            _BLOCK.format(name=name), lambda one, body=body: one[1] + body + one[2], text, flags=re.DOTALL
        )
        if n != 1:
            raise ValueError(f"{path}: found {n} blocks {name!r}, expected one")
    return text


def _of_table(table: Table) -> Iterator[str]:
    key = ", ".join(f"`{name}`" for name in table.key)
    share = "in all" if table.partitioned_by == "nothing" else f"per {table.partitioned_by}"
    kept = "a table" if table.persist == "table" else "a view over the lake's files"
    yield from (f"## {table.name}", "", table.meaning, "")
    yield from (f"Key: {key}. One partition {share}. In DuckDB: {kept}.", "")
    yield from _columns((column.name, column.sql_type, column.meaning) for column in table.columns)


def _of_view(view: View) -> Iterator[str]:
    needs = ", ".join(f"`{name}`" for name in (*view.needs, *view.optional))
    yield from (f"## {view.name}", "", view.meaning, "", f"A view over {needs}.", "")
    yield from _columns(columns_of(_bare_store(), view))


def _columns(columns: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    yield from ("| column | type | meaning |", "|---|---|---|")
    yield from (_row(f"`{name}`", kind, meaning) for name, kind, meaning in columns)
    yield ""


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|").replace("<", "&lt;") for cell in cells) + " |"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return (
        str(getattr(value, "value", value)).lower() if isinstance(value, bool) else str(getattr(value, "value", value))
    )


def _counted(room: Room) -> str:
    views = f", {len(room.views)} views" if len(room.views) > 1 else ", 1 view" if room.views else ""
    return f"1 table{views}" if len(room.tables) == 1 else f"{len(room.tables)} tables{views}"


def _started(sensor: Any) -> str:
    names = sorted(target.job_name for target in sensor.targets)
    return ", ".join(f"`{name}`" for name in names) or "none"


def _mermaid(head: str, lines: Iterable[str]) -> str:
    return "\n".join(["```mermaid", head, *lines, "```", ""])


if __name__ == "__main__":
    main()
