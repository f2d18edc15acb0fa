# Every target works from nothing: it makes or reuses .venv and installs with the exact versions
# of constraints.txt. A machine needs Python 3.11 or later, with pip and venv, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help demo test test-full lint format bench docs browser clean

help:
	@echo "make demo       set up, cluster a survey and images, rank the results, write a report"
	@echo "make test       set up, run the tests"
	@echo "make test-full  the same with the slow tests and those on real data (KINDSET_DATA)"
	@echo "make lint       ruff and mypy"
	@echo "make format     let ruff rewrite the sources"
	@echo "make bench      the benchmarks (KINDSET_DATA)"
	@echo "make docs       the documentation as a website in site/"
	@echo "make clean      remove the environment and caches"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Kindset needs Python 3.11 or later; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# What a user has.
$(VENV)/.ready: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install --quiet --constraint constraints.txt --editable ".[tables,images]"
	@touch $@

# What a developer has.
$(VENV)/.ready-dev: $(VENV)/.ready
	$(PIP) install --quiet --constraint constraints.txt --editable ".[dev]"
	@touch $@

demo: $(VENV)/.ready
	$(BIN)/kindset demo --out demo-output

# The report is tested in Debian's Chromium. Without one its tests are skipped, and say so.
browser:
	@tools/install-chromium

test: $(VENV)/.ready-dev browser
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow and not realdata"

test-full: $(VENV)/.ready-dev browser
	$(BIN)/python -m pytest

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.ready-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Strict: a broken link or a page that no menu leads to is an error.
docs: $(VENV)/.ready
	$(PIP) install --quiet --constraint constraints.txt --editable ".[docs]"
	$(BIN)/mkdocs build --strict
	@echo "Documentation: site/index.html"

bench: $(VENV)/.ready-dev
	@for script in benchmarks/[a-z]*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) demo-output site .artifacts .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
