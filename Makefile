# heddle: build, prove, measure. `make help` lists the targets.

SHELL    := /bin/bash
GO       ?= go
PREFIX   ?= /usr/local
DESTDIR  ?=
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.1.0)
LDFLAGS  := -s -w -X github.com/heddle-network/heddle.Version=$(VERSION) -X main.Version=$(VERSION)
PACKAGES := nftables iptables iproute2 iputils-ping procps kmod sockperf iperf3 ethtool tcpdump conntrack \
            qemu-system-x86 libvirt-daemon zstd xz-utils cpio docker.io ufw busybox-static gcc libc6-dev \
            podman crun lxc containerd runc containernetworking-plugins debootstrap lintian e2fsprogs \
            qperf wrk nginx-light openssh-server redis-server redis-tools dovecot-imapd dovecot-submissiond unbound caddy etcd-server etcd-client \
            clang-14 llvm-14 libbpf-dev docker-compose curl ipvsadm \
            chromium-headless-shell dnsmasq-base python3 criu

# Most of a suite's time is waiting, that of guests is work, as their processor is emulated. So guests
# have a run of their own, beside all others. In both, those that take longest begin. More at once keep no
# processor busier, and each other waiting, until something takes longer than a test allows.
AT_ONCE  ?= $(shell expr 1 + $$(nproc))
GUESTS_AT_ONCE ?= $(shell nproc)
LONGEST  := ./test/attack ./test/fleet ./kernel ./test/vpc ./test/modes ./test/dhcp ./test/runtimes ./test/hardship
# These come after the guests, which are through before the longest ones are.
LATER    := ./cmd/heddle ./test/doctor ./test/fast ./test/handover ./lab ./test/join ./test/allocation ./test/install ./peer \
            ./test/coexist ./test/overlay
GUESTS   := ./test/attack ./test/modes ./kernel ./test/ipvlan ./test/fast ./test/direct ./test/doctor ./test/overlay ./test/policy ./test/limits \
            ./bpf ./lab ./trial ./test/vm
# Docker gives a driver little time, so its tests begin with nothing else in their stream. They are as nice as
# all others: a child of dockerd's that sets disable_ipv6 spins in the kernel while another holds the lock of
# the network's configuration (addrconf_disable_ipv6, restart_syscall); two that went ahead of all others kept the
# one that held it from both processors for 18 minutes.
FIRST    := ./test/docker
# A suite that mostly waits, and takes as long as all others, runs beside the rest of its package.
OWN      := ^TestOwnAttacks$$
# Its machines do one thing after the other, which takes as long as several packages: beside all others, from the beginning. All
# packages that are named nowhere here come after it.
MACHINES := ./test/machines
# Those that many goroutines share are tested with the race detector, which needs gcc, and with
# locks that check their order.
RACED    := ./agent ./cluster ./store ./join ./resolver ./nic/service
# Never from go's cache: it does not see the programs that tests build, nor the kernel.
EACH     := -json -vet=off -timeout 75m -count=1
# Linked without what only debuggers read.
LINKED   := -ldflags '-s -w'
OURS     := github.com/heddle-network/heddle

# Static binaries: the tests' own boot as /init in virtual machines.
export CGO_ENABLED := 0
# One form for binaries and tests, or all would be compiled twice.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)
# What tests of several packages run is linked once.
export HEDDLE_TEST_PROGRAMS ?= $(CURDIR)/bin/test
# Caches lie outside the repository.
export HEDDLE_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/heddle

.PHONY: flaky bench-paths bench-docker bench-resolver docker-plugin docker-engine help build generate deps vm-kernels cni-plugins packages cri-modules test test-pure test-most test-guests test-later test-own test-machines test-others test-first test-raced race lock-order lint demo bench-attach bench-many soak man install uninstall deb vm-systemd vm-managers clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

build: ## build bin/heddle, bin/heddled, bin/heddle-cni
	@mkdir -p bin
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

deps: ## install the Debian packages that tests and demo use (root)
	@packaging/deps.sh $(PACKAGES)

vm-kernels: ## fetch Debian's kernels 6.1 and 6.12 for the virtual machine tests
	@test/vm/fetch.sh

cni-plugins: ## build the reference CNI plugins for tests and comparison
	@packaging/cni/fetch-plugins.sh

