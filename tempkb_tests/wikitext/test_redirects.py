import pytest

from tempkb.titles import Site, Title
from tempkb.wikitext.disambiguation import is_disambiguation
from tempkb.wikitext.redirects import redirect_target, starts_like_redirect

TARGETS = [
    ("#REDIRECT [[Rain]]", Title(0, "Rain")),
    ("#redirect[[rain]]", Title(0, "Rain")),
    ("  \n#Redirect: [[Rain gauge|gauges]]", Title(0, "Rain gauge")),
    ("#REDIRECT [[Rain#Measuring]]\n{{R from section}}", Title(0, "Rain")),
    ("#REDIRECT [[:Category:Rain]]", Title(14, "Rain")),
    ("#REDIRECT [[User talk:ada_b]]", Title(3, "Ada b")),
    ("#WEITERLEITUNG [[Regen]]", Title(0, "Regen")),
    ("#REDIRECTION [[Pluie]]", Title(0, "Pluie")),
    ("#перенаправление [[Дождь]]", Title(0, "Дождь")),
    ("#転送 [[雨]]", Title(0, "雨")),
    ("＃転送 [[雨]]", Title(0, "雨")),
    ("#תחל [[x]]", None),
    ("#REDIRECT Rain", None),
    ("#REDIRECT [[]]", None),
    ("#REDIRECT [[#Section]]", None),
    ("The text #REDIRECT [[Rain]]", None),
    ("# one\n# two [[Rain]]", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "target"), TARGETS)
def test_redirects(text, target):
    assert redirect_target(text, Site()) == target
    if target is not None:
        assert starts_like_redirect(text.encode())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{disambiguation}}", True),
        ("x\n{{Disambig|geo}}", True),
        ("{{ hndis | name=Ada }}", True),
        ("{{Template:Dab}}", True),
        ("{{human_name_disambiguation}}", True),
        ("{{Begriffsklärung}}", True),
        ("{{неоднозначность}}", True),
        ("__DISAMBIG__", True),
        ("{{disambiguation needed|date=May 2020}}", False),
        ("{{other uses|Rain (disambiguation)}}", False),
        ("[[Rain (disambiguation)]]", False),
        ("disambiguation", False),
    ],
)
def test_disambiguations(text, expected):
    assert is_disambiguation(text) is expected
