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

# Options of pytest or of the benchmark, for example ARGS="-k philox -x"
ARGS ?=
# Worker processes of the tests
JOBS ?= auto

# What an installation depends on. Python files are read from src/ as they are (the install is editable), but a new
# or lost one must be made known to it, hence the list of names.
COMPILED := CMakeLists.txt pyproject.toml $(wildcard core/*/* bindings/*.cpp bindings/*.h bindings/*.map)
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

# Requirements by the extras of pyproject.toml; weald itself is left out.
EXTRAS := import sys, tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*p["dependencies"], *(r for e in sys.argv[1:] for r in p["optional-dependencies"][e]), sep="\n")
INSTALL = $(BIN)/python -c '$(EXTRAS)' $(1) > $@.new && $(BIN)/pip install --quiet --requirement $@.new && mv $@.new $@

# What building and the demo need, and what testing and checking need besides.
$(VENV)/build: pyproject.toml
	[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(call INSTALL,build)

$(VENV)/stamp: $(VENV)/build
	$(call INSTALL,build cli plot onnx dask test dev docs)

$(VENV)/peers: $(VENV)/stamp
	$(call INSTALL,bench)

.PHONY: build
build: build/stamp ## Build and install weald into .venv

.PHONY: FORCE
FORCE:

$(NAMES): FORCE
	@mkdir -p build
	@find core bindings src -type f -not -name '*.pyc' | LC_ALL=C sort > build/names.new
	@cmp -s build/names.new $@ && rm build/names.new || mv build/names.new $@

# The stamp bears the time at which the build began: a file that changes meanwhile is built the next time.
build/stamp: $(VENV)/stamp $(COMPILED) $(NAMES)
	touch build/began
	$(LOCK) $(PIP_BUILD) -C build-dir=build/release -e .
	mv build/began $@

# The demo needs the instruction set of this machine alone, unless all are there.
build/native: $(VENV)/build $(COMPILED) $(NAMES)
	touch build/began-native
	$(LOCK) $(PIP_BUILD) -C build-dir=build/native-release -C cmake.define.WEALD_INSTRUCTION_SETS=native -e .
	mv build/began-native $@

# ---- Test

PYTEST := -m pytest -n $(JOBS) --dist worksteal
# Slow tests of one xdist_group share something costly or fragile and run in one process. pytest-xdist 3.8 that replaces
# a process of groups waits for it forever, so after a crash or a timeout the run ends.
GROUPED := --dist loadgroup --max-worker-restart 0
ifdef SANITIZE
TESTS := test-sanitize
else
TESTS := test-plain
endif

.PHONY: test test-plain test-all test-sanitize test-sanitize-fast
test: $(TESTS) ## Run the tests that are not slow; SANITIZE=1 runs them under the sanitizers

test-plain: build
	$(BIN)/python $(PYTEST) -m "not slow" $(ARGS)

test-all: build ## Run every test
	$(BIN)/python $(PYTEST) $(GROUPED) $(ARGS)

.PHONY: test-cuda
test-cuda: build ## Compare forests of a GPU with those of the CPU; skipped in words without a GPU
	$(BIN)/python -m pytest -q -rs tests/engines/cuda $(ARGS)

# The sanitizers' runtime must be in the process before Python is, and libstdc++ with it, or it cannot see exceptions.
# Python never frees everything, so leaks are not looked for.
SANITIZED := LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	build/sanitize/venv/bin/python

test-sanitize: build/sanitize/stamp
	$(SANITIZED) $(PYTEST) -m "not slow" $(ARGS)

test-sanitize-fast: build/sanitize/stamp ## Run the tests marked "sanitize" under the sanitizers
	$(SANITIZED) $(PYTEST) -m "sanitize and not slow" $(ARGS)

.PHONY: test-arm64
test-arm64: build ## Build for ARM64 Linux, and run the golden tests and some laws under qemu; ARGS are those of pytest
	tests/arm64/run.sh $(ARGS)

# Tests of other packages run in an environment of their own, which borrows all else from .venv.
.PHONY: peers
peers: build build/peers/venv/stamp ## Run the tests that scikit-learn and packages around it ship, with weald's classes
	build/peers/venv/bin/python -m tests.peers.run $(ARGS)

build/peers/venv/stamp: $(VENV)/stamp
	$(PYTHON) -m venv --clear build/peers/venv
	$(BIN)/python -c 'import sysconfig; print(f"import site; site.addsitedir({sysconfig.get_path(\"purelib\")!r})")' \
		> "$$(build/peers/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/borrowed.pth"
	$(BIN)/python -c '$(EXTRAS)' peers > build/peers/requirements
	build/peers/venv/bin/pip install --quiet --requirement build/peers/requirements
	touch $@

# How many wrong files `make fuzz` draws
CASES ?= 100000

.PHONY: fuzz
fuzz: build/sanitize/stamp ## Read CASES wrong model files under the sanitizers, and ten times as many wrong arrays
	$(SANITIZED) -m tests.io.mutate --cases $(CASES) $(ARGS)
	$(SANITIZED) -m tests.io.mutate --cases $(CASES)0 --arrays $(ARGS)

# The sanitized weald lives in an environment of its own, which borrows all else from .venv: the ordinary install, and
# whoever is using it, is not disturbed. Installed as a copy, so Python files count too.
build/sanitize/venv/stamp: $(VENV)/stamp
	$(PYTHON) -m venv --clear --without-pip build/sanitize/venv
	$(BIN)/python -c 'import sysconfig; print("$(CURDIR)/build/sanitize/site", sysconfig.get_path("purelib"), sep="\n")' \
		> "$$(build/sanitize/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/borrowed.pth"
	touch $@

build/sanitize/stamp: build/sanitize/venv/stamp $(COMPILED) $(NAMES) $(shell find src -name '*.py')
	touch build/sanitize/began
	$(LOCK) $(PIP_BUILD) -C build-dir=build/sanitize/cmake -C cmake.build-type=Debug -C cmake.define.WEALD_SANITIZE=ON \
		--upgrade --target build/sanitize/site .
	mv build/sanitize/began $@

# ---- Campaigns: one kind of misfortune many times, for as long as wanted: ARGS="--seconds 3600 --seed 1 --write"

CAMPAIGN := $(BIN)/python -m tests.campaigns

.PHONY: campaign-files campaign-kills campaign-disk campaign-memory campaign-inputs campaign-differential campaign-threads \
	campaign-fuzz campaigns
campaign-files: build ## Damage and forge files of each kind
	$(CAMPAIGN).files $(ARGS)

campaign-kills: build ## Kill processes that write files, checkpoints and code stores
	$(CAMPAIGN).kills $(ARGS)

campaign-disk: build ## Write to disks that fill up and to read-only ones
	$(CAMPAIGN).disk $(ARGS)

campaign-memory: build ## Let allocations fail, and watch the resident size of thousands of calls
	$(CAMPAIGN).memory $(ARGS)

campaign-inputs: build ## Give bad inputs to all estimators
	$(CAMPAIGN).inputs $(ARGS)

campaign-differential: build ## Compare the native engine with the reference on random cases
	$(CAMPAIGN).differential $(ARGS)

campaign-threads: build ## Fork, fit in many threads, and interrupt fits at random moments
	$(CAMPAIGN).threads $(ARGS)

campaign-fuzz: build ## Fuzz the reader of model files with libFuzzer, if clang is here
	$(CAMPAIGN).fuzz $(ARGS)

campaigns: build ## Run the short form of each campaign
	for name in files kills disk memory inputs differential threads fuzz; do $(CAMPAIGN).$$name --short || exit 1; done

# ---- Check

CXX_FILES := $(wildcard core/*/*.h core/*/*.cpp bindings/*.h bindings/*.cpp src/weald/engines/cuda/kernels/* \
	tests/engines/cuda/*.h tests/engines/cuda/*.cpp)

.PHONY: check
check: build ## Check format, lint, types and layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror $(CXX_FILES)
	$(BIN)/python -m pytest -q tests/project/test_layers.py tests/project/test_stub.py

.PHONY: fix
fix: build ## Format all files, fix what the linter can, generate the stub of the core
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format --quiet .
	$(BIN)/clang-format -i $(CXX_FILES)
	$(BIN)/python bindings/stub.py

# ---- Show and ship

.PHONY: demo
demo: $(if $(wildcard build/stamp),build,build/native) ## Train a forest on a data set that ships with scikit-learn, and show what it learned
	@$(BIN)/python examples/demo.py

.PHONY: bench
bench: build $(VENV)/peers ## Measure weald against other libraries; ARGS=--write puts the table into README.md
	$(BIN)/python -m benchmarks.speed.table $(ARGS)

.PHONY: bench-all
bench-all: build $(VENV)/peers ## Measure what README.md, docs/benchmarks/speed.md and others show anew (an hour)
	for script in speed.{table,settings,small,growth,threads,simd,costs,where,predict} memory.constant_memory \
		files.{predict_files,model_files}; do $(BIN)/python -m benchmarks.$$script --write $(ARGS); done

# Pages of the reference are generated anew, so that none is left of a name that is gone. -a writes all pages: Sphinx would
# leave the index entries of unchanged pages out of the search.
.PHONY: docs
docs: build ## Build the documentation into docs/_build
	rm -rf docs/reference/api
	$(BIN)/python -m sphinx -W --keep-going -q -a -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Where `make wheel` puts the wheel
DIST ?= dist

# auditwheel says which systems the wheel runs on and names it so. It needs patchelf only to bundle libraries, and there
# are none to bundle: the C++ library is taken from the system.
.PHONY: wheel
wheel: setup ## Build a portable wheel into dist/
	mkdir -p build $(DIST)
	made=$$(mktemp -d build/wheel.XXXXXX) && trap 'rm -rf "$$made"' EXIT && \
	{ $(LOCK) $(BIN)/python -m build --wheel --no-isolation --outdir "$$made" \
		-C build-dir=build/release -C cmake.define.WEALD_WERROR=ON . > "$$made/log" || { cat "$$made/log"; exit 1; }; } && \
	export SOURCE_DATE_EPOCH="$${SOURCE_DATE_EPOCH:-1667997441}" && \
	if [ "$$(uname)" = Linux ]; then $(BIN)/auditwheel repair --wheel-dir $(DIST) "$$made"/*.whl; \
		else cp "$$made"/*.whl $(DIST); fi
	@ls $(DIST)/*.whl

.PHONY: clean
clean: ## Remove all that make made, .venv too
	rm -rf $(VENV) build dist docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis
