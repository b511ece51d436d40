# The table of contents: what can be done with a checkout of the collection. `make` or `make help` prints it.
# On a bare Debian 12 or newer, as root, each target installs what it needs first. PYTHON=... names another interpreter.
SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
export PYTHON

IN_VENV := tests/tools/in-venv
# What a plain test run leaves out: tests that need hardware or hours.
MARKS := not gpu and not kill

.PHONY: help
help: ## Print this table
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##### Tests

.PHONY: test lint format unit integration
test: ## All of lint, unit, integration, sanity, molecule; prints the wall time of each
	@tests/tools/stages lint unit integration sanity molecule

lint: collections ## ansible-lint (production profile), yamllint, ruff, mypy --strict on plugins
	$(IN_VENV) yamllint --strict .
	$(IN_VENV) ruff check --output-format concise
	$(IN_VENV) ruff format --check
	$(IN_VENV) tests/tools/mypy
	$(IN_VENV) ansible-lint --offline --profile production

format: collections ## Put right what ruff can put right by itself
	$(IN_VENV) ruff check --fix --output-format concise
	$(IN_VENV) ruff format

unit: collections ## Pure code, tables of cases
	$(IN_VENV) pytest tests/unit $(ARGS)

integration: packages collections ## Modules as Ansible runs them, against the doubles
	$(IN_VENV) pytest tests/integration -m "$(MARKS)" $(ARGS)

##### Tools

.PHONY: venv packages collections tree lock clean
venv: ## The Python tools, pinned by hash, in the cache; .venv leads there
	@path=$$(tests/tools/venv) && ln -sfn "$$path" .venv && .venv/bin/python -V

packages: ## Debian packages that the tests need, as far as they are missing
	@tests/tools/packages

collections: venv tree ## Other collections that we use, out of the pinned ansible package
	@tests/tools/collections >/dev/null

tree: ## The path ansible_collections/blackwell/inference that tools want, below .tree
	@tests/tools/tree link

lock: ## Pin the tools again, as tests/tools/*.in ask
	tests/tools/relock
