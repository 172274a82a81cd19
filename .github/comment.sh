#!/usr/bin/env bash
# Posts or updates the comment of action.yml. Its input is in variables; nothing of the
# pull request is run, and nothing of it is checked out.
set -euo pipefail

if [[ ! "${NUMBER:-}" =~ ^[0-9]+$ ]]; then
  echo "handoff: this event has no pull request" >&2
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/empty" "$work/home"

if [[ "${BUILD:-}" == source ]]; then
  go build -C "$GITHUB_ACTION_PATH/cmd/handoff-s3" -o "$work/agent-handoff" .
else
  bash "$GITHUB_ACTION_PATH/.github/program.sh" "$VERSION" "$work"
fi

api="${GITHUB_API_URL:-https://api.github.com}/repos/$REPOSITORY"
# The token is not an argument: those of a process can be read by others.
(umask 077 && printf 'Authorization: Bearer %s\n' "$GH_TOKEN" >"$work/token")
call() {
  curl --silent --show-error --fail --retry 2 --header "@$work/token" --header 'Accept: application/vnd.github+json' "$@"
}
pages() { # of a list
  local page answer
  for ((page = 1; page <= 100; page++)); do
    answer=$(call "$1?per_page=100&page=$page")
    printf '%s\n' "$answer"
    if (($(jq length <<<"$answer") < 100)); then
      break
    fi
  done
}

{
  call "$api/pulls/$NUMBER"
  pages "$api/pulls/$NUMBER/commits"
  pages "$api/pulls/$NUMBER/files"
} >"$work/request.json"

if [[ -n "${LOG_TOKEN:-}" ]]; then
  export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="http.https://github.com/.extraheader"
  GIT_CONFIG_VALUE_0="AUTHORIZATION: basic $(printf 'x-access-token:%s' "$LOG_TOKEN" | base64 | tr -d '\n')"
  export GIT_CONFIG_VALUE_0
fi
policy=(--fail-on "${FAIL_ON:-contradicted}")
if [[ -n "${REQUIRE:-}" ]]; then
  policy+=(--require "$REQUIRE")
fi
if [[ -n "${ALLOWED_SIGNERS:-}" ]]; then
  printf '%s\n' "$ALLOWED_SIGNERS" >"$work/signers"
  policy+=(--allowed-signers "$work/signers")
fi
# In an empty directory: no settings of a repository apply.
verdict=0
(cd "$work/empty" && env -u GH_TOKEN HOME="$work/home" HANDOFF_WORKSPACE="$work/empty" "$work/agent-handoff" export pr "${policy[@]}") <"$work/request.json" >"$work/comment.md" || verdict=$?
if ((verdict > 1)); then
  exit "$verdict"
fi

marker='<!-- handoff: behind this pull request -->'
# Who posts: the token can be that of an app or of a user.
author=$(call --data '{"query":"{viewer{login}}"}' "${GITHUB_GRAPHQL_URL:-https://api.github.com/graphql}" |
  jq --exit-status --raw-output .data.viewer.login) || author='github-actions[bot]'
own=$(pages "$api/issues/$NUMBER/comments" | jq --raw-output --arg author "$author" --arg marker "$marker" \
  '.[] | select(.user.login == $author and (.body | startswith($marker))) | .id')
own=${own%%$'\n'*} # the first
jq --null-input --rawfile body "$work/comment.md" '{body: $body}' >"$work/comment.json"
if [[ -n "$own" ]]; then
  call --request PATCH --data "@$work/comment.json" "$api/issues/comments/$own" >/dev/null
else
  call --request POST --data "@$work/comment.json" "$api/issues/$NUMBER/comments" >/dev/null
fi
if ((verdict)); then
  echo "handoff: the claims behind this pull request do not pass; the comment has their verdicts" >&2
fi
exit "$verdict"
