# Everything starts here. `make` alone lists what there is.
#
#   make install DESTDIR= PREFIX=/usr/local SYSCONFDIR=/etc
#
# On Debian the packages that are missing are installed first, as root or through sudo.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run test torture simulate simulate-mutations build-simulator fuzz build bench bench-journal bench-routing
.PHONY: bench-isolation bench-sdk install install-files clean setup

PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
DESTDIR ?=

# How many seeds `make simulate` runs, from which on.
SEEDS ?= 20000
FIRST ?= 1

release := .build/release
# What `install-files` installs: the tests install a debug build into a throw-away system.
binaries ?= $(release)
plugins := libsqlite.so libconsole.so

# To build: the compiler's own needs (libc6-dev, g++ for the C++ headers, binutils for the
# linker, git for dependencies), then one library a line of Package.swift's system targets.
packages := git ca-certificates binutils g++ libc6-dev pkg-config patchelf \
	libsystemd-dev libcurl4-openssl-dev libsimdjson-dev zlib1g-dev libzstd-dev libisal-dev libsqlite3-dev \
	libssl-dev libre2-dev liblua5.4-dev
# To test and to show: HTTP servers (nginx runs on free ports, its own service is not
# needed) and clients, what the plugin wrote, a systemd of the tests' own.
packages += python3 nginx-light curl openssl sqlite3 tzdata systemd dbus libnss-systemd util-linux mount bsdutils
# A database that events are stored in.
packages += clickhouse-server
# To hold the configuration's JSON Schema against configurations.
packages += python3-jsonschema python3-yaml
# To look at the man pages as a reader does.
packages += groff-base man-db
# To crash it: filesystems whose power is cut, system calls that fail.
packages += xfsprogs e2fsprogs strace

help:
	@echo 'make run      build, start, send real events, show what arrives where'
	@echo 'make test     build and run all tests'
	@echo 'make torture  crash the release for an hour: kill -9, power cuts, failing system calls, flipped bits'
	@echo 'make simulate SEEDS=$(SEEDS) FIRST=$(FIRST)'
	@echo '              the journal in one thread, on a disk that tears, forgets and lies'
	@echo 'make build    release binaries in $(release)'
	@echo 'make fuzz     filters and transforms that nobody would write, ROUNDS=20000 of them'
	@echo 'make bench    measure the release; make bench-journal, bench-routing, bench-isolation, bench-sdk: a part alone'
	@echo 'make install  DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) SYSCONFDIR=$(SYSCONFDIR)'
	@echo 'make clean    remove what was built'

run: build
	@echo '==> running the demonstration'
	@Tests/Demo/run

# The end-to-end tests start the programs and load the plugins that the first command builds.
test: setup
	@echo '==> building (debug)'
	@swift build
	@swift build --build-tests
	@echo '==> testing'
	@swift test --skip-build --disable-xctest
	@$(MAKE) --no-print-directory build-simulator
	@echo '==> counting what an event costs in an application (release)'
	@swift build -c release --product sdk-benchmark
	@$(release)/sdk-benchmark allocations
	@echo '==> simulating: 20,000 seeds, or as many as three minutes hold'
	@$(release)/simulate --seeds 20000 --seconds 180
	@echo '==> taking out one protection at a time'
	@$(release)/simulate --mutations --seeds 10000 --seconds 60
	@echo '==> crashing it'
	@Tests/CrashTests/run --short

simulate: build-simulator
	@$(release)/simulate --first $(FIRST) --seeds $(SEEDS)

# Each protection of the journal is taken out, and some seed has to notice.
simulate-mutations: build-simulator
	@$(release)/simulate --mutations --seeds 10000

build-simulator: setup
	@echo '==> building the simulator (release)'
	@swift build -c release --product simulate

build: setup
	@echo '==> building (release)'
	@swift build -c release
	@echo '==> built: $(release)/penstockd, $(release)/penstock'

torture: build
	@echo '==> crashing it, at length'
	@PENSTOCK_BINARIES=$(release) Tests/CrashTests/run --long
	@echo '==> damaging it: every byte cut at, every bit flipped'
	@printf '%s\n' sealed unsealed current crashed | xargs -P "$$(nproc)" -I PLACE $(release)/damage 1 PLACE

bench: build
	@echo '==> measuring'
	@Tests/Benchmarks/run
	@Tests/Benchmarks/journal
	@$(release)/routing-benchmark
	@$(release)/sdk-benchmark

bench-journal: build
	@echo '==> measuring the journal, beside the machine'"'"'s own limit'
	@Tests/Benchmarks/journal

bench-routing: setup
	@swift build -c release --product routing-benchmark
	@$(release)/routing-benchmark

# One sound destination beside three broken ones, against itself alone.
bench-isolation: build
	@Tests/Benchmarks/isolation --seconds $(or $(SECONDS_EACH),60)

# What recording an event costs an application, and what becomes of a million while the daemon is there, and away.
bench-sdk: setup
	@swift build -c release --product sdk-benchmark
	@swift build -c release --product sdk-daemon-benchmark
	@swift build -c release --product penstockd
	@$(release)/sdk-benchmark
	@$(release)/sdk-daemon-benchmark $(or $(EVENTS),1000000) $(or $(SECONDS_AWAY),60)

# Longer than the tests do it: filters and transforms that nobody would write.
fuzz: setup
	@swift build --build-tests
	@FUZZ_ROUNDS=$(or $(ROUNDS),20000) swift test --skip-build --disable-xctest --filter RoutingTests