packages: ## fetch Debian's packages that tests run and nobody installs: Podman 13, crun, DHCP servers, NetworkManager
	@test/vm/fetch.sh podman crun dhcp networkmanager >/dev/null

cri-modules: ## fetch the modules of the tests' CRI client, which is a module of its own
	@cd test/runtimes/cri && $(GO) mod download

generate: ## write the golden texts, pages, pictures and man pages anew
	$(GO) test ./mode -run 'TestGolden|TestPages|TestPictures' -update -count=1
	$(GO) test ./doctor -run TestPage -update -count=1
	$(GO) test ./crowd/picture -run TestPublished -update -count=1
	$(GO) generate ./bpf

lint: ## gofmt, go vet, staticcheck, the import law
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -d $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) test ./test/law

test-pure: ## the tests that need no root: seconds
	$(GO) test . ./dhcp ./ipam ./mode ./nic ./doctor ./bench ./impair ./crowd/draw ./crowd/scenario ./crowd/ghosts ./crowd/plan ./crowd/service ./crowd/protocol ./crowd/diary ./crowd/classifier ./crowd/label ./crowd/picture ./crowd/report ./crowd/tally ./crowd/voice ./durable ./limit ./yamlfile ./test/law ./test/poll ./test/report ./test/contract ./test/random
	@# A crowd's plan is the same on every machine: also on what this processor can be besides.
	if grep -qw avx2 /proc/cpuinfo; then GOAMD64=v3 $(GO) test ./crowd/draw ./crowd/plan; \
	    else echo "left out: the draws with GOAMD64=v3, as this processor has no avx2"; fi
	if grep -qw sse2 /proc/cpuinfo; then GOARCH=386 GO386=softfloat $(GO) test ./crowd/draw && \
	    GOARCH=386 GO386=softfloat $(GO) test -run '^TestSame$$' ./crowd/plan; \
	    else echo "left out: the draws with GOARCH=386, as this processor has no sse2"; fi

# Tests that take long and are much alike take turns (package soak). Whose turn it is depends on the commit, so that a failure
# comes again, and that each has its turn with the time.
test: export HEDDLE_TURN := $(or $(HEDDLE_TURN),$(shell echo $$((0x$$(git rev-parse --short=7 HEAD 2>/dev/null || echo 0) % 3))))
test: deps build vm-kernels cni-plugins packages cri-modules lint ## what this machine can run; HEDDLE_TURN=all: also what has its turn with another commit
	@echo "running the tests of turn $(HEDDLE_TURN) (0, 1, 2 or all: HEDDLE_TURN); what is left out is listed at the end"
	@$(GO) build -o bin/test/report ./test/report
	@bin/test/report <(make -s test-guests; make -s test-later) <(make -s test-most) <(make -s test-own) <(make -s test-machines; make -s test-others) <(make -s test-first; make -s test-raced)

# The parts of the tests, which run at once. They are not said as $$(MAKE) above: make -n would run
# them.
test-first:
	@$(GO) test $(EACH) $(LINKED) $(FIRST)
test-most:
	@$(GO) test $(EACH) $(LINKED) -skip 'InGuests|$(OWN)' -p $(AT_ONCE) $(LONGEST)
test-others:
	@$(GO) test $(EACH) $(LINKED) -skip InGuests -p $(AT_ONCE) \
	     $$($(GO) list ./... | grep -vxF $(patsubst .%,-e $(OURS)%,$(RACED) $(FIRST) $(LATER) $(MACHINES) $(LONGEST)))
test-own:
	@$(GO) test $(EACH) $(LINKED) -run '$(OWN)' ./test/attack
test-machines:
	@$(GO) test $(EACH) $(LINKED) $(MACHINES)
test-guests:
	@$(GO) test $(EACH) $(LINKED) -run InGuests -p $(GUESTS_AT_ONCE) $(GUESTS)
test-later:
	@$(GO) test $(EACH) $(LINKED) -skip InGuests -p $(AT_ONCE) $(LATER)
test-raced:
	@CGO_ENABLED=1 $(GO) test -race $(EACH) $(LINKED) -p 2 $(RACED); \
	$(GO) test -tags lockorder $(EACH) $(LINKED) -run '^Test(LockOrder|Random)$$' ./agent ./test/random

