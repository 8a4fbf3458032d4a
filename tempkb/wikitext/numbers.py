"""Numbers in the notation of a language. Pure."""

from tempkb.wikitext.template_tables import own_table

_LONGEST = 30


def grouped(number: str, language: str) -> str:
    """Return a number with its digits in groups of three; any other text unchanged.

    Args:
        number: digits with a point before the decimals; blanks and commas between its groups are ignored.
        language: whose signs are used (`[numbers]` of its table); English ones if it has none.

    >>> grouped("1234567.5", "en"), grouped("-1234", "xx"), grouped("about 5", "en")
    ('1,234,567.5', '-1,234', 'about 5')
    """
    sign, digits = (number[:1], number[1:]) if number[:1] in ("-", "−", "+") else ("", number)
    whole, point, rest = digits.replace(" ", "").replace(",", "").partition(".")
    signs = own_table(language).get("numbers", {"group": ",", "decimal": "."})
    if not whole.isascii() or not whole.isdigit() or len(whole) > _LONGEST or not (rest.isdigit() or not rest):
        return number
    shown = f"{int(whole):,}".replace(",", signs["group"]) if len(whole) > 3 else whole
    return f"{sign}{shown}{signs['decimal'] if point else ''}{rest}"
