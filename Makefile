# `make report` and `make test` need nothing else done first, and can be repeated.
RESULTS ?= results
REPORT ?= report
LAB := .venv/bin/lab
PY := .venv/bin/python
.DEFAULT_GOAL := help
.PHONY: help setup setup-test kernel variants report test test-chance test-kernels test-vm bench classroom lock clean
.NOTPARALLEL:

help: ## this list
	@awk -F ': .*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

setup: ## install what is missing (asks for a password only then) and make .venv
	@tools/provision run

setup-test: ## the same, and what the tests need
	@tools/provision test

kernel: setup ## build the kernel under test, unless it is in the cache
	@$(LAB) kernel build

variants: setup ## the same, and the variants of it that claims name
	@$(LAB) kernel build --variants

# A verdict other than the expected one (exit code 1) is what the report is there to show.
report: variants ## run every claim that has no result yet, and render the report
	@$(LAB) run --results $(RESULTS); status=$$?; [ $$status -le 1 ] || exit $$status; \
	$(LAB) report --results $(RESULTS) -o $(REPORT) >/dev/null && \
	echo "Report: $$($(PY) -c 'import pathlib; print(pathlib.Path("$(REPORT)/index.html").resolve().as_uri())')" && \
	exit $$status

test: setup-test kernel ## style, types and all tests; ARGS="-k goodput" chooses some
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/pytest $(ARGS)

test-chance: setup-test kernel ## 50 runs killed at random moments and 20 starved ones (half an hour)
	@.venv/bin/pytest tests/runner/test_crash.py --times 50
	@.venv/bin/pytest tests/runner/test_real_time.py --times 20

test-vm: setup ## what Vagrant does, in a Debian VM made from an empty file; an hour and more (ARGS=--help)
	@$(PY) -m tests.vm $(ARGS)

classroom: ## the exercises, in Jupyter Lab on this computer
	@tools/provision notebooks
	@$(LAB) kernel build
	@cd notebooks/classroom && ../../.venv/bin/jupyter lab

test-kernels: setup-test kernel ## planted changes, an identical rebuild, a bisection: builds kernels for an hour
	@.venv/bin/pytest -m kernels $(ARGS)

bench: kernel ## speed as ratios to real time, and the capture reader's beside tshark's and scapy's
	@$(PY) -m bench

lock: setup ## choose the newest versions of all Python packages for requirements.lock
	@rm -rf build/uv && $(PY) -m venv build/uv && build/uv/bin/pip install --quiet uv
	@build/uv/bin/uv pip compile --quiet --upgrade --universal --all-extras --no-header --no-annotate \
	    pyproject.toml -o requirements.lock

clean: ## remove .venv, report and caches; results and built kernels stay
	@rm -rf .venv build $(REPORT) .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
	@find lab bench tests experiments -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