# Told before anything is installed or built.
ifneq ($(filter test,$(MAKECMDGOALS)),)
$(if $(or $(filter 0 1 2 all,$(HEDDLE_TURN)),$(if $(HEDDLE_TURN),,none)),,$(error HEDDLE_TURN=$(HEDDLE_TURN) is no turn: give 0, 1, 2 or all, or leave it out))
endif
ifneq ($(filter flaky,$(MAKECMDGOALS)),)
$(if $(strip $(PKG)),,$(error say of what: make flaky PKG=./test/modes))
endif
flaky: deps build vm-kernels cni-plugins packages cri-modules ## N runs of a package or of one of its tests: make flaky N=10 PKG=./test/modes RUN=TestFirstPacket
	@for i in $$(seq $(or $(N),10)); do $(GO) test $(EACH) -run '$(RUN)' $(PKG); done | $(GO) run ./test/report

race: deps build cni-plugins packages cri-modules ## the race detector over every package, without guests (needs gcc; an hour)
	CGO_ENABLED=1 $(GO) test -race -timeout 75m -count=1 -p $(AT_ONCE) ./...

# Not at once with the race detector: who checks the order puts all locks into one, which hides races.
lock-order: deps build cni-plugins packages cri-modules ## the order of the agent's locks, checked in every package's tests
	$(GO) test -tags lockorder -timeout 75m -count=1 -p $(AT_ONCE) ./...

soak: deps build vm-kernels cni-plugins packages cri-modules ## the full-scale forms: hours
	@test/vm/fetch.sh dpdk >/dev/null
	HEDDLE_SOAK=1 $(GO) test -timeout 12h -count=1 -v -run 'Soak|InGuests' ./...

demo: deps build ## connect containers in every mode on one host and on two, and measure
	bin/heddle bench --preset quick

docker-plugin: build ## the folder of a managed Docker plugin: bin/docker-plugin
	@packaging/docker/plugin.sh

docker-engine: build ## the Docker tests with a current engine, built from its modules (minutes)
	engine=$$(test/docker/fetch-engine.sh) && HEDDLE_DOCKER=$$engine $(GO) test -timeout 45m -count=1 ./test/docker

bench-paths: build ## the fast path against its goals: three wires, peers in the same rounds (as root, an hour)
	bin/heddle bench --preset paths

bench-docker: build ## docker run + rm: no network, Docker's bridge, ours
	$(GO) test -run '^$$' -bench Run -benchtime 1x -timeout 20m ./test/dockerbench

bench-attach: build cni-plugins ## attach: ours against the reference CNI plugins
	HEDDLE_CACHE='$(HEDDLE_CACHE)' $(GO) test -run '^$$' -bench Attach -benchtime 1x -timeout 60m ./test/attachbench

bench-many: build ## attach thousands of endpoints, restart the agent among them, remove them (root; HEDDLE_ENDPOINTS=N, or 3000)
	$(GO) test -run '^$$' -bench Many -benchtime 1x -timeout 180m ./test/attachbench

# CoreDNS is a module of its own, which nothing else builds.
bench-resolver: ## questions for names: our resolver against dnsmasq and CoreDNS
	@mkdir -p bin/test
	cd test/resolverbench/coredns && $(GO) build -o $(CURDIR)/bin/test/coredns .
	HEDDLE_COREDNS=$(CURDIR)/bin/test/coredns $(GO) test -run '^$$' -bench Resolver -benchtime 1x -timeout 20m ./test/resolverbench

man: build ## man pages into bin/man
	@mkdir -p bin/man && bin/heddle docs man bin/man

install: build man ## install binaries, unit, completion and man pages
	packaging/install.sh '$(DESTDIR)' '$(PREFIX)'

uninstall: ## remove what install put there
	packaging/uninstall.sh '$(DESTDIR)' '$(PREFIX)'

deb: build ## build the Debian package bin/heddle_VERSION_ARCH.deb
	@packaging/deb.sh bin

vm-systemd: vm-kernels ## the package under a real systemd, in a virtual machine
	HEDDLE_SOAK=1 $(GO) test -timeout 30m -count=1 -v -run TestSoakSystemd ./test/install

vm-managers: vm-kernels ## NICs for containers in a machine with systemd-networkd, NetworkManager, cloud-init and udev, 100 times
	test/install/testdata/tree.sh managers >/dev/null
	HEDDLE_SOAK=1 $(GO) test -timeout 90m -count=1 -v -run TestSoakManagers ./test/managers

clean: ## remove bin/
	rm -rf bin
