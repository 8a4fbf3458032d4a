"""Parser functions and magic words, as far as they depend only on the text. Pure."""

import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Any

from tempkb.wiki.wikitext.calls import Call

_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_SUM = re.compile(r"[\d.()+*/\s-]{1,200}")
_MOST_DIGITS = 12


def this_year(call: Call) -> str | None:
    """`{{CURRENTYEAR}}`: the year in which the revision was saved."""
    return str(call.day.year) if call.day else None


def if_given(call: Call) -> str:
    """`{{#if:a|b|c}}`: b, or c if there is nothing before the first pipe."""
    test, yes, no = [*call.positional(), "", "", ""][:3]
    return yes if test else no


def if_equal(call: Call) -> str:
    """`{{#ifeq:a|b|c|d}}`: c if a is b, else d."""
    left, right, yes, no = [*call.positional(), "", "", "", ""][:4]
    return yes if left == right else no


def calculated(call: Call) -> str | None:
    """`{{#expr:2400/100 round 1}}`: 24; None for anything but arithmetic on numbers."""
    expression, _, digits = call.get("1").partition("round")
    if (
        not _SUM.fullmatch(expression)
        or "**" in expression
        or "//" in expression
        or not re.fullmatch(r"\s*-?\d?\s*", digits)
    ):
        return None
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ZeroDivisionError, OverflowError):
        return None
    if value is None or not math.isfinite(value):
        return None
    value = round(value, int(digits)) if digits.strip() else round(value, _MOST_DIGITS)
    return str(int(value)) if value == int(value) else str(value)


def _value(node: ast.expr) -> float | None:
    """Return the value of an expression; None if it has more than numbers and the four operations."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _value(node.operand)
        return inner if inner is None or isinstance(node.op, ast.UAdd) else -inner
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        left, right = _value(node.left), _value(node.right)
        return None if left is None or right is None else float(_OPERATIONS[type(node.op)](left, right))
    return None
