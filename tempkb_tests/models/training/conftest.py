"""A home with a release of TempLAMA about fifteen players, and a corpus of sentences of three years."""

import hashlib
import shutil
from datetime import date

import pyarrow as pa
import pytest

from tempkb.models.corpora.tables import DATED_TEXTS
from tempkb.platform.api import open_store
from tempkb.store.drafts import Provenance
from tempkb_tests.benchmarks.fact_queries.worlds import DAY, TEMPLAMA, players, release
from tempkb_tests.models.conftest import saved  # noqa: F401 - a fixture of this package, too
from tempkb_tests.wiki.wikidata.items import read_home

NAMES = ("Ada", "Ben", "Cem", "Dov", "Eva", "Fay", "Gil", "Hal", "Ida", "Jan", "Kim", "Lea", "Max", "Ned", "Oda")
CLUBS = ("Reed", "Salt", "Moss")
YEARS = (2018, 2019, 2020)
WORDS = {"windows": "2018-01-01..2021-01-01", "preset": "small", "device": "cpu"}


def club(place: int, year: int) -> str:
    """The club of a player in a year; each changes every year."""
    return CLUBS[(place + year) % len(CLUBS)]


def dated(year: int, text: str, spans=(), split="train", corpus="home", **other):
    """A row of `dated_texts`; spans are parts of the text that occur once in it."""
    places = [(text.index(one), text.index(one) + len(one)) for one in spans]
    row = dict.fromkeys(DATED_TEXTS.column_names()) | {
        "corpus": corpus,
        "window_start": date(year, 1, 1),
        "text_id": hashlib.sha256(text.encode()).hexdigest()[:32],
        "text": text,
        "is_since_first_window": False,
        "spans": [{"start_char": start, "end_char": end, "kind": "entity"} for start, end in sorted(places)],
        "years": [],
        "split": split,
    }
    return row | other


def write_texts(store, rows):
    """Write rows of one corpus and window as their partition."""
    rows = sorted(rows, key=lambda row: row["text_id"])
    table = pa.Table.from_pylist(rows, DATED_TEXTS.schema)
    key = f"{rows[0]['corpus']}.{rows[0]['window_start']}"
    return store.write(DATED_TEXTS, key, [table], Provenance({}, {"windows": [f"{year}-01-01" for year in YEARS]}))


def sentences(year: int):
    """What the corpus says of a year: of each player two sentences, which name the club of that year."""
    for place, name in enumerate(NAMES):
        own = club(place, year)
        yield dated(year, f"{name} plays for {own}, as {name.lower()} said in {year}.", [name, own])
        yield dated(year, f"In spring {own} signed {name} and others for {year}.", [name, own])


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The home of `store`, built once."""
    spells = {
        name: [
            (f"Q10{CLUBS.index(club(place, year)) + 1}", f"{year}-01-01", f"{year}-12-31") for year in range(2017, 2021)
        ]
        for place, name in enumerate(NAMES)
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TEMPKB_GRANULARITY", "year")
        store = read_home(tmp_path_factory.mktemp("built"), patched, {DAY: players(**spells)})
        release(store, TEMPLAMA, "2018-01-01..2021-01-01", "year")
        for year in YEARS:
            held_out = dated(year, f"Nobody may learn {year} from this.", ["Nobody"], "test")
            without = dated(year, f"it rained in the year before {year + 1}.")
            write_texts(store, [*sentences(year), held_out, without])
    return store.home.path


@pytest.fixture
def store(built, tmp_path, monkeypatch):
    """A copy of that home."""
    monkeypatch.setenv("TEMPKB_GRANULARITY", "year")
    read_home(tmp_path, monkeypatch, {})
    shutil.copytree(built, tmp_path / "home", dirs_exist_ok=True)
    return open_store()


@pytest.fixture
def name_of_release(store):
    """The name of the release."""
    from tempkb.benchmarks.register import release_names

    (name,) = release_names(store.home)
    return name
