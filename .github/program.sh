#!/usr/bin/env bash
# Writes the program of a release to a directory: program.sh VERSION DIR. It is the one that
# opens logs in buckets, too: the log can be anywhere. The archive is
# verified against the checksums of the release, and against GitHub's record that the
# release workflow of this repository made it.
set -euo pipefail

repository=agent-handoff/handoff
version=$1 dir=$2
if [[ ! "$version" =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]]; then
  echo "handoff: the version is not of the form v0.1.0" >&2
  exit 2
fi
case $(uname -s)-$(uname -m) in
  Linux-x86_64) platform=linux-amd64 ;;
  Linux-aarch64) platform=linux-arm64 ;;
  Darwin-x86_64) platform=darwin-amd64 ;;
  Darwin-arm64) platform=darwin-arm64 ;;
  *) echo "handoff: no release for this system; set build to source" >&2; exit 2 ;;
esac
name=agent-handoff-s3-${version#v}-$platform
mkdir "$dir/release"
cd "$dir/release"
gh release download "$version" --repo "$repository" --pattern SHA256SUMS --pattern "$name.tar.gz"
grep -F "  $name.tar.gz" SHA256SUMS | shasum -a 256 --check --quiet
gh attestation verify "$name.tar.gz" --repo "$repository" >/dev/null
tar -xzf "$name.tar.gz"
mv "$name"/bin/agent-handoff "$dir"
