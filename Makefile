# Everything begins here: `make` lists the targets.
.DEFAULT_GOAL := help
.PHONY: help build page demo run test test-page lint bench bench-engines bench-mini bench-md test-engines test-webhooks bench-webhooks fuzz docs clean

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 10s

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/pleat, with the page where Node.js is installed
	@scripts/page --optional
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X pleat.Version=$(VERSION)' -o bin/pleat ./cmd/pleat

page: ## build the page alone, into internal/ui/dist
	scripts/page

demo: build ## fold Trp-cage through a server of its own; writes demo/
	bin/pleat demo --out demo

run: build ## serve on 127.0.0.1:8080 with the data in ./pleat-data
	PLEAT_WEBHOOK_ALLOW=127.0.0.0/8,::1 bin/pleat serve

test: ## everything that must pass: format, vet, lint, races, both databases, documentation
	scripts/test

test-engines: ## the real engines with random weights, end to end, and engines against reference programs; minutes, 25 GB of disk
	scripts/with-engines go test -count=1 -timeout 60m -v -run 'RealEngines|RunnersOfOurs' ./cmd/pleat ./internal/engine/runner
	PLEAT_TEST_ENGINES=1 go test -count=1 -timeout 60m -v -run 'OpenMM|OtherReaders|Histatin5' ./internal/calvados

test-webhooks: ## signatures against the official libraries of Go, Python and Node, and the receivers of the docs
	scripts/test-webhooks

test-page: ## the page in a browser against the real program; installs Debian's Chromium where it is missing
	scripts/test-page

lint: ## format, vet and lint alone
	PLEAT_TEST_STEPS=lint scripts/test

bench: ## speed of the service, each figure as a ratio to a ceiling measured beside it
	scripts/with-postgres go run ./cmd/pleat-bench

bench-webhooks: ## speed of deliveries, alone, beside an endpoint that hangs, and with a long queue
	scripts/with-postgres go run ./cmd/pleat-bench --only webhook-speed,webhook-delay,webhook-neighbour,webhook-memory

bench-engines: ## ten small jobs through the service against ten calls of boltz predict, and what the service adds to a warm one
	WITH_ENGINES=boltz PLEAT_TEST_BENCH=1 scripts/with-engines go test -count=1 -timeout 60m -v -run BenchEngines ./cmd/pleat

bench-mini: ## accuracy and time of the engine mini on the tuning structures
	go run ./tools/mini/bench

bench-md: ## speed of the dynamics engine beside OpenMM's CPU platform, where PLEAT_PYTHON (python3) has openmm
	go run ./tools/calvados/bench

fuzz: ## every fuzz target for FUZZTIME each
	scripts/fuzz $(FUZZTIME)

docs: ## write the generated parts of the documentation
	go generate ./...

clean: ## remove what was built; data folders stay
	rm -rf bin demo web/dist
	find internal/ui/dist -mindepth 1 ! -name README.md -delete
