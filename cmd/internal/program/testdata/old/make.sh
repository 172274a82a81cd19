#!/usr/bin/env bash
# make.sh COMMIT NAME builds handoff at a commit of this repository's history, writes
# a workspace with it, and stores the workspace and what that program answers about it:
#
#	NAME.tar.gz  every file, with hard links and times, without the index
#	NAME.txtar   a section per command: its command line, then its output
#
# TestOldWorkspace asks the current program the same. IDs and times differ in
# each run, so run this once for each release, and otherwise only to add to what the
# workspace contains.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD commit=$1 name=$2
tmp=$(mktemp -d)
trap 'git -C "$here" worktree remove --force "$tmp/source"; rm -rf "$tmp"' EXIT

git worktree add --detach "$tmp/source" "$commit" >&2
mkdir "$tmp/bin" "$tmp/home" "$tmp/w"
(cd "$tmp/source" && CGO_ENABLED=0 go build -trimpath -o "$tmp/bin/handoff" ./cmd/handoff)
cd "$tmp/w"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git init -q -b main

clean="env -i PATH=$tmp/bin:/usr/bin:/bin HOME=$tmp/home USER=user TZ=UTC HANDOFF_WORKSPACE=$tmp/w"
handoff() { $clean handoff "$@"; }
as() { # variables of the environment, then a command line
	local vars=()
	while [[ $1 == *=* ]]; do vars+=("$1"); shift; done
	$clean "${vars[@]}" handoff "$@"
}

# Artifacts: files, a directory, standard input; every field; each status.
mkdir -p docs site/sub
printf '# Retry policy\nBack off twice.\n' >docs/design.md
printf -- '-old\n+new\n' >fix.diff
printf '<h1>Site</h1>\n' >site/index.html
printf 'deep\n' >site/sub/deep.txt
design=$(handoff publish docs/design.md --channel design --title 'Retry policy' --tag retry --tag policy --agent ada)
handoff publish fix.diff --channel patch --kind patch --from "$design" --agent builder --harness codex --model openai/gpt-5 \
	--session s-1 --run r-1 --task t-1 --operation o-1 --work w-1 --parent-work w-0 --parent-session s-0 --tool-call c-1 \
	--thread agents://codex/0199-c --producer turn=7 --summary 'One line about the fix' --meta issue=7 --meta area=net \
	--key fix-7 --media-type text/x-diff >/dev/null
handoff publish site --channel design --keep --title 'The site' >/dev/null
printf 'ok 12 tests\n' | handoff publish - --channel verification --filename test.log --keep --key log-1 >/dev/null
printf 'ok 12 tests\n' | handoff publish - --channel verification --filename test.log --keep --key log-1 >/dev/null
printf '# Retry policy\nBack off three times.\n' >docs/design.md
second=$(handoff publish docs/design.md --channel design --title 'Retry policy, second' --replaces "$design")
printf 'draft\n' >docs/draft.md
draft=$(handoff publish docs/draft.md --channel analysis --no-keep)
handoff withdraw "$draft" --reason 'made against the wrong branch' >/dev/null
printf 'changed since\n' >docs/draft.md
printf 'gone\n' >docs/gone.md
handoff publish docs/gone.md --channel analysis --keep >/dev/null
rm docs/gone.md
as HANDOFF_RUN=r-2 HANDOFF_HARNESS=codex CODEX_THREAD_ID=0199-d show "$second" >/dev/null # records a use
as HANDOFF_RUN=r-2 HANDOFF_HARNESS=codex CODEX_THREAD_ID=0199-d read "$second" >/dev/null

# Names with revisions, in two runs.
printf 'first\n' | handoff write context.md - --run run-a --agent ada --title 'Context' >/dev/null
printf 'second\n' | handoff write context.md - --run run-a --agent ada --from "$second" >/dev/null
printf 'other run\n' | handoff write context.md - --run run-b >/dev/null
printf 'plan\n' | handoff write plans/next.md - --run run-b --channel plan --kind report --tag soon --summary 'What is next' >/dev/null

# Sessions: one of handoff's own with all that can be noted, a chain, a run
# within one, one that another engine wrote, one that a command ran in.
one=11111111-2222-4333-8444-555555555555
two=22222222-3333-4444-8555-666666666666
theirs=a3f2c9d1-4b5e-4789-81ab-cdef12345678
handoff session open --id $one --agent alex --title 'Alex the Facilitator' --bundle bmad/bmm --workflow intake-app \
	--description 'Initial requirements' --user bryan --input category=apps --input size=3 >/dev/null
