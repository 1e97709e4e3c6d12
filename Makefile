# What a newcomer types. `make demo FILE=x.json` shows your own JSON.

CARGO ?= cargo
FILE ?=

# Another interpreter: `make test PYTHON=python3.13`, in a fresh .venv.
PYTHON ?= python3
VENV := .venv
WHEELS := target/wheels

.PHONY: demo test test-rust test-python test-features lint lint-rust lint-python fmt bench \
	python bench-python

# Counting what look-ups touch is compiled in here and nowhere else.
demo:
	@$(CARGO) build --release --quiet -p livebuf-cli --features trace
	@mkdir -p .demo
ifeq ($(strip $(FILE)),)
	@metadata() { $(CARGO) metadata --format-version 1 "$$@" > .demo/metadata.json 2> .demo/cargo.log; }; \
		metadata || metadata --offline || metadata --offline --no-deps || { cat .demo/cargo.log; exit 1; }
endif
	@$(CARGO) run --release --quiet -p livebuf-cli --features trace -- \
		demo $(if $(strip $(FILE)),"$(FILE)",.demo/metadata.json) -f -o .demo/document.lbuf

test: test-rust test-python

test-rust:
	$(CARGO) test --workspace --exclude livebuf-python
	$(CARGO) test -p livebuf --features trace --test pages

# Built with debug assertions; what users install is `make python`.
test-python: $(VENV)/test
	@rm -rf $(WHEELS)
	$(VENV)/bin/maturin build --profile dev --quiet -m bindings/python/Cargo.toml -i $(VENV)/bin/python -o $(WHEELS)
	$(VENV)/bin/pip install --quiet --no-deps --force-reinstall $(WHEELS)/*.whl
	cd bindings/python && ../../$(VENV)/bin/python -m pytest

# The package as users get it, in a virtual environment inside the checkout.
python: $(VENV)/build
	@rm -rf $(WHEELS)
	$(VENV)/bin/maturin build --release --quiet -m bindings/python/Cargo.toml -i $(VENV)/bin/python -o $(WHEELS)
	$(VENV)/bin/pip install --quiet --no-deps --force-reinstall $(WHEELS)/*.whl
	@echo "installed into $(VENV): try $(VENV)/bin/python -c 'import livebuf; help(livebuf)'"

$(VENV)/build:
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --upgrade pip
	$(VENV)/bin/pip install --quiet --group bindings/python/pyproject.toml:build
	@touch $@

$(VENV)/test: $(VENV)/build bindings/python/pyproject.toml
	$(VENV)/bin/pip install --quiet --group bindings/python/pyproject.toml:test
	@touch $@

$(VENV)/bench: $(VENV)/test
	$(VENV)/bin/pip install --quiet --group bindings/python/pyproject.toml:bench
	@touch $@

# Against its peers from PyPI; ARGS="--quick --filter twitter".
bench-python: python $(VENV)/bench
	cd bindings/python && ../../$(VENV)/bin/python -m bench $(ARGS)

# By itself: the feature must not be unified into the workspace, whose other users of
# serde_json it would change. Builds serde_json and what uses it once more.
test-features:
	$(CARGO) test -p livebuf-json --features serde_json/arbitrary_precision

lint: lint-rust lint-python

lint-python: $(VENV)/test
	cd bindings/python && ../../$(VENV)/bin/ruff check . && ../../$(VENV)/bin/ruff format --check .

lint-rust:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) clippy -p livebuf --no-default-features -- -D warnings
	$(CARGO) clippy -p livebuf --no-default-features --features alloc -- -D warnings
	$(CARGO) clippy -p livebuf-c --no-default-features --features small --profile size -- -D warnings

fmt:
	$(CARGO) fmt --all

bench:
	$(CARGO) run --release -p livebuf-bench
