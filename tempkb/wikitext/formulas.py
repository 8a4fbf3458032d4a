"""Formulas that are simple enough to be read as a line of text. Pure.

`x^2`, `a_n = b`, `\\alpha \\le 1`: letters, digits, signs, indices and a fraction of
plain terms. Everything else (sums, integrals, matrices, accents) is given back as
None, since its parts in a row would say something else.
"""

import re
from functools import lru_cache

# TeX of more characters than this is no simple term, whatever it is made of.
_LONGEST = 160
_DEEPEST = 4
_TOKEN = re.compile(r"\\(?:[a-zA-Z]+|.)|\d+(?:[.,]\d+)*|\s+|.", re.DOTALL)

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "vartheta": "ϑ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ",
    "omicron": "ο", "pi": "π", "varpi": "ϖ", "rho": "ρ", "varrho": "ϱ", "sigma": "σ", "varsigma": "ς", "tau": "τ",
    "upsilon": "υ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ",
    "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ",
    "Omega": "Ω",
}  # fmt: skip
_SIGNS = _GREEK | {
    "infty": "∞", "hbar": "ħ", "ell": "ℓ", "partial": "∂", "nabla": "∇", "emptyset": "∅", "varnothing": "∅",
    "aleph": "ℵ", "forall": "∀", "exists": "∃", "neg": "¬", "lnot": "¬", "ldots": "...", "dots": "...", "cdots": "...",
    "dotsc": "...", "dotsb": "...", "prime": "′", "circ": "°", "angle": "∠", "degree": "°", "Re": "Re", "Im": "Im",
    "langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "vert": "|", "Vert": "‖",
    "N": "ℕ", "Z": "ℤ", "Q": "ℚ", "R": "ℝ", "C": "ℂ", "{": "{", "}": "}", "|": "‖", "%": "%", "$": "$", "#": "#",
    "&": "&", "_": "_", "lbrace": "{", "rbrace": "}", "dagger": "†", "top": "⊤", "bot": "⊥",
}  # fmt: skip
# Signs between two terms: a blank on either side.
_BETWEEN = {
    "=": "=", "<": "<", ">": ">", "+": "+", "-": "−", "le": "≤", "leq": "≤", "leqslant": "≤", "ge": "≥", "geq": "≥",
    "geqslant": "≥", "ne": "≠", "neq": "≠", "approx": "≈", "equiv": "≡", "sim": "~", "simeq": "≃", "cong": "≅",
    "propto": "∝", "ll": "≪", "gg": "≫", "lt": "<", "gt": ">", "pm": "±", "mp": "∓", "times": "×", "cdot": "·",
    "div": "÷", "ast": "*", "star": "⋆", "in": "∈", "notin": "∉", "ni": "∋", "subset": "⊂", "subseteq": "⊆",
    "supset": "⊃", "supseteq": "⊇", "cup": "∪", "cap": "∩", "setminus": "∖", "land": "∧", "wedge": "∧", "lor": "∨",
    "vee": "∨", "oplus": "⊕", "otimes": "⊗", "to": "→", "rightarrow": "→", "longrightarrow": "→", "Rightarrow": "⇒",
    "implies": "⇒", "leftarrow": "←", "leftrightarrow": "↔", "Leftrightarrow": "⇔", "iff": "⇔", "mapsto": "↦",
    "mid": "|", "bmod": "mod", "parallel": "∥", "perp": "⊥", "colon": ":", "*": "*",
}  # fmt: skip
_NAMES = frozenset(
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp min max sup inf det dim ker gcd deg arg "
    "mod sgn".split()
)
_BLANKS = frozenset((",", ";", ":", "!", ">", " ", "quad", "qquad", "thinspace"))
_NOTHING = frozenset("left right displaystyle textstyle scriptstyle rm it bf mathrm mathit mathbf mathsf mathtt mathcal mathfrak "
                     "mathbb mathscr boldsymbol operatorname text textrm textit textbf mbox big Big bigl bigr rm".split())  # fmt: skip
_TEXTS = frozenset("text textrm textit textbf mbox operatorname".split())
_DOUBLE_STRUCK = {"N": "ℕ", "Z": "ℤ", "Q": "ℚ", "R": "ℝ", "C": "ℂ", "P": "ℙ", "H": "ℍ", "F": "𝔽"}
_FRACTIONS = frozenset(("frac", "tfrac", "dfrac"))
_PLAIN = re.compile(r"\w+(?:[.,]\d+)?")
_LONELY_BLANK = re.compile(r" (?=[,.;])")
_AROUND_SIGN = re.compile(r" ?([^\w\s]) ?")
_ORDINALS = ("st", "nd", "rd", "th")
_OPENED = (["("], ["["], ["^"], ["_"])
_CHEMICAL = re.compile(r"[A-Za-z0-9()\[\]+\-^_{}=*.\s→⇌]{1,120}")


class _NotSimpleError(Exception):
    """The formula needs more than a line."""


