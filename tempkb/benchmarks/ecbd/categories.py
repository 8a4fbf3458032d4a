"""Assigns items to the categories of the paper's Table 1, and finds items that are not entities."""

from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from tempkb.core.files import toml_beside

if TYPE_CHECKING:
    import duckdb

MISC = "Misc."
_table = partial(toml_beside, __file__, "categories.toml")


@cache
def category_classes() -> Mapping[str, str]:
    """Return class -> category, in the order of Table 1."""
    return {one: row["name"] for row in _table()["category"] for one in row["classes"]}


@cache
def class_labels() -> Mapping[str, str]:
    """Return class -> its label in the file."""
    return {one: label for row in _table()["category"] for one, label in row["classes"].items()}


@cache
def category_names() -> tuple[str, ...]:
    """Return the categories in the order of Table 1."""
    return tuple(row["name"] for row in _table()["category"])


@cache
def excluded_classes() -> Mapping[str, str]:
    """Return class -> why its instances are not entities: human, list, disambiguation, category or template."""
    return {one: reason for reason, classes in _table()["excluded"].items() for one in classes}


def categorise(connection: "duckdb.DuckDBPyConnection") -> None:
    """Make the tables `item_category(entity_id, category, category_class)` and `not_entities(entity_id, reason)`.

    Needs the views `classes` (entity_classes of a dump) and `subclass_edges` (its
    `subclasses`). The nearest class in `categories.toml` decides, because a class far
    above says little; among classes at the same distance, the first category in the
    file is used. An item without a known class is not in `item_category`.
    """
    # Imported here because commands that only read need the names of the categories, but not this.
    from tempkb.wiki.wikidata.classes import close

    connection.execute(
        "CREATE OR REPLACE TEMP VIEW subclasses AS SELECT class_id AS below, above_id AS above FROM subclass_edges"
    )
    close(connection, [*category_classes(), *excluded_classes()])
    order = {name: at for at, name in enumerate(category_names())}
    _fill(connection, "known_categories", ((one, name, order[name]) for one, name in category_classes().items()))
    _fill(connection, "known_exclusions", ((one, reason, 0) for one, reason in excluded_classes().items()))
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE item_classes AS
        SELECT c.entity_id, b.class_id, b.depth FROM classes AS c JOIN below AS b ON b.entity_id = c.class_id
        WHERE c.depth = 0;
        CREATE OR REPLACE TEMP TABLE item_category AS
        SELECT entity_id, arg_min(name, (depth, place, class_id)) AS category,
               arg_min(class_id, (depth, place, class_id)) AS category_class
        FROM item_classes JOIN known_categories USING (class_id) GROUP BY entity_id;
        CREATE OR REPLACE TEMP TABLE not_entities AS
        SELECT entity_id, arg_min(name, (depth, name)) AS reason
        FROM item_classes JOIN known_exclusions USING (class_id) GROUP BY entity_id
        """
    )


def _fill(connection: "duckdb.DuckDBPyConnection", name: str, rows: Iterable[tuple[str, str, int]]) -> None:
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} (class_id VARCHAR, name VARCHAR, place INTEGER)")
    connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", list(rows))
