#!/usr/bin/env bash
# Writes releases/previous: the commit of a release, and copies of the CRDs and samples it shipped, for the tests of upgrades.
# Usage: tools/record_release.sh COMMIT. The commit must be one that will stay: it is never rewritten afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# = 1 ] && [ "$1" != --help ] || { sed -n '2,3s/^# //p' "$0"; exit 2; }
commit=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "record_release: $1 is no commit here" >&2; exit 1; }

version=$(git show "$commit:src/ansible_operator/__init__.py" | sed -n 's/^__version__ = "\(.*\)"$/\1/p')
git show "$commit:CHANGELOG.md" | grep -q "^## \[$version\] - " ||
    { echo "record_release: CHANGELOG.md of $commit has no dated section for $version" >&2; exit 1; }
rm -rf releases/previous
mkdir -p releases/previous
printf '%s\n' "$commit" >releases/previous/commit
printf '%s\n' "$version" >releases/previous/version
git archive "$commit" config/crd/bases config/samples | tar -x -C releases/previous --strip-components=1
echo "releases/previous is $version, $commit"
