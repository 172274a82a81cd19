# The tests need no setup: go test ./...

.PHONY: check clients fuzz long bench dist

check: ## the checks that every change must pass
	bash .ci/run

clients: ## real agent programs against a scripted model; requires npm
	./.ci/clients

fuzz: ## every fuzz target for a minute
	./.ci/fuzz 60s

long: ## every test, the long ones in full: 1,000 kills, every fault point, large inputs
	HANDOFF_LONG=1 go test -count=1 -timeout 60m ./...
	HANDOFF_LONG=200 go test -count=1 -timeout 60m -run TestGrowth ./internal/guard/faults
	cd internal/tool/secret/gitleakstest && go test -count=1 ./...
	cd internal/trace/otlp/otlptest && go test -count=1 ./...
	cd cmd/handoff-s3 && HANDOFF_LONG=1 go test -count=1 -timeout 60m ./...
	cd cmd/handoff-s3/versitytest && HANDOFF_LONG=1 go test -count=1 -timeout 60m ./...
	cd engines/natslog/natstest && HANDOFF_LONG=1 go test -count=1 -timeout 60m ./...
	cd cmd/handoff-nats && go test -count=1 ./...
	HANDOFF_LONG=1 ./.ci/libraries

bench: ## figures for bench/RESULTS.md
	go test -run '^$$' -bench . -timeout 60m ./bench

PLATFORMS = linux/amd64,linux/arm64,darwin/amd64,darwin/arm64
OUT = dist

dist: ## the files of a release, in a new directory: make dist VERSION=v0.1.0; installs nothing here
	go run -C release . -version "$(VERSION)" -platforms "$(PLATFORMS)" -out "$(abspath $(OUT))"
