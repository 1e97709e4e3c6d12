# What a newcomer types. `make demo FILE=x.json` shows your own JSON.

CARGO ?= cargo
FILE ?=

# Another interpreter: `make test PYTHON=python3.13`, in a fresh .venv.
PYTHON ?= python3
VENV := .venv
# Dask and Spark are large: they have one of their own.
VENV_ENGINES := .venv-engines
WHEELS := target/wheels

# The long tests: minutes of oracles, edits of each large document, jobs at once.
MINUTES ?= 10
STEPS ?= 2000
JOBS ?= 2
# Sanitizers, Miri and fuzzing by coverage need unstable options of the compiler.
NIGHTLY ?= $(CARGO) +nightly
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

.PHONY: demo test test-all test-rust test-python test-js test-go test-java test-jvm test-wheel test-engines test-parquet test-sqlite test-duckdb test-size test-features test-checks test-long \
	test-files test-address test-thread test-miri test-32 test-shared libraries pytest fuzz coverage update deny lint \
	lint-rust lint-python lint-js lint-go fmt bench bench-answers bench-page bench-compare bench-rust bench-sqlite bench-duckdb \
	python bench-python bench-js bench-go bench-java bench-spark bench-engines docs release

# Counting what look-ups touch is compiled in here and nowhere else.
demo:
	@$(CARGO) build --profile demo -p livebuf-cli --features trace
	@mkdir -p .demo
ifeq ($(strip $(FILE)),)
	@metadata() { $(CARGO) metadata --format-version 1 "$$@" > .demo/metadata.json 2> .demo/cargo.log; }; \
		metadata || metadata --offline || metadata --offline --no-deps || { cat .demo/cargo.log; exit 1; }
endif
	@$(CARGO) run --profile demo --quiet -p livebuf-cli --features trace -- \
		demo $(if $(strip $(FILE)),"$(FILE)",.demo/metadata.json) -f -o .demo/document.lbuf

# Behaviour, vectors, examples, the code in the documentation and the oracles in short, in every language.
# The libraries of all languages are built first. Then Python tests its own while the programs of Rust's
# tests are built. The tests of JavaScript, Go and Java compare with the command, so they come last. `make test-all` is the rest.
# LIVEBUF_PACKAGES is the group of Python packages that is installed for it; `make test-all` has a larger one.
LIVEBUF_PACKAGES ?= test
test:
	@$(MAKE) --no-print-directory $(VENV)/$(LIVEBUF_PACKAGES) & venv=$$!; \
		$(MAKE) --no-print-directory libraries || exit 1; \
		$(MAKE) --no-print-directory test-rust & rust=$$!; \
		wait $$venv && $(MAKE) --no-print-directory pytest; python=$$?; \
		wait $$rust && [ $$python = 0 ]
	@$(MAKE) --no-print-directory -j2 test-js test-go test-java
	@$(if $(LIVEBUF_ALL),,$(if $(MAVEN),echo "Java's modules for Jackson and Spark were not tested: make test-jvm does that"))

# One set of packages, so that each crate is built once, with the features that all of them need together.
# Left out is what takes minutes to build or needs an engine: see test-engines, and bench-answers.
# LIVEBUF_HEADER is the feature that compares the C header with the source, which needs another parser of Rust.
LIVEBUF_HEADER ?=
TESTED := --workspace --exclude livebuf-sqlite --exclude livebuf-duckdb --exclude livebuf-parquet \
	--exclude livebuf-parquet-python --exclude livebuf-bench --exclude livebuf-c-bench $(LIVEBUF_HEADER)
# What `maturin` sets, too: the module is loaded by an interpreter and links none.
export PYO3_BUILD_EXTENSION_MODULE := 1
BUILT := $(or $(CARGO_TARGET_DIR),target)/debug
PACKAGE := target/python

# The libraries, and Python's package with its module in PACKAGE, built with debug assertions. What users
# install is `make python`.
libraries:
	$(CARGO) build --lib $(TESTED)
	@rm -rf $(PACKAGE) && mkdir -p $(PACKAGE) && cp -R bindings/python/python/. $(PACKAGE)
	@for library in $(BUILT)/lib_livebuf.so $(BUILT)/lib_livebuf.dylib; do \
		[ ! -f $$library ] || cp $$library $(PACKAGE)/livebuf/_livebuf.so; done

test-rust:
	$(CARGO) test $(TESTED)
	@$(BUILT)/examples/http_ranges

