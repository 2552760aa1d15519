.DEFAULT_GOAL := help
.PHONY: help build release profile test lint fuzz fuzz-long bench corpus crash cluster-crash cluster-figures partitions illness illness-real trust ci sextant-etcd etcd-conformance pictures console-editor

GOLANGCI_LINT ?= $(shell command -v golangci-lint || echo $(shell go env GOPATH)/bin/golangci-lint)
VERSION ?= $(shell packaging/version)
FUZZTIME ?= 3s
KILLS ?= 50
ROUNDS ?= 200
SEED ?= random
CAMPAIGNS ?= 5
CLUSTER_KILLS ?= 45
JOBS ?= 2

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
	go test ./...

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
crash: ## kill, cut the power, fill the disk and damage files: ROUNDS (200) of the store, KILLS (50) of crawler and receiver; SEED repeats a run
	SEXTANT_CRASH_ROUNDS=$(ROUNDS) go test -count=1 -timeout 120m -run 'Crash|Kill|PowerCut|DiskFills|RunOnFullDisk|DamagedFiles|OutboxModel|Workload|ClockJumps' ./scheduler/...
	SEXTANT_KILLS=$(KILLS) go test -race -count=1 -timeout 60m -run 'Crash|Kill' ./cmd/... ./internal/demo/... ./push/...
	SEXTANT_HOSTILE=10000 go test -count=1 -timeout 30m -run Flat ./fetcher

PARTITIONS ?=
NODES ?= 3
REPLICAS ?= 2
KILLED ?= $(if $(PARTITIONS),TestPartitionsKilled,TestClusterKilled)
TALLY = bin/cluster-crash$(if $(PARTITIONS),-$(PARTITIONS)-$(NODES)-$(REPLICAS))$(if $(filter TestOnceKilled,$(KILLED)),-once)$(if $(filter random,$(SEED)),,-$(SEED))
cluster-crash: export SEXTANT_SEED = $(SEED)
cluster-crash: export SEXTANT_PARTITIONS = $(PARTITIONS)
cluster-crash: export SEXTANT_NODES = $(NODES)
cluster-crash: export SEXTANT_REPLICAS = $(REPLICAS)
cluster-crash: ## kill two real nodes (with PARTITIONS=24 NODES (3) of that many, in REPLICAS (2) copies) in many ways on three real etcd, CLUSTER_KILLS (45) times in each of CAMPAIGNS (5), JOBS (2) of them at once, and go on after those in TALLY; KILLED=TestOnceKilled does so to sextant run --once; SEED repeats one
	mkdir -p bin; touch $(TALLY)
	go test -count=1 -run 'TestCampaign|TestCopies' ./cluster/node ./scheduler/badgerstore
	SEXTANT_CLUSTER_KILLS=1 go test -count=1 -run 'TestPartitionsTakenOver' ./internal/service
	go test -c -o bin/cluster-crash.test ./cmd/sextant
	cd cmd/sextant && left=$$(($(CAMPAIGNS) - $$(wc -l < $(abspath $(TALLY))))) && \
	for job in $$(seq $(if $(filter random,$(SEED)),$(JOBS),1)); do \
	  ( for n in $$(seq $$job $(JOBS) $$left); do \
	    SEXTANT_CLUSTER_KILLS=$(CLUSTER_KILLS) SEXTANT_CLUSTER_TALLY=$(abspath $(TALLY)) ../../bin/cluster-crash.test -test.v -test.timeout 60m -test.run '$(KILLED)$$' > ../../bin/cluster-crash-$$job.log 2>&1 || exit; \
	  done ) & jobs="$$jobs $$!"; \
	done; for job in $$jobs; do wait $$job || failed=yes; done; \
	if [ -n "$$failed" ]; then cat ../../bin/cluster-crash-*.log; exit 1; fi
	cat $(TALLY)

PARTS ?= takeover handover rate promotion engine scale join same log ten
cluster-figures: export SEXTANT_CLUSTER_FIGURES = $(PARTS)
cluster-figures: export SEXTANT_CLUSTER_TIMES = $(TIMES)
cluster-figures: export SEXTANT_ETCD_SYNCS = 1
cluster-figures: ## measure a cluster on this machine: PARTS (takeover handover rate promotion engine scale join same log ten), TIMES times each; some 80 minutes
	go test -c -o bin/figures.test ./cmd/sextant
	cd cmd/sextant && ../../bin/figures.test -test.v -test.timeout 60m -test.run 'TestFigure(TakeOver|HandOver|Promotion)' | grep -E '^FAIL|_test.go' | grep -v 'runs it' || :
	cd cmd/sextant && taskset -c 1 ../../bin/figures.test -test.v -test.timeout 60m -test.run 'TestFigureRate' | grep -E '^FAIL|_test.go' | grep -v 'runs it' || :
	go test -count=1 -p 1 -v -timeout 90m -run 'TestFigure' ./cluster/etcd ./internal/testing/clusterfigures | grep -E '^FAIL|_test.go' | grep -v 'runs it' || :

partitions: export SEXTANT_SEED = $(SEED)
partitions: ## kill, move and set back partitions of a crawl, and lose messages between them; SEED repeats a run
	go test -count=1 -timeout 60m ./scheduler/partitioned

illness: ## have sites of all sizes fall ill in all ways under all policies, and count what leaves the index
	SEXTANT_ILLNESS=all bash -o pipefail -c "go test -count=1 -timeout 120m -v ./internal/testing/illness | grep -v '^ *==='"

illness-real: ## the same with the program itself and servers on loopback, some minutes long
	SEXTANT_ILLNESS=real bash -o pipefail -c "go test -count=1 -timeout 60m -parallel 8 -v -run RealIllness ./internal/testing/illness | grep -v '^ *==='"

TRUST ?= 1h
trust: export SEXTANT_SEED = $(SEED)
trust: ## crawl random sites by random configurations for TRUST (1h), and compare all that is said of them; SEED repeats a run
	SEXTANT_TRUST=$(TRUST) go test -count=1 -timeout 0 -v ./internal/testing/trust

ci: ## what continuous integration runs
	.ci/run

sextant-etcd: ## build dist/sextant-etcd, etcd's server for trials, with its bill of materials and licences
	mkdir -p dist
	CGO_ENABLED=0 go build -C sextant-etcd -trimpath -ldflags="-s -w" -o ../dist/sextant-etcd .
	go build -o dist/sbom ./packaging/sbom
	cd sextant-etcd && ../dist/sbom -program ../dist/sextant-etcd -version "$$(go list -m -f '{{.Version}}' go.etcd.io/etcd/server/v3)" -bom ../dist/sextant-etcd.cdx.json -licenses ../dist/sextant-etcd.licenses.txt
	rm dist/sbom

etcd-conformance: sextant-etcd ## the tests of a cluster's log against sextant-etcd, in place of the etcd that is installed
	SEXTANT_ETCD=$(CURDIR)/dist/sextant-etcd go test -count=1 ./cluster/etcd

pictures: ## take the README's pictures of the console again, from the demo; needs Chromium
	mkdir -p docs/images
	SEXTANT_README_PICTURES=$(CURDIR)/docs/images go test -count=1 -run 'TestReadmePictures$$' ./internal/testing/browsertest

console-editor: ## bundle the console's XML editor again (needs npm and its registry); then write its sum into VENDOR.md
	cd internal/admin/console/editor && npm ci --no-audit --no-fund && npm run build && sha256sum ../static/vendor/codemirror.js
