"""The benchmarks. Each is one folder beside this module and one line here."""

from tempkb.benchmarks.dynamic_templama.benchmark import DYNAMIC_TEMPLAMA
from tempkb.benchmarks.ecbd.benchmark import ECBD
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb.benchmarks.templama.benchmark import TEMPLAMA

BENCHMARKS = (TEMPEL, ECBD, TEMPLAMA, DYNAMIC_TEMPLAMA)
"""The benchmarks, in the order in which people meet them."""
