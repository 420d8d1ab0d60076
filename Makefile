# Everything a contributor does. `make help` lists it.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

ROOT := $(CURDIR)
BIN := $(ROOT)/bin
TOOLS := $(ROOT)/.bin
MODULES := gen pkg/fault pkg/internal pkg/sdk pkg services
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT ?= $(shell git describe --always --abbrev=40 --dirty --exclude '*' 2>/dev/null)
DATE ?= $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)
ABOUT := github.com/interlock-run/interlock/services/internal/build
LDFLAGS := -s -w -X $(ABOUT).version=$(VERSION) -X $(ABOUT).commit=$(COMMIT) -X $(ABOUT).date=$(DATE)
GO ?= go
# Whole-workspace package patterns: `./...` does not span a workspace.
PACKAGES := $(addsuffix /...,$(addprefix ./,$(MODULES)))
# Compiling is most of a first demo, and of a first test: without inlining it takes
# half the time, and a compiler that collects its garbage less often, with at most 1 GB, saves a tenth more.
QUICK := -trimpath -ldflags '$(LDFLAGS)' -gcflags='all=-l -dwarf=false' -toolexec 'env GOGC=400'
# Tests with nothing to race: of pure functions, of programs that run by themselves, and of the
# attacker, which interleaves by its seed.
# A jail bounds the memory of the process that starts a command, and the race detector needs more.
# The longest come first: the end-to-end tests wait more than they compute.
ALONE := ./services/e2e ./pkg/verify/... ./services/cmd/interlock ./services/internal/jailer/jailertest ./services/internal/attack ./services/internal/jailer \
	./services/internal/packs $(addprefix ./pkg/,attack authority bundle condition consent diagram document evidence facet importer jail jsonobject mail \
	pathglob placeholder pricing process receipt rules scenario schedule session shell signature sqlscan toolcall toolinput toolname visible webhook workflow)
# SQLite is C translated to Go: to watch its memory for races takes most of a test's
# time, and none of it is ours.
# What others have written is compiled without inlining: it takes half the time.
OTHERS := $(foreach p,github.com google.golang.org go.opentelemetry.io golang.org buf.build cel.dev,-gcflags='$(p)/...=-dwarf=false -l')
RACE := -gcflags=all=-dwarf=false $(OTHERS) -gcflags='github.com/interlock-run/...=-dwarf=false' \
	-gcflags='modernc.org/...=-dwarf=false -race=false' -ldflags='-s -w'
# `make check` and .ci/run vet by themselves.
ALL_OF_IT := -p 3 -parallel 4 -vet=off -shuffle=on -timeout=30m
HOUSE ?= -check
FUZZTIME ?= 20s
SEEDS ?= 5
ATTACKS ?= 10000
FAULTS ?= 200
FAULT_TESTS := Fault|Kill|Down|PowerLoss|Power|Rollback|Failover|Disk|Crash|Uncertain|Unconfirmed|Guarded|ClockOf|Linearizable|Repeat|NATSBack

export PATH := $(TOOLS):$(PATH)

.PHONY: build
build: ## build bin/interlock and the separate services
	@mkdir -p $(BIN)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ ./services/cmd/...

.PHONY: test
test: deps ## install what the tests need, then run every test; RACED=1 leaves those to `make race` that it runs
	cd services/e2e/clients && npm ci --no-audit --no-fund --loglevel=error
	@./.ci/python $(TOOLS)/venv dev
	CGO_ENABLED=0 $(GO) test $(QUICK) $(ALL_OF_IT) $(ALONE) $(if $(RACED),,$(PACKAGES))
	$(MAKE) valkey-test chart-test cells-test release-test console-test test-sdk

.PHONY: jail-test
jail-test: ## run all attempts to get out of jails, at each level, with the corpora and the projects; AGENT_LINES=lines.jsonl.gz adds lines of agents; about an hour
	@./.ci/python $(TOOLS)/venv dev
	INTERLOCK_JAIL_TEST=full AGENT_LINES='$(abspath $(AGENT_LINES))' CGO_ENABLED=0 $(GO) test $(QUICK) -vet=off -v -count=1 -timeout=180m \
		./services/internal/jailer/jailertest

.PHONY: test-sdk
test-sdk: test-sdk-ts test-sdk-py ## the SDKs of TypeScript and Python, and their adapters with the frameworks that they are for

.PHONY: test-sdk-ts
test-sdk-ts: deps ## check, build and test the TypeScript SDK and its adapters, against `interlock up`
	@mkdir -p $(BIN)
	@CGO_ENABLED=0 $(GO) build $(QUICK) -o $(BIN)/ ./services/cmd/interlock ./services/e2e/sdkhost
	@cd sdk/typescript && npm ci --loglevel=error && npm run --silent lint && npm run --silent build && \
		npm run --silent pack:check >.pack 2>&1 || { cat .pack; exit 1; }
	@cd sdk/typescript && npm run --silent test

