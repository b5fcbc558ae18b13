# `make` without a target lists the targets.
#
#   make install DESTDIR= PREFIX=/usr/local SYSCONFDIR=/etc
#
# On Debian, a target first installs the missing packages, as root or through sudo.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run test check check-api torture torture-handovers torture-recipes simulate simulate-mutations build-simulator fuzz build bench bench-journal bench-routing
.PHONY: fleet test-fleet torture-fleet format check-format bench-attack bench-fleet bench-http bench-isolation bench-keeping bench-page bench-scale bench-sdk bench-diff install
.PHONY: install-files clean checkout
.PHONY: setup-build setup-run setup-install setup-test setup-torture setup-plugin bench-plugins
.PHONY: uninstall deb rpm dist test-packages setup-deb setup-rpm setup-dist

PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
DESTDIR ?=

# The number of seeds that `make simulate` runs, and the first of them.
SEEDS ?= 20000
FIRST ?= 1
# How often `make torture-handovers` restarts the service, and how often it kills it.
HANDOVERS ?= 100

release := .build/release
# The sink plugins. Those in the second list need a library that not every machine has: its pkg-config name, and its
# Debian package. `make install` leaves out those whose library is missing, and says so.
plugins := sqlite console journald
optional_plugins := postgres:libpq:libpq-dev nats:libnats:libnats-dev kafka:rdkafka:librdkafka-dev \
	redis:hiredis:libhiredis-dev mqtt:libmosquitto:libmosquitto-dev
# Evaluated when it is used: a target may have installed a library before.
left_out = $(shell for entry in $(optional_plugins); do IFS=: read -r name library package <<<"$$entry"; \
	pkg-config --exists "$$library" || echo "$$name"; done)
shipped_plugins = $(plugins) $(filter-out $(left_out),$(foreach entry,$(optional_plugins),$(firstword $(subst :, ,$(entry)))))
# The linker would take a product "nats" for the client library of that name, so it has a longer one.
product_of = $(patsubst nats,penstock-nats,$(1))
# Builds one product of the release, without the tests' targets. One of them uses the plugin of the plan generator, and
# SwiftPM would build that plugin first for every product.
product = PENSTOCK_TESTS=none PENSTOCK_WITHOUT='$(left_out)' swift build -c release --product
# The directory of the programs that `install-files` installs. The tests install a debug build into a temporary system.
binaries ?= $(release)
# The book, and its pages that are also man pages.
book := Sources/penstockd/Penstock.docc
manual_pages := Filters Mapping Scripts Transforms

# The products of Package.swift that each purpose needs. `make run` shows the daemon, the command and one plugin.
run_products := penstock penstockd penstock-plugin-host sqlite
install_products = $(run_products) $(call product_of,$(filter-out sqlite,$(shipped_plugins))) manual

# The Debian packages that each purpose needs. .ci/install-packages does not start or enable their services.
#
# To build: the packages that the compiler needs (libc6-dev, g++ for the C++ headers, binutils for the linker, git for
# dependencies), then one library for each system target of Package.swift.
build_packages := git ca-certificates binutils g++ libc6-dev pkg-config \
	libsystemd-dev libcurl4-openssl-dev libsimdjson-dev zlib1g-dev libzstd-dev libisal-dev libsqlite3-dev \
	libssl-dev libre2-dev liblua5.4-dev 
# To show the delivered events: the HTTP receiver, and a program that reads the plugin's database file.
run_packages := $(build_packages) python3 sqlite3 tzdata
# To build the optional sink plugins.
plugin_packages := $(foreach entry,$(optional_plugins),$(lastword $(subst :, ,$(entry))))
# To install: patchelf sets the path of the Swift runtime in the programs, and lowdown converts pages of the book to man
# pages.
install_packages := $(build_packages) patchelf lowdown
# To make packages. Every package of a plugin needs its library.
deb_packages := $(install_packages) $(plugin_packages) debhelper dh-apparmor dpkg-dev lintian
dist_packages := $(install_packages) $(plugin_packages) file
rpm_packages := $(dist_packages) rpm
# To crash: filesystems for power cuts, strace for failing system calls, a separate systemd for restarts, a client of the
# recipes' server.
torture_packages := $(install_packages) python3 xfsprogs e2fsprogs strace util-linux mount \
	systemd dbus libnss-systemd bsdutils curl
