# The project's commands. Every one sets up the virtual environment by itself on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test check audit docs ui bench real soak clean

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

demo: $(READY) ## write the demo world's dumps, build everything and four releases, and show a page
	TEMPKB_HOME=data/demo $(BIN)/tempkb demo
	TEMPKB_HOME=data/demo $(BIN)/tempkb build
	TEMPKB_HOME=data/demo $(BIN)/tempkb release tempel 2022-01-01..2024-01-01/yearly --preset small --name demo
	TEMPKB_HOME=data/demo $(BIN)/tempkb release templama 2021-01-01..2024-01-01 --name demo-years
	TEMPKB_HOME=data/demo $(BIN)/tempkb release dynamic-templama 2021-01-01..2024-01-01 --name demo-quarters
	TEMPKB_HOME=data/demo $(BIN)/tempkb release ecbd 2021-01-01..2024-01-01 --preset small --popular 3 --name demo-cloze
	TEMPKB_HOME=data/demo $(BIN)/tempkb show "Harbour Clock" --cut 2021-10-01

test: check ## ruff, mypy, then all tests
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -q --durations=25

check: $(READY) ## ruff and mypy
	$(BIN)/ruff check tempkb tempkb_tests
	$(BIN)/ruff format --check --quiet tempkb tempkb_tests
	$(BIN)/mypy

audit: $(READY) ## look up known vulnerabilities of the pinned versions; needs a network, and says so where there is none
	@$(BIN)/python -m tempkb_tests.audit

docs: $(READY) ## write the parts of docs/ that follow from the declarations
	$(BIN)/python -m tempkb_tests.docs

ui: $(READY) ## Dagster's web UI for the demo home (or TEMPKB_HOME), on localhost
	$(BIN)/tempkb ui

bench: $(READY) ## measure speed and memory on a generated history; prints the tables of docs/benchmarks.md
	$(BIN)/python -m tempkb_tests.bench

real: $(READY) ## build real dumps from the folder TEMPKB_REAL_DATA and compare them with the oracle
	$(BIN)/python -m pytest -q -rs -s -m real tempkb_tests/real

soak: $(READY) ## kill every job at many points, begin homes at once, damage a lake; compare with undisturbed homes; takes hours
	$(BIN)/python -m tempkb_tests.soak
	$(BIN)/python -m tempkb_tests.soak.first_builds
	$(BIN)/python -m tempkb_tests.soak.flips

clean: ## remove the environment and the demo home
	rm -rf $(VENV) data/demo *.egg-info
