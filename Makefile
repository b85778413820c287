# `make` lists the targets. None of them asks for privileges, except that test-page installs a browser where there is none.
.DEFAULT_GOAL := help
.PHONY: help build page site demo run test lint format test-page test-site test-webhooks test-tables test-python \
	test-notebooks test-compare test-clients test-modelcif test-readers test-views test-mcp test-identity test-proxies test-pgbouncer test-images \
	test-alerts test-dist test-smoke test-module-path test-tools \
	test-clusters test-helm test-kube test-engines fuzz soak bench bench-engines bench-mini bench-md \
	bench-page lighthouse docs clean images dist

VERSION ?= $(or $(shell scripts/version),$(error scripts/version fails))
MODULE = $(shell scripts/module-path)
FUZZTIME ?= 10s
SOAK ?= 10m
CHAOS ?= 1

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/pleat, with the page if Node.js is installed
	@scripts/page --optional
	@scripts/site --again
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X $(MODULE).Version=$(VERSION)' -o bin/pleat ./cmd/pleat

page: ## build only the page, into internal/ui/dist
	scripts/page

site: ## build only the documentation site, into internal/ui/site; it needs Python 3.11 or later
	scripts/site

demo: build ## fold Trp-cage on a temporary server; writes demo/
	bin/pleat demo --out demo

run: build ## serve on 127.0.0.1:8080 with the data in ./pleat-data
	PLEAT_WEBHOOK_ALLOW=127.0.0.0/8,::1 bin/pleat serve

test: ## everything that a change must pass: format, linters, tests with the race detector on both databases
	scripts/test

lint: ## format and linters of Go, Python and the page, without the tests
	PLEAT_TEST_STEPS=lint scripts/test

format: ## format Go, Python and the page
	git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -w
	scripts/lint-python --fix
	scripts/page --install && cd web && npm run --silent format

test-pgbouncer: ## the store, and two workers, on PostgreSQL behind PgBouncer, which pools transactions
	PLEAT_PG_FSYNC=off scripts/with-postgres scripts/with-pgbouncer scripts/test-pgbouncer

test-page: ## the page in a browser against the real program; needs Chromium
	scripts/test-page

test-smoke: ## a part of test-page, and test-python with one Python; .ci/run runs them for each change
	scripts/test-page --smoke
	scripts/test-python --newest

test-site: ## the documentation site: its links, its policy, and in a browser; needs Python and Chromium
	scripts/test-site

test-webhooks: ## signatures checked by the official libraries of Go, Python and Node.js, and the receivers of the documentation
	scripts/test-webhooks

test-tables: ## pandas and DuckDB read the tables of batches
	scripts/test-tables

test-python: ## the Python client against a real server, with the oldest and the newest Python that pyenv has, and its types
	scripts/test-python

test-notebooks: ## the notebooks of examples: what is stored in them, and those that need no other engine are executed
	scripts/test-notebooks

test-compare: ## gemmi, tmtools, biotite and DockQ compute the scores of comparisons
	scripts/test-compare

test-clients: ## the TypeScript client, and clients that generators make of the OpenAPI document, against a real server
	scripts/test-clients

test-modelcif: ## python-ihm, python-modelcif and gemmi check the structure files
	scripts/test-modelcif

test-readers: ## gemmi and biotite read the structure files that packages ship for their tests
	scripts/test-readers

test-views: ## PyMOL and the library of MolViewSpec read the scripts for viewers
	scripts/test-views

test-mcp: ## the conformance suite and the Python SDK of the Model Context Protocol, over HTTP and standard input and output
	scripts/test-mcp

test-identity: ## sign-in by OpenID Connect with Keycloak; needs Java 17, Maven, unzip and curl
	scripts/test-identity

test-proxies: ## the configurations of nginx and Caddy in deploy, with the real programs
	scripts/test-proxies

test-alerts: ## the alert rules and the dashboard by Prometheus' promtool, and the unit tests of the rules
	promtool=$$(scripts/promtool-bin) && PLEAT_TEST_PROMTOOL=$$promtool go test -count=1 -v -run '^TestPromtool$$' ./test/docs

