# Every target makes the environment first: .venv, from the hashed lock.
.DEFAULT_GOAL := help
PYTHON ?= python3
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
BIN := .venv/bin
# Tests compute on small tensors: one process per core with one thread is fastest. A process takes
# up to 2 GB. A module's tests run together, because some share results of the first one.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q --numprocesses $(CORES) --maxprocesses 8 \
	--dist loadfile
# The files with tests of these markers: collecting all files takes ten seconds.
marked = $(shell grep -rlE --include='test_*.py' 'mark\.($(1))\b' tests)

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

# Without a folder for their caches, uv and Snakemake end with an error that does not say what to set.
with_cache = cache="$${XDG_CACHE_HOME:-$$HOME/.cache}"; mkdir -p "$$cache" 2>/dev/null && \
	[ -w "$$cache" ] || { echo "no folder $$cache; set XDG_CACHE_HOME to one you can write to"; exit 1; };

.venv/ready: requirements.lock
	@$(with_cache) $(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
		|| { echo "dmlbench needs Python 3.11, 3.12 or 3.13; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12 ..."; exit 1; }
	@echo "making .venv from requirements.lock (about 6 GB with CUDA, once)"
	@rm -rf .venv
	@$(PYTHON) -m venv .venv
	@awk '/^[^ ]/ {keep = /^uv==/} keep' requirements.lock > .venv/uv.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r .venv/uv.lock
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python \
		--require-hashes -r requirements.lock
	@touch $@

# The command, from this folder as it is.
$(BIN)/dmlbench: pyproject.toml .venv/ready
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --offline --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: environment
environment: $(BIN)/dmlbench ## make .venv, with the command dmlbench

.PHONY: demo
demo: $(BIN)/dmlbench ## one study end to end on data drawn on the spot: no GPU, no download, minutes
	@$(BIN)/dmlbench demo --cores $(CORES)

# Successors, for one version.
moved = study:new network:add-network embed:embed search:search export:export
.PHONY: $(foreach each,$(moved),$(firstword $(subst :, ,$(each))))
study network embed search export:
	@echo "make $@ is now: .venv/bin/dmlbench $(patsubst $@:%,%,$(filter $@:%,$(moved))) --help"; exit 1

# Ends a target that lacks one of these variables.
named = $(foreach each,$(1),$(if $(value $(each)),,echo "name $(each)=..."; exit 1;))

.PHONY: test
test: .venv/ready ## the fast tests
	@$(PYTEST)

.PHONY: test-slow
SLOW ?= slow or workflow
test-slow: .venv/ready .venv-docs/ready ## the slow tests, and whole workflows at toy size (SLOW=slow, SLOW=workflow: one of both)
	@$(PYTEST) -rs -m '($(SLOW)) and not cluster' $(call marked,slow|workflow)

# Packages that studies do not need have an environment of their own, on top of .venv.
.venv-optional/ready: tests/optional.lock .venv/ready
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-optional
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		> "$$(.venv-optional/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/venv.pth"
	@$(BIN)/uv pip install --quiet --python .venv-optional/bin/python --no-deps --require-hashes -r $<
	@touch $@

.PHONY: test-optional
test-optional: .venv-optional/ready ## what takes timm and ONNX: any network, weights of the hub, exports
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(subst $(BIN)/,.venv-optional/bin/,$(PYTEST)) -rs -m "not evidence" \
		tests/networks/test_any_backbone.py tests/networks/test_hub.py tests/inference/test_model.py

# Temporary environments, removed at the end: what differs from .venv, then .venv.
BOUNDS := tests/test_snakemake_parts.py tests/workflow/test_verbs.py tests/training/test_methods.py \
	tests/losses tests/miners tests/samplers
.PHONY: test-bounds
test-bounds: .venv/ready ## the oldest and the newest Snakemake and torch that pyproject.toml promises (may fetch a torch)
	@for end in lowest-direct highest; do \
		$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-bounds && \
		$(BIN)/uv pip install --quiet --python .venv-bounds/bin/python --resolution $$end --group bounds && \
		$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
			> "$$(.venv-bounds/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/venv.pth" && \
		$(BIN)/uv pip list --quiet --python .venv-bounds/bin/python | grep -E '^(snakemake|torch) ' && \
		$(subst $(BIN)/,.venv-bounds/bin/,$(PYTEST)) -m 'not slow' $(BOUNDS) || exit 1; \
	done
	@rm -rf .venv-bounds

.PHONY: test-cluster
CLUSTER ?= cluster
# The tests start their own Slurm, whatever the caller's setting, and share it: in one process.
test-cluster: .venv/ready ## the workflow on a real Slurm, where one can be started
	@env -u SLURM_CONF $(PYTEST) --numprocesses 0 -rs -m '$(CLUSTER)' tests/cluster

.PHONY: test-browser
test-browser: .venv/ready .venv-docs/ready ## the pages in a headless Chromium, where there is one
	@test -d node_modules/axe-core || ! command -v npm > /dev/null \
		|| npm install --prefix . --silent --no-save --no-package-lock axe-core@4.11.0 \
		|| echo "axe-core could not be installed: its tests are skipped"
	@$(PYTEST) -rs -m browser $(call marked,browser)

.PHONY: test-evidence
test-evidence: .venv/ready ## what holds on photographs: weights, fast recipes
	@$(PYTEST) -rs -m evidence $(call marked,evidence)

.PHONY: test-rehearsal
test-rehearsal: .venv/ready ## the papers' studies (or PAPER=...) at toy size: no table missing, no cell empty
	@$(PYTEST) -rs -m rehearsal $(if $(PAPER),-k $(PAPER)) $(call marked,rehearsal)

.PHONY: test-faults
test-faults: .venv/ready ## the fault lab: kills, flips, clones, edits, disks; FAULTS="--faults 3": fewer
	@PYTHONPATH=workflow/scripts:tests:tests/training:benchmarks $(BIN)/python tests/faults/lab.py $(FAULTS)

.PHONY: lint
lint: .venv/ready ## style of Python and Snakemake files
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/snakefmt --check Snakefile rules
	@$(with_cache) $(BIN)/snakemake --lint

.PHONY: dry-run
dry-run: .venv/ready ## plan every study, in one call
	@$(with_cache) $(BIN)/snakemake --dry-run --quiet rules -- $(basename $(notdir $(wildcard config/studies/*.yaml)))

.PHONY: rehearsal
rehearsal: .venv/ready ## every rule, table and figure at toy size, of all studies or of STUDY=...
	@$(with_cache) $(BIN)/snakemake --profile profiles/local --cores $(CORES) --quiet rules \
		--configfile config/config.yaml config/rehearsal.yaml -- $(STUDY)

.PHONY: benchmark
benchmark: .venv/ready ## time losses, evaluation, input and whole trainings against the libraries everyone uses
	@$(BIN)/python benchmarks/losses.py
	@$(BIN)/python benchmarks/evaluation.py
	@$(BIN)/python benchmarks/input.py
	@$(BIN)/python benchmarks/training.py

.PHONY: gpu-check
gpu-check: .venv/ready ## is this GPU right and fast? a table and results/benchmarks/gpu-<name>.json, minutes
	@$(BIN)/python benchmarks/gpu_check.py $(CHECK)

.PHONY: publish
publish: .venv/ready ## copy what STUDY=... has found so far from results/ to results/published/, to be committed
	@for study in $(STUDY); do \
		mkdir -p results/published/$$study results/studies/$$study; \
		(cd results/studies/$$study && find . -name neighbors -prune -o \
			\( -name '*.csv' -o -name '*.md' -o -name '*.png' -o -name '*.parquet' \) -print) \
			| tar -C results/studies/$$study -cf - -T - \
			| tar -C results/published/$$study -xf - || exit 1; \
	done
	@PYTHONPATH=workflow/scripts $(BIN)/python -m dmlbench.plan.records.published pack $(STUDY)

.PHONY: published-tables
published-tables: .venv/ready ## write the tables of results/published/<study> from its scores again, by this version's rules: STUDY= (FOLDER=)
	@$(call named,STUDY) PYTHONPATH=workflow/scripts $(BIN)/python -m dmlbench.presentation.published $(STUDY) $${FOLDER:+--folder "$$FOLDER"}

.PHONY: latex
latex: .venv/ready ## write the tables of the published STUDY= as LaTeX into FOLDER=
	@$(call named,STUDY) PYTHONPATH=workflow/scripts $(BIN)/python -m dmlbench.presentation.published $(STUDY) --latex "$${FOLDER:-latex/$(STUDY)}"

.PHONY: beside
beside: .venv/ready ## write a page of the paper's printed tables beside those of STUDY= into FOLDER=
	@$(call named,STUDY) PYTHONPATH=workflow/scripts $(BIN)/python -m dmlbench.presentation.beside $(STUDY) "$${FOLDER:-beside/$(STUDY)}"

.PHONY: continue
continue: .venv/ready ## take the published searches of STUDY=... into results/, so that a call continues after them
	@PYTHONPATH=workflow/scripts $(BIN)/python -m dmlbench.plan.records.published unpack $(STUDY)

.PHONY: record-training
record-training: .venv/ready ## record what every part computes, once versions are raised where they must be
	@OMP_NUM_THREADS=1 PYTHONPATH=workflow/scripts:tests $(BIN)/python tests/golden/golden_record.py

.PHONY: protocols
protocols: .venv/ready ## write the tables of docs/protocols.md from config/ again
	@$(BIN)/python docs/from_plan.py

.PHONY: gpu-page
gpu-page: .venv/ready ## write the steps of docs/gpu.md again, from what a GPU measured
	@$(BIN)/python docs/from_gpu.py

.PHONY: findings
findings: .venv/ready ## write the tables of docs/findings/ from published results again, and those of the audit
	@$(BIN)/python docs/from_scores.py
	@$(BIN)/python docs/from_orders.py
	@$(BIN)/python docs/from_audit.py

.PHONY: sources
sources: .venv/ready ## write the tables of docs/official.md from the catalogs again
	@$(BIN)/python docs/from_sources.py

.PHONY: margins
margins: .venv/ready ## write config/reference/*/margins.csv from the printed numbers again
	@$(BIN)/python benchmarks/margins.py $(dir $(wildcard config/reference/*/margins.yaml))

.PHONY: claims
claims: .venv/ready ## write the tables of docs/claims.md from the printed numbers and results/published again
	@$(BIN)/python docs/from_claims.py

.PHONY: gallery
gallery: .venv/ready ## write the sections and pictures of docs/gallery.md from the library again
	@$(BIN)/python docs/gallery.py

# The site has its own environment, so that the environment for experiments does not change.
.venv-docs/ready: docs/requirements.lock
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-docs
	@$(BIN)/uv pip install --quiet --python .venv-docs/bin/python --require-hashes -r $<
	@touch $@

.PHONY: docs
docs: .venv/ready .venv-docs/ready ## the pages and the library's reference as a site: site/index.html
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet --strict

.PHONY: pins
pins: .venv/ready ## pin the conda environments to builds, on a machine with conda: docs/conda.md
	@$(BIN)/python envs/pin.py cpu gpu

.PHONY: lock
lock: ## resolve the dependencies again, for pip and for conda
	@$(BIN)/uv pip compile pyproject.toml --extra workflow --group test --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header --quiet --output-file requirements.lock
	@$(BIN)/python envs/from_lock.py
	@$(BIN)/uv pip compile pyproject.toml --extra timm --extra onnx --group optional \
		--constraint requirements.lock --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header --quiet --output-file tests/optional.lock
	@awk '/^[^ ]/ {split($$1, name, "=="); again = NR != FNR && name[1] in locked; locked[name[1]]} \
		NR != FNR && !again' requirements.lock tests/optional.lock > tests/above.lock
	@mv tests/above.lock tests/optional.lock
	@$(BIN)/uv pip compile --group docs --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header --quiet --output-file docs/requirements.lock
