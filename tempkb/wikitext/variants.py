"""Markup of the language converter: one page for readers of several scripts. Pure."""

import re

_MARKUP = re.compile(r"-\{([^{}]*)\}-")
# Possessive, so that a long run of blanks without a bar is read once.
_FLAGS = re.compile(r"([A-Za-z;\s-]*+)\|")
_VARIANT = re.compile(r"\s*([a-z]{2,3}(?:-[a-z]+)?)\s*:")
# Rules for the rest of the page (H), its title (T) and the removal of rules (-) show nothing at their place.
_HIDDEN = frozenset("HT-")
# A semicolon separates two forms only if another form or the end follows, and never if it ends an entity.
_FORM = re.compile(r"(?:&[#a-zA-Z0-9]+;|[^;]|;(?!\s*(?:[a-z]{2,3}(?:-[a-z]+)?\s*:|$)))++")
# MediaWiki reads no deeper markup inside markup.
_DEEPEST = 10
_LANGUAGES = frozenset(("zh", "sr", "sh", "gan", "kk", "ku", "tg", "uz", "crh", "iu", "shi", "wuu"))
# The script in which most pages of the wiki are written; `sr-cyrl` is the newer name of `sr-ec`.
_PREFERRED = ("zh-hans", "zh-cn", "zh", "sr-ec", "sr-cyrl", "kk-cyrl", "uz-latn")


def settle_variants(text: str, language: str) -> str:
    """Return the text with one of the forms that `-{...}-` gives for several scripts.

    The form for simplified Chinese, Cyrillic (Serbian, Kazakh) or Latin (Uzbek), in which most pages of
    these wikis are written, is chosen if there is one, else the first.
    Wikis in languages with one script have no such markup; their texts are returned unchanged.

    >>> settle_variants("十六个-{zh-hant:邦; zh-hans:联邦州}-之一，-{T|zh:x}-和-{A|zh-tw:甲;zh-hk:乙}-", "zh")
    '十六个联邦州之一，和甲'
    """
    if language not in _LANGUAGES:
        return text
    for _ in range(_DEEPEST):
        if "-{" not in text:
            break
        # Only markup without markup inside matches, so the innermost is settled first.
        text, settled = _MARKUP.subn(_shown, text)
        if not settled:
            break
    return text


def _shown(markup: re.Match[str]) -> str:
    inside = markup[1]
    flags = _FLAGS.match(inside)
    if flags is not None:
        if _HIDDEN & {one.strip().upper() for one in flags[1].split(";")}:
            return ""
        inside = inside[flags.end() :]
    forms: dict[str, str] = {}
    for part in _FORM.findall(inside):
        variant = _VARIANT.match(part)
        if variant is not None:
            forms.setdefault(variant[1], part[variant.end() :].strip())
    if not forms:
        return inside
    return next((forms[code] for code in _PREFERRED if code in forms), next(iter(forms.values())))
