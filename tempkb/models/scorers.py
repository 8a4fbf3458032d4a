"""Names of scorers: family, template, version, number type. Without torch, since choosing prompts needs names only."""

from tempkb.errors import SettingsError
from tempkb.models.families import TRAITS
from tempkb.models.names import Dtype, Family

SHORT_DTYPES: dict[Dtype, str] = {"float32": "f32", "bfloat16": "bf16", "float64": "f64"}
# Of what scorers compute, by number type; scores of another version are other scores. In 1, narrow numbers rounded the
# frequencies of rotary positions as well.
VERSIONS: dict[Dtype, int] = {"float32": 1, "bfloat16": 2, "float64": 1}


def require_template(family: Family, template: str) -> None:
    """Make sure that a family has a template.

    Raises:
        SettingsError: it has none of that name.
    """
    known = TRAITS[family].templates
    if template not in known:
        raise SettingsError(
            f"Scorers of {family} models have no template {template!r}; expected one of {', '.join(known)}."
        )


def scorer_name(family: Family, template: str, dtype: Dtype) -> str:
    """Return the name of a scorer; equal names of one model mean equal scores, up to rounding.

    >>> scorer_name("causal", "span", "bfloat16")
    'causal.span-2.bf16'
    """
    return f"{family}.{template}-{VERSIONS[dtype]}.{SHORT_DTYPES[dtype]}"
