#!/usr/bin/env bash
# Posts or updates the comment of action.yml. Its input is in variables; nothing of the
# pull request is run, and nothing of it is checked out.
set -euo pipefail

if [[ ! "${NUMBER:-}" =~ ^[0-9]+$ ]]; then
  echo "handoff: this event has no pull request" >&2
  exit 0
fi
api="repos/$REPOSITORY"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/empty" "$work/home"

if [[ "${BUILD:-}" == source ]]; then
  (cd "$GITHUB_ACTION_PATH" && go build -tags s3 -o "$work/agent-handoff" ./cmd/agent-handoff)
else
  bash "$GITHUB_ACTION_PATH/.github/program.sh" "$VERSION" "$work"
fi

{
  gh api "$api/pulls/$NUMBER"
  gh api --paginate "$api/pulls/$NUMBER/commits"
  gh api --paginate "$api/pulls/$NUMBER/files"
} >"$work/request.json"

if [[ -n "${LOG_TOKEN:-}" ]]; then
  export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="http.https://github.com/.extraheader"
  GIT_CONFIG_VALUE_0="AUTHORIZATION: basic $(printf 'x-access-token:%s' "$LOG_TOKEN" | base64 | tr -d '\n')"
  export GIT_CONFIG_VALUE_0
fi
# In an empty directory: no settings of a repository apply.
(cd "$work/empty" && env -u GH_TOKEN HOME="$work/home" HANDOFF_WORKSPACE="$work/empty" "$work/agent-handoff" export comment) <"$work/request.json" >"$work/comment.md"

marker='<!-- handoff: behind this pull request -->'
# Who posts: the token can be that of an app or of a user.
AUTHOR=$(gh api graphql -f 'query={viewer{login}}' --jq .data.viewer.login) || AUTHOR='github-actions[bot]'
export AUTHOR
own=$(gh api --paginate "$api/issues/$NUMBER/comments" \
  --jq ".[] | select(.user.login == env.AUTHOR and (.body | startswith(\"$marker\"))) | .id")
own=${own%%$'\n'*} # the first
if [[ -n "$own" ]]; then
  gh api --method PATCH "$api/issues/comments/$own" -F "body=@$work/comment.md" >/dev/null
else
  gh api --method POST "$api/issues/$NUMBER/comments" -F "body=@$work/comment.md" >/dev/null
fi
