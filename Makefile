# The tests need no setup: go test ./...

.PHONY: check clients fuzz long bench

check: ## the checks that every change must pass
	bash .ci/run

clients: ## real agent programs against a scripted model; requires npm
	./.ci/clients

fuzz: ## every fuzz target for a minute
	./.ci/fuzz 60s

long: ## every test, the long ones in full: 1,000 kills, every fault point, large inputs
	HANDOFF_LONG=1 go test -count=1 -timeout 60m ./...
	cd internal/secret/gitleakstest && go test -count=1 ./...
	cd bucketlog/s3test && HANDOFF_LONG=1 go test -count=1 -timeout 60m ./...
	cd natslog/natstest && HANDOFF_LONG=1 go test -count=1 -timeout 60m ./...
	cd cmd/handoff-nats && go test -count=1 ./...

bench: ## figures for bench/RESULTS.md
	go test -run '^$$' -bench . -timeout 60m ./bench
