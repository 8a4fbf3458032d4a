"""Pages and revisions of every era, against a parser, and cut into pieces anywhere."""

from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tempkb.core.errors import SourceError
from tempkb.wiki.dumps import xml
from tempkb.wiki.dumps.elements import BrokenPageError, TextState, read_timestamp, unescape
from tempkb.wiki.dumps.xml import PageStream
from tempkb.wiki.revisions.history import base36_sha1
from tempkb_tests.wiki.revisions.builds import HEAD, export, page, revision

SHA1 = base36_sha1(b"hello").decode()


def read(data: bytes, size: int | None = None):
    """(head, revisions) of every whole page, and the stream."""
    pieces = [data] if size is None else [data[at : at + size] for at in range(0, len(data), size)]
    stream = PageStream(iter(pieces), "test.xml")
    pages = []
    while (head := stream.next_page()) is not None:
        try:
            pages.append((head, list(stream.revisions())))
        except BrokenPageError:
            continue
    return pages, stream


def one(element: str):
    """The single revision of an export that holds this `<revision>`."""
    data = HEAD + f"<page><title>X</title><ns>0</ns><id>1</id>{element}</page></mediawiki>"
    pages, stream = read(data.encode())
    assert stream.damages == []
    return pages[0][1][0]


ERAS = {
    "0.3: no ns, no parent, no sha1": (
        "<revision><id>5</id><timestamp>2005-01-02T03:04:05Z</timestamp><contributor><username>Ada</username><id>7</id>"
        '</contributor><minor/><comment>c</comment><text xml:space="preserve">hello</text></revision>',
        (TextState.PRESENT, b"hello", "", -1, 7, None, True),
    ),
    "0.3: an address": (
        "<revision><id>5</id><timestamp>2005-01-02T03:04:05Z</timestamp><contributor><ip>192.0.2.1</ip></contributor>"
        '<text xml:space="preserve">hello</text></revision>',
        (TextState.PRESENT, b"hello", "", -1, None, b"192.0.2.1", False),
    ),
    "0.6: hash before the model": (
        "<revision><id>5</id><parentid>4</parentid><timestamp>2005-01-02T03:04:05Z</timestamp>"
        '<contributor><username>Ada</username><id>7</id></contributor><comment>c</comment><text xml:space="preserve" bytes="5">'
        f"hello</text><sha1>{SHA1}</sha1><model>wikitext</model><format>text/x-wiki</format></revision>",
        (TextState.PRESENT, b"hello", SHA1, 5, 7, None, False),
    ),
    "0.8: hash before the text": (
        "<revision><id>5</id><timestamp>2005-01-02T03:04:05Z</timestamp><contributor><username>Ada</username><id>7</id>"
        f'</contributor><sha1>{SHA1}</sha1><model>wikitext</model><text xml:space="preserve">hello</text></revision>',
        (TextState.PRESENT, b"hello", SHA1, -1, 7, None, False),
    ),
    "0.11: hash on the text, origin": (
        "<revision><id>5</id><timestamp>2005-01-02T03:04:05Z</timestamp><contributor><username>Ada</username><id>7</id>"
        "</contributor><origin>5</origin><model>wikitext</model><format>text/x-wiki</format>"
        f'<text bytes="5" sha1="{SHA1}" xml:space="preserve">hello</text><sha1>{SHA1}</sha1></revision>',
        (TextState.PRESENT, b"hello", SHA1, 5, 7, None, False),
    ),
    "0.11: a second slot, whose hash is not the text's": (
        "<revision><id>5</id><timestamp>2005-01-02T03:04:05Z</timestamp><contributor><username>Ada</username><id>7</id>"
        f'</contributor><text bytes="5" sha1="{SHA1}" xml:space="preserve">hello</text><content><role>mediainfo</role>'
        '<text bytes="2" sha1="0000000000000000000000000000001" xml:space="preserve">{}</text></content>'
        "<sha1>0000000000000000000000000000002</sha1></revision>",
        (TextState.PRESENT, b"hello", SHA1, 5, 7, None, False),
    ),
    "a second slot without a hash on the text": (
        "<revision><id>5</id><timestamp>2005-01-02T03:04:05Z</timestamp><contributor><username>Ada</username><id>7</id>"
        '</contributor><text bytes="5" xml:space="preserve">hello</text><content><role>mediainfo</role>'
        "<text>{}</text></content><sha1>0000000000000000000000000000002</sha1></revision>",
        (TextState.PRESENT, b"hello", "", 5, 7, None, False),
    ),
    "content export: suppressed, everything hidden": (
        '<revision><id>5</id><timestamp>2005-01-02T03:04:05Z</timestamp><contributor deleted="deleted" />'
        '<comment deleted="deleted" /><origin>5</origin><model>wikitext</model><format>error-no-format</format>'
        '<text bytes="-1" deleted="deleted" /><sha1 /></revision>',
        (TextState.SUPPRESSED, b"", "", -1, None, None, False),
    ),
    "blank, new style": (
        "<revision><id>5</id><timestamp>2005-01-02T03:04:05Z</timestamp><contributor><username>Ada</username><id>7</id>"
        '</contributor><text bytes="0" /><sha1>phoiac9h4m842xq45sp7s6u21eteeq1</sha1></revision>',
        (TextState.BLANK, b"", "phoiac9h4m842xq45sp7s6u21eteeq1", 0, 7, None, False),
    ),
    "blank, old style": (
        "<revision><id>5</id><timestamp>2005-01-02T03:04:05Z</timestamp><contributor><username>Ada</username><id>7</id>"
        '</contributor><text xml:space="preserve"></text></revision>',
        (TextState.BLANK, b"", "phoiac9h4m842xq45sp7s6u21eteeq1", 0, 7, None, False),
    ),
    "stub: the text is elsewhere": (
        "<revision><id>5</id><timestamp>2005-01-02T03:04:05Z</timestamp><contributor><username>Ada</username><id>7</id>"
        f'</contributor><model>wikitext</model><format>text/x-wiki</format><text id="9" bytes="5" /><sha1>{SHA1}</sha1></revision>',
        (TextState.ABSENT, b"", SHA1, 5, 7, None, False),
    ),
    "old stub: nothing is known of the text": (
        "<revision><id>5</id><timestamp>2005-01-02T03:04:05Z</timestamp><contributor><username>Ada</username><id>7</id>"
        '</contributor><text id="9" /></revision>',
        (TextState.ABSENT, b"", "", -1, 7, None, False),
    ),
    "stub of a blank text": (
        "<revision><id>5</id><timestamp>2005-01-02T03:04:05Z</timestamp><contributor><username>Ada</username><id>7</id>"
        '</contributor><text id="9" bytes="0" /></revision>',
        (TextState.BLANK, b"", "phoiac9h4m842xq45sp7s6u21eteeq1", 0, 7, None, False),
    ),
    "no text element at all": (
        "<revision><id>5</id><timestamp>2005-01-02T03:04:05Z</timestamp><contributor><username>Ada</username><id>7</id>"
        "</contributor></revision>",
        (TextState.ABSENT, b"", "", -1, 7, None, False),
    ),
    "an imported author without an account": (
        "<revision><id>5</id><parentid>-1</parentid><timestamp>2005-01-02T03:04:05Z</timestamp><contributor>"
        '<username>imported&gt;Ada</username><id>0</id></contributor><text xml:space="preserve">hello</text></revision>',
        (TextState.PRESENT, b"hello", "", -1, None, b"imported&gt;Ada", False),
    ),
    "parts in an order nobody writes": (
        '<revision><text xml:space="preserve">hello</text><timestamp>2005-01-02T03:04:05Z</timestamp><id>5</id><minor/>'
        "<contributor><id>7</id><username>Ada</username></contributor></revision>",
        (TextState.PRESENT, b"hello", "", -1, 7, None, True),
    ),
    "CDATA, which MediaWiki never writes": (
        "<revision><id>5</id><timestamp>2005-01-02T03:04:05Z</timestamp><contributor><username>Ada</username><id>7</id>"
        "</contributor><text><![CDATA[a < b]]></text></revision>",
        (TextState.PRESENT, b"a &lt; b", "", -1, 7, None, False),
    ),
}