# The installed programs find the Swift runtime beside them, whatever is on the machine: the
# path of the toolchain that built them is replaced.
install: build install-files

install-files:
	@echo '==> installing to $(DESTDIR)$(PREFIX)'
	@install -d '$(DESTDIR)$(PREFIX)'/{bin,include,lib/penstock/plugins,share/penstock}
	@install -d '$(DESTDIR)$(PREFIX)'/lib/{systemd/system,sysusers.d,tmpfiles.d}
	@install -m 755 $(binaries)/penstockd $(binaries)/penstock '$(DESTDIR)$(PREFIX)/bin/'
	@install -m 644 $(addprefix $(binaries)/,$(plugins)) '$(DESTDIR)$(PREFIX)/lib/penstock/plugins/'
	@ldd $(addprefix $(binaries)/,penstockd penstock $(plugins)) \
		| awk '$$3 ~ /\/swift\/linux\// { print $$3 }' | sort -u \
		| xargs -r install -m 644 -t '$(DESTDIR)$(PREFIX)/lib/penstock/'
	@patchelf --set-rpath '$$ORIGIN/../lib/penstock' '$(DESTDIR)$(PREFIX)'/bin/{penstockd,penstock}
	@patchelf --set-rpath '$$ORIGIN/..' $(patsubst %,'$(DESTDIR)$(PREFIX)/lib/penstock/plugins/%',$(plugins))
	@$(binaries)/penstock check --schema | install -m 644 /dev/stdin '$(DESTDIR)$(PREFIX)/share/penstock/penstock.schema.json'
	@install -d '$(DESTDIR)$(PREFIX)'/share/{man/man{1,5,8},bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
	@version=$$($(binaries)/penstock --version); \
	man='$(DESTDIR)$(PREFIX)/share/man'; \
	$(binaries)/penstock --experimental-dump-help | $(binaries)/manual penstock.1 "$$version" | install -m 644 /dev/stdin "$$man/man1/penstock.1"; \
	$(binaries)/penstockd --experimental-dump-help | $(binaries)/manual penstockd.8 "$$version" | install -m 644 /dev/stdin "$$man/man8/penstockd.8"; \
	$(binaries)/manual penstock.yaml.5 "$$version" | install -m 644 /dev/stdin "$$man/man5/penstock.yaml.5"
	@share='$(DESTDIR)$(PREFIX)/share'; for program in penstock penstockd; do \
		complete() { $(binaries)/$$program --generate-completion-script "$$1" | install -m 644 /dev/stdin "$$share/$$2"; }; \
		complete bash bash-completion/completions/$$program; \
		complete zsh zsh/site-functions/_$$program; \
		complete fish fish/vendor_completions.d/$$program.fish; \
	done
	@install -m 644 Sources/CPenstockPlugin/include/penstock_plugin.h '$(DESTDIR)$(PREFIX)/include/'
	@for unit in systemd/*.service systemd/*.socket; do \
		sed 's#@PREFIX@#$(PREFIX)#g' "$$unit" \
			| install -m 644 /dev/stdin "$(DESTDIR)$(PREFIX)/lib/systemd/system/$${unit##*/}"; \
	done
	@install -m 644 systemd/sysusers.d/penstock.conf '$(DESTDIR)$(PREFIX)/lib/sysusers.d/'
	@install -m 644 systemd/tmpfiles.d/penstock.conf '$(DESTDIR)$(PREFIX)/lib/tmpfiles.d/'
	@cd etc && find penstock -type f | while read -r file; do \
		if [ -e "$(DESTDIR)$(SYSCONFDIR)/$$file" ]; then \
			echo "==> kept: $(DESTDIR)$(SYSCONFDIR)/$$file"; \
		else \
			install -D -m 644 "$$file" "$(DESTDIR)$(SYSCONFDIR)/$$file"; \
		fi; \
	done
	@echo '==> installed; next, on the machine that is to run it, as root:'
	@echo '    systemd-sysusers && systemd-tmpfiles --create && systemctl daemon-reload'
	@echo '    systemctl enable --now penstock'

clean:
	@echo '==> removing what was built'
	@rm -rf .build .penstock-run

# Quick and silent when nothing is missing.
setup:
	@command -v swift >/dev/null || { \
		echo 'Swift is not on the PATH: install Swift 6.2 or newer, see https://www.swift.org/install/linux/' >&2; exit 1; }
	@command -v dpkg-query >/dev/null || { \
		echo '==> this is not Debian: make sure that you have what these packages hold: $(packages)'; exit 0; }; \
	missing=$$(comm -13 \
		<(dpkg-query -W -f '$${db:Status-Status} $${Package}\n' $(packages) 2>/dev/null | sed -n 's/^installed //p' | sort -u) \
		<(printf '%s\n' $(packages) | sort -u) | xargs); \
	[ -n "$$missing" ] || exit 0; \
	echo "==> installing Debian packages: $$missing"; \
	as_root=; [ "$$(id -u)" = 0 ] || as_root='sudo -n'; \
	apt="$$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300"; \
	$$apt install --no-install-recommends $$missing </dev/null >/dev/null 2>&1 \
		|| { $$apt update </dev/null && $$apt install --no-install-recommends $$missing </dev/null >/dev/null; } \
		|| { echo "that did not work; as root: apt-get install $$missing" >&2; exit 1; }