@lru_cache(4096)
def formula_in_words(tex: str) -> str | None:
    """Return a formula as a line of text; None when it is not simple.

    >>> formula_in_words(r"a_{n+1}\\le\\alpha x^2\\,"), formula_in_words(r"\\tfrac{1}{2}"), formula_in_words(r"\\sum_i x_i")
    ('a_(n+1) ≤ αx^2', '1/2', None)
    """
    if len(tex) > _LONGEST:
        return None
    reader = _Reader(_TOKEN.findall(tex))
    try:
        shown = reader.row(0)
    except _NotSimpleError:
        return None
    return shown or None


def chemical_in_words(tex: str) -> str | None:
    """Return what `<chem>` or `<ce>` shows, indices on the line; None when it is not simple.

    >>> chemical_in_words("SO4^{2-}"), chemical_in_words("2H2 + O2 -> 2H2O"), chemical_in_words(r"\\\\underset{a}{b}")
    ('SO42-', '2H2 + O2 → 2H2O', None)
    """
    shown = tex.replace("<=>", "⇌").replace("->", "→").strip()
    return re.sub(r"[\^_{}]", "", shown) if _CHEMICAL.fullmatch(shown) else None


class _Reader:
    """Reads tokens of TeX from left to right."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens, self._at = tokens, 0

    def row(self, depth: int, stop: str = "") -> str:
        """Terms up to a closing sign, or up to the end."""
        if depth > _DEEPEST:
            raise _NotSimpleError
        written: list[str] = []
        while (token := self._next()) != stop:
            if not token:
                raise _NotSimpleError
            if shown := self._term(token, written, depth):
                written.append(shown)
        return _LONELY_BLANK.sub("", " ".join("".join(written).split()))

    def _next(self) -> str:
        """The next token; nothing at the end."""
        self._at += 1
        return self._tokens[self._at - 1] if self._at <= len(self._tokens) else ""

    def _term(self, token: str, before: list[str], depth: int) -> str:
        if token.isspace():
            return ""
        if token == "~":
            return " "
        if token in ("_", "^"):
            return self._script(token, depth)
        if token == "{":
            return self.row(depth + 1, "}")
        name = token[1:] if len(token) > 1 and token[0] == "\\" else token
        if name in _BETWEEN and (len(name) == 1) == (name == token):
            sign = _BETWEEN[name]
            # A sign at the beginning, or behind another one or a bracket, belongs to what follows it.
            is_first = before in ([], ["|"]) or before[-1].endswith((" ", "(", "[", "{", "⟨"))
            return sign if is_first and sign in "+−±∓" else f" {sign} "
        if name == token:
            return self._written(token)
        return self._command(name, before, depth)

    def _written(self, token: str) -> str:
        if token == ",":
            return ", "
        if token.isalnum() or token[0].isdigit() or token in "()[]|!/.;:'?\"":
            return token
        raise _NotSimpleError

    def _command(self, name: str, before: list[str], depth: int) -> str:
        if name in _BLANKS:
            return "" if name == "!" else " "
        if name in _NAMES:
            behind = self._tokens[self._at : self._at + 1]
            return (" " if before and before[-1][-1].isalnum() else "") + name + ("" if behind in _OPENED else " ")
        if name in _FRACTIONS:
            return "/".join(self._plain(depth) for _ in range(2))
        if name == "sqrt":
            return "√" + self._plain(depth)
        if name == "mathbb":
            letter = self._argument(depth)
            return _DOUBLE_STRUCK.get(letter, letter)
        if name in _TEXTS:
            return self._words()
        if name in _NOTHING:
            return ""
        if name in _SIGNS:
            return _SIGNS[name]
        raise _NotSimpleError

    def _script(self, sign: str, depth: int) -> str:
        """An index: on the line behind its sign, in parentheses if it is more than a word."""
        shown = self._argument(depth)
        if shown in ("°", "′"):
            return shown
        shown = _AROUND_SIGN.sub(r"\1", shown)
        is_plain = len(shown) == 1 or shown.isdecimal() or (shown.isalnum() and (sign == "_" or shown in _ORDINALS))
        return f"{sign}{shown}" if is_plain else f"{sign}({shown})"

    def _argument(self, depth: int) -> str:
        """A group, or the one token that stands for it."""
        while (token := self._next()).isspace():
            pass
        if not token:
            raise _NotSimpleError
        if token[0].isdigit() and len(token) > 1:  # of a number behind a sign only the first digit is meant
            self._at -= 1
            self._tokens[self._at : self._at + 1] = [token[0], token[1:]]
            token = self._next()
        shown = self._term(token, [], depth).strip()
        if not shown:
            raise _NotSimpleError
        return shown

    def _plain(self, depth: int) -> str:
        """An argument that is one word or number."""
        shown = self._argument(depth)
        if not _PLAIN.fullmatch(shown):
            raise _NotSimpleError
        return shown

    def _words(self) -> str:
        """The words of `\\text{...}`, blanks and all."""
        if self._next() != "{":
            raise _NotSimpleError
        words = []
        while (token := self._next()) != "}":
            if not token or token in ("{", "$") or token[0] == "\\":
                raise _NotSimpleError
            words.append(token)
        return "".join(words)
