# The few commands of this project. `make` alone lists them.

STORE  ?= $(or $(MINIKUBE_STORE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/minikube)
PYTHON ?= python3
VENV   := $(STORE)/dev-$(shell cat requirements-dev.lock | cksum | cut -d' ' -f1)
PY     := PYTHONPATH=src $(VENV)/bin/python

.DEFAULT_GOAL := help
.PHONY: help test test-fast test-machine lint format docs messages locks bench faults cis

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

test: lint ## everything: lint, types, layers, quick tests, then real clusters (needs root; the first run builds the components)
	$(PY) -m pytest -q -n auto -m "not cluster and not build"
	$(PY) -m pytest -m "cluster or build"

test-fast: $(VENV)/ready ## tests that take seconds and need neither root nor a cluster
	$(PY) -m pytest -q -n auto -m "not cluster and not build"

MACHINES ?= bookworm trixie
test-machine: $(VENV)/ready ## a cluster's life on emulated machines: other kernels, control groups v2, systemd and none (needs root; about an hour each)
	TEST_MACHINES="$(MACHINES)" $(PY) -m pytest -v -m machine tests/machines

lint: $(VENV)/ready ## style, strict types, and the layers of docs/architecture.md
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	PYTHONPATH=src $(VENV)/bin/lint-imports

format: $(VENV)/ready ## write all code in the one style
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

docs: $(VENV)/ready ## write the generated pages of docs/ anew
	$(PY) tools/generate_docs.py

messages: $(VENV)/ready ## bring the catalogues of translations in line with the code; says what is not translated yet
	$(PY) tools/messages.py

locks: ## write the lock files anew: the newest Python packages that pyproject.toml allows, with their hashes
	$(PYTHON) tools/locks.py

bench: $(VENV)/ready ## how long quick commands, start, stop, restart, delete and loading images take on this machine
	PYTHONPATH=src:. $(VENV)/bin/python -m bench.commands
	PYTHONPATH=src:. $(VENV)/bin/python -m bench.run
	PYTHONPATH=src:. $(VENV)/bin/python -m bench.images

RUNS ?= 1
faults: $(VENV)/ready ## every fault of docs/reliability.md against real clusters, RUNS=1 times each; prints a table (needs root, takes an hour)
	FAULT_RUNS=$(RUNS) FAULT_TABLE=$${FAULT_TABLE:-$(STORE)/faults.md} $(PY) -m pytest -q tests/faults

cis: $(VENV)/ready ## kube-bench against a default and a hardened cluster, compared with docs/security.md (needs root; builds kube-bench once: three minutes)
	CIS=1 $(PY) -m pytest -v tests/e2e/test_hardened.py

# Outside the clone, so that every clone with the same dependencies finds it; so it has the dependencies only, not the project.
$(VENV)/ready:
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements-dev.lock
	touch $@
