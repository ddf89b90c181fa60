#!/usr/bin/env bash
# Writes the locked, hashed requirements anew from pyproject.toml (needs uv). Run by `make lock`.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v uv >/dev/null || { echo "make lock: uv is missing; install it, for example: pipx install uv" >&2; exit 1; }
lock() {
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
        --custom-compile-command "make lock" --constraint requirements/constraints.txt "$@"
}
lock pyproject.toml --extra openshift --output-file requirements/runtime.txt
lock pyproject.toml --extra openshift --group dev --output-file requirements/dev.txt requirements/build.in
lock requirements/audit.in --output-file requirements/audit.txt
