# The commands of the project. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Node 24 and all tools come from the lock file, whatever the machine has.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
INSTALLED := node_modules/.package-lock.json

# Options of `make cluster`, `make cluster-down`.
NODE ?= real
NAME ?= default
FAKE_NODES ?= 10
CLUSTER_FLAGS = --name '$(NAME)' --node '$(NODE)' --fake-nodes '$(FAKE_NODES)' $(if $(AUDIT),--audit) $(if $(SCALE),--scale)

##@ Start here

.PHONY: demo
demo: $(INSTALLED) ## Show the operator on a real Kubernetes: builds and starts all it needs, or uses $$KUBECONFIG
	@node demo/main.ts up

.PHONY: demo-down
demo-down: $(INSTALLED) ## Remove every trace of the demo
	@node demo/main.ts down

.PHONY: test
test: $(INSTALLED) ## Everything that CI checks: lint, types, unit, integration, e2e
	@node tools/test-run.ts

##@ Develop

.PHONY: check
check: $(INSTALLED) ## Format, lint, types, import rules and unit tests: under a minute
	@node tools/test-run.ts format lint types imports unit

.PHONY: test-unit test-integration test-e2e
test-unit: $(INSTALLED) ## Unit tests only
	@node tools/test-run.ts unit
test-integration: $(INSTALLED) ## Tests against a real API server
	@node tools/test-run.ts build tools integration
test-e2e: $(INSTALLED) ## Tests against real nodes with real memcached. FULL=1: more of each fault; E2E_KUBECONFIG=…: another cluster
	@node tools/test-run.ts build tools e2e

