"""One form of each word that a page gives for several scripts."""

import pytest

from tempkb.core.titles import Site
from tempkb.wiki.wikitext.article import read_article
from tempkb.wiki.wikitext.markup import settle_variants


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        pytest.param(
            "十六个-{zh-hans:联邦州; zh-hant:邦}-之一", "十六个联邦州之一", id="simplified before traditional"
        ),
        pytest.param("-{zh-tw:乙; zh-hk:丙;}-", "乙", id="the first where none is preferred"),
        pytest.param("-{sr-el: reka; sr-ec: река}-", "река", id="Cyrillic"),
        pytest.param("-{sr-latn: reka; sr-cyrl: река}-", "река", id="Cyrillic by the newer names"),
        pytest.param("-{kk-latn:X;kk-cyrl:Ы}-", "Ы", id="Cyrillic of Kazakh"),
        pytest.param("-{uz-cyrl:Ы;uz-latn:X}-", "X", id="Latin of Uzbek"),
        pytest.param("-{zh-hans:一&nbsp;二; zh-hant:三}-", "一&nbsp;二", id="the semicolon of an entity parts nothing"),
        pytest.param("-{zh-hant:乙&lt;;zh-hans:甲&lt;}-", "甲&lt;", id="nor does it at the end of a form"),
        pytest.param("-{zh-hans:甲;乙; zh-hant:丙;}-", "甲;乙", id="nor a semicolon before other words"),
        pytest.param("-{Spree}-", "Spree", id="words that are not to be converted"),
        pytest.param("-{R|Spree}-", "Spree", id="the same with a flag"),
        pytest.param("-{A|zh-hans:一; zh-hant:二}-", "一", id="a rule that is also shown"),
        pytest.param("-{H|zh-hans:一; zh-hant:二}-三", "三", id="a hidden rule"),
        pytest.param("甲-{zh-hans;zh-hant|乙}-丁", "甲乙丁", id="words for readers of some scripts"),
        pytest.param("-{T|zh:一}-三", "三", id="a rule for the title"),
        pytest.param("a-{b", "a-{b", id="never closed"),
        pytest.param("-{A|zh-hans:-{甲}-;zh-hant:乙}-", "甲", id="inside another"),
        pytest.param("-{zh-hans:a-{zh-hans:b-{c}-; zh-hant:d}-e;zh-hant:f}-", "abce", id="inside two others"),
        pytest.param("-{a-{b}-", "-{ab", id="inside one that is never closed"),
    ],
)
def test_shows_one_form(written, shown):
    assert settle_variants(written, "zh") == shown


def test_languages_of_one_script_have_no_such_markup():
    assert settle_variants("x-{y}-z", "en") == "x-{y}-z"


def test_a_long_run_of_blanks_is_read_once():
    """Ten thousand blanks took a quarter of an hour when their time grew with the cube."""
    assert settle_variants("文-{" + " " * 200_000 + "}-", "zh").strip() == "文"


def test_links_inside_a_form_keep_their_spans():
    article = read_article("柏林是-{zh-hans:[[联邦州|州]]; zh-hant:邦}-。", Site(dbname="zhwiki"))
    assert article.text == "柏林是州。"
    assert [(one.start, one.end, one.surface, one.target) for one in article.links] == [(3, 4, "州", "联邦州")]