test-python: libraries $(VENV)/test
	@$(MAKE) --no-print-directory pytest

ON_PACKAGE = PYTHONPATH=$(CURDIR)/$(PACKAGE)
pytest:
	cd bindings/python && $(ON_PACKAGE) ../../$(VENV)/bin/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

# The JavaScript package, where Node is installed. It needs nothing but npm.
JS := bindings/js
NODE := $(shell node -e 'process.exit(+(process.versions.node.split(".")[0] < 20))' 2> /dev/null && echo node)
$(JS)/node_modules/ready: $(JS)/package-lock.json
	@echo "installing what JavaScript's tests need into $(JS)/node_modules, 180 MB"
	cd $(JS) && npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

test-js: $(if $(NODE),$(JS)/node_modules/ready)
ifdef NODE
	cd $(JS) && npm test --silent
	$(PYTHON) testdata/conformance.py node $(JS)/test/conformance.js
	@node -e 'import("./$(JS)/test/browser/find.js").then((found) => process.exit(found.CHROMIUM ? 0 : 1))' || \
		echo "BROWSERS AND THE EXPLORER ARE NOT TESTED: no Chromium"
else
	@echo "Node 20 or newer is not installed: THE JAVASCRIPT PACKAGE IS NOT TESTED"
endif

# The Go module, where Go is installed. It needs nothing else. `make test-all` also runs the tests of several
# goroutines under the race detector, which needs a C compiler.
GO := $(shell go version 2> /dev/null | grep -E 'go1\.(2[4-9]|[3-9][0-9])')
test-go:
ifneq ($(GO),)
	cd bindings/go && go test ./...
	$(if $(LIVEBUF_ALL),cd bindings/go && LIVEBUF_ALL= go test -race -run 'Goroutines|ManyAtOnce|ManyMakeOneLog' .)
	$(PYTHON) testdata/conformance.py go run -C $(CURDIR)/bindings/go ./internal/conformance
else
	@echo "Go 1.24 or newer is not installed: THE GO MODULE IS NOT TESTED"
endif

# The Java package, where a JDK of 17 or newer and Maven are installed. Maven downloads JUnit and JSpecify.
JAVA := bindings/java
MAVEN := $(shell javac -version 2> /dev/null | grep -E 'javac (1[7-9]|[2-9][0-9])' > /dev/null && command -v mvn)
test-java:
ifneq ($(MAVEN),)
	cd $(JAVA) && mvn --batch-mode --quiet test
	$(PYTHON) testdata/conformance.py java -cp $(JAVA)/target/classes:$(JAVA)/target/test-classes io.github.livebuf.Conformance
else
	@echo "A JDK of 17 or newer, or Maven, is not installed: THE JAVA PACKAGE IS NOT TESTED"
endif

# What stands on the Java package: the module for Jackson, and Spark's, for which Maven downloads 300 MB once.
test-jvm:
ifneq ($(MAVEN),)
	cd $(JAVA) && mvn --batch-mode --quiet -Dmaven.test.skip=true install
	cd $(JAVA)/jackson && mvn --batch-mode --quiet test
	cd bindings/spark && mvn --batch-mode --quiet test
else
	@echo "A JDK of 17 or newer, or Maven, is not installed: THE MODULES FOR JACKSON AND SPARK ARE NOT TESTED"
endif

# Everything else, in every language: whatever `make test` leaves out as it takes long, needs large packages or
# tools.
test-all: export LIVEBUF_ALL := 1
test-all: export LIVEBUF_PACKAGES := all
test-all: export LIVEBUF_HEADER := --features livebuf-c/header
test-all:
	@$(MAKE) --no-print-directory test
	@echo "Java's other modules, the wheel and the validator's checks are tested beside the engines, and say how that went after them"
	@$(MAKE) --no-print-directory test-jvm test-wheel test-checks > target/beside.log 2>&1 & beside=$$!; \
		$(MAKE) --no-print-directory test-size test-engines; engines=$$?; \
		wait $$beside; beside=$$?; cat target/beside.log; [ $$engines = 0 ] && [ $$beside = 0 ]

# The wheel as users get it: what it holds, and the tests that import nothing but it.
test-wheel: python $(VENV)/test
	cd bindings/python && ../../$(VENV)/bin/python -m pytest tests/test_package.py tests/test_document.py tests/test_codec.py

