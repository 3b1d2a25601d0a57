# kepler-train: `make help` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
# The demo's files stay in this checkout.
export KEPLER_TRAIN_HOME ?= $(CURDIR)/.kepler-train
# A json.py on the caller's path would end every program here.
unexport PYTHONPATH PYTHONHOME

.PHONY: help setup demo down test fuzz reliability fresh lint bench lock sbom licences audit clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/ready ## Make .venv with everything, from the locked requirements

$(VENV)/ready: requirements/all.txt pyproject.toml scripts/make-venv
	@scripts/make-venv $(VENV)
	@touch $@

demo: setup ## Train models of a simulated machine end to end, and show them (DEMO_EXIT=1: do not stay)
	@scripts/debian-packages prometheus "the demo uses our own simulation of the Prometheus API"
	@$(BIN)/kepler-train demo

down: ## Stop what the demo or `kepler-train local up` left running
	@if [ -x $(BIN)/kepler-train ]; then $(BIN)/kepler-train local down; else echo "Nothing was ever started here."; fi

test: setup ## Run all tests that this machine can run
	@scripts/debian-packages prometheus "tests with the real Prometheus are skipped"
	@scripts/debian-packages stress-ng "tests with real load are skipped"
	@scripts/debian-packages prometheus-node-exporter "tests with the real node_exporter are skipped"
	@scripts/debian-packages chromium "tests in the browser are skipped"
	@$(BIN)/pytest -n 2 --dist loadfile  # tests of a file share servers, some files one stack

fuzz: setup ## Give broken and hostile input to all readers, for some 20 minutes (KIND=trees SEED=7 CASES=20000 NUMBER=123)
	@PYTHONPATH=tests:plugins $(BIN)/python -m fuzz $(foreach kind,$(KIND),--kind $(kind)) $(if $(SEED),--seed $(SEED)) \
		$(if $(CASES),--cases $(CASES)) $(if $(NUMBER),--number $(NUMBER))

reliability: setup ## Kill, publish at once and let S3 fail, for some 15 minutes (SEED=7 ONLY=kills,publishers,faults)
	@PYTHONPATH=tests $(BIN)/python tests/reliability $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

fresh: ## Try the demo and the stack's tests on machines of many kinds (CASES="closed umask": only these)
	@tests/fresh/run $(CASES)

lint: setup ## Check style, types and the layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/mypy bench/*.py  # whoever changes the code seldom runs them
	@PYTHONPATH=plugins $(BIN)/lint-imports --no-logo

bench: setup ## Measure speed and memory
	@for file in bench/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

lock: setup ## Lock the requirements anew
	@scripts/lock

sbom: setup $(VENV).audit/ready ## List what is in .venv and in the step image as CycloneDX (IMAGE_ROOT=folder: of a built image)
	@$(VENV).audit/bin/python scripts/sbom.py $(if $(IMAGE_ROOT),--image-root $(IMAGE_ROOT))

licences: setup ## List the licences of what is in the step image
	@$(BIN)/python scripts/licences.py

audit: $(VENV).audit/ready ## Ask for known vulnerabilities of what is locked (SERVICE=osv: ask OSV, not PyPI)
	@$(VENV).audit/bin/python scripts/audit.py $(if $(SERVICE),--service $(SERVICE))

$(VENV).audit/ready: requirements/audit.txt scripts/make-venv
	@scripts/make-venv $(VENV).audit requirements/audit.txt
	@touch $@

clean: down ## Remove .venv and the files of the demo, also those outside of this folder
	@if [ -x $(BIN)/kepler-train ]; then $(BIN)/kepler-train local clean; fi
	rm -rf $(VENV) $(VENV).audit $(VENV).tools .kepler-train .fuzz
