# weald's verbs. `make` alone lists them; what CI runs is what a developer runs.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

# pytest's options, for example ARGS="-k philox -x"
ARGS ?=
# Worker processes of the tests
JOBS ?= auto

# What an installation depends on. Python files are read from src/ as they are (the install is editable), but a new
# or lost one must be made known to it, hence the list of names.
COMPILED := CMakeLists.txt pyproject.toml $(wildcard core/* bindings/*.cpp bindings/*.h)
NAMES := build/names

# Two builds in one folder at a time would trip over each other.
LOCK := $(if $(shell command -v flock),flock build/lock)
PIP_BUILD := $(BIN)/pip install --quiet --no-deps --no-build-isolation -C cmake.define.WEALD_WERROR=ON

.PHONY: help
help: ## List the verbs
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{printf "make %-20s %s\n", $$1, $$2}'

# ---- Set up and build

.PHONY: setup
setup: $(VENV)/stamp ## Make .venv with everything that building, testing and checking needs

# Everything that pyproject.toml names: dependencies and extras, without weald itself.
REQUIREMENTS := import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*p["dependencies"], *(r for e in p["optional-dependencies"].values() for r in e), sep="\n")

$(VENV)/stamp: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/python -c '$(REQUIREMENTS)' > $(VENV)/requirements.txt
	$(BIN)/pip install --quiet --requirement $(VENV)/requirements.txt
	touch $@

.PHONY: build
build: build/stamp ## Build and install weald into .venv

.PHONY: FORCE
FORCE:

$(NAMES): FORCE
	@mkdir -p build
	@find core bindings src -type f -not -name '*.pyc' | LC_ALL=C sort > build/names.new
	@cmp -s build/names.new $@ && rm build/names.new || mv build/names.new $@

build/stamp: $(VENV)/stamp $(COMPILED) $(NAMES)
	$(LOCK) $(PIP_BUILD) -C build-dir=build/release -e .
	touch $@
