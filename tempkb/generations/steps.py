"""The step of generations, which grow as scores do; see `tempkb/scores/steps.py`."""

from tempkb.engine.steps import Standing
from tempkb.generations.tables import GENERATIONS

STEPS = (Standing((GENERATIONS,)),)
