SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## See all of it work, on this machine (installs, builds and starts what it needs)
	@infra/local/up
	@infra/local/cargo-lambda
	@cargo build --workspace --all-targets # As for the tests, so that nothing compiles twice.
	@set -a; source .local/env; NO_PROXY=127.0.0.1,$${NO_PROXY:-}; no_proxy=$$NO_PROXY; \
		exec "$${CARGO_TARGET_DIR:-target}/debug/demo"

.PHONY: setup
setup: ## Install the tools that the demo needs
	@infra/local/cargo-lambda

.PHONY: up
up: ## Start Postgres and LocalStack on this machine (PG_VERSION=14..18, STACK=docker)
	@infra/local/up

.PHONY: down
down: ## Stop them (CLEAN=1 removes their data, CLEAN=all also what was installed)
	@infra/local/down

# The relay with its spans, and the tests of them. The rest is built without.
OTEL := --workspace --features relay/otel,outbox-tests/otel

.PHONY: check
check: ## Formatting, lints, documentation and layering; warnings are errors
	@cargo fmt --all --check
	@cargo clippy --workspace --all-targets -- --deny warnings
	@cargo clippy $(OTEL) --lib --bin relay --test otel -- --deny warnings
	@RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --document-private-items
	@cargo nextest run --workspace --no-tests fail layering

.PHONY: check-infra
check-infra: ## infra/template.yaml by cfn-lint, SAM, checkov and rules of our own; offline, no account
	@infra/check/check-infra

.PHONY: check-cdk
check-cdk: ## The construct of infra/cdk: it makes what the template makes; offline once installed (UPDATE=1 after a change)
	@infra/cdk/check

.PHONY: test
test: ## All tests, against a real Postgres and LocalStack (PG_VERSION=14..18)
	@infra/local/up
	@cargo build --workspace --all-targets
	@set -a; source .local/env; NO_PROXY=127.0.0.1,$${NO_PROXY:-}; no_proxy=$$NO_PROXY; \
		POSTGRES_BIN=$$(infra/local/postgres-bin); \
		cargo nextest run --workspace --no-fail-fast
	@cargo build $(OTEL) --bin relay --test otel
	@set -a; source .local/env; NO_PROXY=127.0.0.1,$${NO_PROXY:-}; no_proxy=$$NO_PROXY; \
		cargo nextest run $(OTEL) --test otel --no-fail-fast
	@cargo build --workspace --bin relay --test it # Without spans again, as the other tests run it; compiles nothing.
	@cargo test --workspace --doc

.PHONY: check-deny
check-deny: ## Licences, sources and versions of what the programs depend on, by deny.toml; offline
	@infra/check/cargo-deny --offline check --hide-inclusion-graph bans licenses sources

.PHONY: audit
audit: ## The same, and known vulnerabilities (asks the advisory database)
	@infra/check/cargo-deny check

.PHONY: package
package: ## Zips of the functions with checksums and SBOMs, in target/package (ARCH=arm64 or x86_64)
	@infra/package/package

.PHONY: e2e
e2e: ## Deploy the template to emulators, with the zips of make package, and see it work (PROFILE=dev: the debug build)
	@infra/local/up
	@cargo build --workspace --all-targets # As for the tests. `outbox` migrates; PROFILE=dev deploys the functions.
	@set -a; source .local/env; infra/e2e/run

.PHONY: deploy
deploy: ## Build the functions and deploy infra/template.yaml, which asks for its parameters (needs the SAM CLI)
	@cd infra && CARGO_PROFILE_RELEASE_STRIP=true sam build --beta-features && sam deploy --guided
