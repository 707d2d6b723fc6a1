# Every target makes the environment first: .venv, from the hashed lock.
.DEFAULT_GOAL := help
PYTHON ?= python3
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
BIN := .venv/bin

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

.venv/ready: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
		|| { echo "dmlbench needs Python 3.11, 3.12 or 3.13; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12 ..."; exit 1; }
	@echo "making .venv from requirements.lock (about 5 GB with CUDA, once)"
	@rm -rf .venv
	@$(PYTHON) -m venv .venv
	@awk '/^[^ ]/ {keep = /^uv==/} keep' requirements.lock > .venv/uv.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r .venv/uv.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@touch $@

.PHONY: environment
environment: .venv/ready ## make .venv
