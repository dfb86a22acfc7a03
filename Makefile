# The two commands of the README are `make demo` and `make test`; both set up what they need.
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow test-crash test-jitter fuzz coverage lint format types imports check lock bench structure clean

python := .venv/bin/python -P

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' Makefile

setup: ## make .venv and install what is missing (takes under a second if up to date)
	@scripts/setup

demo: setup ## run a session offline, on a sample repository, with a scripted model
	@$(python) -m starter demo

test: setup ## run the tests (some minutes on two cores)
	@scripts/test

test-slow: setup ## run the tests that take too long for every day
	@.venv/bin/python -m pytest -n 2 -m slow --timeout 1200
	@[ "$$(id -u)" != 0 ] || .venv/bin/python -m pytest --as-root -m "slow and root" --timeout 1200

test-crash: setup ## kill and stall workers and the server while sessions run
	@.venv/bin/python -m pytest -m crash --timeout 3600

test-jitter: setup ## run the tests as on an overloaded machine (half an hour); JITTER_SEED=1
	@scripts/test -p tests.jitter --timeout 900

fuzz: setup ## fuzz the policy and the parsers; FUZZ_SECONDS=60 or longer
	@scripts/fuzz

coverage: setup ## run the tests with branch coverage and its thresholds
	@scripts/coverage

lint: setup ## style and format
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .

format: setup ## fix style and format automatically
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

types: setup ## strict types
	@.venv/bin/basedpyright --level error

imports: setup ## import directions and declared dependencies
	@.venv/bin/lint-imports --no-cache
	@.venv/bin/deptry .

check: setup ## everything that CI checks
	@scripts/check
	@scripts/test

lock: setup ## update requirements.lock within the bounds of pyproject.toml
	@scripts/lock --upgrade

bench: setup ## run the benchmarks; each prints one line of JSON
	@.venv/bin/python -m benchmarks.prompt
	@.venv/bin/python -m benchmarks.startup
	@.venv/bin/python -m benchmarks.turns
	@.venv/bin/python -m benchmarks.makespan
	@.venv/bin/python -m benchmarks.crash --kills 20
	@.venv/bin/python -m benchmarks.telemetry
	@.venv/bin/python -m benchmarks.safety
	@.venv/bin/python -m benchmarks.size

structure: setup ## measure how easy it is to find your way in the code
	@.venv/bin/python -m benchmarks.structure --details

clean: ## remove generated files, .venv included
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .coverage .coverage.* coverage.xml dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