@pytest.mark.parametrize("era", ERAS)
def test_revisions_of_every_era(era):
    element, expected = ERAS[era]
    found = one(element)
    assert found.revision_id == 5
    assert datetime.fromtimestamp(found.timestamp, UTC) == datetime(2005, 1, 2, 3, 4, 5, tzinfo=UTC)
    told = (
        found.state,
        found.text,
        found.sha1.decode(),
        found.text_bytes,
        found.user_id,
        found.user_name,
        found.is_minor,
    )
    assert told == expected


def test_page_heads_old_and_new():
    data = (
        HEAD + "<page><title>Talk:rain &amp; snow</title><id>7</id><restrictions>edit=sysop</restrictions>"
        f"{revision(1, '2005-01-02T03:04:05Z')}</page>"
        f'<page><title>Rain</title><ns>0</ns><id>8</id><redirect title="Snow" />{revision(2, "2005-01-02T03:04:05Z")}</page>'
        f"<page><title>File</title><ns>0</ns><id>9</id>{revision(3, '2005-01-02T03:04:05Z')}"
        "<upload><timestamp>2005-01-02T03:04:05Z</timestamp><contributor><username>A</username><id>1</id></contributor>"
        "<filename>x.jpg</filename></upload></page></mediawiki>"
    )
    pages, stream = read(data.encode())
    heads = [(head.page_id, head.namespace, head.title, head.is_redirect) for head, _ in pages]
    assert heads == [(7, 1, "Rain & snow", False), (8, 0, "Rain", True), (9, 0, "File", False)]
    assert stream.damages == []
    assert stream.elements == 3


