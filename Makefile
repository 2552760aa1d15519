.DEFAULT_GOAL := help
.PHONY: help build release profile test lint fuzz fuzz-long bench corpus crash illness illness-real zincsearch several several-gate trust ci pictures console-editor

GOLANGCI_LINT ?= $(shell command -v golangci-lint || echo $(shell go env GOPATH)/bin/golangci-lint)
VERSION ?= $(shell packaging/version)
FUZZTIME ?= 3s
KILLS ?= 50
ROUNDS ?= 200
SEED ?= random

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the static binary bin/sextant
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/sextant ./cmd/sextant

PROFILE ?= packaging/crawl.pgo
release: export PROFILE := $(PROFILE)
release: ## build dist/: tar.gz, Debian package and SBOM for linux amd64 and arm64, SHA256SUMS; PROFILE=off is quicker
	packaging/release $(VERSION)

profile: ## crawl for half a minute, and keep what takes time in packaging/crawl.pgo, by which releases are compiled
	SEXTANT_PROFILE=$(CURDIR)/packaging/crawl.pgo go test -count=1 -run 'TestProfile$$' ./cmd/sextant

test: ## run all tests
	go test -timeout 30m ./...

lint: ## check the format, vet, and run golangci-lint
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "gofmt -w $$unformatted"; exit 1; }
	go vet ./...
	$(GOLANGCI_LINT) run ./...

fuzz: ## run each fuzz target for FUZZTIME (3s)
	.ci/fuzz $(FUZZTIME)

fuzz-long: ## run each fuzz target for five minutes, property tests with a new seed (SEED repeats a run), and the HTML tokens for an hour
	.ci/fuzz 5m
	SEXTANT_SEED=$(SEED) RAPID_CHECKS=2000 go test -count=1 $$(grep -rl --include='*_test.go' 'internal/testing/seeded"' . | xargs -n 1 dirname | sort -u)
	go test -run '^$$' -fuzz '^FuzzScanner$$' -fuzztime 1h ./fetcher/extract/markup

bench: ## run all benchmarks, with allocations
	go test -run '^$$' -bench . -benchmem ./...

corpus: ## measure what is found of copies, and that no distinct page is lost; installs the documentations that it reads
	@[ -d /usr/share/doc/libboost1.81-doc/doc -a -d /usr/share/doc/sqlite3 ] || apt-get install -y --no-install-recommends libboost1.81-doc sqlite3-doc || echo "without the documentations of Boost and SQLite"
	SEXTANT_CORPUS=all bash -o pipefail -c "go test -count=1 -v -run 'Corpus|Forms|Documentations' ./crawl/copies | grep -v '^ *==='"

crash: export SEXTANT_SEED = $(SEED)
crash: export TMPDIR := $(or $(TMPDIR),/tmp)# the disk, not memory
crash: ## kill, cut the power, fill the disk and damage files: ROUNDS (200) of the store, KILLS (50) of crawler and receiver; SEED repeats a run
	SEXTANT_CRASH_ROUNDS=$(ROUNDS) go test -count=1 -timeout 120m -run 'Kill|PowerCut|DiskFills|RunOnFullDisk|DamagedFiles|OutboxModel|Workload|ClockJumps' ./scheduler/...
	SEXTANT_KILLS=$(KILLS) go test -race -count=1 -timeout 60m -run 'Kill|^Test(PAPI|Elastic|Webhook|Solr|Funnelback)' ./cmd/... ./internal/demo/... ./push/...
	SEXTANT_HOSTILE=10000 go test -count=1 -timeout 30m -run Flat ./fetcher

illness: ## have sites of all sizes fall ill in all ways under all policies, and count what leaves the index
	SEXTANT_ILLNESS=all bash -o pipefail -c "go test -count=1 -timeout 240m -v ./internal/testing/illness | grep -v '^ *==='"

zincsearch: ## push to a ZincSearch server, from a module of its own; downloads it
	cd internal/testing/zincsearch && go test ./...

illness-real: ## the same with the program itself and servers on loopback, some minutes long
	SEXTANT_ILLNESS=real bash -o pipefail -c "go test -count=1 -timeout 60m -parallel 8 -v -run RealIllness ./internal/testing/illness | grep -v '^ *==='"

several: export SEXTANT_SEED = $(SEED)
several: ## have nodes and their PostgreSQL fail KILLS (50) times; SEED repeats a run
	SEXTANT_SEVERAL=$(KILLS) go test -count=1 -timeout 60m -v -run 'Several|ManyTakeOvers' ./cmd/sextant

GATE ?= -rounds 5 -for 30m
several-gate: ## stop nodes, hold standbys and lose commits of the engine on PostgreSQL, then load it for half an hour
	go run ./internal/testing/pggate $(GATE)

TRUST ?= 1h
trust: export SEXTANT_SEED = $(SEED)
trust: ## crawl random sites by random configurations for TRUST (1h), and compare all that is said of them; SEED repeats a run
	SEXTANT_TRUST=$(TRUST) go test -count=1 -timeout 0 -v ./internal/testing/trust

ci: ## what continuous integration runs
	.ci/run

pictures: ## take the README's pictures of the console again, from the demo; needs Chromium
	mkdir -p docs/images
	SEXTANT_README_PICTURES=$(CURDIR)/docs/images go test -count=1 -run 'TestReadmePictures$$' ./internal/testing/browsertest

console-editor: ## bundle the console's XML editor again (needs npm and its registry); then write its sum into VENDOR.md
	cd internal/admin/console/editor && npm ci --no-audit --no-fund && npm run build && sha256sum ../static/vendor/codemirror.js
