# One verb for everything. Needs make, bash and Python 3.11 or newer; everything else comes from the two locks.
#
#   make demo     the whole bot on this machine, without Telegram or a model
#   make install  put mtclaw on your PATH
#   make check    lint, types, layers, generated files
#   make test     check, then every test: what CI runs

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

# What was compiled once is kept: otherwise each worker and each process that a test starts compiles all of it anew.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
CODE := mtbot tests $(patsubst %/,%,$(dir $(wildcard benchmarks/__init__.py)))
PYTEST_ARGS ?=

# `make install` keeps an environment of its own, so that a checkout can go away or move on without it.
APP := $(HOME)/.local/share/mtclaw/venv
LINKS := $(HOME)/.local/bin

.PHONY: help demo install uninstall test check format docs fuzz crash interop mutants bench lock clean

help: ## list these targets
	@sed -nE 's/^([a-z]+):.*## (.*)/\1 \2/p' Makefile | while read -r name text; do printf 'make %-10s %s\n' "$$name" "$$text"; done

demo: .venv/package.stamp ## set up and run the whole bot here, without Telegram or a model
	@$(BIN)/mtclaw demo

install: ## put mtclaw on your PATH, in an environment of its own
	$(call stop-if-lacking,$(APP))
	@if { [ -e "$(LINKS)/mtclaw" ] || [ -L "$(LINKS)/mtclaw" ]; } && [ "$$(readlink "$(LINKS)/mtclaw")" != "$(APP)/bin/mtclaw" ]; then \
	  echo "$(LINKS)/mtclaw is something else: move it away first" >&2; exit 1; fi
	@[ -x "$(APP)/bin/python" ] || $(PYTHON) -m venv --clear "$(APP)"
	@cmp -s requirements.lock "$(APP)/requirements.lock" || { \
	  "$(APP)/bin/python" -m pip --disable-pip-version-check install --quiet --require-hashes -r requirements.lock; \
	  cp requirements.lock "$(APP)/requirements.lock"; }
	@"$(APP)/bin/python" -m pip --disable-pip-version-check install --quiet --force-reinstall --no-build-isolation --no-deps .
	@mkdir -p "$(LINKS)" && ln -sfn "$(APP)/bin/mtclaw" "$(LINKS)/mtclaw"
	@echo "installed: $$("$(LINKS)/mtclaw" version)"
	@case ":$$PATH:" in *":$(LINKS):"*) ;; *) echo "$(LINKS) is not on your PATH: add it, or run $(LINKS)/mtclaw" ;; esac

uninstall: ## remove what `make install` put there; configuration and data stay
	@[ "$$(readlink "$(LINKS)/mtclaw")" != "$(APP)/bin/mtclaw" ] || rm "$(LINKS)/mtclaw"
	@rm -rf "$(APP)"

check: .venv/dev.stamp .venv/package.stamp ## lint, types, layers, generated files
	$(BIN)/ruff format --check $(CODE) migrations
	$(BIN)/ruff check $(CODE) migrations
	$(BIN)/mypy $(CODE)
	$(BIN)/lint-imports
	$(BIN)/python -m mtbot.config.reference --check

# pytest comes last, so that its summary is the last line that anybody reads. One worker more than CI has cores, because
# many tests wait for processes.
test: check ## check, then every test with the coverage floors: what CI runs
	$(BIN)/python -m pytest -n 3 --dist worksteal -rs -p tests.architecture.coverage_floor --cov --cov-report= $(PYTEST_ARGS)

format: .venv/dev.stamp ## lay the code out and mend what the linter can mend
	$(BIN)/ruff check --fix $(CODE) migrations
	$(BIN)/ruff format $(CODE) migrations

docs: .venv/dev.stamp .venv/package.stamp ## write the generated example and reference anew
	$(BIN)/python -m mtbot.config.reference --write

fuzz: .venv/dev.stamp .venv/package.stamp ## compare original and canonical commands in real bash, at length
	$(BIN)/python -m tests.differential.fuzz --count 50000

crash: .venv/dev.stamp .venv/package.stamp ## kill the gateway at 200 instants and look at what it says afterwards
	MTCLAW_TEST_RANDOM_KILLS=200 $(BIN)/python -m pytest tests/crash

interop: .venv/dev.stamp .venv/package.stamp .venv/interop.stamp ## talk to a small model that runs here (needs a C++ compiler)
	MTCLAW_TEST_REAL_MODEL=.venv/interop/bin/python $(BIN)/python -m pytest tests/interop

mutants: .venv/dev.stamp .venv/package.stamp ## remove each rule and check in turn; each must fail a test
	$(BIN)/python -m tests.mutants.run

bench: .venv/dev.stamp .venv/package.stamp .venv/bench.stamp ## time what the design promises
	$(BIN)/python -m benchmarks.exec
	$(BIN)/python -m benchmarks.policy tests/corpus/*.jsonl
	$(BIN)/python -m benchmarks.storage
	$(BIN)/python -m benchmarks.gateway --own .venv/bench
	$(BIN)/python -m benchmarks.intake

lock: ## resolve both locks anew (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet \
	  pyproject.toml --group build -o requirements.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet \
	  pyproject.toml --group dev -c requirements.lock -o requirements-dev.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet \
	  --group interop -o requirements-interop.lock

clean: ## remove the environment and every cache
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage dist
	find $(CODE) migrations -name __pycache__ -type d -prune -exec rm -rf {} +

# What a machine lacks for the environment $(1) is said in one line, before anything is made.
define lacking
if [ -x "$(1)/bin/python" ]; then exit 0; \
elif ! command -v $(PYTHON) > /dev/null; then echo "$(PYTHON) is not installed: mtclaw needs Python 3.11 or newer"; \
elif ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
  echo "$$($(PYTHON) --version) is too old: mtclaw needs 3.11 or newer (make PYTHON=python3.12 ...)"; \
elif ! $(PYTHON) -c 'import ensurepip' 2> /dev/null; then \
  echo "$(PYTHON) cannot make environments: install the Debian package python3-venv (apt-get install python3-venv)"; fi
endef
stop-if-lacking = $(if $(shell $(call lacking,$(1))),$(error $(shell $(call lacking,$(1)))))

.venv/bin/python:
	$(call stop-if-lacking,.venv)
	@$(PYTHON) -m venv --clear .venv

# A stamp is younger than the lock that it stands for; the second lock holds every pin of the first.
.venv/runtime.stamp: requirements.lock | .venv/bin/python
	$(PIP) install --quiet --require-hashes -r $<
	@touch $@

.venv/dev.stamp: requirements-dev.lock | .venv/bin/python
	$(PIP) install --quiet --require-hashes -r $<
	@touch $@ .venv/runtime.stamp

# What a user has, without the tools of development beside it.
.venv/bench.stamp: requirements.lock .venv/package.stamp
	$(BIN)/python -m venv --clear .venv/bench
	.venv/bench/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r $<
	.venv/bench/bin/python -m pip --disable-pip-version-check install --quiet --no-build-isolation --no-deps --editable .
	@touch $@

.venv/interop.stamp: requirements-interop.lock | .venv/bin/python
	$(BIN)/python -m venv --clear .venv/interop
	.venv/interop/bin/python -m pip --disable-pip-version-check --no-input install --quiet --require-hashes -r $<
	@touch $@

.venv/package.stamp: pyproject.toml .venv/runtime.stamp
	$(PIP) install --quiet --no-build-isolation --no-deps --editable .
	@touch $@