test-clusters: ## the fleet on a real Slurm with made-up nodes, and CHAOS (1) rounds of random kills; takes four minutes
	PLEAT_TEST_CLUSTERS=1 PLEAT_TEST_CHAOS=$(CHAOS) PLEAT_PG_FSYNC=off scripts/with-slurm scripts/with-postgres \
		go test -count=1 -timeout 60m -parallel 6 -v -run 'TestSlurm$$' ./test/clusters

test-helm: ## the Helm chart: what it renders with several sets of values, without a cluster
	GOFLAGS=-trimpath go -C tools/kube test -count=1 -timeout 10m .

test-kube: ## the Helm chart and KEDA on a real control plane, with pods as processes, and CHAOS (1) rounds of random kills
	PLEAT_TEST_CHAOS=$(CHAOS) scripts/test-kube

test-engines: ## the real engines with random weights, and the peers of comparisons; takes minutes and 25 GB of disk
	scripts/with-engines go test -count=1 -timeout 60m -v -run 'RealEngines|RunnersOfOurs' \
		./test/engines ./internal/cli/engines ./internal/engine/runner
	scripts/with-engines scripts/test-notebooks --engines
	PLEAT_TEST_ENGINES=1 go test -count=1 -timeout 60m -v -run 'OpenMM|OtherReaders|Histatin5' ./internal/calvados
	scripts/test-compare

fuzz: ## run every fuzz target for FUZZTIME
	scripts/fuzz $(FUZZTIME)

soak: ## kill servers that work, watch for leaks and fuzz for SOAK (10m), and until SOAK_KILLS kills are done
	scripts/soak $(SOAK)

bench: ## speed of the service, each figure as a ratio to a ceiling measured in the same run
	scripts/with-postgres go run ./cmd/pleat-bench

bench-engines: ## ten small jobs through the service compared with ten calls of boltz predict
	WITH_ENGINES=boltz PLEAT_TEST_BENCH=1 scripts/with-engines \
		go test -count=1 -timeout 60m -v -run BenchEngines ./test/engines

bench-accuracy: ## the models whose released weights can be had against experiments, with the table of docs/engines.md
	WITH_ENGINES='igfold proteinmpnn' scripts/with-engines \
		go test -count=1 -timeout 60m -v -run 'RealEngines(IgFold|Recovery)' ./test/engines

bench-mini: ## accuracy and time of the engine mini on its tuning structures
	go run ./tools/mini/bench

bench-md: ## speed of the dynamics engine compared with OpenMM's CPU platform; PLEAT_PYTHON (python3) needs openmm
	go -C tools/calvados/bench run .

bench-page: ## speed of the page on a slow line and processor; with large results and long lists; needs Chromium
	scripts/bench-page

lighthouse: ## Lighthouse's figures and reports of the page, in bin/lighthouse; needs Chromium
	@scripts/page
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/pleat ./cmd/pleat
	scripts/lighthouse

images: ## container images of the server and of a worker with ENGINE (example), as OCI archives in bin/images
	VERSION=$(VERSION) scripts/images

test-images: ## the images: read back, run without a container engine, and made twice with one result
	GOFLAGS= go -C tools/images test -count=1 -timeout 10m .

dist: ## what a release consists of, into dist: archives and wheels for four platforms, checksums, a list of the parts
	VERSION=$(VERSION) scripts/dist

test-dist: ## archive and wheel of this platform: made twice with one result, checked, installed and run
	scripts/test-dist

test-module-path: ## the module under another path, in a copy: it compiles, and a program outside of it folds
	scripts/test-module-path

test-tools: ## the trainer of mini and the benchmark of the dynamics engine, which are modules of their own
	for dir in tools/mini/train tools/calvados/bench; do \
		GOFLAGS=-trimpath go -C $$dir vet ./... && GOFLAGS=-trimpath go -C $$dir test ./... || exit 1; \
	done

docs: ## write the generated parts of the documentation
	go generate ./...

clean: ## remove build results; data folders stay
	rm -rf bin demo dist web/dist
	find internal/ui/dist internal/ui/site -mindepth 1 ! -name README.md -delete
