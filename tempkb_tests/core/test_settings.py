import hashlib
import re
import shlex
import shutil
from datetime import date

import pytest

from tempkb.core import settings
from tempkb.core.errors import SettingsError
from tempkb.core.record import IDENTITY, copy_record, read_record, write_record
from tempkb.core.settings import load_home
from tempkb.core.windows import Granularity


def test_defaults(home_folder):
    settings = load_home().settings
    assert settings.namespaces == (0,)
    assert settings.granularity is Granularity.QUARTER
    assert settings.first_window == date(2001, 1, 1)
    assert (settings.lookback_days, settings.stability_rule, settings.engine) == (30, "standing", "local")
    assert settings.duckdb_max_rows == 1_000_000
    assert settings.strict is False


@pytest.mark.parametrize(
    ("said", "meant"),
    [("0", (0,)), ("0,1", (0, 1)), ("1, 0", (0, 1)), ("all", "all"), ("0,0,14", (0, 14))],
)
def test_namespaces_come_from_the_environment(home_folder, monkeypatch, said, meant):
    monkeypatch.setenv("TEMPKB_NAMESPACES", said)
    assert load_home().settings.namespaces == meant


def test_the_homes_toml_is_read_and_variables_win_over_it(home_folder, monkeypatch):
    home_folder.mkdir()
    (home_folder / "tempkb.toml").write_text('granularity = "month"\nnamespaces = [0, 4]\nworkers = 3\n')
    monkeypatch.setenv("TEMPKB_WORKERS", "2")
    settings = load_home().settings
    assert (settings.granularity, settings.namespaces, settings.workers) == (Granularity.MONTH, (0, 4), 2)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (
            "TEMPKB_NAMESPACES",
            "main",
            "namespaces: found 'main'; expected namespace numbers, such as 0 or 0,1, or the word all",
        ),
        ("TEMPKB_GRANULARITY", "decade", "granularity: found 'decade'; expected week, month, quarter or year"),
        (
            "TEMPKB_FIRST_WINDOW",
            "2001-02-01",
            r"first_window: found '2001-02-01' \(no quarter begins on that day\); expected",
        ),
        ("TEMPKB_FIRST_WINDOW", "soon", "first_window: found 'soon'; expected a day"),
        ("TEMPKB_LOOKBACK_DAYS", "0", "lookback_days: found '0'; expected a whole number from 1 to 3,660"),
        ("TEMPKB_STABILITY_RULE", "newest", "stability_rule: found 'newest'; expected standing or tempel"),
        ("TEMPKB_ENGINE", "spark", "engine: found 'spark'; expected local or ray"),
        (
            "TEMPKB_RAY_ADDRESS",
            "http://head",
            "ray_address: found 'http://head'; expected auto, host:port or ray://host:port",
        ),
        ("TEMPKB_WORKERS", "many", "workers: found 'many'; expected a whole number from 1 to 1,024"),
        ("TEMPKB_DUCKDB_MAX_ROWS", "-1", "duckdb_max_rows: found '-1'; expected a whole number from 0 on"),
        (
            "TEMPKB_WIKIDATA_DAYS",
            "9999999",
            "wikidata_days: found '9999999'; expected a whole number from 0 to 36,600",
        ),
        ("TEMPKB_STRICT", "perhaps", "strict: found 'perhaps'; expected true or false"),
        ("TEMPKB_WIKI", "Simple Wiki", "wiki: found 'Simple Wiki'; expected a database name"),
        ("TEMPKB_GRANULARTY", "year", "TEMPKB_GRANULARTY: no such setting; did you mean TEMPKB_GRANULARITY"),
    ],
)
def test_a_bad_value_names_key_value_and_what_is_allowed(home_folder, monkeypatch, name, value, words):
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=words):
        load_home()


def test_an_unknown_line_or_broken_toml_is_refused(home_folder):
    home_folder.mkdir()
    toml = home_folder / "tempkb.toml"
    toml.write_text("granularities = 3\n")
    with pytest.raises(SettingsError, match="granularities: no such setting; did you mean granularity"):
        load_home()
    toml.write_text("granularity =\n")
    with pytest.raises(SettingsError, match="tempkb.toml: not valid TOML"):
        load_home()
    toml.write_bytes('contact = "Zoë"\n'.encode("latin-1"))
    with pytest.raises(SettingsError, match="tempkb.toml: not valid TOML .*can't decode byte 0xeb in position 13"):
        load_home()