printf '# Requirements\n' >docs/agent-outputs/$one/requirements.md
handoff session add requirements.md --session $one --type document --description 'Initial requirements' --tag q4 --key req --from "$second" >/dev/null
handoff session note --session $one --user-summary 'I need to purchase 10 laptops' --message-count 8 --meta ticket=IT-17
handoff session tag --session $one security q4
handoff session tag --session $one --untag q4
handoff session rename --session $one 'Laptops for the new office'
handoff session close --session $one --status completed
handoff session open --id $two --agent mary --workflow design-app --user bryan >/dev/null
handoff session link --session $two $one
handoff session close --session $two --status failed --reason 'no budget'
mkdir -p docs/agent-outputs/$theirs
printf 'requirements\n' >docs/agent-outputs/$theirs/initial-requirements.md
cat >docs/agent-outputs/$theirs/manifest.json <<JSON
{"version":"1.0.0","session_id":"$theirs","theirs":"kept",
 "agent":{"name":"alex","title":"Alex the Facilitator","bundle":"bmad/bmm","icon":"compass"},
 "workflow":{"name":"intake-app","description":"Initial requirements gathering"},
 "execution":{"started_at":"2025-10-05T23:01:45.123Z","completed_at":"2025-10-05T23:05:22.456Z","status":"completed","user":"Bryan"},
 "outputs":[{"file":"initial-requirements.md","type":"document","description":"Initial requirements document","created_at":"2025-10-05T23:05:20.789Z","words":120}],
 "related_sessions":["b4e3d8c2-5c6f-4890-92bc-def123456789"],"metadata":{"custom_field":"value"},"messageCount":8}
JSON
handoff session adopt docs/agent-outputs/$theirs >/dev/null
handoff run --agent tess --workflow verify -- sh -c 'echo checked >$HANDOFF_SESSION_DIR/out.md && handoff session add out.md --type report >/dev/null' 2>/dev/null
handoff run --agent tess --workflow verify -- sh -c 'exit 3' 2>/dev/null || true

# A pipeline: attempts, a loop back, an archived run that was moved, lessons.
printf 'package a\n' >a.go
printf 'package a\n' >a_test.go
mkdir in
cat >in/plan.json <<'JSON'
{"affected_files":["a.go"],"steps":[{"order":1,"file":"a.go"}],"acceptance_mapping":{"AC1":"a_test.go"}}
JSON
printf '%s\n' '{"status":"completed","files_changed":["a.go"],"blockers":[],"summary":"done"}' >in/worker.json
printf '%s\n' '{"status":"completed","files_changed":["a.go"],"blockers":[],"summary":"done again"}' >in/worker2.json
printf '%s\n' '{"verdict":"FAIL","phase_1":{"unit":{"status":"FAIL"}}}' >in/fail.json
handoff pipeline init 42 >/dev/null
handoff pipeline put 42 plan in/plan.json --as jg-subplanner >/dev/null 2>&1
handoff pipeline put 42 implement in/worker.json --as jg-worker >/dev/null 2>&1
handoff pipeline put 42 test in/fail.json --as jg-tester >/dev/null 2>&1
handoff pipeline put 42 implement in/worker2.json --as jg-worker >/dev/null 2>&1
handoff pipeline init PROJ-7 --complexity trivial >/dev/null
handoff pipeline put PROJ-7 plan in/plan.json --as jg-subplanner >/dev/null 2>&1
handoff pipeline archive PROJ-7 --force >/dev/null 2>&1
handoff pipeline lessons add --pattern 'port is taken' --mitigation 'listen on port 0' --issue 42 --date 2026-11-21 >/dev/null
handoff pipeline lessons add --pattern 'disk is full' --mitigation 'make room' --issue 7 --date 2026-11-20 >/dev/null

# A record that was lost, whose place a repair marked.
printf 'lost\n' >lost.md
lost=$(handoff publish lost.md --channel handoff --no-keep)
handoff publish fix.diff --channel handoff --title 'Behind the gap' >/dev/null
record=$(grep -l "$lost" .handoff/log/*/*.json)
rm "$record" .handoff/artifacts/records/"$lost".json
handoff check --repair >/dev/null 2>&1 || true

# What the program answers.
ask() { # a command line
	printf -- '-- %s --\n' "$*"
	handoff "$@" | sed "s|$tmp/w|\$WORK|g"
}
ids=$(handoff list --all --limit 0 --json | grep -o '"id": *"art_[0-9A-Z]*"' | grep -o 'art_[0-9A-Z]*' | sort -u)
{
	printf 'What handoff at %s answered at %s about %s.tar.gz. make.sh writes both.\n' "$commit" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$name"
	ask list --all --limit 0 --json
	ask list --limit 0 --json
	ask list --channels --json
	for id in $ids; do
		ask show "$id" --json
		ask show "$id" --history --json
		ask show "$id" --lineage --json
	done
	for rev in 1 2; do ask read run-a/context.md --rev $rev; done
	ask read run-b/context.md
	ask read run-b/plans/next.md
	for session in $one $two $theirs; do
		ask show $session --json
		ask session graph $session --format json
	done
	ask session find --json
	ask session latest-output alex intake document
	ask show 42 --json
	ask pipeline history 42 --json
	ask pipeline history PROJ-7 --json
	ask pipeline next 42 --json
	ask pipeline trace 42 --json
	ask pipeline get 42 plan --json
	ask pipeline lessons list --json
	ask search retry policy --all --json
	ask check --json
} >answers.txt
for id in $ids; do # a body that ends without a newline gets one
	handoff show "$id" --json | grep -q '"targetType": *"directory"' && continue
	{
		printf -- '-- read %s --\n' "$id"
		handoff read "$id" || echo "exit $?"
	} >>answers.txt 2>/dev/null
done
mv answers.txt "$here/$name.txtar"

rm -rf .git .handoff/index.db*
tar --sort=name --owner=0 --group=0 --numeric-owner --format=pax --pax-option=delete=atime,delete=ctime -cf - . |
	gzip -9n >"$here/$name.tar.gz"
