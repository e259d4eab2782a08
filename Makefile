# Handrail. `make help` lists the targets. Each does its own set-up on a fresh machine.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
VERSION := $(VERSION)# once: the same in every part
OS := $(shell uname -s)
comma := ,
# Fyne without its emoji font; on Linux for X11 alone (Wayland runs it through XWayland).
TAGS := no_emoji$(if $(filter Linux,$(OS)),$(comma)x11)
# A release has the address and the key of the feed of versions, and the page where people download; other builds never look.
UPDATE_ADDRESS ?=
UPDATE_KEY ?=
DOWNLOAD_PAGE ?=
LDFLAGS := -s -w -X main.version=$(VERSION)$(if $(UPDATE_ADDRESS), -X main.updateAddress=$(UPDATE_ADDRESS) -X main.updateKey=$(UPDATE_KEY) -X main.downloadPage=$(DOWNLOAD_PAGE))
PROGRAMS := build/handrail build/handrail-ui

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

.PHONY: setup
setup: ## install what building and testing need
	@packaging/setup

.PHONY: build
build: setup programs ## build both executables into build/

.PHONY: programs
programs:
	$(if $(filter Linux,$(OS)),CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o build/launcher ./sandbox/launch)
	CGO_ENABLED=$(if $(filter Darwin,$(OS)),1,0) go build -trimpath -tags launcher -ldflags '$(LDFLAGS)' -o build/handrail .
	go build -trimpath -tags $(TAGS) -ldflags '-s -w' -o build/handrail-ui ./app/ui

.PHONY: run
run: build ## start the app, or without a display the server
	@if [ "$(OS)" = Darwin ] || [ -n "$${DISPLAY:-}$${WAYLAND_DISPLAY:-}" ]; then exec build/handrail; \
	else echo "No display: starting handrail serve."; exec build/handrail serve; fi

.PHONY: test
test: setup check programs ## run every test
	packaging/gotest ./...

.PHONY: check
check: ## format, vet, static checks, and the checks for macOS that need no Mac
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "not formatted: run gofmt -w"; exit 1; }
	go vet -tags $(TAGS) ./...
	go tool staticcheck -tags $(TAGS) ./...
	GOOS=darwin CGO_ENABLED=0 go vet ./core/... ./sandbox/...
	go build -o build/typecheck ./packaging/typecheck
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=1 build/typecheck ./...

.PHONY: race
race: setup programs ## run every test with the race detector
	packaging/gotest -race -timeout 40m ./...

.PHONY: escape
escape: setup ## try to get out of the sandbox, a line for each kind of attack; fails if one succeeds
	@go test -c -o build/escape ./sandbox/sandboxtest
	@cd build && ./escape -lines -test.run '^Test(Escapes|Cases|Grid|Together)$$'

.PHONY: demo
demo: build ## play the main job with no hands: a real client, real dialogs, real clicks
	go run -tags $(TAGS) ./app/apptest/demo -programs build -pictures build/screens

.PHONY: demo-look
demo-look: programs ## play the access level look: a client that may only read tries what it may and what it may not
	build/handrail demo --look

.PHONY: bench
bench: build ## measure, each figure beside its floor
	go test -run '^$$' -bench . -benchtime 200x ./...

SOAK ?= 10m
.PHONY: soak
soak: build ## make calls of all kinds for 10 minutes (SOAK=1h for longer): nothing may be left over; then rest as long
	go test -count=1 -timeout 0 -v -run '^Test(Soak|LargeOutput)$$' . -soak $(SOAK)
	$(if $(filter Linux,$(OS)),go test -count=1 -timeout 0 -v -tags package -run '^TestAtRest$$' ./packaging -programs '$(CURDIR)/build' -rest $(SOAK))

.PHONY: conformance
conformance: build ## the official MCP conformance runner, both protocol eras
	packaging/conformance

# CC_arm64 and CC_amd64 are C compilers for macOS with an SDK, and NM an nm that reads Mach-O: on a Mac the system's own.
ifeq ($(OS),Darwin)
CC_arm64 ?= clang
CC_amd64 ?= clang
NM ?= nm
endif
CROSS := $(and $(CC_arm64),$(CC_amd64),$(NM))
MINIMUM_MACOS := $(shell sed -n 's/^MinimumMacOS = "\(.*\)"/\1/p' FyneApp.toml)

.PHONY: link-darwin
link-darwin: link-darwin-arm64 link-darwin-amd64 ## link both programs for macOS (elsewhere: CC_arm64=… CC_amd64=… NM=…)

link-darwin-%:
	for program in handrail=. handrail-ui=./app/ui; do out=build/darwin-$*/$${program%%=*}; \
		CC='$(CC_$*)' MACOSX_DEPLOYMENT_TARGET=$(MINIMUM_MACOS) CGO_ENABLED=1 GOOS=darwin GOARCH=$* \
		go build -trimpath -tags no_emoji -ldflags '$(LDFLAGS)' -o $$out $${program#*=}; \
		packaging/darwin-names '$(NM)' $$out; \
	done

.PHONY: app
app: $(if $(CROSS),link-darwin) ## build Handrail.app for both kinds of Mac (elsewhere: as link-darwin)
ifneq ($(CROSS),)
	go run ./packaging/bundle -version '$(VERSION)' -build $$(git rev-list --count HEAD) -out build/Handrail.app build/darwin-arm64 build/darwin-amd64
else
	@echo "make app: SKIPPED. Handrail.app is built on a Mac, or with compilers for macOS: CC_arm64=… CC_amd64=… NM=…"
endif

.PHONY: mcpb
mcpb: ## build/handrail.mcpb, the extension that Claude Desktop installs by a click; it starts the app that is in Applications
	@mkdir -p build
	go run ./packaging/bundle -version '$(VERSION)' -extension build/handrail.mcpb

.PHONY: dmg
dmg: app ## on a Mac: build/release/Handrail.dmg, for this Mac alone
	HANDRAIL_IDENTITY= packaging/release build/Handrail.app build/release

.PHONY: release
release: app ## on a Mac: the signed and notarized disk image; without HANDRAIL_IDENTITY a rehearsal
	packaging/release build/Handrail.app build/release

.PHONY: deb
deb: setup programs ## on Debian and Ubuntu: build/release/handrail_….deb
	packaging/deb '$(VERSION)' build build/release

.PHONY: check-package
check-package: app $(if $(filter Linux,$(OS)),setup programs) ## read, install, run and remove what people download
	$(if $(CROSS),go test -count=1 -v ./packaging/bundle -run TestBundle -app '$(CURDIR)/build/Handrail.app' -version '$(VERSION)')
	go test -count=1 -timeout 20m -tags package -v ./packaging -run '^Test(Deb|Start)$$' $(if $(filter Linux,$(OS)),-programs '$(CURDIR)/build',-programs '$(CURDIR)/build/Handrail.app/Contents/MacOS')

FUZZ ?= 1m
.PHONY: fuzz
fuzz: setup ## run each fuzz test for a minute (FUZZ=10m for longer)
	packaging/fuzz $(FUZZ)

.PHONY: vulnerabilities
vulnerabilities: setup ## look for known holes in what we use; asks the Go vulnerability database
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 -tags $(TAGS) ./...

.PHONY: sbom
sbom: ## build/release/handrail.cdx.json: what is in the programs (CycloneDX)
	@mkdir -p build/release
	go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 mod -licenses -json -output build/release/handrail.cdx.json .

.PHONY: clean
clean: ## remove what was built
	rm -rf build
