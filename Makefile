# Bare `make` lists the targets. Everything a target needs is set up by itself, in $(VENV).

PYTHON  ?= $(shell command -v python3.11 || command -v python3)
VENV    ?= .venv
WORKERS ?= auto
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed

# The PySparks that pipelines run on, and the tests that show it: windows, retractions, joins, stages, sinks.
SPARKS  ?= 4.1.4 4.2.1 4.3.0
LAKES   := 4.1.4 4.2.1
COMPAT  := tests/spark/test_pipelines.py tests/spark/test_join.py tests/spark/test_stages.py \
	tests/spark/test_session.py tests/spark/test_worker_python.py tests/spark/sinks/test_rows_on_spark.py

.DEFAULT_GOAL := help
.PHONY: help install test lint quick thorough integration compat demo example pictures docs screenshots bench hooks clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

install: $(STAMP) ## create .venv with everything, pinned by constraints.txt

$(STAMP): pyproject.toml constraints.txt
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Fanlight needs Python 3.11 or newer; '$(PYTHON)' is older. Say make PYTHON=... $(MAKECMDGOALS)"; exit 1; }
	test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,bench]'
	@touch $(STAMP)

test: lint ## everything: format, lint, types, import directions, tests, doctests
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -q

lint: $(STAMP) ## format, lint, types and import directions only
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

quick: $(STAMP) ## the fast tests, under a minute, stopping at the first failure; the properties with fewer examples
	HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest -p no:xdist -m "not slow" -x -q

thorough: $(STAMP) ## the properties with many more examples, an interrupt at every line; on Spark every pipeline shape, every graph, every join and every shape of rows; kills, and damage to every kind of file
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -n $(WORKERS) -q tests/properties tests/embedded/test_interrupts.py
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -p no:xdist -q tests/spark/test_shapes.py tests/spark/test_graphs.py tests/spark/test_row_shapes.py tests/spark/test_join_shapes.py
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -p no:xdist -q tests/spark/sinks/test_sink_kills.py tests/spark/sinks/test_sink_faults.py
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -p no:xdist -q tests/spark/test_kills.py tests/spark/test_faults.py

integration: $(STAMP) ## a real PostgreSQL and a real MariaDB on loopback: what the docs say of databases, the recipes of the README, and pyright over every recipe; installs what is missing where it may
	$(BIN)/python tests/integration/install.py
	$(BIN)/python -m pytest -p no:xdist -m integration -q tests/integration tests/recipes

compat: $(SPARKS:%=build/compat/%/.installed) ## the fast Spark tests with PySpark 4.1, 4.2 and 4.3, each in an environment of its own; Iceberg on 4.1, Delta on 4.2
	@for version in $(SPARKS); do \
		echo "PySpark $$version"; \
		build/compat/$$version/bin/python -m pytest -p no:xdist -q $(COMPAT) || exit 1; \
	done
	@for version in $(filter $(LAKES),$(SPARKS)); do \
		build/compat/$$version/bin/python -m pytest -p no:xdist -q -m lake tests/lake || exit 1; \
	done

build/compat/%/.installed: pyproject.toml constraints.txt
	test -x build/compat/$*/bin/python || "$(PYTHON)" -m venv build/compat/$*
	sed 's/^pyspark==.*/pyspark==$*/' constraints.txt > build/compat/$*/constraints.txt
	build/compat/$*/bin/python -m pip install --quiet --constraint build/compat/$*/constraints.txt --editable '.[spark,testing]' pytest
	@touch $@

demo: $(STAMP) ## orders through a window on Spark, watched while it runs; under two minutes
	$(BIN)/fanlight demo

example: $(STAMP) ## the README's ten lines, in this process: every firing of a window, and a dead letter
	$(BIN)/python examples/ten_lines.py

pictures: $(STAMP) ## draw the pictures of the docs anew, from the examples, and run the notebook
	$(BIN)/python -m fanlight.viz examples/windows docs/windows
	$(BIN)/python -m fanlight.viz examples/sort.py docs
	$(BIN)/python -m fanlight.viz examples/over.py docs
	$(BIN)/python -m fanlight.viz examples/over_modes.py docs
	$(BIN)/python -m fanlight.viz examples/over_windows.py docs
	$(BIN)/python -m fanlight.viz examples/top.py docs
	$(BIN)/python -m fanlight.viz examples/fill.py docs
	$(BIN)/python -m fanlight.viz examples/unique.py docs
	$(BIN)/python -m fanlight.viz examples/recent.py docs
	$(BIN)/python -m fanlight.viz examples/stages.py docs
	$(BIN)/python -m fanlight.viz examples/joins docs
	$(BIN)/python -m fanlight.viz examples/plan.py docs
	$(BIN)/python -m fanlight.viz examples/triggers.py docs/triggers
	$(BIN)/python website/notebook.py examples/first_hour.ipynb

docs: $(STAMP) ## the site, into build/site; stops at any warning
	$(BIN)/python website/assemble.py build/pages
	$(BIN)/zensical build --strict

screenshots: docs ## pictures of the site and of the notebook, light and dark, wide and narrow, into build/screenshots; needs Debian's chromium
	$(BIN)/python website/screenshots.py build/site build/screenshots

bench: $(STAMP) ## measure the engine on this machine
	$(BIN)/python -m benchmarks

hooks: $(STAMP) ## run the lint before every commit (pre-commit)
	$(BIN)/pre-commit install

clean: ## remove .venv and every cache
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +
