# `make report` and `make test` need nothing else done first, and can be repeated.
RESULTS ?= results
REPORT ?= report
LAB := .venv/bin/lab
PY := .venv/bin/python
# In their own order: pytest-xdist would begin with the files of most tests, and end with a long one of a single test.
WORKERS := -n auto --dist loadfile --no-loadscope-reorder
# A test that stands still fails with its stack, instead of stopping the whole run. No test takes a tenth of this.
WATCHDOG := -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true --max-worker-restart=0
BEGUN := $(shell date +%s)
.DEFAULT_GOAL := help
# With it, each of pytest's workers would rewrite every test on each run: 4 s of CPU.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help setup setup-test setup-host userland kernel variants report check test test-nightly test-programs test-without test-chance mutation campaign test-cluster test-kernels test-cpu test-vm container bench mininet-examples growth fidelity holdout holdout-flows explain-truth explain-twins rebuild-truth classroom lock site dist notebooks reference references man sysctls clean
.NOTPARALLEL:

help: ## show this list
	@awk -F ': .*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' Makefile

setup: ## make .venv: needs Python 3.11 or newer, no root
	@tools/provision run

setup-test: ## do the same, with what the tests need
	@tools/provision test

setup-host: ## install the programs for --on host, --on vm and their tests (may ask for a password)
	@tools/provision host

userland: setup ## make what guests boot from, unless it is in the cache
	@$(LAB) userland build >/dev/null

kernel: userland ## build the kernel under test, unless it is in the cache
	@$(LAB) kernel build

variants: userland ## do the same, and build the variants that claims need
	@$(LAB) kernel build --variants

# Exit code 1, an unexpected verdict, does not stop it: the report is there to show that.
report: setup ## build what is missing, run every claim that has no result, render the report
	@$(LAB) run --build --begun $(BEGUN) --results $(RESULTS); status=$$?; [ $$status -le 1 ] || exit $$status; \
	$(LAB) report --begun $(BEGUN) --results $(RESULTS) -o $(REPORT) >/dev/null && \
	echo "Report: $$($(PY) -c 'import pathlib; print(pathlib.Path("$(REPORT)/index.html").resolve().as_uri())')" && \
	exit $$status

test: setup-test kernel ## check style and types, run tests (ARGS="-k goodput")
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/pytest $(WORKERS) $(WATCHDOG) --durations 40 --durations-min 5 $(ARGS)

# The workers share the tests one by one, since no file of these is expensive to begin.
check: setup-test ## check style and types, run quick tests that boot no kernel (ARGS="-x --ff")
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/pytest -n auto --dist worksteal --in-memory --hypothesis-profile quick -m "not guest and not long" $(ARGS)

test-nightly: setup-test kernel ## run the tests that take too long for `make test` (ARGS="-k cluster")
	@.venv/bin/pytest $(WORKERS) $(WATCHDOG) --durations 40 --durations-min 5 -m nightly $(ARGS)

test-programs: setup-test kernel ## check that each test names the programs that it starts
	@.venv/bin/pytest --programs $(ARGS)

test-without: setup-test ## run the tests that boot no kernel without a program of this machine, as root (PROGRAM=ping)
	@unshare --mount --propagation private sh -c 'mount --bind /dev/null "$$(command -v $(PROGRAM))" && \
	    exec .venv/bin/pytest -m "not guest" $(ARGS)'

test-chance: setup-test kernel ## kill 50 runs at random moments and starve 20 (half an hour)
	@.venv/bin/pytest tests/runner/test_crash.py --times 50
	@.venv/bin/pytest tests/runner/test_real_time.py --times 20

mutation: setup-test variants ## plant defects and see which claims catch them (half an hour)
	@.venv/bin/pytest tests/mutation -m "mutation or not mutation" $(ARGS)

campaign: setup-test kernel ## spoil files, fail system calls, kill runs: what breaks? an hour (ARGS="kills --seed 1")
	@$(PY) -m tests.campaign $(ARGS)

test-cluster: setup-test kernel ## run a claim by a real Slurm of one node, on the loopback
	@tools/provision cluster
	@.venv/bin/pytest -m slurm $(ARGS)

test-cpu: setup-test kernel ## run a trial of every kind on a CPU that QEMU emulates, byte by byte
	@.venv/bin/pytest -m emulated $(ARGS)

test-vm: setup ## do what Vagrant does in a new VM; over an hour (ARGS=--help)
	@$(PY) -m tests.vm $(ARGS)

container: ## build the classroom's container with buildah, without a registry (a quarter of an hour)
	@tools/container $(ARGS)

classroom: ## open the exercises in Jupyter Lab on this computer
	@tools/provision notebooks
	@$(LAB) kernel build
	@cd notebooks/classroom && ../../.venv/bin/jupyter lab $$([ "$$(id -u)" -ne 0 ] || echo --allow-root)

test-kernels: setup-test kernel ## plant changes in kernels and find them; an hour of builds
	@.venv/bin/pytest -m kernels $(ARGS)

bench: kernel ## compare with the last release, real time, tshark, scapy, and four peers (half an hour)
	@$(PY) -m bench

mininet-examples: kernel ## run Mininet's own examples and tests, and write the table in docs (half an hour)
	@$(PY) -m bench.mininet table $(ARGS)

growth: kernel ## measure how a trial's cost grows with flows and rate, and draw it in docs
	@$(PY) -m bench.growth docs/growth.json && $(PY) -m bench.growth docs/growth.json --draw docs/growth.svg

fidelity: setup-test kernel ## measure how often the check of real time is wrong (half an hour, as root)
	@$(PY) -m bench.fidelity $(ARGS)
	@$(PY) -m bench.burner
	@.venv/bin/pytest -m calm

holdout: setup-test ## test the models on cases drawn by today's date (240 guests, of three kernels)
	@for series in 7.2 6.12 6.1; do $(LAB) kernel build $$series >/dev/null || exit $$?; done
	@$(PY) -m bench.holdout $(ARGS)

holdout-flows: setup-test kernel ## test the laws of several flows on cases drawn by today's date (100 guests)
	@$(PY) -m bench.holdout --of flows --cases 100 $(ARGS)

explain-truth: setup-test kernel ## judge `lab explain` on transfers drawn by today's date (60 guests)
	@$(PY) -m bench.explained $(ARGS)

explain-twins: setup-test kernel ## prove which labels of `lab explain` no capture decides (80 guests)
	@$(PY) -m bench.twins $(ARGS)

rebuild-truth: setup-test kernel ## judge `lab explain --rebuild` on transfers drawn by today's date (100 guests)
	@$(PY) -m bench.rebuilt $(ARGS)

lock: setup ## renew requirements.lock with the newest Python packages
	@rm -rf build/uv && $(PY) -m venv build/uv && build/uv/bin/pip install --quiet uv
	@build/uv/bin/uv pip compile --quiet --upgrade --universal --all-extras --no-header --no-annotate \
	    pyproject.toml -o requirements.lock

site: ## make the documentation's site in site/, with the report if there is one
	@tools/provision site
	@rm -rf site && .venv/bin/python -m sphinx -W --keep-going -q -E -b html -d build/site -D report=$(abspath $(REPORT)) \
	    -c docs/site . site && \
	echo "Site: $$($(PY) -c 'import pathlib; print(pathlib.Path("site/index.html").resolve().as_uri())')"

dist: setup ## make wheel, sdist, and a bundle of all records, in dist/
	@rm -rf build/uv dist && $(PY) -m venv build/uv && build/uv/bin/pip install --quiet uv
	@build/uv/bin/uv build --quiet --out-dir dist
	@$(LAB) bundle --results $(RESULTS) $(if $(wildcard $(REPORT)),--report $(REPORT)) dist/claims.tar.zst

notebooks: setup ## execute the notebooks on the records there are, and store their outputs
	@$(PY) -m tools.notebooks $(RESULTS) $(ARGS)

reference: setup ## write docs/reference.md, from the code as it is
	@PYTHONPATH=. $(PY) docs/site/listing.py >docs/reference.md

references: kernel ## run the judge's cases with reno, cubic and bbr, and write their reference figures
	@$(LAB) run congestion-judge --results $(RESULTS) >/dev/null
	@$(PY) -m tools.references $(RESULTS)

man: setup ## write the manual page, from the commands as they are
	@$(PY) -m tools.manual >docs/lab.1

sysctls: kernel ## write the list of the default kernel's sysctls, from a guest
	@mkdir -p build && LAB=$(LAB) tools/sysctls >build/sysctls.txt && mv build/sysctls.txt lab/spec/sysctls.txt

clean: ## remove .venv, report and caches; keep results and kernels
	@rm -rf .venv build dist site $(REPORT) .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
	@find lab bench tests experiments packs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
