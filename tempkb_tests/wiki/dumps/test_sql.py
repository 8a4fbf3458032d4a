"""SQL tables against the library mwsql, on rows made by hypothesis and on hostile ones by hand."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mwsql import Dump

from tempkb.core.errors import SourceError
from tempkb.wiki.dumps.files import DamageError
from tempkb.wiki.dumps.sql import read_rows

CREATE = (
    "-- a comment; with a semicolon\nDROP TABLE IF EXISTS `page_props`;\nCREATE TABLE `page_props` (\n"
    "  `pp_page` int(8) unsigned NOT NULL,\n  `pp_propname` varbinary(60) NOT NULL DEFAULT '',\n"
    "  `pp_value` blob NOT NULL,\n  `pp_sortkey` float DEFAULT NULL,\n  PRIMARY KEY (`pp_page`,`pp_propname`),\n"
    "  KEY `pp_sortkey` (`pp_sortkey`)\n) ENGINE=InnoDB DEFAULT CHARSET=binary;\n\n"
)
COLUMNS = ("pp_page", "pp_propname", "pp_value", "pp_sortkey")


def write(path, rows, *, per_statement=3):
    """Write rows as mysqldump does."""
    lines = [CREATE]
    for at in range(0, len(rows), per_statement):
        told = ",".join("(" + ",".join(map(sql, row)) + ")" for row in rows[at : at + per_statement])
        lines.append(f"INSERT INTO `page_props` VALUES {told};\n")
    path.write_bytes(gzip.compress("".join(lines).encode()))
    return path


def sql(value):
    if value is None:
        return "NULL"
    if isinstance(value, str):
        table = {"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\r": "\\r", "\0": "\\0", "\x1a": "\\Z"}
        return "'" + "".join(table.get(c, c) for c in value) + "'"
    return str(value)


HOSTILE = [
    (1, "wikibase_item", "Q1", None),
    (2, "displaytitle", "a),(b", 1.5),
    (3, "displaytitle", 'it\'s \\ "quoted"', -2.0),
    (4, "displaytitle", "two\nlines;\nINSERT INTO `page_props` VALUES (9,'x','y',NULL)", None),
    (5, "displaytitle", "');", None),
    (6, "displaytitle", "", 0.0),
    (7, "displaytitle", "Ünïcödé 日本", 1e300),
    (8, "displaytitle", "NULL", None),
    (9, "displaytitle", "\\'", None),
    (10, "displaytitle", "ends in a backslash\\", None),
]


def test_hostile_values_come_back(tmp_path):
    rows = list(read_rows(write(tmp_path / "t.sql.gz", HOSTILE), COLUMNS))
    assert rows == [(n, name.encode(), value.encode(), key) for n, name, value, key in HOSTILE]


def test_columns_are_found_by_name_in_any_order(tmp_path):
    path = write(tmp_path / "t.sql.gz", HOSTILE)
    assert list(read_rows(path, ("pp_value", "pp_page")))[0] == (b"Q1", 1)


# mwsql reads line by line and knows no escaped line ends, so these stay out of the comparison (they are above).
plain = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=12)
rows = st.lists(
    st.tuples(st.integers(0, 10**9), plain, plain, st.none() | st.integers(-99, 99)), min_size=1, max_size=12
)


@settings(max_examples=60)
@given(rows)
def test_agrees_with_mwsql(tmp_path_factory, rows):
    path = write(tmp_path_factory.mktemp("sql") / "x-20200101-page_props.sql.gz", rows)
    ours = list(read_rows(path, COLUMNS))
    theirs = [tuple(row) for row in Dump.from_file(str(path)).rows(convert_dtypes=False)]
    assert len(theirs) == len(rows)
    told = [
        tuple(
            _null(value.decode()) if isinstance(value, bytes) else "" if value is None else str(value) for value in row
        )
        for row in ours
    ]
    assert told == [tuple(_null(value) for value in row) for row in theirs]


def _null(value):
    """mwsql cannot tell the text NULL from the absence of a value, and gives an empty string for both."""
    return "" if value == "NULL" else value


@pytest.mark.parametrize(
    ("spoil", "error", "words"),
    [
        (lambda sql: sql[sql.index("INSERT") :], SourceError, "before any CREATE TABLE, at byte 0"),
        (
            lambda sql: sql.replace("CREATE TABLE", "CREATE TABEL"),
            DamageError,
            "mysqldump does not write: b'CREATE TABEL",
        ),
        (lambda sql: sql.replace("INSERT INTO", "INSERT IMTO"), DamageError, "mysqldump does not write: b.INSERT IMTO"),
        (lambda sql: sql.replace(") ENGINE", " ENGINE"), DamageError, "a CREATE TABLE `page_props` that is not whole"),
        (
            lambda sql: sql.replace("INTO `page_props`", "INTO `page`"),
            DamageError,
            "rows of `page`; expected `page_props`",
        ),
        (
            lambda sql: sql.replace("INSERT INTO", "x INSERT INTO"),
            DamageError,
            "something stands before INSERT INTO: b.x INSERT",
        ),
        (lambda sql: sql.replace("NULL);", "NULL);(2,'','',0);"), DamageError, "expected a comma and a row, found b.;"),
        (
            lambda sql: sql.replace("'Q1'", "'Q1"),
            DamageError,
            "byte 361 .*: a statement begins here with a text that is not closed",
        ),
        (lambda sql: "-- MySQL dump 10.19\n" + sql, DamageError, "ends here, without mysqldump's '-- Dump completed'"),
        (lambda sql: "", SourceError, "no CREATE TABLE in the file"),
        (
            lambda sql: sql[:-20],
            DamageError,
            "byte 361 .*: the file ends in the middle of the statement that begins here",
        ),
        (lambda sql: sql.replace("(1,'wiki", "(1 'wiki"), DamageError, "expected a comma"),
        (lambda sql: sql.replace("(1,'wiki", "(x,'wiki"), DamageError, "not a value"),
        (lambda sql: sql.replace("'Q1'", "0x513"), DamageError, "expected a comma"),
        (lambda sql: sql.replace("(1,'wiki", "(1,2,'wiki"), DamageError, "a row of 5 values; the table has 4"),
        (
            lambda sql: sql.replace("`pp_value`", "`pp_vaule`"),
            SourceError,
            "no column 'pp_value' in table page_props; it has: pp_page",
        ),
    ],
)
def test_odd_files_are_named(tmp_path, spoil, error, words):
    path = write(tmp_path / "t.sql.gz", HOSTILE[:1])
    path.write_bytes(gzip.compress(spoil(gzip.decompress(path.read_bytes()).decode()).encode()))
    with pytest.raises(error, match=words) as raised:
        list(read_rows(path, COLUMNS))
    # Of a table nothing is kept, with or without it.
    assert "strict" not in str(raised.value)
