# SPDX-License-Identifier: BSD-3-Clause
# A thin front to Meson and Ninja. `make help` lists the targets.
#
# Each target installs the Debian packages it needs (as root or through sudo), configures, builds
# and runs; what is already there is left alone.

BUILD  ?= build
PREFIX ?= /usr/local
PYTHON ?= /usr/bin/python3
FUZZ_SECONDS ?= 600

.DEFAULT_GOAL := build
.PHONY: build demo demo-mpi test test-quick test-long lint sanitize fuzz coverage nightly bench experiments docs install python wheel dist packages try-packages try-source clean help

build: ## build the library and build/mercer
	@tools/install-packages build
	@tools/configure $(BUILD)
	@ninja -C $(BUILD) $(NINJAFLAGS)

demo: build ## kernel PCA on a noisy ring, from nothing to a picture
	@$(BUILD)/mercer demo

demo-mpi: ## an evaluation and a fit on four ranks of this machine, and the same on one
	@tools/install-packages build mpi
	@tools/configure $(BUILD) -Dmpi=enabled
	@ninja -C $(BUILD) $(NINJAFLAGS)
	@tools/demo-mpi $(BUILD)

test: ## every test but the long ones
	@tools/install-packages build test python
	@{ tools/install-packages browser && { command -v npm >/dev/null || tools/install-packages npm; }; } || \
	    echo "no browser can be installed: the tests of reports in one are skipped"
	@tools/install-packages mpi || echo "no MPI can be installed: the tests of several ranks are skipped"
	@tools/configure $(BUILD) -Dtests=enabled -Dpython=auto -Dmpi=auto
	@tools/run-tests $(BUILD) --no-suite long --no-suite quick-only

test-quick: ## the tests of a minute: while you work, before make test
	@tools/install-packages build test
	@tools/configure $(BUILD) -Dtests=enabled
	@tools/run-tests $(BUILD) --suite quick --suite quick-only

test-long: ## large data, calls that fail, crashes, kill -9, then the numerical tests on every set of BLAS kernels and on the reference BLAS
	@tools/install-packages build test reference
	@tools/install-packages exports || echo "no R or LibreOffice can be installed: the tables they write are not tested"
	@tools/install-packages mpi slurm || echo "no MPI or no Slurm can be installed: ranks that srun starts are not tested"
	@tools/configure $(BUILD) -Dtests=enabled -Dmpi=auto
	@tools/run-long-tests $(BUILD)

lint: build ## clang -Werror, clang-format, clang-tidy, cppcheck, layers, banned calls, symbols, docs
	@tools/install-packages build test python lint
	@tools/configure $(BUILD) -Dpython=auto
	@ninja -C $(BUILD) $(NINJAFLAGS)
	@CC=clang tools/configure $(BUILD)-clang -Dtests=enabled -Dwerror=true
	@tools/lint $(BUILD) $(BUILD)-clang

sanitize: ## the tests under sanitizers of addresses, undefined behaviour (gcc's and clang's), unwritten memory and threads, and valgrind
	@tools/install-packages build test python sanitize
	@tools/sanitize $(BUILD)

fuzz: ## fuzz every reader and the Python package, FUZZ_SECONDS=600 each; FUZZ_TARGET=csv for one
	@tools/install-packages build test python fuzz
	@tools/fuzz $(BUILD) $(FUZZ_SECONDS) $(FUZZ_TARGET)

coverage: ## lines and branches that make test reaches, per folder
	@tools/install-packages build test python coverage
	@tools/install-packages mpi browser || echo "no MPI or no browser can be installed: what their tests reach is not counted"
	@tools/coverage $(BUILD)

nightly: ## all of the above, hours of it, into docs/TESTING.md; PARTS="lint fuzz" for some
	@tools/nightly $(BUILD) --docs $(PARTS)

bench: build ## Mercer and its peers; ONLY=kpca, stores, greedy, points, supervised, ridge, koca, stream, evaluate, ranks or python, QUICK=1: a smoke run, DOCS=1: into docs/
	@tools/install-packages bench
	@status=0; for part in $(or $(ONLY),kpca stores greedy points supervised ridge koca stream evaluate ranks python); do $(PYTHON) bench/run_$$part.py \
	    --build $(BUILD) $(if $(QUICK),--quick) $(if $(DOCS),--docs) || status=1; done; exit $$status

experiments: build ## the papers' tables and figures into docs/RESULTS.md; DATA=folder, ONLY=jiang_2006 or jiang_2006/table1 for some
	@tools/install-packages experiments
	@$(PYTHON) experiments/run.py --build $(BUILD) $(if $(DATA),--data $(DATA)) $(if $(ONLY),--only $(ONLY))

docs: build ## write the generated parts of docs/, the man page and the completions again
	@tools/install-packages build python
	@tools/configure $(BUILD) -Dpython=auto
	@ninja -C $(BUILD) $(NINJAFLAGS)
	@tools/generate-docs $(BUILD)/mercer
	@tools/generate-python $(BUILD)

install: ## install to $(DESTDIR)$(PREFIX)
	@tools/install-packages build
	@tools/configure $(BUILD) -Dprefix=$(PREFIX)
	@ninja -C $(BUILD) $(NINJAFLAGS)
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ]; then ldconfig; fi

wheel: ## the Python package as one file, into $(BUILD)/wheel; with a network its tag is that of auditwheel
	@tools/install-packages build python
	@rm -f $(BUILD)/wheel/mercer-*.whl
	@/usr/bin/python3 -m pip wheel -q --no-build-isolation --no-deps --no-index -w $(BUILD)/wheel .
	@for wheel in $(BUILD)/wheel/mercer-*.whl; do \
	    tools/complete-wheel $$wheel && tools/tag-wheel $$wheel $(BUILD)/wheel-venv || exit 1; done
	@ls -sh $(BUILD)/wheel/*.whl

python: wheel ## install the Python package; PYTHON=venv/bin/python for another than Debian's
	@PIP_BREAK_SYSTEM_PACKAGES=1 $(PYTHON) -m pip install -q --no-deps --no-index --force-reinstall $(BUILD)/wheel/mercer-*.whl
	@cd / && $(PYTHON) -c 'import mercer; print("mercer", mercer.__version__, "in", mercer.__path__[0])'

dist: ## the archive of a release, of what is committed, into $(BUILD)/dist; the same bytes each time
	@tools/install-packages dist
	@tools/make-archive $(BUILD)/dist

packages: ## Debian's packages of what is committed, into $(BUILD)/packages; DEB_BUILD_OPTIONS="nocheck parallel=2"
	@tools/install-packages build test python dist packages
	@tools/make-packages $(BUILD)/packages

try-packages: packages ## install them in a bare Debian and run README's tour and debian/tests there; as root
	@tools/install-packages bare
	@tools/try-packages $(BUILD)/packages

try-source: ## build in a bare Debian that has make and nothing else, as README says, and take its tour there; as root
	@tools/install-packages bare
	@tools/try-source $(BUILD)/bare

clean: ## remove every build folder
	rm -rf $(BUILD) $(BUILD)-clang $(BUILD)-asan $(BUILD)-clang-asan $(BUILD)-msan $(BUILD)-tsan $(BUILD)-valgrind $(BUILD)-fuzz $(BUILD)-reference $(BUILD)-coverage $(BUILD)-nightly

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile
