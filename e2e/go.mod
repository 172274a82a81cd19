module github.com/agent-handoff/handoff/e2e

go 1.26.0
