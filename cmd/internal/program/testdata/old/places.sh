#!/usr/bin/env bash
# Builds handoff at two commits of this repository's history, writes a small
# workspace for each kind of log with it, and stores them without indexes:
#
#	places.tar.gz  a directory COMMIT-KIND for each; git/o.git is the log of the
#	               two that use one in git
#
# TestOldPlaces opens them. The log in a bucket and the one in NATS are not
# stored: what matters is the runtime directory. Needs go, and the module
# mirror for the servers.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
tmp=$(mktemp -d)
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; for c in 798e8ca 401d2ea; do git -C "$here" worktree remove --force "$tmp/$c"; done; rm -rf "$tmp"' EXIT

mkdir "$tmp/bin" "$tmp/home" "$tmp/w"
for c in 798e8ca 401d2ea; do
	git worktree add -q --detach "$tmp/$c" $c
	(cd "$tmp/$c" && CGO_ENABLED=0 go build -trimpath -tags s3 -o "$tmp/bin/handoff-$c" ./cmd/handoff)
done
(cd "$tmp/401d2ea/bucketlog/s3test" && go build -o "$tmp/bin/s3" github.com/johannesboyne/gofakes3/cmd/gofakes3)
(cd "$tmp/401d2ea/cmd/handoff-nats" && go build -o "$tmp/bin/nats" .)
"$tmp/bin/s3" -backend memory -autobucket -host 127.0.0.1:42391 >/dev/null 2>&1 & servers+=($!)
"$tmp/bin/nats" --dir "$tmp/nats" --listen 127.0.0.1:42392 >/dev/null 2>&1 & servers+=($!)
sleep 3

cd "$tmp/w"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
clean=(env -i "PATH=/usr/bin:/bin" "HOME=$tmp/home" USER=user TZ=UTC AWS_ACCESS_KEY_ID=k AWS_SECRET_ACCESS_KEY=s AWS_REGION=us-east-1)
place() { # commit, kind, HANDOFF_LOG: a workspace with three records, then a look at them
	mkdir -p "$1-$2" && cd "$1-$2"
	[ -e .git ] || git init -q -b main
	printf 'kept\n' >a.md
	local program=("${clean[@]}" HANDOFF_LOG="$3" "$tmp/bin/handoff-$1")
	"${program[@]}" publish a.md --channel design --title 'A file' --keep 2>/dev/null
	printf 'from input\n' | "${program[@]}" publish - --channel analysis --title 'Standard input'
	printf 'context\n' | "${program[@]}" write context.md - --run run-a
	"${program[@]}" list
	cd "$tmp/w"
} >/dev/null
place 798e8ca file ''
place 401d2ea file ''
mkdir git && git init -q --bare git/o.git
place 401d2ea git 'git:../git/o.git'
place 401d2ea bucket "s3://bucket/team?endpoint=http://127.0.0.1:42391"
place 401d2ea nats "nats://127.0.0.1:42392/team"

# A linked worktree uses the directory of the main one.
git init -q -b main 401d2ea-main
git -C 401d2ea-main -c user.name=n -c user.email=n@localhost commit -q --allow-empty -m first
git -C 401d2ea-main worktree add -q ../401d2ea-linked
place 401d2ea linked ''

# Only settings; and settings beside what a reader of a log leaves.
mkdir -p 401d2ea-config/.handoff/pipelines 401d2ea-reader/.handoff
printf 'keep: always\n' | tee 401d2ea-config/.handoff/config.yaml >401d2ea-reader/.handoff/config.yaml
(cd 401d2ea-config && git init -q && "${clean[@]}" "$tmp/bin/handoff-401d2ea" list >/dev/null)
(cd 401d2ea-reader && git init -q && "${clean[@]}" HANDOFF_LOG=git:../git/o.git "$tmp/bin/handoff-401d2ea" list >/dev/null)

rm -rf ./*/.handoff/index.* ./*/.git/hooks ./git/o.git/hooks
find . -name '*.sample' -delete
tar --sort=name --owner=0 --group=0 --numeric-owner --format=pax --pax-option=delete=atime,delete=ctime -cf - . |
	gzip -9n >"$here/places.tar.gz"
