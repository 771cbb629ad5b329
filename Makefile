# The two commands are `make serve` and `make test`; the rest is for whoever changes the code.
PYTHON ?= python3
PORT ?= 8080
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help serve test check format e2e edge accuracy order boxes formats documents fuzz drills drills-short overload rollout clients ops-check observe sbom scaling instances bench-stages bench-efficiency bench-padding bench-watching bench-scaling bench-pipeline bench-peers bench-variants capacity lock clean

help: ## show this list
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

serve: $(STAMP) ## set everything up, then serve on http://127.0.0.1:$(PORT) (ARGS="--backend embedded" for no Triton)
	@$(BIN)/ocr-gateway serve --port $(PORT) $(ARGS)

test: $(STAMP) check ## everything CI runs: style, types, layers, unit and end-to-end tests on a real Triton
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --reruns 1 -raR

check: $(STAMP) ## style, types and layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(STAMP) ## format and mend what can be mended
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

e2e: $(STAMP) ## only the tests on a real Triton
	@$(BIN)/python -m pytest -m e2e

edge: $(STAMP) ## unusual bytes and slow clients on real sockets, also through nginx; writes docs/edge-cases.md
	@$(BIN)/python tests/edge/table.py
	@$(BIN)/python -m pytest tests/edge

accuracy: $(STAMP) ## the gateway beside rapidocr on the labelled corpus; writes docs/accuracy.md (10 minutes)
	@$(BIN)/python -m loadtest.accuracy

order: $(STAMP) ## in which order lines are read, beside rapidocr; pictures in results/order, table in docs (minutes)
	@$(BIN)/python -m loadtest.order

documents: $(STAMP) ## a PDF of 200 pages and a TIFF of 100 as streams; writes docs/documents.md (five minutes)
	@$(BIN)/python -m loadtest.documents $(ARGS)

fuzz: $(STAMP) ## inputs that nobody would think of, by three fuzzers (SECONDS=600 for each; docs/fuzzing.md)
	@$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),600)

boxes: $(STAMP) ## how exactly words and characters are placed; pictures of it in results/boxes (a minute)
	@$(BIN)/python -m loadtest.boxes

formats: $(STAMP) ## odd and hostile files beside rapidocr and OpenCV; writes docs/formats.md (two minutes)
	@$(BIN)/python -m loadtest.formats

drills: $(STAMP) ## break a real Triton and real gateways under load; writes docs/drills.md (half an hour)
	@$(BIN)/python -m tests.drills

drills-short: $(STAMP) ## a few of the drills, once each (three minutes)
	@$(BIN)/python -m tests.drills --short

overload: $(STAMP) ## ask two to ten times more than can be answered; writes into docs/overload.md (ten minutes)
	@$(BIN)/python -m loadtest.overload $(ARGS)

rollout: $(STAMP) ## replace gateways, Tritons and a model under load; writes into docs/overload.md (15 minutes)
	@$(BIN)/python -m loadtest.rollout $(ARGS)

ops-check: $(STAMP) ## everything in deploy/ read by the programs it is for; says which of them are missing
	@$(BIN)/python -m tests.ops

observe: $(STAMP) ## watch a hang of Triton with a real Prometheus and Alertmanager; writes docs/observability.md (three minutes)
	@$(BIN)/python -m loadtest.observe $(ARGS)

clients: $(STAMP) ## real clients of other services on a real gateway (an environment of 800 MB, once)
	@$(PYTHON) -m venv .local/clients
	@.local/clients/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/clients.txt
	@$(BIN)/python -m pytest tests/e2e/test_real_clients.py

sbom: $(STAMP) ## what the image of the gateway is made of (CycloneDX), in results/sbom.cdx.json
	@$(BIN)/python -m tests.ops.sbom

scaling: $(STAMP) ## how many GPUs and gateways for how many pages; writes into docs/scaling.md (from docs/gpu)
	@$(BIN)/python -m loadtest.scaling

bench-stages: $(STAMP) ## what a page costs the gateway itself, by stage; writes into docs/performance.md (five minutes)
	@$(BIN)/python -m loadtest.stages $(ARGS)

bench-efficiency: $(STAMP) ## pages/s through HTTP over those of a bare gRPC client; writes into docs/performance.md (ten minutes)
	@$(BIN)/python -m loadtest.efficiency $(ARGS)

bench-padding: $(STAMP) ## padding over the corpus, and the best buckets (ARGS=--measure); writes into docs/performance.md
	@$(BIN)/python -m loadtest.padding $(ARGS)

bench-watching: $(STAMP) ## what traces and scrapes cost a gateway; writes into docs/performance.md (three minutes)
	@$(BIN)/python -m loadtest.watching $(ARGS)

capacity: $(STAMP) ## raise the rate until P95 is late, with Locust; writes into docs/load-testing.md (long)
	@$(PYTHON) -m venv .local/locust
	@.local/locust/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/loadtest.txt
	@$(BIN)/python -m loadtest.capacity $(ARGS)

bench-scaling: $(STAMP) ## what one page costs as it grows, and the loop under 256 clients; writes into docs/performance.md (25 minutes)
	@$(BIN)/python -m loadtest.growth $(ARGS)

bench-pipeline: $(STAMP) ## beside one Python model in Triton that does everything; writes into docs/performance.md (ten minutes)
	@$(BIN)/python -m loadtest.pipeline $(ARGS)

bench-peers: $(STAMP) ## beside rapidocr's API server and library, at 1 and 8 clients; writes into docs/performance.md (20 minutes)
	@$(BIN)/python -m loadtest.peers $(ARGS)

bench-variants: $(STAMP) ## OpenVINO and int8, their speed and what they cost in accuracy; writes into docs/performance.md (20 minutes)
	@$(BIN)/python -m loadtest.variants $(ARGS)

instances: $(STAMP) ## what 1, 2 and 4 instances of a model in Python cost here; writes into docs/python-backend.md (two minutes)
	@$(BIN)/python -m loadtest.instances $(ARGS)

lock: ## write the lock files anew (needs uv)
	@cd requirements && ./lock

clean: ## remove environments, models and caches
	rm -rf $(VENV) .local results .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(STAMP): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed, '$(PYTHON)' is $$($(PYTHON) -V 2>&1); try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@echo "installing the gateway into $(VENV) (a minute, once)"
	@$(PYTHON) -m venv $(VENV) || { echo "no virtual environment could be made; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