# To test: HTTP servers, databases and brokers, which the tests start on free ports; a separate systemd, into which
# Penstock is installed; a validator for the JSON Schema; a formatter for the man pages; clients in several languages; a
# browser.
# SDKs of other vendors come from the Python package index.
test_packages := $(run_packages) $(install_packages) $(torture_packages) $(plugin_packages) \
	$(deb_packages) $(rpm_packages) apparmor \
	nginx-light wrk clickhouse-server influxdb postgresql nats-server redis-server mosquitto openssl zstd systemd \
	systemd-journal-remote dbus libnss-systemd bsdutils python3-jsonschema python3-yaml groff-base man-db \
	curl socat golang-go nodejs python3-venv prometheus python3-prometheus-client chromium

help:
	@echo 'make run      build, start, send real events, show the delivered events'
	@echo 'make test     build and run all tests'
	@echo 'make format   format all Swift files with the rules of .swift-format'
	@echo 'make check    ROOM=Journal: run only the unit tests of one room'
	@echo 'make check-api'
	@echo '              compare the API of the SDK with that of the newest release, or BASE=COMMIT'
	@echo 'make torture  crash the release for an hour: kill -9, power cuts, failing system calls, flipped bits, restarts;'
	@echo '              one part: make torture-handovers HANDOVERS=$(HANDOVERS); the recipes of the SDK: make torture-recipes'
	@echo 'make simulate SEEDS=$(SEEDS) FIRST=$(FIRST)'
	@echo '              journal, delivery and clients in one thread, on a simulated disk that fails'
	@echo 'make build    release binaries in $(release)'
	@echo 'make setup-build, setup-run, setup-install, setup-plugin, setup-test, setup-torture, setup-deb, setup-rpm'
	@echo '              install the Debian packages for one purpose, without starting their services'
	@echo 'make fuzz     random filters and transforms, ROUNDS=20000 of them; then libFuzzer, SECONDS=60 for each program;'
	@echo '              one program: make fuzz-lines'
	@echo 'make bench    measure the release; a part: make bench-journal, -routing, -isolation, -plugins, -attack, -http,'
	@echo '              -keeping, -page, -scale, -sdk, -diff, -fleet'
	@echo 'make fleet    a fleet on this machine; make test-fleet: fleets that fail'
	@echo 'make install  DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) SYSCONFDIR=$(SYSCONFDIR)'
	@echo 'make uninstall'
	@echo '              remove what make install has installed; keep the configuration and the journal'
	@echo 'make test-packages'
	@echo '              install, upgrade and remove packages of the release in a separate systemd'
	@echo 'make deb      Debian packages in .build/packages; also make rpm, and make dist for a tarball'
	@echo 'make clean    remove the build results'

# Builds the products that it shows. SwiftPM needs seconds to find that nothing has changed. So it is started only if a
# file, the compiler or the dependencies have changed.
run: setup-run
	@stamp=.build/run-stamp; \
	state() { stat -c '%n %y' "$$(readlink -f "$$(command -v swift)")"; cat Package.resolved 2>/dev/null; }; \
	if [ "$$(cat "$$stamp" 2>/dev/null)" = "$$(state)" ] \
		&& ls $(addprefix $(release)/,penstock penstockd penstock-plugin-host libsqlite.so) >/dev/null 2>&1 \
		&& [ -z "$$(find Sources Plugins Package.swift -newer "$$stamp" -print -quit)" ]; then exit 0; fi; \
	rm -f "$$stamp"; touch "$$stamp.begun"; \
	echo '==> building (release)'; \
	for product in $(run_products); do $(product) "$$product"; done; \
	state >"$$stamp.new"; touch -r "$$stamp.begun" "$$stamp.new"; mv "$$stamp.new" "$$stamp"
	@echo '==> running the demonstration'
	@Tests/Demo/run