def test_a_home_that_is_a_file_is_refused(home_folder):
    home_folder.write_text("")
    with pytest.raises(SettingsError, match="is a file; expected a folder"):
        load_home()


def test_a_home_keeps_what_it_was_made_with(home_folder, monkeypatch):
    load_home(granularity="month").claim("simplewiki")
    settings = load_home().settings
    assert (settings.granularity, settings.wiki) == (Granularity.MONTH, "simplewiki")
    monkeypatch.setenv("TEMPKB_GRANULARITY", "year")
    other = home_folder.with_name("simplewiki-year")
    with pytest.raises(
        SettingsError,
        match=r"granularity: home .* was made with month, but the settings have year\. .*"
        rf"TEMPKB_HOME={other} TEMPKB_GRANULARITY=year tempkb build",
    ):
        load_home()


def test_a_home_holds_one_wiki(home_folder):
    home = load_home().claim("simplewiki")
    assert load_home().claim("simplewiki").wiki == "simplewiki"
    assert offered(home, "frwiki") == [str(home_folder.with_name("frwiki"))]


def test_a_home_is_not_made_with_a_wiki_that_it_could_not_be_read_with(home_folder):
    with pytest.raises(SettingsError, match="wiki: found 'MyWiki'; expected a database name, such as simplewiki"):
        load_home().claim("MyWiki")
    assert not home_folder.exists()
    assert load_home().claim("mywiki").wiki == "mywiki"


def offered(home, wiki):
    """The home, as a shell reads it, that is offered for another wiki."""
    with pytest.raises(SettingsError, match=f"holds 'simplewiki', but the dump is of '{wiki}'") as refused:
        home.claim(wiki)
    found = re.search(r"for the other use: TEMPKB_HOME=(.*) tempkb build \.\.\.$", str(refused.value))
    return shlex.split(found[1])


def test_the_home_that_is_offered_for_another_wiki_is_free_or_is_that_wikis(tmp_path, monkeypatch):
    beside = tmp_path / "our wikis'"
    monkeypatch.setenv("TEMPKB_HOME", str(beside / "simple"))
    home = load_home().claim("simplewiki")
    assert offered(home, "frwiki") == [str(beside / "frwiki")], "beside the home, in quotes"
    monkeypatch.setenv("TEMPKB_HOME", str(beside / "frwiki"))
    load_home().claim("dewiki")
    assert offered(home, "frwiki") == [str(beside / "frwiki-2")], "a folder of that name holds another wiki"
    (beside / "frwiki-2").mkdir()
    (beside / "frwiki-2" / "letters.txt").write_text("")
    assert offered(home, "frwiki") == [str(beside / "frwiki-3")], "nor is it a folder of something else"
    monkeypatch.setenv("TEMPKB_HOME", str(beside / "frwiki-3"))
    load_home().claim("frwiki")
    assert offered(home, "frwiki") == [str(beside / "frwiki-3")], "a home of that wiki is the one that is meant"
    monkeypatch.chdir(beside)
    assert offered(home, "frwiki") == ["frwiki-3"]


def test_the_salt_is_made_once(home_folder):
    first = load_home().claim("simplewiki").contributor_salt
    assert len(first) == 16
    assert load_home().claim("simplewiki").contributor_salt == first
    assert read_record(home_folder)["contributor_salt"] == first.hex()


def flipped(written, at):
    return written[:at] + bytes([written[at] ^ 1]) + written[at + 1 :]


@pytest.mark.parametrize("is_held", [False, True])
def test_a_record_that_is_not_as_it_was_written_is_one_sentence_with_what_to_type(home_folder, is_held):
    home = load_home(granularity="month").claim("simplewiki")
    if is_held:
        home.hold({"languages": ("en",), "wikidata_items": "linked", "classes": ("Q5",)})
    record, copy = home_folder / "home.toml", home_folder / "lake" / "home.toml"
    written = record.read_bytes()
    assert copy.read_bytes() == written
    harms = {f"byte {at}": flipped(written, at) for at in range(0, len(written), 7)}
    harms |= {f"cut at {at}": written[:at] for at in range(0, len(written), 11)}
    harms["another home's"] = _of_another_home(home_folder)
    for what, now in harms.items():
        record.write_bytes(now)
        with pytest.raises(SettingsError) as refused:
            load_home()
        said = str(refused.value)
        assert said.startswith(f"{record}: found "), what
        assert said.endswith(
            f"; expected what tempkb wrote when the home was made. The lake has a copy: cp {copy} {record}"
        ), what
    record.unlink()
    with pytest.raises(SettingsError, match=r"home.toml: found no such file; expected what .* cp "):
        load_home()
    shutil.copy(copy, record)
    assert load_home().settings.granularity == "month"
    assert load_home().contributor_salt == home.contributor_salt


def _of_another_home(home_folder):
    other = home_folder.with_name("elsewhere")
    other.mkdir()
    write_record(other, {key: getattr(load_home().settings, key) for key in IDENTITY})
    return (other / "home.toml").read_bytes()


def test_a_home_of_another_layout_is_one_sentence_with_what_to_do(home_folder):
    load_home().claim("simplewiki")
    record = home_folder / "home.toml"
    lines = record.read_bytes().splitlines(keepends=True)[:-1]
    assert lines.pop(1) == b"layout = 2\n"
    for more, layout in ((b"layout = 3\n", "3"), (b"", "1")):
        said = b"".join(lines) + more
        record.write_bytes(said + b'sum = "' + hashlib.sha256(said).hexdigest().encode() + b'"\n')
        with pytest.raises(SettingsError) as refused:
            load_home()
        assert str(refused.value) == (
            f"home {home_folder}: found layout {layout}, but this version of tempkb expects layout 2; build the home "
            "anew in another folder (TEMPKB_HOME=...), or use the version of tempkb that wrote it"
        )


def test_settings_that_do_not_define_a_home_may_change(home_folder, monkeypatch):
    load_home(workers=1).claim("simplewiki")
    monkeypatch.setenv("TEMPKB_WORKERS", "2")
    monkeypatch.setenv("TEMPKB_STRICT", "true")
    assert load_home().settings.strict is True


def test_of_two_first_writers_of_a_home_the_second_holds_what_the_first_wrote(home_folder, monkeypatch):
    """Two builds begin in an empty home: when the second claims it, the first has just written it down."""
    first, second, third = load_home(), load_home(), load_home(granularity="month")
    assert first.claim("onewiki").settings.wiki == "onewiki"
    with pytest.raises(SettingsError, match="was made with onewiki, but the settings have otherwiki"):
        second.claim("otherwiki")
    with pytest.raises(SettingsError, match="granularity: home .* was made with quarter, but the settings have month"):
        third.claim("onewiki")
    assert second.claim("onewiki").contributor_salt == first.claim("onewiki").contributor_salt


def test_of_two_first_readings_of_wikidata_the_second_holds_what_the_first_wrote(home_folder, monkeypatch):
    """Both have seen that the record has no settings of Wikidata; one writes them down in the other's way."""
    load_home().claim("simplewiki")
    first = {"languages": ("en",), "wikidata_items": "linked", "classes": ("Q5",)}
    second = {"languages": ("de",), "wikidata_items": "all", "classes": ("Q5",)}
    add = settings.add_to_record

    def after_another(path, values):
        monkeypatch.setattr(settings, "add_to_record", add)
        load_home().hold(first)
        add(path, values)

    monkeypatch.setattr(settings, "add_to_record", after_another)
    held = load_home().hold(second).settings
    assert {name: getattr(held, name) for name in first} == first
    assert (home_folder / "home.toml").read_text().count("languages") == 1
    assert load_home(languages="en").settings.languages == ("en",)


def test_a_broken_record_is_not_copied_over_the_good_one(home_folder):
    load_home().claim("simplewiki")
    record, copy = home_folder / "home.toml", home_folder / "lake" / "home.toml"
    good = record.read_bytes()
    record.write_bytes(good.replace(b"first_window", b"granularity", 1))
    with pytest.raises(SettingsError, match="home.toml: found invalid TOML .* The lake has a copy: cp "):
        copy_record(home_folder)
    assert copy.read_bytes() == good