$(VENV_ENGINES)/ready: bindings/python/pyproject.toml
	$(PYTHON) -m venv $(VENV_ENGINES)
	$(VENV_ENGINES)/bin/pip install --quiet --upgrade pip
	@echo "installing Spark, Dask, polars and DuckDB into $(VENV_ENGINES), half a gigabyte"
	$(VENV_ENGINES)/bin/pip install --quiet --group bindings/python/pyproject.toml:engines
	@touch $@

# SQLite; DuckDB; Dask on two processes, Spark on two executors; the code in the pages
# of engines in docs. Downloads half a gigabyte once. Spark needs Java 17.
test-engines: test-sqlite test-duckdb test-parquet libraries $(VENV_ENGINES)/ready
	$(CARGO) build --lib $(WITH_PARQUET)
	@for library in $(BUILT)/liblivebuf_parquet.so $(BUILT)/liblivebuf_parquet.dylib; do \
		[ ! -f $$library ] || cp $$library $(PACKAGE)/livebuf_parquet.so; done
	cd bindings/python && $(ON_PACKAGE) ../../$(VENV_ENGINES)/bin/python -m pytest tests/engines \
		--numprocesses 2 --dist loadfile

# Another library beside those that are tested, of the crates that are built for them.
BESIDE = build --lib $(subst --exclude $(1) ,,$(TESTED))

# Built apart from the rest, which would wait for the arrow and parquet crates. The set of packages is that of
# the rest all the same, so that nothing else is built again.
WITH_PARQUET := $(subst --exclude livebuf-parquet-python,,$(subst --exclude livebuf-parquet ,,$(TESTED))) \
	--features livebuf-cli/parquet
test-parquet:
	$(CARGO) test $(WITH_PARQUET) --test suite
	$(CARGO) test $(WITH_PARQUET) --test cli parquet
	$(CARGO) test $(WITH_PARQUET) --doc livebuf-parquet

# The extension for SQLite, loaded by apsw's SQLite.
test-sqlite: $(VENV)/test
	$(CARGO) $(call BESIDE,livebuf-sqlite)
	cd bindings/sqlite && ../../$(VENV)/bin/python -m pytest -q -W error tests

# Beside JSONB and JSON text, on your file or twitter.json; ARGS="--rows 100 FILE".
bench-sqlite: $(VENV)/test
	$(CARGO) build --release -p livebuf-sqlite
	$(VENV)/bin/python bindings/sqlite/bench.py $(ARGS)

# The extension for DuckDB, loaded by the DuckDB of PyPI's wheel. Files for it are made in Python.
test-duckdb: libraries $(VENV)/all
	$(CARGO) $(call BESIDE,livebuf-duckdb)
	cd bindings/duckdb && $(ON_PACKAGE) ../../$(VENV)/bin/python -m pytest -q -W error tests

# Beside JSON text, Parquet and JSON lines, on your file or twitter.json; ARGS="--rows 100 FILE".
bench-duckdb: python $(VENV)/bench
	$(CARGO) build --release -p livebuf-duckdb
	$(VENV)/bin/python bindings/duckdb/bench.py $(ARGS)

