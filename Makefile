# `make run` and `make test` set up everything by themselves; `make help` lists the rest.
# Needs make and Python 3.11 or newer. Works with GNU make 3.81 and any POSIX shell.

.DEFAULT_GOAL := help
.PHONY: help setup run chat test test-soak test-adk lint format lock dist bench docs env-example clean

VENV := .venv
PY := $(VENV)/bin/python
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(PY) -m pip install --quiet
# Another name here means another lock file, another pyproject.toml or another folder.
RUNS := $(VENV)/.installed-$(shell { pwd; cat requirements.lock pyproject.toml; } | cksum | tr -d ' ')
DEVELOPS := $(VENV)/.develops-$(shell { pwd; cat requirements.dev.lock; } | cksum | tr -d ' ')
LOCK := $(PY) -m uv pip compile pyproject.toml --universal --python-version 3.11 --quiet \
  --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock'

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: $(DEVELOPS) ## Create .venv and install what requirements.dev.lock names
	@:

run: $(RUNS) ## Serve the web UI and the API on http://127.0.0.1:8000
	@exec $(PY) main.py $(ARGS)

chat: $(RUNS) ## Talk in the terminal
	@exec $(VENV)/bin/acc-ace chat $(ARGS)

test: lint ## Lint, type-check and run the tests, but for those of test-soak
	$(PY) -m pytest -q -n auto --dist loadfile -m 'not soak' $(ARGS)

# Four at a time, and the tests of a file apart: they wait for processes, servers and timeouts more
# than they compute. Those with examples are run again, with twenty times as many. Some compute for
# minutes, more of them where processors are few or slow: hence the longer limit.
test-soak: $(DEVELOPS) ## Run the tests that wait, kill or repeat many times
	$(PY) -m pytest -q -n 4 --dist worksteal --hypothesis-profile soak \
	  -o faulthandler_timeout=900 -m 'soak or hypothesis' $(ARGS)

# Another google-adk, laid over that of .venv with what it asks for, whose warnings fail nothing;
# `make clean` takes it away.
test-adk: $(DEVELOPS) ## Run the tests that speak with ADK on another: make test-adk VERSION=2.13.0
	@test -n "$(VERSION)" || { echo 'error: name one: make test-adk VERSION=2.13.0' >&2; exit 1; }
	rm -rf $(VENV)/adk-$(VERSION)
	$(PIP) --target $(VENV)/adk-$(VERSION) 'google-adk==$(VERSION)'
	PYTHONPATH=$(CURDIR)/$(VENV)/adk-$(VERSION) $(PY) -m pytest -q -n auto --dist loadfile -W default \
	  -m 'not soak' $(or $(ARGS),tests/pipeline tests/contract tests/unit/test_hooks.py)

lint: $(DEVELOPS) ## Lint and type-check
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()' --no-logo

format: $(DEVELOPS) ## Format the code and sort its imports
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: $(DEVELOPS) ## Measure overhead and prompt sizes
	$(PY) -m bench $(ARGS)

docs: $(DEVELOPS) ## Build the pages of docs/ into build/docs
	$(PY) -m sphinx -q -W --keep-going -b html docs build/docs

env-example: $(RUNS) ## Write .env.example from the settings
	$(PY) -m acc_ace.cli.env_example > .env.example.new
	mv .env.example.new .env.example

lock: $(DEVELOPS) ## Resolve the dependencies again and write the three locks
	$(PY) -m uv --version >/dev/null 2>&1 || $(PIP) uv
	$(LOCK) --upgrade --group build --group dev --group docs --extra postgres --extra embed \
	  --extra background --extra survivor --extra lab --extra otel --extra mcp \
	  --output-file requirements.dev.lock
	$(LOCK) --constraint requirements.dev.lock --group build --output-file requirements.lock
	$(LOCK) --constraint requirements.dev.lock --extra postgres --extra mcp --extra background \
	  --extra otel --output-file requirements.server.lock
	@! grep -nE '://|^-|file:' requirements*.lock || \
	  { echo 'a lock must name no place, see the lines above' >&2; exit 1; }

dist: $(RUNS) ## Build the source distribution and the wheel into dist/
	@version=v$$($(PY) -m hatchling version); test "$(or $(TAG),$$version)" = "$$version" || \
	  { echo "error: the tag $(TAG) is not the version $$version of pyproject.toml" >&2; exit 1; }
	rm -rf dist
	$(PY) -m hatchling build

clean: ## Remove the environment and the caches; stored conversations stay
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A quick path when nothing changed: make finds the stamp and does nothing. The lock is complete, so
# pip resolves nothing: older ones (23.2) look for newer releases of what a package asks with extras.
$(RUNS):
	@python=; old=; \
	for name in $(PYTHON) python3 python3.13 python3.12 python3.11 python; do \
	  command -v "$$name" >/dev/null 2>&1 || continue; \
	  if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    python="$$name"; \
	    "$$name" -c 'import ensurepip, venv' >/dev/null 2>&1 && break; \
	  else old="$$old $$name"; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "error: Python 3.11 or newer is needed (found only older:$${old:- none})." >&2; \
	  echo "Install it, or name it: make $(firstword $(MAKECMDGOALS)) PYTHON=/path/to/python3.12" >&2; \
	  exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then \
	  echo "error: $$python cannot create virtual environments: venv or ensurepip is missing." >&2; \
	  echo "On Debian and Ubuntu: apt-get install python3-venv" >&2; \
	  exit 1; \
	fi; \
	if ! $(PY) -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	  echo "Creating $(VENV) with $$python ..."; \
	  "$$python" -m venv --clear $(VENV); \
	fi
	@echo "Installing what it runs on (the first time takes half a minute or more) ..."
	@$(PIP) --no-deps --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/.installed-*
	@touch $@

# Beside what runs, in the same place. An environment made anew has no stamp of either.
$(DEVELOPS): $(RUNS)
	@echo "Installing what develops it (the first time takes a minute or two) ..."
	@$(PIP) --no-deps --require-hashes -r requirements.dev.lock
	@rm -f $(VENV)/.develops-*
	@touch $@