# `swift test` waits until nobody holds the tests' output open. After a crash of theirs, that is for ever.
run_tests := Tests/Support/run-tests 1200 .build/debug/penstockPackageTests.xctest

# The end-to-end tests start the programs and load the plugins that the first command builds.
test: setup-test
	@echo '==> building (debug)'
	@swift build
	@swift build --build-tests
	@echo '==> testing'
	@$(run_tests)
	@echo '==> testing the packages'
	@$(MAKE) --no-print-directory test-packages binaries=.build/debug
	@$(MAKE) --no-print-directory build-simulator
	@echo '==> counting the cost of an event in an application (release)'
	@$(product) sdk-benchmark
	@$(release)/sdk-benchmark allocations
	@echo '==> simulating: seeds 1 to 20,000, for at most 60 seconds'
	@$(release)/simulate --seeds 20000 --seconds 60
	@first=$$(( $$(date +%s) * 100000 + RANDOM )); \
	echo "==> simulating: 5,000 new seeds, for at most 20 seconds; to repeat: make simulate FIRST=$$first"; \
	$(release)/simulate --first $$first --seeds 5000 --seconds 20
	@echo '==> removing one protection at a time'
	@$(release)/simulate --mutations --seeds 10000 --seconds 300
	@echo '==> simulating fleets for 10 seconds, and taking away one rule at a time'
	@$(release)/simulate --fleet --seeds 1000000 --seconds 10
	@$(release)/simulate --fleet --mutations --seeds 20000 --seconds 300
	@echo '==> running the crash tests'
	@Tests/CrashTests/run --short
	@echo '==> running fleets that fail'
	@Tests/FleetTests/run --short

# .swift-format has the rules for the format of Swift files. `make format` applies them. CI fails if a file differs.
swift_files := Sources Plugins Tests Package.swift

format:
	@swift format format --in-place --recursive --parallel $(swift_files)

check-format:
	@swift format lint --strict --recursive --parallel $(swift_files) || { echo 'to format these files: make format' >&2; exit 1; }

# Compares the SDK's API with that of the newest released version, or of BASE. A change that breaks applications is an
# error: it belongs in a new major version (below 1.0: minor version), or in BASE.
api_products := Penstock PenstockHTTP PenstockTesting
check-api: setup-build
	@base='$(BASE)'; \
	base=$${base:-$$(git tag --list --sort=-version:refname '[0-9]*.[0-9]*.[0-9]*' | head -n 1)}; \
	if [ -z "$$base" ]; then echo 'no version is released: there is no API to keep'; exit 0; fi; \
	echo "==> comparing the SDK's API with that of $$base"; \
	swift package diagnose-api-breaking-changes "$$base" --products $(api_products)

# Runs the unit tests of one room, in a debug build of the targets that they need: make check ROOM=Journal
check: setup-test
	@test -n "$(ROOM)" || { echo 'give a room: make check ROOM=Journal' >&2; exit 2; }
	@test -d 'Tests/$(ROOM)Tests' || { echo 'there is no Tests/$(ROOM)Tests' >&2; exit 2; }
	@PENSTOCK_TESTS=$(ROOM)Tests swift build --product penstockPackageTests
	@$(run_tests)

simulate: build-simulator
	@$(release)/simulate --first $(FIRST) --seeds $(SEEDS)

# Removes one protection of the journal at a time. A run must then fail.
simulate-mutations: build-simulator
	@$(release)/simulate --mutations --seeds 10000

build-simulator: setup-build
	@echo '==> building the simulator (release)'
	@$(product) simulate

build: setup-build
	@echo '==> building (release)'
	@for product in $(install_products); do $(product) "$$product"; done
	@echo '==> built: $(release)/penstockd, $(release)/penstock'

torture: setup-torture build
	@$(product) damage
	@echo '==> running the long crash tests'
	@PENSTOCK_BINARIES=$(release) Tests/CrashTests/run --long
	@echo '==> damaging journals: a cut at every byte, every bit flipped'
	@printf '%s\n' sealed unsealed current crashed | xargs -P "$$(nproc)" -I PLACE $(release)/damage 1 PLACE
	@$(MAKE) --no-print-directory torture-handovers
	@$(MAKE) --no-print-directory torture-recipes

# Clients of the installed release must not notice anything.
torture-handovers: setup-torture build
	@echo '==> 20,000 events a second: $(HANDOVERS) restarts of the service, then $(HANDOVERS) kills'
	@$$([ "$$(id -u)" = 0 ] || echo sudo -n) env HANDOVERS=$(HANDOVERS) Tests/Support/with-systemd --timeout 1800 -- \
		Tests/Support/service-checks $(release) clients_do_not_notice_restarts clients_do_not_notice_kills

# The recipes of the SDK's page "Servers", with the packages that they are for.
torture-recipes: setup-torture build
	@echo '==> building the recipes with Hummingbird, ServiceLifecycle and swift-log, and running them'
	@Tests/Support/recipes $(release)

bench: build
	@for product in journal-benchmark routing-benchmark sdk-benchmark; do $(product) "$$product"; done
	@echo '==> measuring'
	@Tests/Benchmarks/run
	@Tests/Benchmarks/journal
	@$(release)/routing-benchmark
	@$(release)/sdk-benchmark

bench-journal: setup-build
	@$(product) journal-benchmark
	@echo '==> measuring the journal and the limit of the machine'
	@Tests/Benchmarks/journal

bench-routing: setup-build
	@$(product) routing-benchmark
	@$(release)/routing-benchmark

# Measures one working destination alone, beside three broken ones, and beside slow scripts; and an idle destination
# beside 200 destinations that catch up.
bench-isolation: build
	@Tests/Benchmarks/isolation --seconds $(or $(SECONDS_EACH),60)
	@Tests/Benchmarks/isolation --seconds $(or $(SECONDS_EACH),60) scripts
	@Tests/Benchmarks/isolation --seconds $(or $(SECONDS_EACH),60) many

# Measures what a plugin's own process costs: events per second from the journal, processor time, idle memory.
bench-plugins: build
	@Tests/Benchmarks/plugins

# Measures `penstock diff` and `penstock plan infer` on a million events, and live delivery beside a diff.
bench-diff: build
	@Tests/Benchmarks/diff --events $(or $(EVENTS),1000000)

# Measures many destinations, many connections, and a backlog that many destinations read.
bench-scale: build
	@Tests/Benchmarks/scale --backlog $(or $(GIB),2)

# Measures how much hostile clients slow down a well-behaved client.
bench-attack: build
	@Tests/Benchmarks/attack --seconds $(or $(SECONDS_EACH),8) --rounds $(or $(ROUNDS),1)

# Measures what HTTP costs beside lines, and beside nginx.
bench-http: build
	@Tests/Benchmarks/http --rounds $(or $(ROUNDS),3)

# A fleet on this machine, until Ctrl-C: three NATS servers, four edges, three aggregators.
fleet: setup-test build
	@PENSTOCK_BINARIES=$(release) Tests/FleetTests/demo

# Fleets of real daemons and NATS servers that fail. Events are lost here by NATS servers before 2.10: NATS_SERVER names
# another one.
test-fleet: setup-test
	@swift build
	@Tests/FleetTests/run --short

# An hour of it. NATS servers before 2.10 do not survive this without a loss.
torture-fleet: setup-test build
	@PENSTOCK_BINARIES=$(release) Tests/FleetTests/run --long

# Measures what a fleet costs: from an edge's socket to an aggregator's file; and 10,000 edges.
bench-fleet: setup-test build
	@Tests/FleetTests/bench --apart
	@Tests/FleetTests/crowd

