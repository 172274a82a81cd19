# What there is to run. The tests need no set-up: go test ./...

.PHONY: check fuzz long bench

check: ## everything that must hold before a change lands
	bash .ci/run

fuzz: ## every fuzz target for a minute
	./.ci/fuzz 60s

long: ## the long proofs: 1,000 kills and the like
	HANDOFF_LONG=1 go test -count=1 -timeout 60m -run 'Long|Kill|Injected|Fuzzed|ManyProcesses' -v ./...

bench: ## figures for bench/RESULTS.md
	go test -run '^$$' -bench . -timeout 60m ./bench
