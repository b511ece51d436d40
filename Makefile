# The table of contents: what can be done with a checkout of the collection. `make` or `make help` prints it.
# On a bare Debian 12 or newer, as root, each target first installs what it needs. PYTHON=... names another interpreter.
SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
export PYTHON

# Runs a command with the Python tools on PATH and Ansible set up; makes what is missing of both.
IN_VENV := tests/tools/in-venv
# What a plain test run leaves out: tests that need hardware or hours.
MARKS := not gpu and not kill
# Tests that share a machine stay together (tests/integration/conftest.py), the longest groups first.
TWO_WORKERS := --numprocesses 2 --dist loadgroup --no-loadscope-reorder
# The scenario that the oldest lane runs.
OLDEST_SCENARIO := deploy

.PHONY: help
help: ## Print this table
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##### Tests

.PHONY: test lint format unit integration package sanity molecule test-oldest
test: ## lint, unit, integration, package, sanity and molecule; prints the wall time of each
	@tests/tools/stages lint unit integration package sanity molecule

lint: ## ansible-lint (production profile), yamllint, ruff, mypy --strict on plugins
	$(IN_VENV) tests/tools/lint

format: ## Put right what ruff can put right by itself
	$(IN_VENV) ruff check --fix --output-format concise
	$(IN_VENV) ruff format

unit: ## Pure code, tables of cases; ARGS=... for pytest
	$(IN_VENV) pytest tests/unit --numprocesses 2 --dist loadfile $(ARGS)

integration: packages ## Modules as Ansible runs them, against the doubles; ARGS=... for pytest
	$(IN_VENV) pytest tests/integration -m "$(MARKS)" $(TWO_WORKERS) --durations 25 $(ARGS)

package: ## The tarball, through galaxy-importer, antsibull-docs and the changelog's lint
	tests/tools/package

sanity: ## ansible-test sanity on a copy of the checkout; ARGS=... for ansible-test
	tests/tools/sanity $(ARGS)

molecule: packages ## Roles and playbooks on test hosts; SCENARIO=... for one scenario
	$(IN_VENV) molecule test $(if $(SCENARIO),--scenario-name $(SCENARIO),--all)

test-oldest: ## The oldest lane, ansible-core 2.19 on Python 3.11: unit, sanity and one scenario
	@PYTHON=$$(tests/tools/interpreter 3.11) SCENARIO=$(OLDEST_SCENARIO) tests/tools/stages unit sanity molecule

.PHONY: conformance
conformance: ## Our numbers beside those of the published SGLang, without a GPU; CONFORMANCE_SEED=..., CONFORMANCE_CASES=..., ARGS=... for pytest
	$(IN_VENV) pytest tests/conformance $(ARGS)

.PHONY: demo test-kill benchmark
demo: packages collections ## The loop with the real engine on a test host: deploy a tiny model, verify it, ask it, deploy it again
	@$(IN_VENV) tests/tools/demo

test-kill: packages collections ## Kill a play at every one of its tasks, and see each run after it come to the same state
	$(IN_VENV) pytest tests/integration -m kill $(ARGS)

benchmark: packages collections ## What a plan costs, a run that has nothing to do, and a look for holders, as ratios
	$(IN_VENV) env PYTHONPATH=.tree python benchmarks/plan_time.py
	$(IN_VENV) env PYTHONPATH=.tree python benchmarks/no_change_run.py
	@tests/tools/packages psmisc lsof
	$(IN_VENV) env PYTHONPATH=.tree python benchmarks/holder_scan.py

##### Tools

.PHONY: venv packages collections tree lock clean
venv: ## The Python tools, pinned by hash, in the cache; .venv leads there
	@path=$$(tests/tools/venv) && ln -sfn "$$path" .venv && .venv/bin/ansible --version | sed -n 1p

packages: ## Debian packages that the tests need, as far as they are missing
	@tests/tools/packages

collections: ## Other collections that we use, out of the pinned ansible package, in the cache
	@tests/tools/collections

tree: ## The path ansible_collections/blackwell/inference that tools want, below .tree
	@tests/tools/tree link

lock: ## Pin the tools again, as tests/tools/*.in ask
	tests/tools/relock

clean: ## Test hosts of this checkout, and what tools left in it; the cache stays
	@if [ -x tests/testhost/testhost ]; then tests/testhost/testhost gc --all; fi
	rm -rf .tree .tree-copy .venv .ansible .mypy_cache .pytest_cache .ruff_cache .hypothesis tests/output
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
