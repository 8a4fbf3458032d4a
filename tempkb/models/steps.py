"""The step of models: a row is written when a model is added, and stands."""

from tempkb.engine.steps import Standing
from tempkb.models.tables import MODELS

STEPS = (Standing((MODELS,)),)