.PHONY: valkey-test
valkey-test: ## the store's suite on Valkey: all but TLS, which this build of Valkey does not have
	@./.ci/valkey $(TOOLS)
	INTERLOCK_REDIS_SERVER=$(TOOLS)/valkey-server CGO_ENABLED=0 $(GO) test $(QUICK) $(ALL_OF_IT) -count=1 \
		-skip '^(TestSecuredServerKeepsTheContract|TestLogins|TestPasswordsAreReadAgain)$$' ./pkg/store/redisstore

.PHONY: chart-test
chart-test: ## test the Helm chart without a cluster; CHART_FLAGS=-update writes its golden files
	cd tools/chart && CGO_ENABLED=0 GOWORK=off $(GO) test -count=1 -trimpath -gcflags='all=-l -dwarf=false' -vet=off ./... $(CHART_FLAGS)

.PHONY: console
console: deps ## build the console's pages into services/gateway/internal/console/dist
	cd console && npm ci --no-audit --no-fund --loglevel=error && npm run --silent build

.PHONY: console-test
console-test: console ## lint and test the console's pages, compare what is built with what is committed, and use it in a browser
	cd console && npm run --silent lint && npm run --silent test
	@mkdir -p $(BIN)
	CGO_ENABLED=0 $(GO) build $(QUICK) -o $(BIN)/ ./services/cmd/interlock
	cd tools/receiptcheck && CGO_ENABLED=0 GOWORK=off $(GO) build $(QUICK) -o $(BIN)/receiptcheck .
	cd console && INTERLOCK=$(BIN)/interlock RECEIPTCHECK=$(BIN)/receiptcheck node --test --test-concurrency=1 --test-reporter=spec e2e/*.test.mjs
	@test -z "$$(git status --porcelain -- services/gateway/internal/console/dist)" || \
		{ git status --short -- services/gateway/internal/console/dist; echo 'the built pages are stale: run `make console` and commit'; exit 1; }

.PHONY: test-sdk-py
test-sdk-py: deps ## lint and test the SDK of Python and its adapters, each with the framework that it is for
	@mkdir -p $(BIN)
	CGO_ENABLED=0 $(GO) build $(QUICK) -o $(BIN)/ ./services/cmd/interlock ./services/e2e/sdkhost
	@sdk/python/check

.PHONY: adapters-newest
adapters-newest: deps ## run each adapter once with the newest release of its framework; ADAPTERS="python/adk typescript/adk" names some
	@mkdir -p $(BIN)
	CGO_ENABLED=0 $(GO) build $(QUICK) -o $(BIN)/ ./services/cmd/interlock ./services/e2e/sdkhost
	@sdk/newest

.PHONY: sdk-py-lock
sdk-py-lock: ## pin what sdk/python/requirements/*.in need
	@./.ci/python $(TOOLS)/venv
	cd sdk/python/requirements && for f in *.in; do grep -qx '# from 3.10' $$f && v=3.10 || v=3.11; \
		$(TOOLS)/venv/uv/bin/uv pip compile --quiet --no-header --no-annotate --no-emit-index-url --universal --python-version $$v $$f -o $${f%.in}.txt; done

.PHONY: release
release: ## make VERSION=v0.1.0 in dist/: archives, checksums, SBOM, modules; a dry run, or with TAG=1 its tags too
	cd tools/release && GOWORK=off GOFLAGS= $(GO) run . -repo $(ROOT) -out $(ROOT)/dist -version '$(if $(filter command line environment,$(origin VERSION)),$(VERSION))' $(if $(TAG),-tag)

.PHONY: notice
notice: ## write NOTICE, the licences of what is linked, after changes of go.mod
	cd tools/release && GOWORK=off GOFLAGS= $(GO) run . -repo $(ROOT) -notice

.PHONY: release-test
release-test: deps ## release what is here, install it from its modules, its tags and its packages, and judge the licences
	@./.ci/python $(TOOLS)/venv
	cd tools/release && CGO_ENABLED=0 GOWORK=off $(GO) test -trimpath -gcflags='all=-l -dwarf=false' -vet=off -count=1 ./...

.PHONY: alerts
alerts: ## check the alerts, the dashboard and the runbook, and run the tests of the alerts
	@./.ci/tools $(TOOLS) promtool
	promtool check rules --lint=all deploy/prometheus/alerts.yaml
	promtool test rules deploy/prometheus/alerts_test.yaml
	cd tools/promtool && CGO_ENABLED=0 GOWORK=off $(GO) test -trimpath -gcflags='all=-l -dwarf=false' -vet=off ./...

.PHONY: race
race: deps ## run the tests that can race anything with the race detector
	$(GO) test -race $(RACE) $(ALL_OF_IT) \
		$$($(GO) list $(PACKAGES) | grep -vxF "$$($(GO) list $(ALONE))")

.PHONY: deps
deps: ## install redis-server, node and npm where they are missing
	@./.ci/deps

.PHONY: house
house: ## check the language of comments, messages and pages; HOUSE= prints the table, HOUSE='-hits "comments pkg/rules"' lines to rewrite
	@cd tools/house && export CGO_ENABLED=0 GOWORK=off && $(GO) test -trimpath -gcflags='all=-l -dwarf=false' -vet=off ./... && \
		$(GO) run -trimpath -gcflags='all=-l -dwarf=false' . $(HOUSE)

.PHONY: check
check: house cells-test ## the quick loop: language, vet, and the tests but for the slow ones
	$(GO) vet $(PACKAGES)
	$(GO) test -short $(PACKAGES)

.PHONY: lint
lint: tools house ## golangci-lint, gofumpt, buf, actionlint, and the language of tools/house
	@unformatted=$$(gofumpt -l pkg services); test -z "$$unformatted" || { echo "run gofumpt -w on:" $$unformatted; exit 1; }
	buf lint
	actionlint -shellcheck= -pyflakes= .github/workflows/*.yml
	for m in pkg/fault pkg/internal pkg/sdk pkg services; do (cd $$m && golangci-lint run --config $(ROOT)/.golangci.yml ./...); done

.PHONY: breaking
breaking: tools ## refuse changes that break the contracts of the last release; before the first, contracts may change, and this lists the changes against the main branch
	@against=$$(git -c versionsort.suffix=- tag --list 'gen/v*' --sort=-version:refname | head -1); \
	if [ -n "$$against" ]; then echo "compared with $$against"; buf breaking --against ".git#tag=$$against"; \
	elif git rev-parse --verify --quiet origin/main:proto >/dev/null; then \
		buf breaking --against '.git#ref=origin/main' || echo 'no contract has been released: these changes are allowed'; fi

.PHONY: generate
generate: tools ## regenerate what follows from proto/: gen/, and pkg/bus/asyncapi.json
	@./.ci/python $(TOOLS)/venv generate
	test -x sdk/typescript/node_modules/.bin/protoc-gen-es || (cd sdk/typescript && npm ci --loglevel=error)
	cd tools/shapes && CGO_ENABLED=0 GOWORK=off $(GO) build -trimpath -o $(TOOLS)/protoc-gen-interlock-shapes .
	rm -rf gen/go gen/python gen/ts
	buf generate

.PHONY: generate-check
generate-check: generate ## fail when what is generated and committed is not what proto/ gives
	@test -z "$$(git status --porcelain -- gen pkg/bus)" || { git status --short -- gen pkg/bus; echo 'generated files are stale: run `make generate` and commit'; exit 1; }

.PHONY: tidy
tidy: ## go mod tidy in every module
	for m in $(MODULES); do (cd $$m && GOWORK=off $(GO) mod tidy); done
	gofumpt -w pkg services

.PHONY: standalone
standalone: ## check that the go.mod of each module names all that it imports, which the workspace would hide
	for m in $(MODULES); do (cd $$m && GOWORK=off $(GO) list -deps -test ./... >/dev/null); done

.PHONY: bench
bench: deps bench-jail ## compare with bare servers and etcd, and commands with and without a jail, within 5 minutes; BENCH_QUICK=1 is shorter
	@./services/e2e/bench/run $(BENCH_FLAGS)

.PHONY: bench-jail
bench-jail: ## what a jail of each level adds to a command; Linux
	CGO_ENABLED=0 $(GO) test $(QUICK) -vet=off ./services/internal/jailer -run '^$$' -bench Run -benchtime 300x

.PHONY: bench-verify
bench-verify: deps ## what it takes to prove properties of workflows of up to 5,000 states; takes about two minutes
	@VERIFY_TABLE=1 go test ./pkg/verify -run TestLadders -count=1 -v
	@go test ./pkg/verify -run TestMutations -count=1 -v

.PHONY: bench-growth
bench-growth: deps ## what more runs, versions, documents and rules cost; takes about ten minutes
	@./services/e2e/bench/run -growth $(BENCH_FLAGS)

.PHONY: bench-scale
bench-scale: deps ## what calls, shards and replicas of NATS cost; takes about two minutes
	@./services/e2e/bench/run -scale $(BENCH_FLAGS)

.PHONY: cells
cells: ## simulate a deployment in cells from the measured costs, and write the tables of docs/scaling.md; takes 10 seconds
	cd tools/cells && CGO_ENABLED=0 GOWORK=off $(GO) run -trimpath -gcflags='all=-l -dwarf=false' . -write

.PHONY: cells-test
cells-test: ## test the simulation, and that docs/scaling.md has its tables
	cd tools/cells && CGO_ENABLED=0 GOWORK=off $(GO) test -trimpath -gcflags='all=-l -dwarf=false' -vet=off ./...

.PHONY: bench-console
bench-console: deps ## what the console's calls and pages take over DECISIONS, a million by default, on SQLite and Redis
	@cd console && npm ci --no-audit --no-fund --loglevel=error
	@./services/e2e/bench/run -growth -console -decisions $(or $(DECISIONS),1000000) -paint $(ROOT)/console/e2e/paint.mjs $(BENCH_FLAGS)

.PHONY: bench-timers
bench-timers: deps ## what TIMERS armed timers, a million by default, cost at rest, and how late clocks are when 10,000 fall due at once
	@./services/e2e/bench/run -growth -timers $(or $(TIMERS),1000000) $(BENCH_FLAGS)

.PHONY: bench-soak
bench-soak: deps ## what `interlock up` holds while it works for SOAK, 30 minutes by default
	@./services/e2e/bench/run -growth -soak $(or $(SOAK),30m) $(BENCH_FLAGS)

.PHONY: demo
demo: ## start everything embedded and walk an MCP client through a gated workflow
	@mkdir -p $(BIN)
	CGO_ENABLED=0 $(GO) build $(QUICK) -o $(BIN)/ ./services/cmd/interlock
	@$(BIN)/interlock demo $(if $(DEMO_EXIT),--exit)

.PHONY: example-agent-go example-agent-ts example-agent-py
example-agent-go: ## run the agent of docs/agent-examples.md in Go, next to a server of its own
	@examples/agents/run go

example-agent-ts: deps ## the same agent in TypeScript
	@examples/agents/run typescript

example-agent-py: ## the same agent in Python
	@examples/agents/run python

.PHONY: up
up: build ## start everything in one process
	$(BIN)/interlock up

.PHONY: fuzz
fuzz: ## property tests with SEEDS (5) random seeds, every fuzz target for FUZZTIME (20s), and ATTACKS (10000) schedules of the attacker
	@for i in $$(seq $(SEEDS)); do seed=$$(( RANDOM * 32768 + RANDOM + 1 )); echo "INTERLOCK_SEED=$$seed"; \
		INTERLOCK_SEED=$$seed INTERLOCK_FULL=1 $(GO) test -timeout=60m \
			$$(grep -rl --include='*_test.go' '/randtest"' pkg services | xargs -n1 dirname | sort -u | sed 's|^|./|'); done
	@for m in $(MODULES); do (cd $$m && for p in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
			echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p; done; done); done
	@seed=$$(( RANDOM * 32768 + RANDOM + 1 )); echo "INTERLOCK_SEED=$$seed"; \
		INTERLOCK_ATTACKS=$(ATTACKS) INTERLOCK_SEED=$$seed $(GO) test ./services/internal/attack -count=1 -v -timeout=60m -run '^TestManySchedules$$'

.PHONY: fault
fault: deps ## FAULTS (200) random faults, from SEED, at each topology under load, and every test of faults; prints the table
	cd services/e2e/clients && npm ci --no-audit --no-fund --loglevel=error
	@seed=$${SEED:-$$(( RANDOM * 32768 + RANDOM + 1 ))}; echo "SEED=$$seed FAULTS=$(FAULTS)"; \
		INTERLOCK_FAULTS=$(FAULTS) INTERLOCK_SEED=$$seed $(GO) test ./services/e2e -count=1 -v -timeout=6h -run '^TestFaultCampaign' \
			| grep --line-buffered -v -E '^=== |serving'
	$(GO) test -count=1 -timeout=60m -run '$(FAULT_TESTS)' $(PACKAGES) | grep -v 'no test'

.PHONY: cluster
cluster: ## one node of real Kubernetes from sources on this machine, with the chart on it; needs root and Debian
	tools/cluster/node build
	tools/cluster/node up
	tools/cluster/node images new
	tools/cluster/node install ilk new

.PHONY: cluster-test
cluster-test: ## faults, rollouts and upgrades of `make cluster` under load, from BEFORE (HEAD~1); prints the table
	rm -rf $(BIN)/before && git worktree prune && git worktree add --detach $(BIN)/before $(or $(BEFORE),HEAD~1)
	tools/cluster/node images old $(BIN)/before
	git worktree remove --force $(BIN)/before
	$(GO) test -tags cluster ./services/e2e -count=1 -v -timeout=60m -run '^TestCluster(Uninstall)?$$'

.PHONY: cluster-down
cluster-down: ## stop the node of `make cluster`
	tools/cluster/node down

.PHONY: tools
tools: deps ## build the pinned tools into .bin/
	@./.ci/tools $(TOOLS)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'
