#!/bin/sh
# Two agents in a shell: one writes a design, the other waits for it and builds on it.
# Usage: handoff.sh, in the workspace.
set -eu

{ # the builder, which starts first
	design=$(agent-handoff wait --channel design --timeout 1m)
	{ agent-handoff read "$design"; echo '+retry(2)'; } >fix.diff
	agent-handoff publish fix.diff --channel patch --agent builder --title 'Retry' --from "$design" >/dev/null
} &
builder=$!

echo 'Retry twice.' >design.md
agent-handoff publish design.md --channel design --agent architect --title 'Retry policy' >/dev/null
wait "$builder"
agent-handoff list --json --fields channel,title