# Those that need no real nodes; the tests of the launcher itself are about another thing.
COMPAT_TESTS = $(filter-out test/integration/devcluster%,$(shell grep -lE "form: '(none|fake)'" test/integration/*.test.ts))

.PHONY: test-compat
test-compat: $(INSTALLED) ## Tests against the oldest Kubernetes that is supported; builds it first, not part of make test
	@KUBERNETES=oldest node devcluster/main.ts build none fake
	@KUBERNETES=oldest node tools/test-run.ts integration -- $(COMPAT_TESTS)

.PHONY: test-soak
test-soak: $(INSTALLED) ## Changes and faults for MINUTES=10, and whether anything has piled up at the end; not part of make test
	@SOAK_MINUTES='$(or $(MINUTES),10)' vitest run --project soak

.PHONY: test-cert-manager
test-cert-manager: $(INSTALLED) ## Whether cert-manager's certificates do for the webhooks, too; builds it first, not part of make test
	@vitest run --project cert-manager

.PHONY: format
format: $(INSTALLED) ## Format the code and sort its imports
	@biome check --write

##@ The embedded cluster (kubeconfig: .devcluster/kubeconfig)

.PHONY: cluster
cluster: $(INSTALLED) ## Start or heal it. NODE=real|none|fake NAME=… FAKE_NODES=10 AUDIT=1 SCALE=1 KUBERNETES=newest|oldest
	@node devcluster/main.ts up $(CLUSTER_FLAGS)

.PHONY: cluster-down
cluster-down: $(INSTALLED) ## Stop it and remove every trace of it. NAME=…
	@node devcluster/main.ts down --name '$(NAME)'
	@[ '$(NAME)' != default ] || env -u KUBECONFIG node demo/main.ts stop

##@ The operator (on $KUBECONFIG, or the embedded cluster)

CLUSTER_KUBECONFIG = $(or $(KUBECONFIG),$(CURDIR)/.devcluster/kubeconfig)
KUBECTL = $$(command -v kubectl || echo $(CURDIR)/.devcluster/kubectl)

.PHONY: install
install: $(INSTALLED) ## Install the CRD
	@test -e '$(CLUSTER_KUBECONFIG)' || { echo "There is no cluster at $(CLUSTER_KUBECONFIG): start one with 'make cluster', or set KUBECONFIG." >&2; exit 1; }
	@$(KUBECTL) --kubeconfig '$(CLUSTER_KUBECONFIG)' apply --server-side -k config/crd

LOCAL_WEBHOOKS = mutatingwebhookconfigurations/memcached-operator-local-mutating-webhook-configuration \
  validatingwebhookconfigurations/memcached-operator-local-validating-webhook-configuration

.PHONY: run
run: install ## Run the operator on this machine. WEBHOOKS=1: the cluster asks it, too. ARGS='--log-level debug'
	@$(KUBECTL) --kubeconfig '$(CLUSTER_KUBECONFIG)' delete --ignore-not-found $(LOCAL_WEBHOOKS) # left by one that was killed
	@exec node src/main.ts --kubeconfig '$(CLUSTER_KUBECONFIG)' $(if $(WEBHOOKS),--webhook-local-host auto) $(ARGS)

.PHONY: generate manifests
generate manifests: $(INSTALLED) ## Write what is made from the code: CRD, permissions, webhooks, API reference
	@node src/generate/main.ts

.PHONY: bench
bench: $(INSTALLED) ## Measure the operator beside a bare client, on simulated nodes. FULL=1 ARGS='--count 500 --only storm'
	@node bench/main.ts $(if $(FULL),--full) $(ARGS)

.PHONY: profile
profile: $(INSTALLED) ## Show where CPU and memory go while a crowd arrives: a flame graph, and the heap, in docs/performance
	@node bench/profile.ts $(ARGS)

##@ The operator in a cluster ($KUBECONFIG, or the embedded one)

IMG ?= ghcr.io/c5c3/memcached-operator:latest

.PHONY: image
image: $(INSTALLED) ## Build the operator's image, without Docker: an OCI archive, dist/image.tar. IMG=…
	@node deploy/main.ts image --image '$(IMG)'

.PHONY: docker-build docker-push
docker-build: $(INSTALLED) ## Build the image by the Dockerfile, with Docker or Podman. IMG=…
	@node deploy/main.ts docker-build --image '$(IMG)'
docker-push: $(INSTALLED) ## Push the image, with Docker or Podman. IMG=…
	@node deploy/main.ts docker-push --image '$(IMG)'

.PHONY: install-yaml
install-yaml: $(INSTALLED) ## Write all manifests into one file, dist/install.yaml. IMG=…
	@node deploy/main.ts install-yaml --image '$(IMG)'

.PHONY: chart
chart: $(INSTALLED) ## Check the Helm chart and pack it into dist/
	@helm=$$(node devcluster/main.ts program helm); $$helm lint --strict charts/memcached-operator; $$helm package charts/memcached-operator --destination dist

.PHONY: deploy
deploy: $(INSTALLED) ## Run the operator in the cluster; the embedded one gets the image that is built here. IMG=… NAME=…
	@node deploy/main.ts up --image '$(IMG)' --name '$(NAME)'

.PHONY: undeploy
undeploy: $(INSTALLED) ## Remove it with all Memcacheds; KEEP_CRD=1 leaves those. NAME=…
	@node deploy/main.ts down --name '$(NAME)' $(if $(KEEP_CRD),--keep-crd)

##@ The Operator Lifecycle Manager (docs/olm.md)

BUNDLE_IMG ?= ghcr.io/c5c3/memcached-operator-bundle:v$(shell sed -n 's/.*"version": "\(.*\)".*/\1/p' package.json)

.PHONY: bundle
bundle: $(INSTALLED) ## Write bundle/, bundle.Dockerfile and catalog/, from the same code as config/. IMG=… (that of the version)
	@node src/generate/main.ts $(if $(filter-out file,$(origin IMG)),--image '$(IMG)')

.PHONY: bundle-image
bundle-image: $(INSTALLED) ## Build the bundle's image, without Docker: an OCI archive, dist/bundle.tar. BUNDLE_IMG=…
	@node deploy/main.ts bundle-image --image '$(BUNDLE_IMG)' --archive dist/bundle.tar

.PHONY: bundle-build bundle-push
bundle-build: $(INSTALLED) ## Build the bundle's image, with Docker or Podman. BUNDLE_IMG=…
	@node deploy/main.ts bundle-build --image '$(BUNDLE_IMG)'
bundle-push: $(INSTALLED) ## Push it, with Docker or Podman. BUNDLE_IMG=…
	@node deploy/main.ts docker-push --image '$(BUNDLE_IMG)'

##@ Help

.PHONY: help
help: ## This list
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-zA-Z0-9$$(_) -]+:.*## / { \
	    if (length($$1) > 20) printf "  %s\n  %-20s %s\n", $$1, "", $$2; else printf "  %-20s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

$(INSTALLED): package.json package-lock.json
	@command -v npm >/dev/null || { echo "npm is not installed: install Node.js 20 or later with npm, then run the same command again." >&2; exit 1; }
	@echo "installing Node 24 and the tools of the project (npm ci)"
	@npm ci --no-progress --loglevel=error --ignore-scripts || { echo "npm could not install the tools: see that the npm registry answers (npm config get registry), then run the same command again." >&2; exit 1; }
	@ln -sf ../node-linux-$$(node -p process.arch)/bin/node node_modules/.bin/node
	@touch $@