@pytest.mark.parametrize(
    ("root", "language"),
    [
        (b'<mediawiki version="0.11" xml:lang="nb">', "nb"),
        (b"<mediawiki xml:lang='zh-Hans-CN' version='0.3'>", "zh-hans-cn"),
        (b"<mediawiki>", ""),
        (b'<mediawiki xml:lang="">', ""),
    ],
)
def test_the_language_that_a_head_states(root, language):
    for siteinfo in (b"<siteinfo><dbname>nowiki</dbname></siteinfo>", b""):
        assert PageStream(iter([root + siteinfo + b"</mediawiki>"]), "x").site.language == language


def test_siteinfo_of_every_era():
    old = b"<mediawiki><siteinfo><base>http://en.wikipedia.org/wiki/Main_Page</base><case>first-letter</case></siteinfo></mediawiki>"
    assert PageStream(iter([old]), "x").site.dbname == "enwiki"
    for base, name in (
        ("https://de.wiktionary.org/wiki/X", "dewiktionary"),
        ("https://zh-min-nan.wikipedia.org/", "zh_min_nanwiki"),
        ("https://commons.wikimedia.org/wiki/Main_Page", "commonswiki"),
        ("https://www.wikidata.org/wiki/X", "wikidatawiki"),
        ("http://localhost/wiki", None),
    ):
        data = f"<mediawiki><siteinfo><base>{base}</base></siteinfo></mediawiki>".encode()
        assert PageStream(iter([data]), "x").site.dbname == name
    cased = (
        b'<mediawiki><siteinfo><dbname>aawiktionary</dbname><case>case-sensitive</case><namespaces><namespace key="0"/>'
        b'<namespace key="2" case="first-letter">User</namespace></namespaces></siteinfo></mediawiki>'
    )
    site = PageStream(iter([cased]), "x").site
    assert (site.dbname, site.normalize("rain").title, site.normalize("user:ada").title) == (
        "aawiktionary",
        "rain",
        "Ada",
    )


def test_a_document_type_is_refused_so_that_no_entity_can_expand():
    data = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><mediawiki><page><title>&a;</title></page></mediawiki>'
    with pytest.raises(SourceError, match="declares a document type"):
        PageStream(iter([data]), "bomb.xml")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000])
def test_pieces_of_any_size_give_the_same_pages(size):
    data = export(
        *(
            page(n, *(revision(10 * n + m, "2020-01-02T03:04:05Z", f"text {m} &lt;") for m in range(4)))
            for n in range(5)
        )
    )
    whole, _ = read(data)
    cut, stream = read(data, size)
    assert cut == whole
    assert stream.elements == 20


texts = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"), max_size=30
)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5), st.integers(1, 50))
def test_agrees_with_a_parser_on_any_text_and_comment(edits, size):
    from xml.sax.saxutils import escape

    rows = [
        revision(n, "2020-01-02T03:04:05Z", escape(text), escape(comment)) for n, (text, comment) in enumerate(edits)
    ]
    data = export(page(1, *rows))
    pages, _ = read(data, size)
    parsed = [element for element in ET.fromstring(data).iter() if element.tag.endswith("}revision")]
    namespace = parsed[0].tag.removesuffix("revision")
    expected = [(e.findtext(f"{namespace}text") or "", e.findtext(f"{namespace}comment") or "") for e in parsed]
    found = [(unescape(r.text).decode(), unescape(r.comment).decode()) for r in pages[0][1]]
    assert found == expected


