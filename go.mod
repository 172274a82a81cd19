module github.com/agent-handoff/handoff

go 1.26