# The package as users get it, in a virtual environment inside the checkout.
python: $(VENV)/build
	@rm -rf $(WHEELS)
	$(VENV)/bin/maturin build --quiet -m bindings/python/Cargo.toml -i $(VENV)/bin/python -o $(WHEELS)
	$(VENV)/bin/python bindings/python/deflate.py $(WHEELS)/*.whl
	$(VENV)/bin/pip install --quiet --no-deps --force-reinstall $(WHEELS)/*.whl
	@echo "installed into $(VENV): try $(VENV)/bin/python -c 'import livebuf; help(livebuf)'"

$(VENV)/build: bindings/python/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --upgrade pip
	$(VENV)/bin/pip install --quiet --group bindings/python/pyproject.toml:build
	@touch $@

$(VENV)/test: $(VENV)/build bindings/python/pyproject.toml
	@echo "installing what Python's tests need into $(VENV), 100 MB"
	$(VENV)/bin/pip install --quiet --group bindings/python/pyproject.toml:test
	@touch $@

$(VENV)/all: $(VENV)/test
	@echo "installing all that Python's tests can use into $(VENV), a gigabyte"
	$(VENV)/bin/pip install --quiet --group bindings/python/pyproject.toml:all
	@touch $@

$(VENV)/lint: $(VENV)/build bindings/python/pyproject.toml
	$(VENV)/bin/pip install --quiet --group bindings/python/pyproject.toml:lint
	@touch $@

$(VENV)/release: $(VENV)/build bindings/python/pyproject.toml
	$(VENV)/bin/pip install --quiet --group bindings/python/pyproject.toml:release
	@touch $@

$(VENV)/docs: $(VENV)/build bindings/python/pyproject.toml
	$(VENV)/bin/pip install --quiet --group bindings/python/pyproject.toml:docs
	@touch $@

# The pages as a site, with the reference of the Rust crates in it, and those of JavaScript, Go and Java where these
# are installed. The pages alone, or with another mdBook: `mdbook build`; links to the reference then lead to docs.rs.
# `make test-python` checks it.
MDBOOK ?= $(VENV)/bin/mdbook
CRATES := livebuf livebuf-json livebuf-query livebuf-patch livebuf-log livebuf-arrow
docs: $(VENV)/docs $(if $(NODE),$(JS)/node_modules/ready)
	RUSTDOCFLAGS=-Dwarnings $(CARGO) doc --quiet --no-deps --lib --target-dir target $(CRATES:%=-p %) \
		--features livebuf/delta,livebuf/digest,livebuf/partial
	$(PYTHON) docs/public.py target/doc
	LIVEBUF_RUST=$(CURDIR)/target/doc $(MDBOOK) build
	@rm -rf target/book/rust && cp -r target/doc target/book/rust
	@rm -rf target/book/explorer target/book/book.py target/book/reference.py target/book/public.*
ifdef NODE
	node docs/explorer/build.js target/book/explorer
	cd $(JS) && npm run --silent docs -- --logLevel Warn --out $(CURDIR)/target/book/javascript
endif
ifneq ($(GO),)
	cd bindings/go && go doc -all . > $(CURDIR)/target/book/go.txt
endif
ifneq ($(MAVEN),)
	cd $(JAVA) && mvn --batch-mode --quiet org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath \
		-Dmdep.outputFile=target/classpath
	javadoc -quiet -Xdoclint:none -encoding UTF-8 -classpath $$(cat $(JAVA)/target/classpath) -d target/book/java \
		$(JAVA)/src/main/java/io/github/livebuf/*.java
endif
	@echo "open target/book/index.html"

# Wheels for Linux and an sdist, each checked; docs/release.md is the checklist.
PYTHONS ?= python3.11 python3.12 python3.13
release: $(VENV)/release
	$(VENV)/bin/python bindings/python/release.py target/dist $(PYTHONS)

$(VENV)/bench: $(VENV)/all
	$(VENV)/bin/pip install --quiet --group bindings/python/pyproject.toml:bench
	@touch $@

# Against its peers from PyPI; ARGS="--quick --filter twitter".
bench-python: python $(VENV)/bench
	cd bindings/python && ../../$(VENV)/bin/python -m bench $(ARGS)

# The JavaScript package beside its peers from npm; ARGS="--quick --filter encode".
$(JS)/bench/node_modules/ready: $(JS)/bench/package-lock.json
	cd $(JS)/bench && npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

bench-js: $(JS)/node_modules/ready $(JS)/bench/node_modules/ready
	cd $(JS) && npm run --silent build && cd bench && npm run --silent bench -- $(ARGS)

# The Go module beside its peers, which the Go proxy has; ARGS="-bench Marshal -count 5".
bench-go:
	@mkdir -p target
	cd bindings/go/bench && go test -bench . $(ARGS) > ../../../target/bench-go.txt && go run . < ../../../target/bench-go.txt

# The Java package beside its peers, by JMH: ARGS="OneField -i 20", as JMH has them.
bench-java:
	cd $(JAVA) && mvn --batch-mode --quiet -Dmaven.test.skip=true install
	cd $(JAVA)/jackson && mvn --batch-mode --quiet -Dmaven.test.skip=true install
	cd $(JAVA)/bench && mvn --batch-mode --quiet compile && \
		java -cp 'target/classes:target/libraries/*' io.github.livebuf.bench.Main $(ARGS)

# Spark over documents beside Parquet, and its functions beside those for JSON.
bench-spark:
	cd $(JAVA) && mvn --batch-mode --quiet -Dmaven.test.skip=true install
	cd bindings/spark && mvn --batch-mode --quiet test-compile exec:exec -Pbench

# Engines over documents, JSON lines and Parquet, where all of them are installed.
bench-engines: python $(VENV_ENGINES)/ready
	$(VENV_ENGINES)/bin/pip install --quiet --no-deps --force-reinstall $(WHEELS)/*.whl
	cd bindings/python && ../../$(VENV_ENGINES)/bin/python -m bench --filter engines/ $(ARGS)

# What C programs with the small archive take, against their ceilings; some 20 seconds.
test-size:
	$(MAKE) --no-print-directory -C bindings/c size

# By itself: the feature must not be unified into the workspace, whose other users of
# serde_json it would change. Builds serde_json and what uses it once more.
test-features:
	$(CARGO) test -p livebuf-tests --test json --features serde_json/arbitrary_precision

# Leaves out each check of the validator in turn, and says which ones no vector notices: a minute.
test-checks:
	CARGO="$(CARGO)" $(PYTHON) testdata/weaken.py $(ARGS)

# All oracles on new inputs. Says how many, and by which seeds they are made again. Then edits of large
# documents and damage at every byte, logs with a fault at every step, and one writer and three readers of
# shared memory for a minute.
LONG ?= files:: hostile::every_byte
test-long:
	$(CARGO) build $(TESTED) --bin long
	$(BUILT)/long --minutes $(MINUTES) --jobs $(JOBS) $(ARGS)
	LIVEBUF_LONG=1 $(MAKE) --no-print-directory test-files ONLY="$(LONG)"
	LIVEBUF_LONG=1 $(CARGO) test --quiet $(TESTED) --lib --test log faults
	$(MAKE) --no-print-directory test-shared

SECONDS ?= 60
test-shared: libraries $(VENV)/test
	cd bindings/python && $(ON_PACKAGE) LIVEBUF_SECONDS=$(SECONDS) ../../$(VENV)/bin/python -m pytest -s tests/test_shared.py

# Long random edits of large documents: `make test-files STEPS=300000`.
ONLY ?= files::
test-files:
	LIVEBUF_STEPS=$(STEPS) $(CARGO) test --quiet $(TESTED) --test oracles -- --nocapture $(ONLY)

# The Rust code, standard library included, by AddressSanitizer; what threads share, by
# ThreadSanitizer. Each builds everything once more, in its own folder.
SANITIZED = CARGO_TARGET_DIR=target/$(1) RUSTFLAGS=-Zsanitizer=$(1) RUSTDOCFLAGS=-Zsanitizer=$(1) \
	$(NIGHTLY) $(2) -Zbuild-std --target $(HOST)

# As thorough as `make test-all`.
test-address test-32: export LIVEBUF_ALL := 1
# AddressSanitizer makes programs that much slower, and tests that look for hangs allow for it.
test-address: export LIVEBUF_SLOW := 6

test-address:
	$(call SANITIZED,address,test) -p livebuf -p livebuf-json -p livebuf-log -p livebuf-patch -p livebuf-query -p livebuf-tests --lib --tests
	$(call SANITIZED,address,run) -p livebuf-fuzz --bin long -- --minutes $(MINUTES) --jobs $(JOBS) --slow 60

test-thread:
	$(call SANITIZED,thread,test) -p livebuf-tests --test oracles threads::

# The unsafe code of the core, and what threads share, interpreted: slow.
test-miri:
	MIRIFLAGS=-Zmiri-disable-isolation $(NIGHTLY) miri test -p livebuf-tests --test oracles -- threads:: interpreted::

# Where pointers have 32 bits. Needs `rustup target add i686-unknown-linux-gnu` and a C
# compiler with -m32 (Debian: gcc-multilib).
test-32:
	$(CARGO) test --target i686-unknown-linux-gnu -p livebuf -p livebuf-json -p livebuf-tests
	$(CARGO) run --target i686-unknown-linux-gnu -p livebuf-fuzz --bin long -- --minutes $(MINUTES) --jobs $(JOBS)

# By coverage, with `cargo install cargo-fuzz`: `make fuzz TARGET=mutations MINUTES=60`.
TARGET ?= mutations
fuzz:
	$(NIGHTLY) fuzz run $(TARGET) --features libfuzzer --dev --debug-assertions -- \
		-max_total_time=$$(($(MINUTES) * 60)) -max_len=4096 -timeout=10 -rss_limit_mb=1024

# Newer versions of all that is used, within what the manifests allow where they give a range. Run the tests then.
update: $(VENV)/test
	$(CARGO) update
	$(VENV)/bin/python bindings/python/update.py
ifdef NODE
	for at in $(JS) $(JS)/bench; do (cd $$at && npx --yes npm-check-updates --upgrade --target minor && npm install) || exit 1; done
endif
ifneq ($(GO),)
	cd bindings/go && go get -modfile=tools.mod -u tool
	cd bindings/go/bench && go get -u ./... && go mod tidy
endif
ifneq ($(MAVEN),)
	for at in $(JAVA) $(JAVA)/jackson $(JAVA)/bench bindings/spark; do \
		mvn --batch-mode --quiet --file $$at org.codehaus.mojo:versions-maven-plugin:2.18.0:use-latest-releases \
			-DallowMajorUpdates=false -DgenerateBackupPoms=false '-Dexcludes=io.github.livebuf' || exit 1; done
endif

# Licences, sources and known faults of all crates, with `cargo install cargo-deny`.
deny:
	$(CARGO) deny check

# Lines that tests reach, by file, and those that they do not. Needs
# `cargo install cargo-llvm-cov`. Processes that tests kill leave broken profiles.
coverage: export LIVEBUF_ALL := 1
coverage:
	$(CARGO) llvm-cov --no-report test -p livebuf -p livebuf-json -p livebuf-arrow -p livebuf-log -p livebuf-patch -p livebuf-query -p livebuf-tests
	$(CARGO) llvm-cov report --summary-only --show-missing-lines --failure-mode all \
		--ignore-filename-regex '(fuzz|tests)/'

lint: lint-rust lint-python lint-js lint-go

lint-go:
ifneq ($(GO),)
	@cd bindings/go && wrong=$$(gofmt -l .) && [ -z "$$wrong" ] || { echo "gofmt -w $$wrong"; exit 1; }
	cd bindings/go && go vet ./... && go tool -modfile=tools.mod staticcheck ./...
endif

lint-js: $(if $(NODE),$(JS)/node_modules/ready)
ifdef NODE
	cd $(JS) && npm run --silent lint
endif

lint-python: $(VENV)/lint
	cd bindings/python && ../../$(VENV)/bin/ruff check . && ../../$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check --config bindings/python/pyproject.toml bindings/sql bindings/sqlite bindings/duckdb docs bench testdata
	$(VENV)/bin/ruff format --check --config bindings/python/pyproject.toml bindings/sql bindings/sqlite bindings/duckdb docs bench testdata

lint-rust:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) clippy -p livebuf-bench --all-features -- -D warnings
	$(CARGO) clippy -p livebuf --no-default-features -- -D warnings
	$(CARGO) clippy -p livebuf --no-default-features --features alloc -- -D warnings
	$(CARGO) clippy -p livebuf --no-default-features --features delta -- -D warnings
	$(CARGO) clippy -p livebuf-c --no-default-features --features small --profile size -- -D warnings

fmt:
	$(CARGO) fmt --all

# Everything of LiveBuf beside its peers: checks all answers, then times; docs/benchmarks.md is
# made of it. `ARGS=--quick` takes five minutes after building, ONLY=twitter one part.
bench: python $(VENV)/bench $(if $(NODE),$(JS)/node_modules/ready $(JS)/bench/node_modules/ready)
	$(VENV)/bin/python bench/run.py $(if $(filter-out files::,$(ONLY)),--only "$(ONLY)") $(ARGS)

# The answers of all libraries of the Rust benchmarks, compared, and nothing timed.
bench-answers:
	$(CARGO) run --quiet -p livebuf-bench --features peers -- --count --quick

# The page again, from the results that it shows or from FILE.
bench-page: $(VENV)/bench
	$(VENV)/bin/python bench/page.py $(FILE)

# Two commits in turns: `make bench-compare OLD=main NEW=HEAD ONLY=twitter`.
NEW ?= HEAD
bench-compare: $(VENV)/bench
	@test -n "$(OLD)" || { echo "OLD=commit NEW=commit, say: make bench-compare OLD=main"; exit 2; }
	$(VENV)/bin/python bench/compare.py "$(OLD)" "$(NEW)" $(if $(filter-out files::,$(ONLY)),--only "$(ONLY)") $(ARGS)

# What only the Rust benchmark prints: targets, and which are met.
bench-rust:
	$(CARGO) run --release -p livebuf-bench -- $(ARGS)
