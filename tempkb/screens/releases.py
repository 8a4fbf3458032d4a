"""What a release holds, on one screen."""

from collections import Counter

import tempkb
from tempkb.screens.console import console, grid, print_next
from tempkb.store.plain import plain_rows
from tempkb.store.quoting import literal
from tempkb.wording import counted

_SHOWN_ITEMS = 5


def print_release(name: str) -> None:
    """Print a release's counts by snapshot, category and subset, and where to go on."""
    (row,) = plain_rows(tempkb.read("tempel_releases", release=name))
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for one in plain_rows(tempkb.read("tempel_statistics", release=name, figure="table_1")):
        counts.setdefault((str(one["cut"]), one["series"]), {})[one["label"]] = int(one["value"])
    rows = [(*key, by_label["entities"], by_label["mentions"]) for key, by_label in sorted(counts.items())]
    equal = "equal" if row["is_equal"] else f"not equal, {row['shortfall']:.1%} short at most"
    screen = console()
    screen.print(f"release {name}: {counted(len(row['cuts']), 'snapshot')}, {equal}")
    screen.print(grid(("snapshot", "category and subset", "entities", "mentions"), rows))
    _print_next(name, "cut, category, mention, target_title", "tempel_mentions")


def print_ecbd_release(name: str) -> None:
    """Print a release's entities and items by window of origin, some items, and where to go on."""
    (row,) = plain_rows(tempkb.read("ecbd_releases", release=name))
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for one in plain_rows(tempkb.read("ecbd_balance", release=name)):
        by_what = counts.setdefault((one["origin_window"], one["split"]), {})
        by_what[one["span_kind"]] = one["n_items"]
        by_what["entities"] = max(by_what.get("entities", 0), one["n_entities"])
    whats = ("entities", "np", "random")
    rows = [(*key, *(by_what.get(what, 0) for what in whats)) for key, by_what in sorted(counts.items())]
    items = tempkb.read("ecbd_cloze", release=name)
    screen = console()
    screen.print(
        f"release {name}: {counted(items.num_rows, 'item')}, origins from {row['study_from']} to {row['study_to']}, "
        f"texts at {row['cut']}, noun phrases by {row['chunker']}",
        highlight=False,
    )
    screen.print(grid(("origin", "split", *whats), rows))
    # Of different entities, since items are in the order of their articles.
    some = range(0, items.num_rows, max(1, items.num_rows // _SHOWN_ITEMS))[:_SHOWN_ITEMS]
    shown = items.select(["masked_sentence", "answer", "origin_window"]).take(list(some))
    screen.print(grid(("sentence", "answer", "origin"), [tuple(one.values()) for one in plain_rows(shown)]))
    _print_next(name, "masked_sentence, answer, origin_window", "ecbd_cloze")


def print_fact_release(name: str, benchmark: str) -> None:
    """Print a release's queries by relation, and its changes by window, and where to go on."""
    (row,) = plain_rows(tempkb.read("fact_releases", release=name))
    subjects = tempkb.read("fact_subjects", release=name)
    queries = tempkb.read(f"{benchmark}_queries", release=name)
    n_subjects = Counter(subjects["relation"].to_pylist())
    n_queries = Counter(queries["relation"].to_pylist())
    screen = console()
    screen.print(
        f"release {name}: {counted(queries.num_rows, 'query', 'queries')} by {row['granularity']}, "
        f"{row['study_from']} to {row['study_to']}, from {', '.join(row['dump_ids'])}",
        highlight=False,
    )
    rows = [(relation, n_subjects[relation], n_queries[relation]) for relation in sorted(n_subjects)]
    screen.print(grid(("relation", "subjects", "queries"), rows))
    if benchmark == "dynamic_templama":
        changes = tempkb.read("dynamic_templama_changes", release=name)
        # Of the two rows of an update that of who arrives.
        by_change = Counter(
            (str(row["window_start"]), row["change"])
            for row in changes.select(["window_start", "change", "role"]).to_pylist()
            if row["role"] != "leaving"
        )
        kinds = ("unchanged", "updated", "new", "deleted", "undatable")
        starts = sorted(map(str, set(changes["window_start"].to_pylist())))
        table = [(start, *(by_change[start, kind] for kind in kinds)) for start in starts]
        screen.print(grid(("window", *kinds), table))
    _print_next(name, "date, query, list_transform(answers, lambda one: one.label) AS answers", f"{benchmark}_queries")


def _print_next(name: str, columns: str, table: str) -> None:
    query = f"SELECT {columns} FROM {table} WHERE release = {literal(name)} LIMIT 5"
    print_next(f"release export {name} exports", f'sql "{query}"')