def test_an_element_without_end_is_bounded(monkeypatch):
    monkeypatch.setattr(xml, "MAX_ELEMENT_BYTES", 10_000)
    day, long = "2020-01-02T03:04:05Z", "a" * 50_000
    data = export(
        page(1, revision(1, day)),
        page(2, revision(2, day), revision(3, day, long), revision(4, day)),
        page(3, revision(5, day)),
        page(4, revision(6, day), title=long),
        page(5, revision(7, day)),
        "<!--" + long,
        page(6, revision(8, day, long)),
    )
    pages, stream = read(data, 1000)
    assert [head.page_id for head, _ in pages] == [1, 3, 5]
    told = [(one.reason, one.lost_revisions) for one in stream.damages]
    assert told == [
        ("page 2 has an element longer than 0 MB", 3),
        ("a page without a whole head has an element longer than 0 MB", 1),
        ("a comment is not closed", 0),
        ("page 6 has an element longer than 0 MB", 1),
    ]
    assert stream.elements == sum(len(revisions) for _, revisions in pages) + sum(lost for _, lost in told)


def test_a_hole_is_never_part_of_a_complete_page():
    pages = [page(n, revision(n, "2020-01-02T03:04:05Z", f"{n} " + "a" * 500)) for n in range(1, 6)]
    whole = export(*pages)
    first, second = (whole.index(f"<id>{n}</id>".encode()) for n in (2, 4))
    # From each place in page 2 to the same place in page 4, so that what is left looks like one page.
    for at in range(whole.index(b"<title>", first - 60) + 7, whole.index(b"</page>", first), 7):
        holed = bytearray(whole)
        holed[at : at + second - first] = bytes(second - first)
        kept, stream = read(bytes(holed))
        assert not {head.page_id for head, _ in kept} & {2, 3, 4}, at
        assert stream.damages


def test_several_exports_one_after_another_are_one_history():
    data = export(page(1, revision(1, "2020-01-02T03:04:05Z"))) + export(page(2, revision(2, "2020-01-02T03:04:05Z")))
    pages, stream = read(data)
    assert [head.page_id for head, _ in pages] == [1, 2]
    assert stream.damages == []


@pytest.mark.parametrize(
    ("text", "seconds"),
    [(b"1970-01-01T00:00:00Z", 0), (b"2000-02-29T23:59:59Z", 951868799), (b"2038-01-19T03:14:08Z", 2**31)],
)
def test_timestamps(text, seconds):
    assert read_timestamp(text) == seconds


@pytest.mark.parametrize(
    "text",
    [b"", b"2020-01-02", b"2020-01-02T03:04:05", b"2021-02-29T00:00:00Z", b"2020-01-02T24:00:00Z", b"20200102030405"],
)
def test_odd_times_are_refused(text):
    with pytest.raises(ValueError, match="expected|no such day"):
        read_timestamp(text)


@pytest.mark.parametrize(
    ("escaped", "plain"),
    [
        (b"a &amp;lt; b", b"a &lt; b"),
        (b"&lt;ref&gt; &quot;x&quot; &apos;", b'<ref> "x" \''),
        (b"&#233;&#xe9;&#38;amp;", "éé&amp;".encode()),
        (b"&nbsp; &#0x; &#99999999;", b"&nbsp; &#0x; &#99999999;"),
        (b"a\r\nb\rc", b"a\nb\nc"),
        (b"a&#xD83D;b&#57343;c&#1114112; &amp;#xD83D;", b"a\xffb\xffc\xff &#xD83D;"),
    ],
)
def test_unescaping(escaped, plain):
    assert unescape(escaped) == plain


