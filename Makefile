# The project's commands. Every one sets up the virtual environment by itself on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Packages are not compiled when they are installed: Python compiles what is imported, which is a small part.
# Two marks: what users need is installed; what the tests need is, too.
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev

# Commands and tests are many short processes; without bytecode each would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo dev test tests slow check audit docs wheel ui bench real gpu soak unchanged clean

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || { echo "Python 3.11, 3.12 or 3.13 is needed; set PYTHON=python3.13 (docs/operations.md says what keeps 3.14 from working)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e ".[linking]"
	@touch $@

$(READY_DEV): $(READY)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

demo: $(READY) ## write the demo world's dumps, build everything, and score tiny models
	TEMPKB_HOME=data/demo $(BIN)/tempkb demo --all

dev: $(READY_DEV) ## install what tests and checks need as well; make test does so by itself

# Three at once on two cores, since some tests wait for daemons; file by file, since what a file makes is made once.
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -q --durations=25

# Beside each other: while the demo home is built, which most tests wait for, a core is idle.
test: ## ruff, mypy and dg, and all tests but the slow ones
	@$(MAKE) --no-print-directory -j2 check tests

tests: $(READY_DEV)
	$(PYTEST) -m "not slow"

slow: $(READY_DEV) ## the slow tests, of more than a second: whole builds, kills, damage, trainings, daemons, clusters, simulations, brute force; CI runs them after make test
	$(PYTEST) -m slow tempkb_tests

check: $(READY_DEV) ## ruff, mypy, and Dagster's dg, which loads the definitions
	$(BIN)/ruff check tempkb tempkb_tests
	$(BIN)/ruff format --check --quiet tempkb tempkb_tests
	$(BIN)/mypy
	DAGSTER_DISABLE_TELEMETRY=1 $(BIN)/dg check defs --no-check-yaml

audit: $(READY_DEV) ## look up known vulnerabilities of the pinned versions; needs a network, and says so where there is none
	@$(BIN)/python -m tempkb_tests.audit

docs: $(READY_DEV) ## write the parts of docs/ that follow from the declarations
	$(BIN)/python -m tempkb_tests.docs

wheel: $(READY_DEV) ## build the wheel, install it in a bare environment, and use it from an empty folder; part of make slow
	$(BIN)/python -m pytest -q -m slow tempkb_tests/test_wheel.py

ui: $(READY) ## Dagster's web UI for the demo home (or TEMPKB_HOME), on localhost
	$(BIN)/tempkb ui

bench: $(READY_DEV) ## measure speed and memory on a generated history; prints the tables of docs/benchmarks.md
	$(BIN)/python -m tempkb_tests.bench

real: $(READY_DEV) ## build real dumps from the folder TEMPKB_REAL_DATA and compare them with the oracle
	$(BIN)/python -m pytest -q -rs -s -m real tempkb_tests/real

gpu: $(READY_DEV) ## tests that need an NVIDIA GPU
	TEMPKB_TESTS_GPU=1 $(BIN)/python -m pytest -q -m gpu tempkb_tests/gpu

soak: $(READY_DEV) ## kill every job at many points and the UI under its jobs, begin homes at once, damage a lake; count how often intervals hold; the demo effect, linking and models that are told the time with five seeds, and models brought up to date; takes hours
	$(BIN)/python -m tempkb_tests.soak
	$(BIN)/python -m tempkb_tests.soak.automation
	$(BIN)/python -m tempkb_tests.soak.first_builds
	$(BIN)/python -m tempkb_tests.soak.flips
	$(BIN)/python -m tempkb_tests.soak.coverage
	$(BIN)/python -m tempkb_tests.soak.effect
	$(BIN)/python -m tempkb_tests.soak.linking
	$(BIN)/python -m tempkb_tests.soak.adaptation
	$(BIN)/python -m tempkb_tests.soak.dated

# ARGUMENTS=--accept writes the figures instead.
unchanged: $(READY_DEV) ## build two homes and compare figures of all that users have with those of an earlier commit
	$(BIN)/python -m tempkb_tests.unchanged $(ARGUMENTS)

clean: ## remove the environment and the demo home
	rm -rf $(VENV) data/demo *.egg-info
