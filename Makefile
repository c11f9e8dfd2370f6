# The jobs themselves are in scripts/, one file a job.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup run test check lock docs vendor shots bench chaos fuzz migration clean

help: ## Show these sentences.
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install what Nomos needs into .venv (again: only what changed).
	@scripts/setup run

run: ## Set everything up and serve on http://127.0.0.1:7070 (a rehearsal where no key is set).
	@scripts/run

test: ## Set everything up and run every check and every test.
	@scripts/test

check: ## Run the quick half of "make test": style, types, import contracts, unit tests.
	@scripts/check

lock: ## Choose the newest versions that pyproject.toml allows and write requirements/*.txt.
	@scripts/lock

docs: ## Write the map, the settings and the errors into their pages, from the code.
	@scripts/setup run
	@.venv/bin/python scripts/docs.py

vendor: ## Fetch the libraries under static/vendor again and note their hashes.
	@scripts/setup test
	@.venv/bin/python scripts/vendor.py

shots: ## Play the story in a real browser and keep pictures of it in docs/screenshots.
	@scripts/setup test
	@.venv/bin/python scripts/shots.py

bench: ## Measure the delays that the design sets bars for.
	@scripts/setup run
	@.venv/bin/nomos bench

chaos: ## Kill, cut, freeze and fill everything for a quarter of an hour, and see that nothing is lost or doubled.
	@scripts/chaos

fuzz: ## Throw 100,000 random texts at the classifier of commands; bash judges.
	@scripts/setup test
	@.venv/bin/python scripts/fuzz_risk.py

migration: ## Write a database migration from the tables: make migration m="why".
	@scripts/migration "$(m)"

clean: ## Remove what was made here, but not the data in .nomos.
	@scripts/clean
