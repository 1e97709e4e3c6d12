# What a newcomer types. `make demo FILE=x.json` shows your own JSON.

CARGO ?= cargo
FILE ?=

.PHONY: demo test test-features lint fmt bench

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

test:
	$(CARGO) test --workspace
	$(CARGO) test -p livebuf --features trace --test pages

# By itself: the feature must not be unified into the workspace, whose other users of
# serde_json it would change. Builds serde_json and what uses it once more.
test-features:
	$(CARGO) test -p livebuf-json --features serde_json/arbitrary_precision

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) clippy -p livebuf --no-default-features -- -D warnings
	$(CARGO) clippy -p livebuf --no-default-features --features alloc -- -D warnings
	$(CARGO) clippy -p livebuf-c --no-default-features --features small --profile size -- -D warnings

fmt:
	$(CARGO) fmt --all

bench:
	$(CARGO) run --release -p livebuf-bench
