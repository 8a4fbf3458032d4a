"""A home may hold a part of a wiki's pages: a list, or one in so many."""

import pytest

from tempkb.core.errors import SettingsError
from tempkb.core.settings import load_home
from tempkb.wiki.revisions.choice import PageChoice, choice_of, keep_list, read_list
from tempkb_tests.wiki.revisions.builds import build_files, export, page, revision


def put(tmp_path, n):
    pages = [page(number, revision(number, "2021-05-01T00:00:00Z")) for number in range(1, n + 1)]
    path = tmp_path / "testwiki-20220101-pages-meta-history.xml"
    path.write_bytes(export(*pages))
    return path


def take(monkeypatch, home, listed):
    name, said = read_list(listed)
    keep_list(home, name, said)
    monkeypatch.setenv("TEMPKB_PAGES", name)


def pages_of(store, cut="2022-01-01"):
    return store.read("stable_snapshots", cut=cut)["page_id"].to_pylist()


@pytest.mark.slow
def test_one_page_in_seven(home_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("TEMPKB_PAGES", "1/7")
    store, report, _ = build_files(put(tmp_path, 700))
    held = pages_of(store)
    # 700 draws of one in seven: 100, and 9.3 as the standard deviation.
    assert 65 < len(held) < 135
    assert held == [number for number in range(1, 701) if PageChoice("1/7", 7).takes(number, "")]
    (counts,) = report.counts.values()
    assert counts.agree
    assert counts.not_chosen == 700 - len(held)
    left_out = {row["reason"]: row["n"] for row in store.read("exclusions").to_pylist()}
    assert left_out["not_chosen"] == 700 - len(held)


def test_a_list_of_numbers_and_titles(home_folder, tmp_path, monkeypatch):
    listed = tmp_path / "mine.txt"
    listed.write_text('# mine\n3\nPage_5\n\nPage 8\n99\n"7"\n')
    take(monkeypatch, home_folder, listed)
    store, report, _ = build_files(put(tmp_path, 10))
    assert pages_of(store) == [3, 5, 8]
    assert next(iter(report.counts.values())).agree
    assert report.warnings == ["testwiki-20220101 has 3 of the 5 pages that the home's list names"]
    monkeypatch.delenv("TEMPKB_PAGES")
    assert choice_of(load_home()).titles == {"Page 5", "Page 8", "7"}, "the home has its list"


def test_titles_are_written_as_people_write_them(home_folder, tmp_path, monkeypatch):
    listed = tmp_path / "mine.txt"
    listed.write_bytes('2\nharbour_Clock\n"Tide" (song)\nThe "Mill"\n"1984"\n'.encode("utf-8-sig"))
    take(monkeypatch, home_folder, listed)
    titles = ["Quay", "Anvil", "Harbour Clock", '"Tide" (song)', 'The "Mill"', "1984", "Tide (song)", 'Tide" (song)']
    pages = [page(n, revision(n, "2021-05-01T00:00:00Z"), title=title) for n, title in enumerate(titles, 1)]
    path = tmp_path / "testwiki-20220101-pages-meta-history.xml"
    path.write_bytes(export(*pages))
    store, report, _ = build_files(path)
    assert pages_of(store) == [2, 3, 4, 5, 6]
    assert report.warnings == []


def test_a_title_may_hold_what_unicode_calls_the_end_of_a_line(home_folder, tmp_path, monkeypatch):
    listed = tmp_path / "mine.txt"
    listed.write_bytes("Old\u0085Quay\r\n2\r\n".encode())
    take(monkeypatch, home_folder, listed)
    titles = ["Old\u0085Quay", "Anvil", "Old", "Quay"]
    pages = [page(n, revision(n, "2021-05-01T00:00:00Z"), title=title) for n, title in enumerate(titles, 1)]
    path = tmp_path / "testwiki-20220101-pages-meta-history.xml"
    path.write_bytes(export(*pages))
    store, report, _ = build_files(path)
    assert pages_of(store) == [1, 2]
    assert report.warnings == []


def test_a_wiki_may_tell_titles_apart_by_their_first_letter(home_folder, tmp_path, monkeypatch):
    listed = tmp_path / "mine.txt"
    listed.write_text("rain\n")
    take(monkeypatch, home_folder, listed)
    pages = [page(n, revision(n, "2021-05-01T00:00:00Z"), title=title) for n, title in enumerate(("rain", "Rain"), 1)]
    path = tmp_path / "testwiki-20220101-pages-meta-history.xml"
    sensitive = export(*pages).replace(b'<namespace key="0" />', b'<namespace key="0" case="case-sensitive" />')
    path.write_bytes(sensitive)
    store, _, _ = build_files(path)
    assert pages_of(store) == [1]


def test_a_home_keeps_to_its_part(home_folder, tmp_path, monkeypatch):
    path = put(tmp_path, 20)
    monkeypatch.setenv("TEMPKB_PAGES", "1/3")
    build_files(path)
    monkeypatch.setenv("TEMPKB_PAGES", "all")
    with pytest.raises(SettingsError, match="pages: home .* was made with 1/3, but the settings have all"):
        build_files(path)


def test_files_without_a_page_of_the_list_are_not_read(home_folder, tmp_path, monkeypatch):
    listed = tmp_path / "mine.txt"
    listed.write_text("12\n")
    take(monkeypatch, home_folder, listed)
    paths = []
    for number, first in enumerate((1, 11), 1):
        span = range(first, first + 10)
        path = tmp_path / f"testwiki-20220101-pages-meta-history{number}.xml-p{first}p{first + 9}"
        path.write_bytes(export(*(page(one, revision(one, "2021-05-01T00:00:00Z")) for one in span)))
        paths.append(path)
    store, _, _ = build_files(*paths)
    assert pages_of(store) == [12]
    read = {row["file_name"]: row["n_pages"] for row in store.read("dump_files").to_pylist()}
    assert read == {paths[0].name: None, paths[1].name: 1}


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot be read"), (b"\xff\xfe\x00", "cannot be read"), (b"# nothing\n\n", "names no page")],
)
def test_a_list_that_is_none(content, said, tmp_path):
    file = tmp_path / "list.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingsError, match=said):
        read_list(file)