DAY = "2020-01-02T03:04:05Z"
GOOD = page(1, revision(1, DAY), revision(2, DAY))
BROKEN = {
    "the first page's tag": (GOOD.replace("<page>", "<pbge>"), "parts of a page stand before the first <page>"),
    "a revision's tag": (GOOD.replace("<revision>", "<rfvision>", 1), "not followed by <revision> or </page>"),
    "a later revision's tag": (
        page(1, revision(1, DAY), revision(2, DAY).replace("<rev", "<rfv")),
        "stands outside a revision",
    ),
    "a bracket of its tag": (
        page(1, revision(1, DAY), revision(2, DAY).replace("<rev", "< <rev")),
        "a tag is not closed",
    ),
    "two revisions run into one": (
        GOOD.replace("</revision>\n    <revision>\n", ""),
        "parts of two revisions are in it",
    ),
    "two pages run into one": (
        page(1, revision(1, DAY)).replace("  </page>\n", "") + page(2, revision(2, DAY))[9:],
        "<title> stands outside",
    ),
    "two heads run into one": ("<page><title>A</title><ns>0</ns><id>5</id>" + GOOD[9:], "two pages run into one"),
    "an upload without end": (page(1, revision(1, DAY), "<upload>", revision(2, DAY)), "an upload is not closed"),
    "pages in a comment": (f"<!-- {GOOD} -->", "pages stand inside a comment"),
    "a number of many digits": (GOOD.replace("<id>2<", f"<id>{'2' * 5000}<"), "expected a number"),
    "a page's number of many digits": (GOOD.replace("<id>1<", f"<id>{'1' * 30}<", 1), "a page without an id"),
    "a year far away": (GOOD.replace("2020-", "9020-"), "no such day"),
    "many tags": (GOOD.replace("<model>wikitext</model>", "<a/>" * 20_000), "a revision of more than 10000 tags"),
    "a gigantic tag": (
        GOOD.replace("<minor", "<a ").replace("<model>", f"<a {'b' * 100_000}='1'/><model>"),
        "a tag longer than",
    ),
    "a head without end": (
        GOOD.replace("<revision>", "<a/>" * 300_000 + "<revision>", 1),
        "not followed by <revision>",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_a_damaged_tag_hides_is_told_with_its_place(what):
    broken, reason = BROKEN[what]
    data = export(*([] if "first page" in what else [page(7, revision(70, DAY))]), broken, page(9, revision(90, DAY)))
    pages, stream = read(data)
    kept = [head.page_id for head, _ in pages]
    assert 9 in kept
    assert 1 not in kept
    assert reason in stream.damages[0].reason
    assert all(0 <= one.position < len(data) for one in stream.damages)
    assert stream.elements == sum(len(revisions) for _, revisions in pages) + sum(
        one.lost_revisions for one in stream.damages
    )


def test_the_end_is_told_missing_also_where_something_else_was_damaged():
    data = export(GOOD.replace("</page>", ""), page(2, revision(3, DAY))).replace(b"</mediawiki>", b"")
    assert [one.reason for one in read(data)[1].damages] == [
        "a page is not closed before the next begins",
        "the file ends without </mediawiki>",
    ]


def test_ever_more_rubbish_is_counted_not_listed():
    pages, stream = read(export(*(page(n, revision(n, "no time")) for n in range(1000))))
    assert pages == []
    assert len(stream.damages) == 200
    assert stream.damages[-1].reason.endswith("and more places behind it")
    assert sum(one.lost_revisions for one in stream.damages) == 1000


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda head: head.replace("</siteinfo>", "</siteimfo>"), r"the <siteinfo> at byte 93 is not whole"),
        (lambda head: head.replace("<siteinfo>", "<siteimfo>"), r"is not whole, in a head of \d+ bytes"),
        (lambda head: head.replace('key="1"', 'key="x"'), "at byte 93 cannot be read .invalid literal"),
        (lambda head: head.replace('key="1"', 'key="118"'), "namespace 118: out of range, or given twice"),
        (lambda head: head.replace('key="1"', 'key="99999999999"'), "namespace 99999999999: out of range"),
        (lambda head: head.replace("namespace", "nomespace"), "names no namespaces, but has <nomespaces>"),
        (lambda head: head.replace("Talk", "&a;"), "undefined entity: line 1"),
        (lambda head: head.replace("<dbname>testwiki</dbname>", "<base>http://[</base>"), "Invalid IPv6 URL"),
        (lambda head: head.replace("Talk", "<a>" * 400_000), "it has 1200186 bytes; expected some thousands"),
        (lambda head: '<!DOCTYPE x [<!ENTITY a "<page>">]>' + head, "declares a document type at byte 0"),
    ],
)
def test_a_head_that_is_not_whole_is_refused_rather_than_replaced(spoil, words):
    with pytest.raises(SourceError, match=rf"test\.xml: .*{words}"):
        read((spoil(HEAD) + GOOD + "</mediawiki>").encode())


def test_an_entity_in_a_page_is_never_expanded():
    pages, stream = read(export(page(1, revision(1, DAY, "&a;&lol9;"), title="&a; &lt;")))
    assert (pages[0][0].title, unescape(pages[0][1][0].text)) == ("&a; <", b"&a;&lol9;")
    assert stream.damages == []
    inside = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]>'
    for spoilt in (GOOD.replace("<text", f"{inside}<text"), inside + GOOD):
        pages, stream = read(export(page(7, revision(70, DAY)), spoilt))
        assert stream.damages
