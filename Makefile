# Two commands: `make run` and `make test`. Both install what is missing first (Debian packages
# only); the toolchains (Rust, Node.js) are expected to be there.

CARGO ?= cargo
ARGS ?=

.PHONY: run test build install-run install-test install-matrix web bpf kernel-test \
	kernel-matrix

## Installs what is missing, builds, and starts the live map: make run ARGS="--once"
run: install-run
	$(CARGO) build --quiet --release --package portolan-cli
	exec target/release/portolan map $(ARGS)

## Installs what tests need, and runs all of them.
test: install-test
	scripts/test

build:
	$(CARGO) build --release --package portolan-cli

install-run:
	@scripts/install run

install-test:
	@scripts/install test

install-matrix:
	@scripts/install matrix

## Rebuilds the page's built files.
web:
	cd web && npm ci --no-audit --no-fund && npm run build

## Rebuilds the checked-in objects of the BPF programs.
bpf:
	scripts/bpf

## Builds Debian's kernels without and with the patches of kernel/, and compares them under qemu.
## Not part of `test`: make kernel-test KERNELS=6.12
kernel-test:
	scripts/kernel-test $(KERNELS)

## Runs the program on Debian's packaged kernels under qemu and prints what works there.
## Not part of `test`: make kernel-matrix KERNELS=6.12
kernel-matrix: install-matrix
	scripts/kernel-matrix $(KERNELS)
