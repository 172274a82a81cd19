module github.com/agent-handoff/handoff

go 1.26

require github.com/klauspost/compress v1.20.3

require go.yaml.in/yaml/v4 v4.0.0
