#!/usr/bin/env bash
# Makes .venv, or brings it up to date: the locked requirements, then this project itself in place (`make venv`).
# PYTHON chooses the interpreter; without it the .venv that is there keeps its own, and a new one takes the first that is new enough.
set -euo pipefail
cd "$(dirname "$0")/.."
lock=requirements/dev.txt stamp=.venv/.stamp
broken=.venv/.installing    # there while packages are being installed; found at the start, an install was broken off: begin anew

fail() { printf 'make venv: %s\n' "$*" >&2; exit 1; }
new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }
checksum() { cksum "$1" | cut -d' ' -f1,2; }

choose_python() {
    local candidate
    if [ -n "${PYTHON:-}" ]; then
        version "$PYTHON" >/dev/null || fail "PYTHON=$PYTHON cannot be run"
        new_enough "$PYTHON" || fail "PYTHON=$PYTHON is Python $(version "$PYTHON"); it must be 3.11 or later"
        echo "$PYTHON"
        return
    fi
    for candidate in .venv/bin/python python3 python3.13 python3.12 python3.11; do
        if new_enough "$candidate"; then echo "$candidate"; return; fi
    done
    fail "no Python 3.11 or later found; install one, or name it: make venv PYTHON=/path/to/python3.11"
}

# Two at once would leave a mixture that no later run could mend.
if command -v flock >/dev/null 2>&1; then
    exec 9>.venv.lock
    flock --nonblock 9 || { echo "Another make is at work on .venv; waiting for it"; flock 9; }
fi

# It may be another checkout's: making it anew would empty that one, and its project would then be this one.
[ ! -L .venv ] || fail ".venv is a link to $(readlink .venv); remove it to get one here"

python=$(choose_python)
want="$PWD $(version "$python")"
have=$(sed -n 1p "$stamp" 2>/dev/null || true)
if [ "$want" = "$have" ] && new_enough .venv/bin/python; then
    :
elif [ -z "$have" ] && [ ! -e "$broken" ] && [ "$(version .venv/bin/python)" = "$(version "$python")" ]; then
    echo "Going on with the .venv that is there"
else
    [ "$python" != .venv/bin/python ] || python=$(.venv/bin/python -c 'import sys; print(sys._base_executable)')
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        fail "this Python cannot make virtual environments; on Debian and Ubuntu: apt install python$(version "$python")-venv"
    echo "Making .venv with Python $(version "$python")"
    "$python" -m venv --clear .venv
fi

pip() { .venv/bin/python -m pip --disable-pip-version-check "$@"; }
locked="lock $(checksum "$lock")" project="project $(checksum pyproject.toml)"
if ! grep -qx "$locked" "$stamp" 2>/dev/null; then
    rm -f "$stamp"
    : >"$broken"
    echo "Installing the locked requirements ($(grep -c '==' "$lock") packages, some minutes the first time)"
    pip install --quiet --require-hashes -r "$lock"
fi
if ! grep -qx "$project" "$stamp" 2>/dev/null; then
    rm -f "$stamp"
    : >"$broken"
    pip install --quiet --no-deps --no-build-isolation -e .
fi
rm -f "$broken"
printf '%s\n' "$want" "$locked" "$project" >"$stamp"