# Measures what it costs that clients' connections outlive the daemon.
bench-keeping: build
	@Tests/Benchmarks/keeping --rounds $(or $(ROUNDS),5)

# Measures the daemon's page: the first paint, the frames of the debugger; and what the page, `penstock top` and a scrape
# of the metrics cost the daemon.
bench-page: build
	@.ci/install-packages chromium
	@Tests/Benchmarks/page --rounds $(or $(ROUNDS),5)

# Measures the cost of recording an event in an application, and the delivery of a million events with and without a
# running daemon.
bench-sdk: setup-build
	@$(product) sdk-benchmark
	@$(product) sdk-daemon-benchmark
	@$(product) penstockd
	@$(release)/sdk-benchmark
	@$(release)/sdk-daemon-benchmark $(or $(EVENTS),1000000) $(or $(SECONDS_AWAY),60)
	@$(release)/sdk-daemon-benchmark processes $(or $(PROCESSES),10000)

# Random filters and transforms, for longer than in the tests. Then libFuzzer's programs.
fuzz: setup-test
	@swift build --build-tests
	@FUZZ_ROUNDS=$(or $(ROUNDS),20000) swift test --skip-build --disable-xctest --filter RoutingTests
	@$(MAKE) --no-print-directory $(fuzz_programs)

# The programs of libFuzzer: fuzz-NAME is in the directory NAME of Tests/Fuzzing (in any case of letters).
fuzz_programs := fuzz-frames fuzz-lines fuzz-otlp fuzz-requests
.PHONY: $(fuzz_programs) $(fuzz_programs:%=merge-%)
# The compiler's flags for both sanitizers: two --sanitize of SwiftPM would instrument Swift for one of them only. Like a
# test, a program may import a room as testable.
fuzz_flags := --sanitize=fuzzer -Xswiftc -sanitize=fuzzer,address -Xcxx -fsanitize=fuzzer-no-link,address \
	-Xswiftc -enable-testing
build_fuzz = PENSTOCK_FUZZ=1 PENSTOCK_TESTS=none swift build -c release --scratch-path .build/fuzz $(fuzz_flags) --product
# The search for leaks would take most of the time.
run_fuzz := ASAN_OPTIONS=detect_leaks=0 SWIFT_BACKTRACE=enable=no .build/fuzz/release
fuzz_corpus = $$(find Tests/Fuzzing -mindepth 1 -maxdepth 1 -iname '$*')/Corpus

# New inputs that reach new code are kept in .build/fuzz/corpus. An input that fails is written to .build/fuzz/found; the
# program runs it alone if it gets its file's name.
$(fuzz_programs): fuzz-%: setup-build
	@echo '==> building $@ (release, with the address sanitizer)'
	@$(build_fuzz) $@
	@mkdir -p .build/fuzz/found .build/fuzz/corpus/$*
	@echo '==> running $@ for $(or $(SECONDS),60) seconds'
	@$(run_fuzz)/$@ -max_total_time=$(or $(SECONDS),60) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-verbosity=$(or $(VERBOSITY),0) -artifact_prefix=.build/fuzz/found/$*- .build/fuzz/corpus/$* "$(fuzz_corpus)"

# Adds to the corpus of the repository a few short new inputs that reach new code.
$(fuzz_programs:%=merge-%): merge-fuzz-%: setup-build
	@$(build_fuzz) fuzz-$*
	@$(run_fuzz)/fuzz-$* -set_cover_merge=1 -use_counters=0 -max_len=1024 "$(fuzz_corpus)" .build/fuzz/corpus/$*

# The installed programs use the Swift runtime that is installed with them: the path of the toolchain that built them is
# replaced.
install: setup-install build install-files

install-files:
	@echo '==> installing to $(DESTDIR)$(PREFIX)'
	@install -d '$(DESTDIR)$(PREFIX)'/{bin,include,lib/penstock/plugins,libexec/penstock,share/penstock,share/pkgconfig}
	@install -d '$(DESTDIR)$(PREFIX)'/lib/{systemd/{system,catalog},sysusers.d,tmpfiles.d}
	@install -m 755 $(binaries)/penstockd $(binaries)/penstock '$(DESTDIR)$(PREFIX)/bin/'
	@install -m 755 $(binaries)/penstock-plugin-host '$(DESTDIR)$(PREFIX)/libexec/penstock/'
	@$(foreach plugin,$(shipped_plugins),install -m 644 '$(binaries)/lib$(call product_of,$(plugin)).so' \
		'$(DESTDIR)$(PREFIX)/lib/penstock/plugins/lib$(plugin).so';)
	@for entry in $(optional_plugins); do IFS=: read -r name library package <<<"$$entry"; \
		case ' $(left_out) ' in *" $$name "*) \
			echo "==> left out: the plugin $$name, because $$library is missing (Debian: apt-get install $$package)" ;; \
		esac; \
	done
	@ldd $(addprefix $(binaries)/,penstockd penstock) $(patsubst %,$(binaries)/lib%.so,$(call product_of,$(shipped_plugins))) \
		| awk '$$3 ~ /\/swift\/linux\// { print $$3 }' | sort -u \
		| xargs -r install -m 644 -t '$(DESTDIR)$(PREFIX)/lib/penstock/'
	@patchelf --set-rpath '$$ORIGIN/../lib/penstock' '$(DESTDIR)$(PREFIX)'/bin/{penstockd,penstock}
	@patchelf --set-rpath '$$ORIGIN/../../lib/penstock' '$(DESTDIR)$(PREFIX)/libexec/penstock/penstock-plugin-host'
	@patchelf --set-rpath '$$ORIGIN/..' $(patsubst %,'$(DESTDIR)$(PREFIX)/lib/penstock/plugins/lib%.so',$(shipped_plugins))
	@$(binaries)/penstock check --schema | install -m 644 /dev/stdin '$(DESTDIR)$(PREFIX)/share/penstock/penstock.schema.json'
	@install -d '$(DESTDIR)$(PREFIX)'/share/{man/man{1,5,7,8},doc/penstock,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
	@version=$$($(binaries)/penstock --version); \
	man='$(DESTDIR)$(PREFIX)/share/man'; \
	$(binaries)/penstock --experimental-dump-help | $(binaries)/manual penstock.1 "$$version" | install -m 644 /dev/stdin "$$man/man1/penstock.1"; \
	$(binaries)/penstockd --experimental-dump-help | $(binaries)/manual penstockd.8 "$$version" | install -m 644 /dev/stdin "$$man/man8/penstockd.8"; \
	$(binaries)/manual penstock.yaml.5 "$$version" | install -m 644 /dev/stdin "$$man/man5/penstock.yaml.5"
	@install -m 644 $(book)/*.md '$(DESTDIR)$(PREFIX)/share/doc/penstock/'
	@install -m 644 -D -t '$(DESTDIR)$(PREFIX)/share/doc/penstock/Resources' $(book)/Resources/*.png
	@for page in $(manual_pages); do \
		topic=$$(tr '[:upper:]' '[:lower:]' <<<"$$page"); name=penstock-$$topic; \
		{ echo "'\\\" t"; lowdown -s -Tman -M title="$$name" -M section=7 '$(book)/'"$$page.md" \
			| sed "0,/^\\.SH/s/^\\.SH/.SH NAME\\n$$name \\\\- $$topic in the configuration of Penstock\\n&/"; } \
			| install -m 644 /dev/stdin "$(DESTDIR)$(PREFIX)/share/man/man7/$$name.7"; \
	done
	@share='$(DESTDIR)$(PREFIX)/share'; for program in penstock penstockd; do \
		complete() { $(binaries)/$$program --generate-completion-script "$$1" | sed '1{/^#!/d}' | install -m 644 /dev/stdin "$$share/$$2"; }; \
		complete bash bash-completion/completions/$$program; \
		complete zsh zsh/site-functions/_$$program; \
		complete fish fish/vendor_completions.d/$$program.fish; \
	done
	@install -m 644 Sources/CPenstockPlugin/include/penstock_plugin.h '$(DESTDIR)$(PREFIX)/include/'
	@printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$${prefix}/include' 'plugindir=$${prefix}/lib/penstock/plugins' '' \
		'Name: penstock-plugin' 'Description: The interface of plugins for the Penstock analytics router' \
		"Version: $$($(binaries)/penstock --version)" 'Cflags: -I$${includedir}' \
		| install -m 644 /dev/stdin '$(DESTDIR)$(PREFIX)/share/pkgconfig/penstock-plugin.pc'
	@for unit in systemd/*.service systemd/*.socket; do \
		sed 's#@PREFIX@#$(PREFIX)#g' "$$unit" \
			| install -m 644 /dev/stdin "$(DESTDIR)$(PREFIX)/lib/systemd/system/$${unit##*/}"; \
	done
	@sed 's#@PREFIX@#$(PREFIX)#g' systemd/catalog/penstock.catalog \
		| install -m 644 /dev/stdin '$(DESTDIR)$(PREFIX)/lib/systemd/catalog/penstock.catalog'
	@install -m 644 systemd/sysusers.d/penstock.conf '$(DESTDIR)$(PREFIX)/lib/sysusers.d/'
	@install -m 644 systemd/tmpfiles.d/penstock.conf '$(DESTDIR)$(PREFIX)/lib/tmpfiles.d/'
	@install -m 644 -D -t '$(DESTDIR)$(PREFIX)/share/penstock/monitoring' etc/monitoring/*
	@install -d -m 750 '$(DESTDIR)$(SYSCONFDIR)/penstock' '$(DESTDIR)$(SYSCONFDIR)/penstock/conf.d'
	@cd etc && find penstock -type f | while read -r file; do \
		if [ -e "$(DESTDIR)$(SYSCONFDIR)/$$file" ]; then \
			echo "==> kept: $(DESTDIR)$(SYSCONFDIR)/$$file"; \
		else \
			install -D -m 640 "$$file" "$(DESTDIR)$(SYSCONFDIR)/$$file"; \
		fi; \
	done
	@echo '==> installed. Next, as root on the machine that will run it:'
	@echo '    systemd-sysusers && systemd-tmpfiles --create && journalctl --update-catalog && systemctl daemon-reload'
	@echo '    systemctl enable --now penstock.socket penstock'
	@echo '    usermod -aG penstock-clients USER      # for each user whose processes send events'
	@echo '    penstock track "Hello World" --user me && penstock status'

# Keeps the configuration, the journal, the user and plugins that others have installed.
uninstall:
	@if [ -z '$(DESTDIR)' ] && [ -d /run/systemd/system ]; then \
		for unit in penstock.socket penstock-datagram.socket penstock.service; do \
			! systemctl is-active --quiet $$unit && ! systemctl is-enabled --quiet $$unit 2>/dev/null || { \
				echo "$$unit is active or enabled; its files would be removed below it. First, as root:" >&2; \
				echo '    systemctl disable --now penstock.socket penstock-datagram.socket penstock' >&2; exit 1; }; \
		done; \
		instances=$$(systemctl list-units --plain --no-legend --state=active 'penstock@*' 'penstock-datagram@*' | cut -d ' ' -f 1 | xargs); \
		[ -z "$$instances" ] || { \
			echo "$$instances: active; the files would be removed below. First, as root:" >&2; \
			echo "    systemctl disable --now $$instances" >&2; exit 1; }; \
	fi
	@echo '==> removing from $(DESTDIR)$(PREFIX)'
	@cd '$(DESTDIR)$(PREFIX)' && rm -f bin/penstock{,d} include/penstock_plugin.h share/pkgconfig/penstock-plugin.pc \
		libexec/penstock/penstock-plugin-host lib/penstock/lib*.so \
		$(patsubst %,lib/penstock/plugins/lib%.so,$(plugins) $(foreach entry,$(optional_plugins),$(firstword $(subst :, ,$(entry))))) \
		share/man/man1/penstock.1 share/man/man8/penstockd.8 share/man/man5/penstock.yaml.5 share/man/man7/penstock-*.7 \
		share/bash-completion/completions/penstock{,d} share/zsh/site-functions/_penstock{,d} \
		share/fish/vendor_completions.d/penstock{,d}.fish \
		lib/systemd/system/penstock{,@}.{service,socket} lib/systemd/system/penstock-datagram{,@}.socket \
		lib/systemd/catalog/penstock.catalog lib/{sysusers,tmpfiles}.d/penstock.conf \
		&& rm -rf share/penstock share/doc/penstock \
		&& for directory in lib/penstock/plugins lib/penstock libexec/penstock; do \
			[ ! -d $$directory ] || rmdir --ignore-fail-on-non-empty $$directory; \
		done
	@echo '==> removed. Kept: $(DESTDIR)$(SYSCONFDIR)/penstock, $(DESTDIR)/var/lib/penstock, the user penstock'
	@[ -n '$(DESTDIR)' ] || [ ! -d /run/systemd/system ] || { systemctl daemon-reload; journalctl --update-catalog; }

# Packages of the release, in .build/packages. `binaries=DIR` packages another build, which exists.
ifeq ($(binaries),$(release))
packaged_build = build
endif

deb: setup-deb $(packaged_build)
	@.ci/packaging/build-deb '$(binaries)'

dist: setup-dist $(packaged_build)
	@.ci/packaging/build-dist '$(binaries)'

rpm: setup-rpm $(packaged_build)
	@.ci/packaging/build-rpm '$(binaries)'

# Makes packages of the debug build or of the release, quickly, and installs, upgrades, removes and purges them in a
# separate systemd. CHECKS selects some of the checks.
test-packages: setup-test $(packaged_build)
	@rm -rf .build/test-packages
	@export DEB_BUILD_OPTIONS=noautodbgsym PENSTOCK_DEB_COMPRESSION='-Zgzip -z1' PENSTOCK_GZIP_LEVEL=-1 PENSTOCK_RPM_PAYLOAD=w1.gzdio; \
	for kind in deb dist rpm; do .ci/packaging/build-$$kind '$(binaries)' .build/test-packages; done
	@$$([ "$$(id -u)" = 0 ] || echo sudo -n) Tests/Support/with-systemd --timeout 480 -- \
		Tests/Support/package-checks .build/test-packages $(CHECKS)
	@rm -rf .build/test-packages

clean:
	@echo '==> removing the build results'
	@rm -rf .build .penstock-run

# Fast and without output when nothing is missing.
setup-build setup-run setup-install setup-test setup-torture setup-plugin setup-deb setup-dist setup-rpm: setup-%: checkout
	@command -v swift >/dev/null || { \
		echo 'Swift is not on the PATH: install Swift 6.2 or newer, see https://www.swift.org/install/linux/' >&2; exit 1; }
	@.ci/install-packages $($*_packages)
	@[ '$*' != test ] || .ci/install-python-clients

# Build results contain absolute paths. After the checkout is moved, SwiftPM would fail with "missing required module".
checkout:
	@here=$$(pwd -P); built=; \
	if [ -e .build/checkout ]; then \
		built=$$(cat .build/checkout); \
	else \
		for manifest in .build/release.yaml .build/debug.yaml; do \
			[ ! -e "$$manifest" ] || [ -n "$$built" ] || built=$$(grep -om1 '"/[^"]*/\.build/' "$$manifest" | head -n 1 | sed 's#^"##; s#/\.build/$$##'); \
		done; \
	fi; \
	if [ -n "$$built" ] && [ "$$built" != "$$here" ] && ! [ "$$built" -ef "$$here" ]; then \
		echo "This checkout was built in $$built and is now in $$here. The build results contain the old path." >&2; \
		echo 'Remove them with: make clean' >&2; \
		exit 1; \
	fi; \
	mkdir -p .build; printf '%s\n' "$$here" >.build/checkout
